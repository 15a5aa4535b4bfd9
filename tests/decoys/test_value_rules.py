"""What real records keep to, decoys keep to: round numbers, working days, orders, sums, what is missing together."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.decoys.formula_search import formulas
from tasks.decoys.value_grid import ValueKind, human_steps, weekdays
from tasks.decoys.value_model import draw_values
from tasks.decoys.value_rules import Order, SeenPairs, missing_of, orders
from tests.support.examples import examples

N = 900
DATES = {"admission": ValueKind.DATE, "discharge": ValueKind.DATE}
SUNDAY = 6


def hospital(seed: int = 0) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Salaries in hundreds, doses mostly in halves, stays of up to five working days; and features of classes."""
    generator = np.random.default_rng(seed)
    working = np.flatnonzero(weekdays(np.arange(17532.0, 20454.0)) < SUNDAY - 1) + 17532.0
    start = generator.integers(0, len(working) - 20, N)
    halves = generator.integers(60, 2000, N) / 2
    columns = {
        "salary": generator.integers(200, 30000, N) * 100.0,
        "dose": np.where(np.arange(N) % 10 == 0, halves + 0.25, halves),
        "admission": working[start],
        "discharge": working[start + generator.integers(0, 6, N)],
    }
    return columns, generator.random((N, 4))


def drawn_of(columns: dict[str, np.ndarray], context: np.ndarray, **kinds: ValueKind) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(5)
    return draw_values(columns, context, generator.random((300, context.shape[1])), generator, kinds=kinds)


def test_salaries_stay_in_hundreds_and_as_round_as_they_are() -> None:
    columns, context = hospital()
    salary = drawn_of(columns, context, **DATES)["salary"]
    assert (salary % 100 == 0).all()
    for step in (100, 500, 1000):
        real, own = ((human_steps(x.astype(np.int64)) == step).mean() for x in (columns["salary"], salary))
        assert abs(real - own) < 0.08


def test_doses_are_as_often_in_halves() -> None:
    columns, context = hospital()
    dose = drawn_of(columns, context, **DATES)["dose"]
    assert 0.84 < (dose % 0.5 == 0).mean() < 0.96
    assert (dose % 0.25 == 0).all()


def test_stays_begin_and_end_on_working_days_in_order_and_last_no_longer() -> None:
    columns, context = hospital()
    drawn = drawn_of(columns, context, **DATES)
    assert weekdays(drawn["admission"]).max() < SUNDAY - 1
    assert weekdays(drawn["discharge"]).max() < SUNDAY - 1
    real, own = (part["discharge"] - part["admission"] for part in (columns, drawn))
    assert own.min() >= 0
    assert own.max() <= real.max()
    assert abs(own.mean() - real.mean()) < 0.8
    shares = [
        np.bincount(weekdays(part["admission"]).astype(int), minlength=7) / len(part["admission"])
        for part in (columns, drawn)
    ]
    assert np.abs(shares[0] - shares[1]).max() < 0.08


@pytest.mark.parametrize("last", [False, True], ids=["first of a month", "last of a month"])
def test_months_are_those_of_real_records(last: bool) -> None:
    """Two dates a record, most of them different, each on the first or the last day of its month."""
    generator = np.random.default_rng(2)
    start = generator.permutation(1200)[:700]
    months = {"admission": start, "discharge": start + generator.integers(0, 4, 700)}
    columns = {
        name: ((number + last).astype("datetime64[M]").astype("datetime64[D]") - int(last)).astype(np.float64)
        for name, number in months.items()
    } | {"dose": generator.integers(0, 9, 700)}
    drawn = drawn_of(columns, generator.random((700, 2)), **DATES)
    assert all(np.isin(drawn[name], columns[name]).all() for name in DATES)
    assert (drawn["admission"] <= drawn["discharge"]).all()


def test_values_lie_within_those_of_real_records() -> None:
    columns, context = hospital()
    for name, values in drawn_of(columns, context, **DATES).items():
        assert columns[name].min() <= values.min()
        assert values.max() <= columns[name].max()


def test_values_of_a_list_are_taken_from_it() -> None:
    columns, context = hospital()
    salary = drawn_of(columns, context, salary=ValueKind.LISTED, **DATES)["salary"]
    assert np.isin(salary, columns["salary"]).all()


