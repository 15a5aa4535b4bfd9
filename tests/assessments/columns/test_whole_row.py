"""Classes by the whole released row: by hand, and against a counter of single records and people."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.assessments.columns.facts import ColumnFact, ColumnFinding, ColumnsFact, Sign
from tasks.assessments.columns.whole_row import occurs_firmly, whole_row_figures
from tasks.assessments.registry import COMBINED
from tasks.assessments.sequential.assessment import judged_risks
from tasks.candidate.candidate import Candidate
from tasks.candidate.coalition import worst
from tasks.candidate.groups import groups
from tasks.request.model import Attribute, Measure
from tests.support.examples import examples
from tests.support.explaining import ROWS, asked, candidates, table

SEXES = [["f", "*"], ["m", "*"]]
PEOPLE = {("a", sex): 5 for sex in "fm"} | {("b", sex): 10 for sex in "fm"}
PEOPLE |= {("c", sex): 15 for sex in "fm"} | {("d", sex): 20 for sex in "fm"}


def copy_of(
    records: Sequence[tuple[str, ...]], people: dict[Any, int], method: str = "no-attack-partition", **of_age: Any
) -> Candidate:
    """The institute's copy of records in the order of the population's tuples; groups of 25 people are safe.

    ``of_age`` are further terms of the first quasi-identifier.
    """
    rows = (ROWS, SEXES)[: len(next(iter(people)))]
    index = table(rows, people, dict(Counter(records)))
    request = asked(method, weights=(1.0,) * len(rows), combined={})
    if of_age:
        age = Attribute.model_validate({**request.attributes["q0"].model_dump(), **of_age})
        request = request.model_copy(update={"attributes": {**request.attributes, "q0": age}})
    return candidates(index, (1.0,) * len(records)).of(request, request.recipient("institute"))


def finding(sign: Sign, columns: tuple[str, ...], *others: str) -> ColumnFinding:
    return ColumnFinding(sign=sign, columns=columns, others=others)


def test_columns_that_tell_a_quasi_identifier_are_counted() -> None:
    columns = {
        "years": (finding(Sign.TELLS, ("years",), "age"), finding(Sign.TOLD, ("years",), "age")),
        "kin": (finding(Sign.TOLD, ("kin",), "sex"), finding(Sign.FOLLOWS, ("kin",), "age")),
        "visit": (finding(Sign.TELLS, ("visit", "ward"), "age"), finding(Sign.TELLS, ("visit",), "birthday")),
        "town": (finding(Sign.LISTED, ("town",), "zip"),),
        "cost": (finding(Sign.UNIQUE, ("cost",)),),
    }
    fact = ColumnsFact(
        columns=tuple(
            ColumnFact(name=name, distinct_share=1, entropy=1, masked=False, numeric=False, findings=found)
            for name, found in columns.items()
        )
    )
    assert fact.telling(("age", "sex", "zip")) == (
        (("years",), "age"),
        (("kin",), "sex"),
        (("kin",), "age"),
        (("visit", "ward"), "age"),
    )


def by_hand(strays: int) -> tuple[Candidate, dict[Measure, float]]:
    """Of a and b, released as one group of 30 people, a column says “x” of a and “y” of b, but of some strays of b."""
    records = [("a",)] * 10 + [("b",)] * (9 + strays) + [("c",)] * 20 + [("d",)] * 20
    hints = np.array([0] * 10 + [1] * 9 + [0] * strays + [2] * 40)
    made = copy_of(records, {("a",): 10, ("b",): 20, ("c",): 30, ("d",): 40})
    return made, whole_row_figures(made, [(("hint",), "q0")], {"hint": hints})


def test_one_stray_record_does_not_hide_a_class() -> None:
    """It makes “x” leave 30 people by what occurs; by what occurs firmly they are the 10 of a."""
    made, found = by_hand(strays=1)
    assert found[Measure.TRANSPARENT_MAXIMUM] == found[Measure.JOURNALIST_MAXIMUM] == 1 / 10
    assert found[Measure.TRANSPARENT_ATTACKED] == 20 / 60
    assert found[Measure.PROSECUTOR_MAXIMUM] == 1 / 9
    assert found[Measure.SMALLEST_CLASS] == 9
    # Found by the class of “y”, or by nothing, in 60 records.
    assert found[Measure.COMBINED_MAXIMUM] == pytest.approx(1 / 9 + 1 / 60)
    # Among the 11 records of “x”, whose 10 people are assumed to be in the file; one secret in ten is known as it is.
    assert found[Measure.COMBINED_EXPECTED] == pytest.approx(0.9 / 11)
    profile = made.adversary.profile
    of_classes = groups(made.index, np.array([10, 20, 30, 40]), None, np.array([11, 9, 20, 20]), profile.prior)
    assert found[Measure.SEQUENTIAL_MAXIMUM] == judged_risks(profile, of_classes).max()
    assert found[Measure.SEQUENTIAL_MAXIMUM] > 0.9


def test_values_that_occur_often_are_left_possible() -> None:
    """Two strays of twelve are no strays: “x” leaves all 30 people, “y” the 20 of b."""
    _, found = by_hand(strays=2)
    assert found[Measure.TRANSPARENT_MAXIMUM] == 1 / 20
    assert found[Measure.TRANSPARENT_ATTACKED] == 9 / 61


def test_columns_that_tell_together_are_taken_together() -> None:
    """Neither column tells a from b; both together do."""
    records = [("a",)] * 10 + [("b",)] * 10 + [("c",)] * 20 + [("d",)] * 20
    made = copy_of(records, {("a",): 10, ("b",): 20, ("c",): 30, ("d",): 40})
    one, other = np.array([0, 1] * 5 + [0, 1] * 5 + [0] * 40), np.array([0, 1] * 5 + [1, 0] * 5 + [0] * 40)
    found = whole_row_figures(made, [(("one", "other"), "q0")], {"one": one, "other": other})
    assert found[Measure.TRANSPARENT_MAXIMUM] == 1 / 10
    assert whole_row_figures(made, [(("one",), "q0"), (("other",), "q0")], {"one": one, "other": other}) == {}


def test_no_figure_where_the_classes_stay_as_they_are() -> None:
    made, _ = by_hand(strays=1)
    told_nothing = np.zeros(60, dtype=np.int64)
    told_what_is_released = np.array([0] * 20 + [1] * 20 + [2] * 20)
    for hints in (told_nothing, told_what_is_released):
        assert whole_row_figures(made, [(("hint",), "q0")], {"hint": hints}) == {}
    assert whole_row_figures(made, [], {}) == {}


@pytest.mark.parametrize(
    ("counts", "firm"),
    [
        ([1], [1]),
        ([1, 1], [1, 1]),
        ([2, 1], [1, 0]),
        ([2, 1, 1, 1], [1, 1, 1, 1]),
        ([9, 1], [1, 0]),
        ([8, 2], [1, 1]),
        ([95, 5], [1, 0]),
        ([94, 6], [1, 1]),
        ([5, 94, 1], [1, 1, 0]),
    ],
)
def test_what_occurs_firmly(counts: list[int], firm: list[int]) -> None:
    """Beside another given value, which changes nothing."""
    given_values = np.array([0] * len(counts) + [1, 1])
    assert occurs_firmly(given_values, np.array([*counts, 7, 1])).tolist() == [*map(bool, firm), True, False]


def firmly(values: Counter[str]) -> set[str]:
    """The most frequent values that hold all records but one or a twentieth, with those as frequent as the last."""
    most, held, least = values.most_common(), 0, 0
    for _, count in most:
        if held < max(1, values.total() - max(1, values.total() // 20)):
            held, least = held + count, count
    return {value for value, count in most if count >= least}


def counted(made: Candidate, records: list[tuple[str, ...]], hints: list[tuple[int, ...]], *, firm: bool) -> Any:
    """Highest risk to somebody informed and smallest class, record by record and person by person."""
    leaves, trees = [[row[0] for row in rows] for rows in (ROWS, SEXES)], list(made.prepared.hierarchies.values())
    people = [tuple(leaves[axis][code] for axis, code in enumerate(one)) for one in made.prepared.population.codes]
    own = list(map(tuple, made.own_cells.tolist()))
    cells = list(map(tuple, made.generalization.cells[made.prepared.tuple_of_record].tolist()))
    assert [tree.labels[0] for tree in trees] == [tuple(one) for one in leaves]
    together = [[Counter[str]() for _ in range(4)] for _ in hints[0]]
    for record, hint in zip(records, hints, strict=True):
        for axis, value in enumerate(hint):
            together[axis][value][record[axis]] += 1

    def possible(row: int, axis: int, *, firm: bool) -> frozenset[str]:
        values = together[axis][hints[row][axis]]
        inside = {person[axis] for person, cell in zip(people, own, strict=True) if cell[axis] == cells[row][axis]}
        left = inside & (firmly(values) if firm else values.keys())
        return frozenset(left) if left else possible(row, axis, firm=False)

    def matching(row: int, left: tuple[frozenset[str], ...]) -> int:
        fits = (
            cell == cells[row] and all(value in one for value, one in zip(person, left, strict=True))
            for person, cell in zip(people, own, strict=True)
        )
        return sum(count for count, fit in zip(made.prepared.population.counts.tolist(), fits, strict=True) if fit)

    lefts = [tuple(possible(row, axis, firm=firm) for axis in (0, 1)) for row in range(len(records))]
    loose = [tuple(possible(row, axis, firm=False) for axis in (0, 1)) for row in range(len(records))]
    classes = Counter(zip(cells, lefts, strict=True))
    least = min(matching(row, lefts[row]) or matching(row, loose[row]) for row in range(len(records)))
    return 1 / least, min(classes.values())


RECORDS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from("fm"), st.integers(0, 3), st.integers(0, 1)),
    min_size=2,
    max_size=60,
)


@pytest.mark.slow
@given(RECORDS, st.sampled_from(["no-attack-partition", "basic-partition"]))
@settings(max_examples=examples(50), deadline=None)
def test_figures_are_those_of_a_count_record_by_record(drawn: list[tuple[str, str, int, int]], method: str) -> None:
    drawn = sorted(drawn)
    records, hints = [(age, sex) for age, sex, _, _ in drawn], [(one, other) for _, _, one, other in drawn]
    made = copy_of(records, PEOPLE, method)
    columns = {"one": np.array([one for one, _ in hints]), "other": np.array([other for _, other in hints])}
    found = whole_row_figures(made, [(("one",), "q0"), (("other",), "q1")], columns)
    readings = [counted(made, records, hints, firm=firm) for firm in (False, True)]
    least = int(made.generalization.effective.min())
    risk, smallest = max(one for one, _ in readings), min(other for _, other in readings)
    if found:
        assert found[Measure.TRANSPARENT_MAXIMUM] == risk
        assert found[Measure.SMALLEST_CLASS] == smallest
        assert found[Measure.PROSECUTOR_MAXIMUM] == 1 / smallest
    else:
        assert risk == 1 / least


def test_a_sensitive_quasi_identifier_is_told_by_the_whole_row() -> None:
    """All are released as “*”, which tells nothing; a column tells a, which weighs 1: with the illness, 2 in 60."""
    records, people = [(age,) for age in "abcd" for _ in range(15)], {(age,): 7 for age in "abcd"}
    weights = {"attribute": 1.0, "values": {"a": 1.0}, "default": 0.0}
    made = copy_of(records, people, sensitivity=weights, known_probability=0.0)
    assert len(np.unique(made.generalization.cells)) == 1
    found = whole_row_figures(made, [(("hint",), "q0")], {"hint": np.repeat([0, 1], [15, 45])})
    assert found[Measure.COMBINED_MAXIMUM] == pytest.approx(2 / 60)


def exactly(
    made: Candidate, records: list[str], hints: list[int], weights: dict[str, float], known: float, *, firm: bool
) -> tuple[float, float]:
    """Highest D and highest E, record by record, where an age weighs as it is if anything is told of it.

    Known are the age, with one probability, and the illness, in E with 0.1; it weighs 1, and no two have the same.
    """
    cells = made.generalization.cells[made.prepared.tuple_of_record][:, 0].tolist()
    own = dict(zip("abcd", made.own_cells[:, 0].tolist(), strict=True))
    (labels,) = (tree.axis_labels for tree in made.prepared.hierarchies.values())
    lefts = []
    for cell, value in zip(cells, hints, strict=True):
        together = Counter(age for age, hint in zip(records, hints, strict=True) if hint == value)
        inside = {age for age in "abcd" if own[age] == cell} | {
            age for age, other in zip(records, cells, strict=True) if other == cell
        }
        held, sure = inside & together.keys(), inside & firmly(together)
        lefts.append((cell, frozenset(sure if firm and sure else held)))
    sizes, total, scores, shares = Counter(lefts), len(records), [], []
    for left, age in zip(lefts, records, strict=True):
        told = labels[left[0]] != "*" or left[1] < set(records)
        whole = weights[age] if told else 0.0
        worth = whole if age in left[1] else 0.0
        size, people = sizes[left], sum(PEOPLE[age, sex] for age in left[1] for sex in "fm")
        scores.append((1 + worth) / total + known / size)
        learned = 0.9 * ((1 - known) * (1 + worth) / total + known / size) + 0.1 * (1 - known) * worth
        shares.append(min(learned / (1 + whole), 1) * min(size / people, 1))
    return max(scores), max(shares)


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 3)), min_size=2, max_size=60),
    st.tuples(*[st.sampled_from([0.0, 0.1, 0.5, 1.0])] * 4),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.sampled_from(["no-attack-partition", "basic-partition", "safe-harbor"]),
)
@settings(max_examples=examples(50), deadline=None)
def test_no_score_falls_short_of_that_with_the_weight_of_each_age(
    drawn: list[tuple[str, int]], of_ages: tuple[float, ...], known: float, method: str
) -> None:
    drawn, weights = sorted(drawn), dict(zip("abcd", of_ages, strict=True))
    ages, hints = [age for age, _ in drawn], [hint for _, hint in drawn]
    people = {(age,): PEOPLE[age, "f"] + PEOPLE[age, "m"] for age in "abcd"}
    stated = {"attribute": 1.0, "values": weights, "default": 0.0}
    made = copy_of([(age,) for age in ages], people, method, sensitivity=stated, known_probability=known)
    found = whole_row_figures(made, [(("hint",), "q0")], {"hint": np.array(hints)})
    figures = dict(COMBINED.measures(made))
    if found:
        figures = worst(figures, [{measure: found[measure] for measure in figures}])
    for firm in (False, True):
        score, share = exactly(made, ages, hints, weights, known, firm=firm)
        assert figures[Measure.COMBINED_MAXIMUM] >= score * (1 - 1e-12)
        assert figures[Measure.COMBINED_EXPECTED] >= share * (1 - 1e-12)
