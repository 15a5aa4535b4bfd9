"""Formulas that give a number back: of medicine and of durations, and none where columns are merely correlated."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from tasks.assessments.columns.facts import ColumnFinding, Sign
from tasks.assessments.columns.formulas import formulas
from tasks.assessments.columns.numbers import Numbers
from tasks.assessments.columns.places import ColumnTable, places
from tests.assessments.columns.test_numbers import coded

N = 1500
DRAW = np.random.default_rng(11)
AGE = DRAW.integers(18, 90, N).astype(float)
WOMAN = DRAW.integers(0, 2, N)
LEAST = 0.8
Columns = dict[str, Numbers]


def lab(median: float, spread: float = 0.3, digits: int = 2) -> Numbers:
    return np.round(median * np.exp(DRAW.normal(0, spread, N)), digits)


def found(columns: Columns, target: Numbers = AGE) -> dict[tuple[str, ...], float]:
    return {names: share for names, _, share in formulas(columns, {"age": target}, [WOMAN], LEAST)}


def other_units() -> Columns:
    months = DRAW.integers(0, 18 * 12, N).astype(float)
    return {"onset_years": AGE - np.ceil(months / 12), "months": months}


def three_parts() -> Columns:
    one, two = DRAW.integers(0, 9, N).astype(float), DRAW.integers(0, 9, N).astype(float)
    return {"one": one, "two": two, "three": AGE - one - two}


def share_of_the_heart_rate_expected() -> Columns:
    peak = DRAW.integers(90, 190, N).astype(float)
    return {"peak": peak, "percent": np.round(100 * peak / (220 - AGE), 1)}


def ckd_epi_2021() -> Columns:
    """Inker et al. 2021: each sex has a curve of its own, with a bend."""
    creatinine = lab(0.9)
    relative, bend = creatinine / np.where(WOMAN, 0.7, 0.9), np.where(WOMAN, -0.241, -0.302)
    low, high = np.minimum(relative, 1) ** bend, np.maximum(relative, 1) ** -1.2
    return {"creatinine": creatinine, "egfr": np.round(142 * low * high * 0.9938**AGE * np.where(WOMAN, 1.012, 1), 1)}


def cockcroft_gault() -> Columns:
    creatinine, weight = lab(0.9), lab(75, 0.2, 0)
    clearance = (140 - AGE) * weight / (72 * creatinine) * np.where(WOMAN, 0.85, 1)
    return {"creatinine": creatinine, "weight": weight, "clearance": np.round(clearance, 1)}


def fib_4() -> Columns:
    ast, alt, platelets = lab(30, digits=0), lab(30, digits=0), lab(230, digits=0)
    return {
        "ast": ast,
        "alt": alt,
        "platelets": platelets,
        "fib4": np.round(AGE * ast / (platelets * np.sqrt(alt)), 2),
    }


@pytest.mark.parametrize(
    "made", [other_units, three_parts, share_of_the_heart_rate_expected, ckd_epi_2021, cockcroft_gault, fib_4]
)
def test_a_formula_gives_the_age_back_and_names_its_columns_alone(made: Callable[[], Columns]) -> None:
    columns = made()
    assert list(found({**columns, "sodium": lab(140, 0.02), "visits": DRAW.poisson(3, N).astype(float)})) == [
        tuple(columns)
    ]


def test_a_sum_of_whole_numbers_gives_all_of_the_information() -> None:
    assert found(three_parts()) == {("one", "two", "three"): pytest.approx(1)}


def test_a_formula_counts_in_the_records_that_have_its_columns() -> None:
    """Each fourth record has the score."""
    columns = fib_4()
    columns["fib4"][np.arange(N) % 4 > 0] = np.nan
    assert list(found({**columns, "sodium": lab(140, 0.02)})) == [tuple(columns)]
    columns["fib4"][:] = np.nan
    assert found(columns) == {}


def test_one_of_two_formulas_does_not_hide_the_other() -> None:
    assert set(found({**three_parts(), **fib_4()})) == {("one", "two", "three"), ("ast", "alt", "platelets", "fib4")}


def test_of_sets_that_differ_in_one_column_the_best_is_named() -> None:
    """Two columns give the age but for an error of two years, which either of two others tells, one of them better."""
    one, error = DRAW.integers(0, 9, N).astype(float), DRAW.normal(0, 2, N)
    columns = {"worse": error + DRAW.normal(0, 0.4, N), "better": error + DRAW.normal(0, 0.1, N)}
    assert list(found({"one": one, "two": AGE - one + error, **columns})) == [("one", "two", "better")]


@pytest.mark.parametrize("records", [60, 200, N])
def test_measurements_that_merely_change_with_age_give_none(records: int) -> None:
    height = np.round(178 - 13 * WOMAN - 0.05 * AGE + DRAW.normal(0, 7, N))
    columns = {
        "height": height,
        "weight": np.round(0.45 * height + DRAW.normal(0, 12, N)),
        "pressure": np.round(100 + 0.5 * AGE + DRAW.normal(0, 12, N)),
        "density": np.round(1.5 - 0.006 * AGE + DRAW.normal(0, 0.08, N), 3),
        "breath": np.round(5.5 - 0.03 * AGE - 0.9 * WOMAN + DRAW.normal(0, 0.4, N), 2),
        "worked": np.maximum(AGE - 20 - np.round(DRAW.gamma(2, 2.5, N)), 0),
    }
    cut = {name: one[:records] for name, one in columns.items()}
    assert list(formulas(cut, {"age": AGE[:records]}, [WOMAN[:records]], LEAST)) == []


def test_a_class_that_is_the_number_itself_gives_nothing() -> None:
    """Within each sex the sex is known: no column adds to that."""
    assert found({"height": DRAW.normal(165, 7, N), "weight": lab(75)}, WOMAN.astype(float)) == {}


def test_few_records_and_numbers_beyond_all_bounds_give_none() -> None:
    few = {name: one[:49] for name, one in three_parts().items()}
    assert list(formulas(few, {"age": AGE[:49]}, [], LEAST)) == []
    assert found({"vast": lab(1e200), "tiny": lab(1e-200, digits=210), "same": np.ones(N)}) == {}
    assert list(formulas({}, {"age": np.full(N, np.nan)}, [], LEAST)) == []


def test_each_column_of_a_formula_has_the_finding() -> None:
    columns: Mapping[str, Numbers] = {**share_of_the_heart_rate_expected(), "age": AGE}
    codes = {name: coded(numbers) for name, numbers in columns.items()}
    table = ColumnTable(
        {"peak": codes["peak"][0], "percent": codes["percent"][0]},
        {},
        {"age": codes["age"][0]},
        {},
        numbers={name: numbers for name, (_, numbers) in codes.items()},
    )
    finding = ColumnFinding(sign=Sign.FORMULA, columns=("peak", "percent"), others=("age",), share=1)
    assert {name: one[0] for name, one in places(table).items()} == {"peak": finding, "percent": finding}
    assert finding.sentence == "peak and percent reveal age by a formula: 100% of the information on it"
    assert finding.revealed({"age"}) == ("age",)
