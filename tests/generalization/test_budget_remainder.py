"""Remainder classes within a budget: limits counted person by person, and no better classes by another solver."""

from dataclasses import replace
from math import ceil, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.core.errors import StageFailed
from tasks.generalization.generalize import generalize, population_cells
from tasks.request.model import BudgetPolicy, GatesBudget, Method
from tests.generalization.test_budget_partition import covered
from tests.generalization.test_budget_records import budgets, floored
from tests.reference.remainder_optimum import best_classes
from tests.support import adult, slow
from tests.support.examples import examples
from tests.support.generalization import as_sets, cells_as_sets, table_of, values_of
from tests.support.worlds import World, worlds

REMAINDER, PARTITION = Method.NO_ATTACK_REMAINDER, Method.NO_ATTACK_PARTITION


def fewest(world: World, budget: BudgetPolicy) -> int:
    return max(ceil(world.payoffs.safe_group - 1e-9), budget.least_people or 1)


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(40))
@given(world=worlds(max_attributes=2, max_count=6).map(covered), data=st.data())
def test_classes_keep_all_limits_and_are_no_better_than_the_best(world: World, data: st.DataObject) -> None:
    """Against a recipient who replays the rule and knows the file as well; the bound is above the optimum."""
    budget = data.draw(budgets(world, partition=True))
    table = replace(table_of(world, (0,) * len(world.rows), 2**20), budget=budget)
    best = best_classes(world, fewest(world, budget), budget)
    try:
        generalization = generalize(table, REMAINDER, world.payoffs, np.array(world.weights))
    except StageFailed:
        return  # no classes, or none were found
    assert best is not None
    assert generalization.budget is not None
    people, total = sum(world.people.values()), 0.0
    assert generalization.budget.payoff * people <= best + 1e-3
    assert best <= generalization.budget.bound * people + 1e-3
    own = as_sets(table, population_cells(table, REMAINDER, world.payoffs, np.array(world.weights)))
    released = np.ones(len(own), dtype=np.bool_) if generalization.counted is None else generalization.counted
    members: dict[slow.Cell, list[slow.Values]] = {}
    for value, cell, there in zip(values_of(table, table.population.codes), own, released, strict=True):
        if there:
            members.setdefault(cell, []).append(value)
            total += world.people[value] * world.payoffs.benefit * slow.kept(world, cell)
    assert generalization.budget.payoff * people == pytest.approx(total, abs=1e-6)
    for cell, held in members.items():
        records = sum(world.records.get(value, 0) for value in held)
        assert all(one in part for value in held for one, part in zip(value, cell, strict=True))
        assert sum(world.people[value] for value in held) >= fewest(world, budget)
        assert records == 0 or records >= (budget.least_records or 1)
    kept = np.ones(len(table.data), dtype=np.bool_) if generalization.withheld is None else ~generalization.withheld
    assert table.data.counts[~kept].sum() <= (budget.suppression or 0) * table.data.total + 1e-8
    cells = cells_as_sets(table, generalization)
    for axis, floor in zip(floored(budget), budget.utility_floor.values(), strict=True):
        shares = np.array([1 - log(len(cell[axis])) / log(len(world.rows[axis])) for cell in cells])
        assert (table.data.counts * kept) @ shares >= floor * table.data.total - 1e-8


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(30))
@given(world=worlds(max_attributes=2), limited=st.booleans(), data=st.data())
def test_they_never_pay_less_than_the_partition(world: World, limited: bool, data: st.DataObject) -> None:
    """Under the same request, records of nobody in the population included; in sum over the people."""
    budget = data.draw(budgets(world, partition=True)) if limited else None
    table = replace(table_of(world, (0,) * len(world.rows), 2**20), budget=budget)
    try:
        whole = generalize(table, PARTITION, world.payoffs, np.array(world.weights))
    except StageFailed:
        return
    made = generalize(table, REMAINDER, world.payoffs, np.array(world.weights))
    if limited:
        assert made.budget is not None
        assert whole.budget is not None
        assert made.budget.payoff >= whole.budget.payoff - 1e-9
        assert made.budget.payoff <= made.budget.bound + 1e-9
    else:
        assert made.division is not None
        assert whole.division is not None
        assert made.division.payoff >= whole.division.payoff - 1e-6


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(20))
@given(world=worlds(max_attributes=2).map(covered), least=st.integers(2, 12))
def test_limits_of_gates_change_only_classes_that_are_too_small(world: World, least: int) -> None:
    free, weights = table_of(world, (0,) * len(world.rows), 2**20), np.array(world.weights)
    try:
        alone, limited, implied = (
            generalize(free.within(budget), REMAINDER, world.payoffs, weights)
            for budget in (None, BudgetPolicy(least_people=least), GatesBudget(least_people=least))
        )
    except StageFailed:
        return
    enough = implied.budget is None
    np.testing.assert_array_equal(implied.cells, (alone if enough else limited).cells)
    assert implied.effective.min() >= least


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        (BudgetPolicy(least_people=11), "classes of 11 people"),
        (BudgetPolicy(least_records=2), "classes of 2 records"),
    ],
)
def test_too_few_for_one_class_is_said_in_words(pair_world: World, budget: BudgetPolicy, expected: str) -> None:
    table = replace(table_of(pair_world, (0, 0), 2**20), budget=budget)
    with pytest.raises(StageFailed, match="no classes keep the budget") as caught:
        generalize(table, REMAINDER, replace(pair_world.payoffs, gain=1.0), np.ones(2))
    assert caught.value.expected == expected
    assert caught.value.where == "policy.generalization.budget"


def test_a_floor_that_no_classes_keep_is_named(pair_world: World) -> None:
    table = replace(table_of(pair_world, (0, 0), 2**20), budget=BudgetPolicy(utility_floor={"q0": 1.0}, least_people=9))
    with pytest.raises(StageFailed, match="keeps the budget") as caught:
        generalize(table, REMAINDER, pair_world.payoffs, np.ones(2))
    assert caught.value.expected == "information lost of q0 at most 0"


@pytest.mark.slow
def test_adult_keeps_twelve_records_a_class_and_pays_more_than_the_partition() -> None:
    """Classes of 12 records: whole cells pay 946.77 a person and leave out 2 %."""
    table = adult.table().within(BudgetPolicy(least_records=12, suppression=0.02))
    made = generalize(table, REMAINDER, adult.PAYOFFS, adult.weights())
    assert made.budget is not None
    assert made.budget.payoff > 1040
    _, place = np.unique(made.cells, axis=0, return_inverse=True)
    released = np.ones(len(made.cells), dtype=np.bool_) if made.withheld is None else ~made.withheld
    records = np.bincount(place.ravel()[released], table.data.counts[released])
    assert records[records > 0].min() >= 12
