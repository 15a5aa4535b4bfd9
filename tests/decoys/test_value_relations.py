"""Relations of columns that nobody tuned to: decoys keep to them, and decoys that do not are told."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.decision.decoy_facts import DecoyFact
from tasks.decision.gates import decoy_gate
from tasks.decoys.classes import ClassTable
from tasks.decoys.decoy_cells import RiskBand, find_decoy_cells
from tasks.decoys.detectability import Planned, detectability
from tasks.decoys.formula_search import formulas
from tasks.decoys.records import ClassRecords
from tasks.decoys.value_formulas import Columns
from tasks.decoys.value_grid import ValueKind
from tasks.decoys.value_model import draw_values
from tasks.decoys.value_rules import Rules, find_rules
from tests.support.decoy_grid import grid
from tests.support.drawn_decoys import drawn_decoys
from tests.support.examples import examples

N = 2_500
DATES = {"birth": ValueKind.DATE, "visit": ValueKind.DATE}
PRICES = np.round(np.random.default_rng(7).uniform(0.5, 90, 15), 2)
DISTRICT_SIZE = 11


def age_at(birth: float, visit: float) -> int:
    """Completed years between two days since 1970, by the calendar."""
    start, end = (date(1970, 1, 1) + timedelta(days=int(day)) for day in (birth, visit))
    return end.year - start.year - ((end.month, end.day) < (start.month, start.day))


def clinic(number: int = N, seed: int = 3) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Bills, bodies, dates and orders of a clinic, and the ZIP code of each record, by which its district is known."""
    draw = np.random.default_rng(seed)
    room, drug = draw.integers(2, 60, number) * 50.0, np.round(draw.lognormal(4, 1, number), 2)
    lab = np.where(draw.random(number) < 0.3, 0.0, np.round(draw.exponential(150, number), 2))
    kg, metres = np.round(draw.normal(76, 14, number), 1), np.round(draw.normal(1.71, 0.1, number), 2)
    birth, visit = draw.integers(-15_000, 8_000, number) * 1.0, draw.integers(17_000, 20_000, number) * 1.0
    product, quantity = draw.integers(0, len(PRICES), number), draw.integers(1, 40, number) * 1.0
    ward, severity, zip_code = draw.integers(0, 4, number), draw.integers(0, 3, number), draw.integers(0, 200, number)
    bmi = np.round(kg / metres**2, 1)
    columns = {
        "room": room,
        "drug": drug,
        "lab": lab,
        "total": np.round(room + drug + lab, 2),
        "insured": np.floor(0.8 * (room + drug + lab)),
        "kg": kg,
        "metres": metres,
        "bmi": bmi,
        "obese": (bmi >= 30).astype(np.int64),
        "birth": birth,
        "visit": visit,
        "age": np.array([age_at(*pair) for pair in zip(birth, visit, strict=True)], dtype=np.float64),
        "product": product,
        "quantity": quantity,
        "amount": np.round(PRICES[product] * quantity, 2),
        "ward": ward,
        "severity": severity,
        "tariff": (5 * ward + 3 * severity) % 7,
        "fee": np.where(ward == 0, 0.0, np.round(draw.lognormal(3, 1, number), 2)),
        "district": zip_code // DISTRICT_SIZE,
    }
    return columns, zip_code


KEPT: Mapping[str, Callable[[Columns, np.ndarray], np.ndarray]] = {
    "total of parts": lambda c, _: np.abs(c["room"] + c["drug"] + c["lab"] - c["total"]) < 0.005,
    "share, rounded down": lambda c, _: np.floor(0.8 * (c["room"] + c["drug"] + c["lab"]) + 1e-9) == c["insured"],
    "body mass index": lambda c, _: np.abs(c["kg"] / c["metres"] ** 2 - c["bmi"]) <= 0.05 + 1e-9,
    "class by threshold": lambda c, _: (c["bmi"] >= 30) == c["obese"],
    "age from dates": lambda c, _: np.array([age_at(*p) for p in zip(c["birth"], c["visit"], strict=True)]) == c["age"],
    "unit prices": lambda c, _: np.abs(PRICES[c["product"]] * c["quantity"] - c["amount"]) < 0.005,
    "table of two columns": lambda c, _: (5 * c["ward"] + 3 * c["severity"]) % 7 == c["tariff"],
    "constant of a code": lambda c, _: (c["ward"] != 0) | (c["fee"] == 0),
    "order": lambda c, _: c["room"] <= c["total"],
    "district of a ZIP code": lambda c, zip_code: zip_code // DISTRICT_SIZE == c["district"],
}