def test_values_recur_as_often_as_real_ones() -> None:
    """Half of the real numbers are had by two records each: so are half of the decoys', and no other is somebody's."""
    generator = np.random.default_rng(2)
    number = generator.permutation(10**7)[: N * 3 // 4].astype(np.float64)
    number = np.concatenate([number, number[: N // 4]])
    columns = {"number": number, "noise": generator.random(N)}
    drawn = drawn_of(columns, np.zeros((N, 1)))["number"]
    records = (number == drawn[:, None]).sum(axis=1)
    assert 0.4 < (records >= 2).mean() < 0.6
    assert (records == 1).mean() < 0.02


@settings(max_examples=examples(15), deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from([1, 10, 1000]), st.booleans())
def test_orders_hold_in_decoys(seed: int, strict: bool, spread: int, turned: bool) -> None:
    generator = np.random.default_rng(seed)
    low = np.round(generator.uniform(0, 1000, 200), 1)
    high = np.round(low + generator.integers(int(strict), 10 * spread, 200) / 10, 1)
    columns = {"high": high, "low": low} if turned else {"low": low, "high": high}
    columns["high"][generator.random(200) < 0.2] = np.nan
    found = orders(columns, {})
    (order,) = found
    assert (order.lesser, order.greater) == ("low", "high")
    assert order.strict is bool((columns["low"] != columns["high"]).all())
    drawn = draw_values(columns, np.zeros((200, 1)), np.zeros((60, 1)), generator)
    assert not order.broken(drawn).any()


def test_an_order_of_columns_far_apart_holds_in_each_of_many_decoys() -> None:
    """Distances vary as much as the values: each is drawn by itself, and what breaks the order is drawn again."""
    generator = np.random.default_rng(6)
    low = np.round(generator.uniform(0, 1000, 300), 1)
    columns = {"low": low, "high": np.round(low + generator.exponential(300, 300) + 0.1, 1)}
    drawn = draw_values(columns, np.zeros((300, 1)), np.zeros((800, 1)), generator)
    assert (drawn["low"] < drawn["high"]).all()


def test_orders_by_hand() -> None:
    few = np.arange(19.0)
    assert orders({"a": few, "b": few + 1}, {}) == ()
    many = np.arange(20.0)
    assert orders({"a": many, "b": many + 1}, {}) == (Order("a", "b", True),)
    assert orders({"a": many, "b": np.maximum(many - 1, 0)}, {}) == (Order("b", "a", False),)
    assert orders({"a": many, "b": many[::-1].copy()}, {}) == ()
    # Ranges apart, or a date and a number: nothing to compare.
    assert orders({"a": many, "b": many + 100}, {}) == ()
    assert orders({"a": many, "b": many + 1}, {"a": ValueKind.DATE}) == ()
    broken = Order("a", "b", True).broken({"a": np.array([1.0, 2, 2, np.nan]), "b": np.array([2.0, 2, 1, 0])})
    assert broken.tolist() == [False, True, True, False]


@settings(max_examples=examples(15), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_what_is_missing_together_stays_so(seed: int) -> None:
    """A result needs a test, and one of two dates is always known."""
    generator = np.random.default_rng(seed)
    test, result, other = (np.round(generator.normal(size=150), 3) for _ in range(3))
    test[generator.random(150) < 0.5] = np.nan
    result[np.isnan(test) | (generator.random(150) < 0.3)] = np.nan
    other[~np.isnan(test) & (generator.random(150) < 0.5)] = np.nan
    columns = {"result": result, "test": test, "other": other, "code": generator.integers(0, 3, 150)}
    drawn = draw_values(columns, np.zeros((150, 1)), np.zeros((50, 1)), generator)
    assert not (np.isnan(drawn["test"]) & ~np.isnan(drawn["result"])).any()
    assert not (np.isnan(drawn["test"]) & np.isnan(drawn["other"])).any()


def test_what_no_record_lacks_together_by_hand() -> None:
    one, other = np.full(30, 1.0), np.full(30, 2.0)
    one[:10], other[10:20] = np.nan, np.nan
    rule = SeenPairs.of(missing_of({"one": one, "other": other}))
    seen = {"one": np.array([1, np.nan, 1, np.nan]), "other": np.array([2, 2, np.nan, np.nan])}
    assert rule.broken(missing_of(seen)).tolist() == [False, False, False, True]


@pytest.mark.parametrize("names", [("admission", "days", "discharge"), ("discharge", "admission", "days")])
def test_days_of_stay_lead_from_one_date_to_the_other(names: tuple[str, ...]) -> None:
    columns, context = hospital()
    columns["days"] = columns["discharge"] - columns["admission"]
    stay = {name: columns[name] for name in names}
    assert any({found.name, *found.inputs} == set(names) for found in formulas(stay, DATES))
    drawn = drawn_of(stay, context, **DATES)
    np.testing.assert_array_equal(drawn["admission"] + drawn["days"], drawn["discharge"])
    assert weekdays(drawn["discharge"]).max() < SUNDAY - 1


def test_parts_add_up_on_the_column_s_decimals() -> None:
    generator = np.random.default_rng(4)
    net, tax = np.round(generator.uniform(10, 500, 300), 2), np.round(generator.uniform(1, 90, 300), 2)
    columns = {"net": net, "tax": tax, "gross": np.round(net + tax, 2)}
    drawn = draw_values(columns, np.zeros((300, 1)), np.zeros((80, 1)), generator)
    np.testing.assert_array_equal(np.round(drawn["net"] + drawn["tax"], 2), drawn["gross"])
    # One record in 300 that breaks it proves no less; one in ten does.
    columns["gross"][7] += 5
    assert [found.name for found in formulas(columns, {})] == ["gross"]
    columns["gross"][::10] += generator.uniform(5, 50, 30)
    assert formulas(columns, {}) == []
