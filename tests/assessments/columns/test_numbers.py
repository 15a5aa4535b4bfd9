"""Numbers in groups, sums and lone extremes: by hand, and sums against a search of all pairs and intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import isnan, log

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.assessments.columns.dependence import EVIDENCE, Codes
from tasks.assessments.columns.facts import ColumnFact, ColumnFinding, Sign
from tasks.assessments.columns.numbers import Numbers, adding_up, grouped, numbers_of, stands_out
from tasks.assessments.columns.places import ColumnTable, links_a_few, nearly_unique, places
from tasks.microdata.presence import Naming
from tasks.request.model import ValueType

DRAW = np.random.default_rng(3)
AGES = np.repeat(np.arange(20, 60), 5)
NONE = float("nan")


def coded(values: Sequence[float] | Numbers) -> tuple[Codes, Numbers]:
    """Codes of numbers by first appearance, and the number of each code."""
    codes, stated = pd.factorize(np.asarray(values, dtype=float))
    return np.where(codes < 0, len(stated), codes), np.append(stated, NONE)


def findings(
    released: Mapping[str, Sequence[float] | Numbers], ages: Sequence[float] | Numbers = AGES, *, named: bool = False
) -> dict[str, tuple[ColumnFinding, ...]]:
    columns = {name: coded(values) for name, values in {**released, "age": ages}.items()}
    codes = {name: one for name, (one, _) in columns.items()}
    return places(
        ColumnTable(
            {name: codes[name] for name in released},
            {},
            {"age": codes["age"]},
            {},
            named=tuple(Naming(name, "age") for name in released if named),
            numbers={name: numbers for name, (_, numbers) in columns.items()},
        )
    )


def signs(found: Mapping[str, Sequence[ColumnFinding]], name: str) -> list[tuple[Sign, tuple[str, ...]]]:
    return [(one.sign, one.others) for one in found[name]]


def test_neighbours_share_a_group_and_so_do_equal_numbers() -> None:
    codes, numbers = coded([5, 1, 1, 1, 9, NONE, 2, 7])
    assert grouped(codes, numbers, 2).tolist() == [2, 0, 0, 0, 3, 4, 1, 2]
    codes, numbers = coded([NONE, NONE])
    assert grouped(codes, numbers, 2).tolist() == [0, 0]


def test_a_tariff_of_age_reveals_it_although_every_charge_is_another() -> None:
    ages = np.repeat(AGES, 2)
    charges = 600 + 20 * ages + np.arange(400) / 100
    assert signs(findings({"charge": charges}, ages), "charge") == [(Sign.TELLS, ("age",)), (Sign.UNIQUE, ())]


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9, 0.95])
def test_a_cost_that_grows_with_age_reveals_little_of_it(correlation: float) -> None:
    ages = DRAW.integers(20, 60, 2000)
    noise = ages.std() * (1 / correlation**2 - 1) ** 0.5 if correlation else 1.0
    costs = (ages if correlation else 0) + noise * DRAW.normal(size=2000)
    assert signs(findings({"cost": costs}, ages), "cost") == [(Sign.UNIQUE, ())]


def test_the_tallest_are_men_by_nature() -> None:
    """Some heights reveal a sex; the column does not give half of the information on it."""
    sex = np.repeat([0, 1], 1000)
    heights = DRAW.normal(165 + 13 * sex, 7)
    assert signs(findings({"height": heights}, sex), "height") == [(Sign.UNIQUE, ())]


def test_two_columns_that_add_up_to_the_age_are_named() -> None:
    begun = DRAW.integers(0, 20, 200)
    for one, two in (
        (begun, AGES - begun),
        (AGES + begun, begun),
        (begun, AGES + begun),
        (2000 + begun, begun - AGES),
        (begun, AGES - begun + DRAW.integers(-1, 2, 200)),
        (begun, 30.5 - AGES - begun),
    ):
        found = findings({"begun": one, "lasts": two})
        assert signs(found, "begun") == signs(found, "lasts") == [(Sign.ADDS, ("age",))]
        assert found["begun"][0].columns == ("begun", "lasts")


def test_a_sum_counts_from_ninety_five_in_a_hundred_of_the_records_with_values() -> None:
    begun, lasts = DRAW.integers(0, 20, 200).astype(float), np.empty(200)
    lasts[:] = AGES - begun
    wrong = np.arange(0, 200, 20)
    lasts[wrong] += 500 + 10 * np.arange(10)
    (found,) = findings({"begun": begun, "lasts": lasts})["begun"]
    assert (found.sign, found.share) == (Sign.ADDS, 0.95)
    lasts[1] += 700
    assert findings({"begun": begun, "lasts": lasts})["begun"] == ()
    lasts[wrong], lasts[1] = np.nan, np.nan
    assert findings({"begun": begun, "lasts": lasts})["begun"][0].share == 1


def test_a_sum_in_a_few_records_of_nearly_one_age_is_none() -> None:
    """Where a column has values, all are 30 or 31 years old: any constant is as near."""
    ages = np.concatenate([np.repeat([30, 31], 20), AGES[:160]])
    one = np.where(np.arange(200) < 40, 1.0, np.nan)
    assert list(adding_up({"one": one, "two": np.ones(200)}, {"age": ages.astype(float)})) == []
    assert list(adding_up({"one": np.full(200, np.nan), "two": np.ones(200)}, {"age": ages.astype(float)})) == []
    assert list(adding_up({"one": np.ones(200)}, {"age": ages.astype(float)})) == []


COLUMNS = st.integers(1, 4).flatmap(
    lambda shift: st.lists(
        st.tuples(
            st.integers(0, 9),
            st.integers(20, 29),
            st.integers(0, 40).map(lambda at: at if at < 2 else 0),
            st.booleans(),
        ),
        min_size=2,
        max_size=60,
    ).map(lambda rows: [(a, q, a + q + shift * error, stated) for a, q, error, stated in rows])
)


def held_in(values: Sequence[float]) -> float:
    return max(sum(low <= value <= low + 2 for value in values) for low in values) / len(values)


@given(COLUMNS)
def test_sums_are_those_of_a_search_of_all_intervals(rows: list[tuple[int, int, int, bool]]) -> None:
    given_columns = {
        "a": np.array([a for a, _, _, _ in rows], dtype=float),
        "b": np.array([b if stated else NONE for _, _, b, stated in rows], dtype=float),
        "c": np.array([a % 3 for a, _, _, _ in rows], dtype=float),
    }
    target = np.array([q for _, q, _, _ in rows], dtype=float)
    expected = []
    for one, two in combinations(given_columns, 2):
        shares = [0.0]
        for sign in (1, -1):
            for other in (1, -1):
                sums = sign * given_columns[one] + other * given_columns[two]
                stated = [(s - q, q) for s, q in zip(sums.tolist(), target.tolist(), strict=True) if not isnan(s)]
                if len(stated) < max(0.1 * len(rows), 1):
                    continue
                share, alone = (held_in([pair[at] for pair in stated]) for at in (0, 1))
                if share >= 0.95 and alone <= 0.8:
                    gain = share * log(0.95 / alone) + (1 - share) * log(0.05 / (1 - alone))
                    shares.append(share if len(stated) * gain >= EVIDENCE else 0.0)
        if max(shares):
            expected.append(((one, two), "age", pytest.approx(max(shares))))
    assert list(adding_up(given_columns, {"age": target})) == expected


def test_a_salary_far_from_all_others_is_found_and_masking_in_fives_hides_it() -> None:
    salaries = np.round(np.exp(DRAW.normal(10.7, 0.25, 200)), -3)
    salaries[:2] = 4_850_000, 1_900_000
    (found,) = findings({"salary": salaries})["salary"]
    assert (found.sign, found.others, found.share) == (Sign.FAR, (), 1)
    top = np.argsort(-salaries)[:5]
    salaries[top] = salaries[top].mean()
    assert findings({"salary": salaries})["salary"] == ()


def test_what_stands_out_is_a_few_records_far_from_others_that_differ() -> None:
    """Medians are 0.5 and −2; the farthest of the others are 50.5 and 52 from them."""
    others = list(range(-50, 51))
    assert stands_out(np.array([*others, 254.0, NONE]))
    assert stands_out(np.array([*others, *[-263.0] * 4]))
    assert not stands_out(np.array([*others, *[-263.0] * 5]))
    assert not stands_out(np.array([*others, 253.0]))
    assert not stands_out(np.array([0.0] * 100 + [1.0, 1.0, 9.0]))
    assert not stands_out(np.array([1.0, 2.0, 100.0]))


@pytest.mark.parametrize("tail", [0.5, 1.0])
def test_ordinary_tails_do_not_stand_out(tail: float) -> None:
    drawn = [stands_out(np.exp(DRAW.normal(0, tail, records))) for records in (100, 1000, 10_000) for _ in range(30)]
    assert sum(drawn) <= 2


def test_values_of_few_records_each_link_them() -> None:
    households = np.repeat(np.arange(120), 3)
    assert links_a_few(households)
    assert links_a_few(np.append(households, np.full(200, 120))), "most frequent is no household at all"
    assert not links_a_few(np.append(households, np.repeat(np.arange(120, 122), 13))), "more than a household"
    assert not links_a_few(np.arange(300)), "nobody shares a value"
    assert not links_a_few(households[:300]), "too few values to be more than categories"


@pytest.mark.parametrize(("stated", "found"), [(200, True), (40, False)])
def test_an_identifier_that_most_records_lack_is_nearly_unique(stated: int, found: bool) -> None:
    codes = np.append(np.arange(stated), np.full(500, stated)).astype(np.int32)
    table = ColumnTable({"card": codes}, {}, {}, {}, (), (), {})
    assert nearly_unique(table, "card") is found
    assert not nearly_unique(replace(table, numbers={"card": np.arange(stated + 1.0)}), "card"), "numbers may be zero"


def test_columns_whose_text_names_the_value_are_found_once() -> None:
    unrelated = DRAW.integers(0, 2, 200)
    assert signs(findings({"notes": unrelated}, named=True), "notes") == [(Sign.NAMES, ("age",))]
    assert signs(findings({"notes": AGES}, named=True), "notes") == [(Sign.TELLS, ("age",))]


def test_numbers_are_of_values_and_years_of_dates() -> None:
    codes = np.array([0, 1, 1, 2])
    (numbers,) = numbers_of("age", ValueType.INTEGER, codes, ["7", "*"]).values()
    np.testing.assert_array_equal(numbers, [7, NONE, NONE])
    dates = numbers_of("birth", ValueType.DATE, codes, ["1950-03-01", "1948-01-02"])
    np.testing.assert_array_equal(dates["year of birth"][[0, 1]], [1950, 1948])
    assert numbers_of("town", ValueType.TEXT, codes, ["7", "8"]) == {}


def test_findings_name_columns_and_remedy_without_a_value() -> None:
    found = ColumnFinding(sign=Sign.ADDS, columns=("begun", "lasts"), others=("age",), share=0.97)
    assert found.sentence == "begun and lasts reveal age by their sum or difference, to within 1 for 97% of the records"
    far = ColumnFinding(sign=Sign.FAR, columns=("salary",))
    column = ColumnFact(name="salary", distinct_share=0.4, entropy=8, masked=False, numeric=True, findings=(far,))
    assert column.advice.startswith(
        "salary has values far from all others, by which a few records are known: "
        "mask salary (masking: attributes: [salary], method: individual-ranking, k: 5), withhold salary"
    )


def test_sentences_of_one_record_each_are_a_finding_unless_the_column_is_nearly_unique() -> None:
    few, many = np.repeat([0, 1, 2, 3], [97, 1, 1, 1]), np.arange(100)
    table = ColumnTable({"note": few, "letter": many}, {}, {}, {}, free_texts=("note", "letter"))
    found = {name: [one.sign for one in told] for name, told in places(table).items()}
    assert found == {"note": [Sign.FREE], "letter": [Sign.UNIQUE]}
    free = ColumnFinding(sign=Sign.FREE, columns=("note",))
    fact = ColumnFact(name="note", distinct_share=0.04, entropy=0.2, masked=False, numeric=False, findings=(free,))
    assert fact.advice.startswith(
        "note has sentences that one record alone has, as free text does: have note redacted (role: text), "
        "withhold note (role: withheld), or state under note who accepts"
    )