@pytest.fixture(scope="module")
def drawn() -> tuple[dict[str, np.ndarray], np.ndarray, Rules]:
    columns, zip_code = clinic()
    rules = find_rules(columns, DATES, {"zip": zip_code})
    generator = np.random.default_rng(5)
    own = generator.integers(0, 200, 300)
    rules = replace(rules, given={"zip": own})
    context = zip_code[:, None].astype(np.float64), own[:, None].astype(np.float64)
    return draw_values(columns, *context, generator, kinds=DATES, rules=rules), own, rules


@pytest.mark.parametrize("relation", KEPT)
def test_decoys_keep_to_what_holds_in_all_real_records(
    drawn: tuple[dict[str, np.ndarray], np.ndarray, Rules], relation: str
) -> None:
    columns, zip_code = clinic()
    assert KEPT[relation](columns, zip_code).all()
    assert KEPT[relation](*drawn[:2]).all()


@pytest.mark.parametrize("column", ["total", "bmi", "obese", "age", "amount", "tariff", "fee", "district"])
def test_a_column_drawn_by_itself_breaks_a_rule(
    drawn: tuple[dict[str, np.ndarray], np.ndarray, Rules], column: str
) -> None:
    own, zip_code, rules = drawn
    shuffled = own | {column: np.random.default_rng(2).permutation(clinic()[0][column])[:300], "zip": zip_code}
    assert np.count_nonzero(rules.broken(shuffled)) > 10
    assert not rules.broken(own | {"zip": zip_code}).any()


@pytest.mark.slow
def test_one_relation_that_decoys_break_closes_the_gate() -> None:
    """Parts and a total, drawn apart: no classifier notices, and 1 is not reached; the sum tells each of them."""
    release, generator = grid(), np.random.default_rng(4)
    tables = release.classes, drawn_decoys(find_decoy_cells(release, 1), 60, RiskBand(0.05, 1), generator)

    def records(table: ClassTable, *, kept: bool) -> ClassRecords:
        number = np.repeat(np.arange(len(table)), table.records)
        parts = np.round(generator.gamma(2, 40, (len(number), 3)), 2)
        noise = 0.0 if kept else generator.choice([-0.01, 0.01], len(number))
        total = np.round(parts.sum(axis=1) + noise, 2)
        return ClassRecords(table, {"a": parts[:, 0], "b": parts[:, 1], "c": parts[:, 2], "total": total}, number)

    real = records(tables[0], kept=True)
    rules = find_rules(real.columns, {}, real.groups)
    for kept in (True, False):
        planned = Planned(rules, decoys=50, probability=1 / 3)
        own = records(tables[1], kept=kept)
        found = detectability(release, own, real, {}, np.random.default_rng(3), planned=planned)
        assert (found.broken == 0) is kept
        assert found.worst.high < 0.9
        gate = decoy_gate(DecoyFact(count=50, commitment_sha256="0" * 64, detectability=found), 0.9)
        assert gate.passed is kept
        if not kept:
            assert found.certainty == 1
            assert "relations of columns" in gate.because


