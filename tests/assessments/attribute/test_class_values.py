"""What the classes of a file disclose: figures by hand, and the definition as oracle."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.candidate.class_values import CHANCE, DisclosedValues, OrderedValues, disclosed_values
from tasks.candidate.value_counts import ValueCounts
from tasks.microdata.coded import code_column
from tasks.request.model import MissingReading, SensitivityWeights, ValueType
from tests.reference.plain_disclosure import disclosed, expected_homogeneous
from tests.support.examples import examples

WEIGHED = SensitivityWeights()


def table(
    classes: list[int],
    columns: dict[str, list[str | None]],
    missing: MissingReading = MissingReading.ANY_VALUE,
    **given: SensitivityWeights,
) -> ValueCounts:
    coded = {
        name: code_column(
            pd.Series(values, dtype="str"),
            given.get(name, WEIGHED),
            ValueType.NUMBER if name.startswith("n") else ValueType.TEXT,
        )
        for name, values in columns.items()
    }
    return ValueCounts.of(np.array(classes, dtype=np.int64), [], coded, np.arange(len(classes)), missing)


def test_a_class_of_one_rare_value_by_hand() -> None:
    """Of 20 classes of 10 one has a value of its own: 0.05¹⁰ · 20 · 2 is far below 1 %."""
    classes = [place // 10 for place in range(200)]
    found = table(classes, {"illness": ["hiv"] * 10 + ["flu"] * 190}).found["illness"]
    assert found.disclosed.tolist() == [True] * 10 + [False] * 190
    assert found.homogeneous.tolist() == [True] * 10 + [False] * 190, "what 95 % of the file have is no disclosure"
    assert found.largest_share == 1.0
    assert found.rises[0] == pytest.approx(0.95)
    assert found.rises[1] == pytest.approx(0.05)
    assert found.by_chance == pytest.approx(200 * 0.05**10)


def test_a_known_column_discloses_what_the_classes_are_too_small_to_show() -> None:
    """All 40 of one unit have a value that 20 % of the file have; in classes of two, 0.2² · 100 · 2 is no evidence."""
    classes, units = [place // 2 for place in range(200)], np.arange(200) // 40
    coded = {"illness": code_column(pd.Series(["hiv"] * 40 + ["flu"] * 160, dtype="str"), WEIGHED, ValueType.TEXT)}
    rows = np.arange(200)

    def found(**alone: np.ndarray) -> DisclosedValues:
        known = list(alone.values())
        return ValueCounts.of(np.array(classes), known, coded, rows, alone=alone).found["illness"]

    assert not found().disclosed.any()
    assert found().by == ()
    assert found(unit=units).disclosed.tolist() == [True] * 40 + [False] * 160
    assert found(unit=units).by == ("unit",)
    assert not found(pair=rows // 4).disclosed.any(), "classes by a column of many values are no larger"


def test_what_lists_of_a_class_share_is_disclosed() -> None:
    """Each of one class of ten lists hiv beside other illnesses, and one of the others does."""
    draw, classes = np.random.default_rng(8), [place // 10 for place in range(200)]
    lists = [f"{one}; {two}" for one, two in zip(*draw.choice(list("abcdefgh"), (2, 200)), strict=True)]
    lists[:10] = [f"{one};hiv" for one in lists[:10]]
    lists[15] = "hiv"
    found = table(classes, {"illnesses": lists}).found["illnesses"]
    assert found.disclosed.tolist() == [True] * 10 + [False] * 190
    without = [one.replace(";", " ") for one in lists]
    assert not table(classes, {"illnesses": without}).found["illnesses"].disclosed.any()
    light = SensitivityWeights(values={"hiv": 0.4})
    assert not table(classes, {"illnesses": lists}, illnesses=light).found["illnesses"].disclosed.any()


def test_numbers_typed_as_text_are_numbers_unless_few() -> None:
    """Thirty of one class earn about 9,000 and nobody else does; which of a few codes are near is not asked."""
    draw, classes = np.random.default_rng(8), [place // 30 for place in range(300)]
    pay = [str(9_000 + place) for place in range(30)] + [str(one) for one in draw.integers(0, 5_000, 270)]
    assert table(classes, {"pay": pay}).found["pay"].disclosed.tolist() == [True] * 30 + [False] * 270
    codes = [str(one) for one in (*draw.integers(40, 50, 30), *draw.integers(0, 10, 270))]
    assert table(classes, {"code": codes}).columns["code"].width is None


def test_one_exception_hides_nothing() -> None:
    """Nine of ten have the rare value; the one who has not is not disclosed."""
    classes = [place // 10 for place in range(200)]
    found = table(classes, {"illness": ["flu", *["hiv"] * 9, *["flu"] * 190]}).found["illness"]
    assert found.disclosed.tolist() == [False, *[True] * 9, *[False] * 190]
    assert not found.homogeneous.any()
    assert found.rises[0] == pytest.approx(0.9 - 9 / 200)


@pytest.mark.parametrize(
    ("of_class", "of_others", "disclosed"),
    [
        ((300, 0), (240, 360), True),  # all of 300 where 60 % of 900 have it
        ((258, 42), (84, 516), True),  # 86 % where 38 % have it
        ((240, 60), (300, 300), True),  # 80 % where 60 % have it: as many wrong as half of 40 %
        ((239, 61), (301, 299), False),  # one fewer
        ((300, 0), (420, 180), True),  # all where 80 % have it
        ((300, 0), (421, 179), False),  # all where more than 80 % have it
    ],
)
def test_a_common_value_is_disclosed_where_a_class_halves_the_error(
    of_class: tuple[int, int], of_others: tuple[int, int], disclosed: bool
) -> None:
    half = tuple(count // 2 for count in of_others)
    rest = (of_others[0] - half[0], of_others[1] - half[1])
    values: list[str | None] = []
    for first, second in (of_class, half, rest):
        values += ["a"] * first + ["b"] * second
    found = table([0] * 300 + [1] * sum(half) + [2] * sum(rest), {"vote": values}).found["vote"]
    assert bool(found.disclosed[: of_class[0]].all()) is disclosed


def test_what_chance_explains_is_not_disclosed() -> None:
    """A class of two with a value of one in four, among 50: chance makes several."""
    classes = [place // 2 for place in range(100)]
    illness = ["a", "a", "b", "b", "c", "c", "d", "d", *("abcd"[place % 4] for place in range(92))]
    found = table(classes, {"illness": illness}).found["illness"]
    assert found.homogeneous.sum() == 8
    assert not found.disclosed.any()


def test_the_bound_on_chance_is_that_of_all_classes_and_values() -> None:
    """With p = 1/4, 8 classes of 4 and 2 values: 16/4⁴ > 1 %; the same of 8 with p = 1/8 over 16 classes is below."""
    few = table([place // 4 for place in range(32)], {"x": ["a"] * 8 + ["b"] * 24}).found["x"]
    assert CHANCE < 16 * 0.25**4
    assert not few.disclosed.any()
    more = table([place // 8 for place in range(128)], {"x": ["a"] * 16 + ["b"] * 112}).found["x"]
    assert CHANCE >= 32 * 0.125**8
    assert more.disclosed.sum() == 16


def test_a_missing_value_hides_nothing() -> None:
    """Five of ten have the rare value and nothing is known of the others: what the class discloses is told of all."""
    classes = [place // 10 for place in range(200)]
    values = [None] * 10 + ["hiv"] * 5 + [None] * 5 + ["flu"] * 180
    found = table(classes, {"illness": values}).found["illness"]
    assert found.disclosed.tolist() == [False] * 10 + [True] * 10 + [False] * 180
    assert found.homogeneous.tolist() == found.disclosed.tolist()
    assert found.rises[:2].tolist() == [0.0, pytest.approx(1 - 5 / 185)]
    assert found.by_chance == pytest.approx(180 * (5 / 185) ** 10 + 10 * (5 / 185) ** 5)
    diluted = table(classes, {"illness": values}, MissingReading.OWN_GROUP).found["illness"]
    assert diluted.rises[1] == pytest.approx(5 / 10 - 5 / 200)
    assert not diluted.disclosed.any()


def test_a_missing_value_in_a_group_of_its_own_is_none_and_its_record_counts() -> None:
    classes, own = [place // 10 for place in range(200)], MissingReading.OWN_GROUP
    found = table(classes, {"illness": [None] * 10 + ["hiv"] * 9 + [None] + ["flu"] * 180}, own).found["illness"]
    assert not found.disclosed[:10].any()
    assert found.disclosed[10:19].all()
    assert not found.homogeneous[:20].any()
    assert found.largest_share == 1.0
    for missing in MissingReading:
        empty = table([0, 0, 1], {"illness": [None] * 3}, missing).found["illness"]
        assert (empty.largest_share, empty.disclosed.any(), empty.by_chance) == (0.0, False, 0.0)


def test_numbers_near_each_other_are_one_value() -> None:
    """Of 0 to 199 the middle nine tenths reach from 9 to 189: within 18 is one value."""
    classes = [place // 10 for place in range(200)]
    found = table(classes, {"number": [str(place) for place in range(200)]})
    assert found.columns["number"].width == pytest.approx(18.0)
    assert found.found["number"].homogeneous.all()
    assert found.found["number"].disclosed.all()
    assert found.found["number"].rises[0] == pytest.approx(1 - 19 / 200)
    as_text = table(classes, {"text": [f"no. {place}" for place in range(200)]}).found["text"]
    assert not as_text.homogeneous.any()


def test_a_box_that_is_ticked_or_empty_is_a_value() -> None:
    """Ticked by all of the first class and one in ten of the others: without empty boxes everybody's value is “x”."""
    classes = [place // 20 for place in range(400)]
    boxes = ["x"] * 20 + [("x" if place % 10 == 0 else None) for place in range(380)]
    found = table(classes, {"hiv": boxes}).found["hiv"]
    assert found.disclosed.tolist() == [True] * 20 + [False] * 380
    assert found.homogeneous[:20].all()
    assert found.rises[0] == pytest.approx(1 - 58 / 400)


def test_spellings_of_one_illness_are_disclosed_together() -> None:
    """Four values, shared out among 40 records: 39 of them have one, and 12 of 360 others; an exception hides none."""
    spellings = ["HIV+", "hiv pos", "B20", "HIV infection"]
    rest = ["flu", "asthma", "cut", "burn", "gout", "cold"]
    classes = [place // 40 for place in range(400)]
    first = [spellings[place % 4] for place in range(39)] + ["flu"]
    others = [spellings[place % 4] if place % 30 == 0 else rest[place % 6] for place in range(360)]
    found = table(classes, {"illness": first + others}).found["illness"]
    assert found.disclosed[:40].tolist() == [True] * 39 + [False]
    assert not found.disclosed[40:].any()
    nine = [*(f"cancer {place % 9}" for place in range(40)), *others]
    kinds = table(classes, {"illness": nine}).disclosed
    assert (kinds[:40].sum(), kinds.sum()) == (36, 36), "eight of nine kinds, 4 · 5 + 4 · 4, are nine tenths"
    own = [*(f"{place // 2}" for place in range(40)), *others]
    assert not table(classes, {"illness": own}).disclosed.any(), "twenty values of two records each are no set"
    common = first + [spellings[place % 4] if place % 9 == 0 else rest[place % 6] for place in range(360)]
    assert not table(classes, {"illness": common}).disclosed.any(), "more than one in ten of the others"


@pytest.mark.parametrize(
    ("first", "others"),
    [
        # Everybody of the first class owes 50,000 to 50,980, all others nothing: the middle nine tenths are 0.
        ([50_000 + 20 * place for place in range(50)], [0] * 950),
        # The first class earns 31,000 to 31,009; of the others one in twelve earns ten times as much.
        (
            [31_000 + place % 10 for place in range(50)],
            [(300_000 if place % 12 == 0 else 20_000) + 31 * place for place in range(950)],
        ),
        # The same, with one code for “not stated” among ordinary amounts.
        (
            [22_000 + place % 10 for place in range(50)],
            [9_999_999 if place % 15 == 0 else 15_000 + 37 * place for place in range(950)],
        ),
    ],
)
def test_an_interval_that_hardly_any_other_has_is_disclosed(first: list[int], others: list[int]) -> None:
    classes = [0] * 50 + [1 + place // 50 for place in range(950)]
    order = np.random.default_rng(2).permutation(950)
    dealt = [*map(str, first), *(str(others[place]) for place in order)]
    for name in ("number", "n with a word"):
        values = ["unknown" if name != "number" and place == 999 else one for place, one in enumerate(dealt)]
        assert table(classes, {name: values}).found[name].disclosed.tolist() == [True] * 50 + [False] * 950, name
    mixed = table(classes, {"text": [*dealt[:-1], "unknown"]}).found["text"]
    assert mixed.disclosed.tolist() == [True] * 50 + [False] * 950, "numbers with a word among them"


def test_values_of_little_sensitivity_are_not_judged() -> None:
    classes = [place // 10 for place in range(200)]
    light = SensitivityWeights(values={"hiv": 0.49})
    found = table(classes, {"illness": ["hiv"] * 10 + ["flu"] * 190}, illness=light).found["illness"]
    assert not found.disclosed.any()
    assert not found.homogeneous.any()


def test_by_chance_a_file_is_closed_once_in_a_hundred_times_at_most() -> None:
    """Files of 200 classes of five, the smallest that k = 5 leaves, with the values dealt at random."""
    generator = np.random.default_rng(1)
    classes, closed = [place // 5 for place in range(1000)], 0
    for _ in range(300):
        values = generator.choice(list("abcdefghij"), 1000, p=[0.3, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05, 0.04, 0.03, 0.03])
        closed += bool(table(classes, {"x": values.tolist()}).disclosed.any())
    assert closed <= 8, "3 are allowed in the mean; 8 or more happen once in 80 times"


tables = st.integers(1, 60).flatmap(
    lambda records: st.tuples(
        st.lists(st.integers(0, 5), min_size=records, max_size=records),
        st.lists(st.sampled_from(["a", "b", "c", "d", None]), min_size=records, max_size=records),
        st.lists(st.one_of(st.none(), st.integers(-3, 40)), min_size=records, max_size=records),
        st.sampled_from([frozenset[str](), frozenset({"a"})]),
    )
)


@pytest.mark.slow
@settings(max_examples=examples(60), deadline=None)
@given(tables, st.sampled_from(MissingReading))
def test_the_definition_gives_the_same(
    drawn: tuple[list[int], list[str | None], list[int | None], frozenset[str]], missing: MissingReading
) -> None:
    classes, texts, whole, light = drawn
    # Every draw three times, so that classes grow large enough to disclose something.
    classes, texts, whole = classes * 3, texts * 3, whole * 3
    weights = SensitivityWeights(values=dict.fromkeys(light, 0.0))
    numbers = [None if value is None else str(value) for value in whole]
    found = table(classes, {"text": texts, "number": numbers}, missing, text=weights).found
    own = missing is MissingReading.OWN_GROUP
    frame = pd.DataFrame({"class": classes, "text": pd.Series(texts, dtype=object)})
    frame["number"] = pd.Series(whole, dtype="float64")
    plain = disclosed(frame, ["text", "number"], frozenset({"number"}), light, own_group=own)
    numbered = np.unique(classes, return_inverse=True)[1]
    for name, expected in plain.items():
        assert found[name].disclosed.tolist() == expected["disclosed"].tolist()
        assert found[name].homogeneous.tolist() == expected["homogeneous"].tolist()
        assert found[name].rises[numbered] == pytest.approx(expected["rise"].to_numpy())
    if not light and None not in texts:
        every = expected_homogeneous(classes, [str(text) for text in texts])
        assert found["text"].by_chance == pytest.approx(every)


def test_expected_homogeneity_of_numbers_is_that_of_drawing() -> None:
    """Classes of two of the values 0, 1, 5 (1/2, 1/4, 1/4) with intervals of width 1."""
    values = OrderedValues(np.array([0, 0, 1, 2]), np.array([2, 2, 3]), np.ones(3, dtype=np.bool_), 1.0)
    found = disclosed_values(np.array([0, 0, 1, 1]), values, 1)
    # From 0 both values of 0 and 1, but not both of 1, which begin at 1; from 1 and from 5 each alone.
    assert found.by_chance == pytest.approx(4 * (0.75**2 - 0.25**2 + 0.25**2 + 0.25**2))
