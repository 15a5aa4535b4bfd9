"""Methods played under a budget: the file keeps it, and everybody in the population has a cell by the same rule."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.core.errors import StageFailed
from tasks.generalization.budget.records import budgeted_records
from tasks.generalization.game.count_index import matching_people
from tasks.generalization.game.exact import GameRule
from tasks.generalization.generalization_file import load_generalization, save_generalization
from tasks.generalization.generalize import generalize, population_cells
from tasks.request.model import BUDGETED, DIVISIONS, PARTITIONS, BudgetPolicy, GatesBudget, Method
from tests.generalization.test_budget_records import budgets, floored
from tests.support import slow
from tests.support.examples import examples
from tests.support.generalization import cells_as_sets, table_of
from tests.support.worlds import World, worlds

MEBIBYTE = 2**20


def covered(world: World) -> World:
    records = {values: count for values, count in world.records.items() if values in world.people}
    return replace(world, records=records or {next(iter(world.people)): 1})


@settings(deadline=None, max_examples=examples(30))
@given(
    world=worlds(max_attributes=2).map(covered),
    method=st.sampled_from(sorted(BUDGETED)),
    cell_weights=st.sampled_from(["population", "data"]),
    data=st.data(),
)
def test_the_file_keeps_the_budget(world: World, method: Method, cell_weights: str, data: st.DataObject) -> None:
    budget = data.draw(budgets(world, partition=method in DIVISIONS))
    floors = tuple(0 for _ in world.rows)
    table = replace(table_of(world, floors, MEBIBYTE), budget=budget)
    weights = np.array(world.weights)
    try:
        generalization = generalize(table, method, world.payoffs, weights, cell_weights)
    except StageFailed:
        return
    kept = np.ones(len(table.data), dtype=np.bool_) if generalization.withheld is None else ~generalization.withheld
    records, people = table.data.counts, generalization.people
    cells = cells_as_sets(table, generalization)
    risk = records @ (world.payoffs.reidentified(people) * kept)
    attacked = records[kept & world.payoffs.attacked(people)].sum()
    assert risk <= (np.inf if budget.reidentifications is None else budget.reidentifications) + 1e-8
    assert attacked <= (1 if budget.attacked_share is None else budget.attacked_share) * table.data.total + 1e-8
    assert records[~kept].sum() <= (budget.suppression or 0) * table.data.total + 1e-8
    assert (people[kept] >= (budget.least_people or 0)).all()
    for axis, floor in zip(floored(budget), budget.utility_floor.values(), strict=True):
        shares = [1 - np.log(len(cell[axis])) / np.log(len(world.rows[axis])) for cell in cells]
        assert records[kept] @ np.array(shares)[kept] >= floor * table.data.total - 1e-8
    assert generalization.own is not None
    assert generalization.budget is not None
    np.testing.assert_array_equal(
        population_cells(table, method, world.payoffs, weights, cell_weights), generalization.own
    )
    there = table.population.find(table.data.keys)
    np.testing.assert_array_equal(generalization.own[there][kept], generalization.cells[kept])
    counted = np.ones(len(there), dtype=np.bool_) if generalization.counted is None else generalization.counted[there]
    np.testing.assert_array_equal(counted, kept)
    assert (generalization.effective[kept] >= table.population.counts[there][kept]).all(), (
        "whoever is in it is among them"
    )
    if method in PARTITIONS:
        np.testing.assert_array_equal(generalization.effective[kept], generalization.people[kept])


@settings(deadline=None, max_examples=examples(30))
@given(world=worlds(max_attributes=2).map(covered), most=st.sampled_from([0.3, 1.0]), spare=st.booleans())
def test_the_population_has_what_pays_most_at_the_prices(world: World, most: float, spare: bool) -> None:
    problem, data, population = world.problem(), world.tuples(world.records), world.tuples(world.people)
    budget = BudgetPolicy(reidentifications=most, suppression=0.5 if spare else None)
    try:
        found = budgeted_records(problem, population, data, budget, GameRule.BASIC)
    except StageFailed:
        return
    prices = {one.name: one.price for one in found.outcome.limits}
    leaves = [tree.labels[0] for tree in world.hierarchies]
    for place in np.flatnonzero(data.find(population.keys) < 0):
        values = tuple(labels[code] for labels, code in zip(leaves, population.codes[place], strict=True))
        worth: dict[tuple[int, ...] | None, float] = {None: -prices["suppressed records"]} if spare else {}
        for levels in slow.strategies(world):
            cell = slow.cell_of(world, values, levels)
            risk = 1 / slow.count(world.people, cell) if slow.attacked(world, cell) else 0.0
            worth[levels] = slow.payoff(world, cell) - prices["reidentifications"] * risk
        own = None if found.own_withheld[place] else tuple(int(level) for level in found.own_levels[place])
        assert worth[own] == pytest.approx(max(worth.values()), abs=1e-6)


def test_played_is_kept_with_its_budget(pair_world: World, tmp_path) -> None:  # type: ignore[no-untyped-def]
    table = replace(table_of(pair_world, (0, 0), MEBIBYTE), budget=BudgetPolicy(least_people=11, suppression=1.0))
    for method in sorted(BUDGETED):
        generalization = generalize(table, method, pair_world.payoffs, np.ones(2))
        assert generalization.withheld is not None
        save_generalization(generalization, tmp_path / f"{method.value}.npz")
        again = load_generalization(tmp_path / f"{method.value}.npz")
        assert again.budget == generalization.budget
        assert again.withheld is not None
        assert again.withheld.tolist() == [True]


def test_least_records_are_of_the_partitions_and_remainder_classes(pair_world: World) -> None:
    table = replace(table_of(pair_world, (0, 0), MEBIBYTE), budget=BudgetPolicy(least_records=1))
    for method in sorted(BUDGETED):
        if method in DIVISIONS:
            assert generalize(table, method, pair_world.payoffs, np.ones(2)).budget is not None
        else:
            with pytest.raises(StageFailed, match="least number of records"):
                generalize(table, method, pair_world.payoffs, np.ones(2))


def test_a_budget_is_of_the_methods_that_can_keep_it(pair_world: World) -> None:
    free = table_of(pair_world, (0, 0), MEBIBYTE)
    table = replace(free, budget=BudgetPolicy(reidentifications=0.0))
    for method in (Method.SAFE_HARBOR, Method.COMMON):
        generalization = generalize(table, method, pair_world.payoffs, np.ones(2))
        assert generalization.budget is None
        np.testing.assert_array_equal(
            generalization.cells, generalize(free, method, pair_world.payoffs, np.ones(2)).cells
        )


@settings(deadline=None, max_examples=examples(60))
@given(
    world=worlds(max_attributes=2).map(covered),
    method=st.sampled_from(sorted(PARTITIONS)),
    least=st.integers(2, 12),
)
def test_limits_of_gates_are_a_budget_only_where_the_method_alone_exceeds_them(
    world: World, method: Method, least: int
) -> None:
    """The same file as without any limit where nobody's cell is smaller, and else as within a budget that is stated."""
    free, weights = table_of(world, tuple(0 for _ in world.rows), MEBIBYTE), np.array(world.weights)
    try:
        alone, limited, implied = (
            generalize(free.within(budget), method, world.payoffs, weights)
            for budget in (None, BudgetPolicy(least_people=least), GatesBudget(least_people=least))
        )
    except StageFailed:
        return
    own = population_cells(free, method, world.payoffs, weights)
    enough = matching_people(free, own).min() >= least
    assert (implied.budget is None) is bool(enough)
    np.testing.assert_array_equal(implied.cells, (alone if enough else limited).cells)
    assert implied.people.min() >= least