@pytest.mark.slow
@settings(max_examples=examples(12), deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 6),
    st.sampled_from([0, 1, 2]),
    st.lists(st.sampled_from([0.25, 0.5, 1.0, 1.5, 2.0, 3.0]), min_size=6, max_size=6),
)
def test_sums_of_any_number_of_columns_are_found_and_kept(
    seed: int, parts: int, decimals: int, weights: list[float]
) -> None:
    generator = np.random.default_rng(seed)
    columns = {f"part {n}": np.round(generator.gamma(2, 300, 400), 2) for n in range(parts)}
    exact = sum(weight * column for weight, column in zip(weights, columns.values(), strict=False))
    columns["other"] = np.round(generator.normal(50, 20, 400), 1)
    columns["total"] = np.floor(np.asarray(exact) * 10**decimals + 0.5) / 10**decimals
    (found,) = [one for one in formulas(columns, {}) if one.name == "total"]
    assert set(found.weights) == {f"part {n}" for n in range(parts)}
    drawn = draw_values(columns, np.zeros((400, 1)), np.zeros((60, 1)), generator)
    whole = sum(weight * drawn[f"part {n}"] for n, weight in enumerate(weights[:parts]))
    assert (np.abs(whole - drawn["total"]) <= 0.5 / 10**decimals + 1e-9).all()


@pytest.mark.slow
@settings(max_examples=examples(12), deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([-3, -2, -1, 1, 2]), st.sampled_from([1, -1, 2]))
def test_products_and_ratios_are_found_and_kept(seed: int, power: int, other: int) -> None:
    generator = np.random.default_rng(seed)
    one, two = np.round(generator.uniform(1, 9, (2, 400)), 2)
    result = np.floor(703 * one**power * two**other * 1000 + 0.5) / 1000
    columns = {"one": one, "two": two, "noise": generator.normal(size=400), "result": result}
    (found,) = [formula for formula in formulas(columns, {}) if formula.name == "result"]
    assert found.weights == {"one": power, "two": other}
    drawn = draw_values(columns, np.zeros((400, 1)), np.zeros((60, 1)), generator)
    expected = 703 * drawn["one"] ** power * drawn["two"] ** other
    assert (np.abs(expected - drawn["result"]) <= 0.0005 + 1e-9 * expected).all()


@settings(max_examples=examples(20), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(25, 400))
def test_independent_columns_have_no_formula(seed: int, numbers: int, records: int) -> None:
    generator = np.random.default_rng(seed)
    columns = {f"x{n}": np.round(generator.lognormal(3, 1, records), generator.integers(0, 3)) for n in range(numbers)}
    columns["code"] = generator.integers(0, 4, records)
    assert formulas(columns, {}) == []


def patients(number: int, seed: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Measures of patients, and what clinics compute of them."""
    draw = np.random.default_rng(seed)
    kg, cm = np.round(draw.normal(76, 14, number).clip(40, 140), 1), np.round(draw.normal(170, 10, number), 0)
    age, female = draw.integers(18, 90, number) * 1.0, draw.integers(0, 2, number)
    creatinine = np.round(draw.lognormal(0, 0.35, number), 2)
    sex_factor = np.where(female == 1, 0.742, 1)
    computed = {
        "Du Bois": np.round(0.007184 * kg**0.425 * cm**0.725, 2),
        "Haycock": np.round(0.024265 * kg**0.5378 * cm**0.3964, 2),
        "Gehan": np.round(0.0235 * cm**0.42246 * kg**0.51456, 2),
        "Mosteller": np.round(np.sqrt(cm * kg / 3600), 2),
        "MDRD": np.round(175 * creatinine**-1.154 * age**-0.203 * sex_factor, 0),
        "Mifflin": np.round(10 * kg + 6.25 * cm - 5 * age + np.where(female == 1, 5, -161), 0),
        "Cockcroft": np.round((140 - age) * kg / (72 * creatinine), 1),
        "small": np.round(1e-3 * kg**-2.4 * creatinine**-2.1, 11),
    }
    return {"kg": kg, "cm": cm, "age": age, "creatinine": creatinine, "female": female}, computed


@pytest.mark.slow
@pytest.mark.parametrize("name", patients(1, 0)[1])
def test_formulas_of_clinics_are_found_whatever_their_exponents(name: str) -> None:
    """In files of other sizes and draws than any that the search was made on."""
    for number, seed in ((300, 61), (900, 62), (2000, 63)):
        measured, computed = patients(number, seed)
        rules = find_rules(measured | {name: computed[name]}, {}, {})
        assert rules.broken(measured | {name: computed[name]}).mean() <= 0.01
        shuffled = np.random.default_rng(1).permutation(computed[name])
        assert rules.broken(measured | {name: shuffled}).mean() > 0.5
