"""The bound by prices of people: never below the best classes, nor the linear relaxation; tighter than best cells."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from tasks.generalization.game.facts import BoundBy
from tasks.generalization.game.payoffs import InformationLoss
from tasks.generalization.game.problem import Problem
from tasks.generalization.generalize import generalize
from tasks.generalization.remainder import prices
from tasks.generalization.remainder.find import find
from tasks.generalization.remainder.prices import priced_bound
from tasks.generalization.remainder.problem import UNPLACED, RemainderProblem, remainder_problem
from tasks.request.model import Method
from tests.generalization.test_remainder import feasible, safe, two_attributes
from tests.reference.remainder_optimum import best_classes
from tests.support import adult, adult_eight, slow
from tests.support.examples import examples
from tests.support.generalization import table_of
from tests.support.worlds import World, worlds

QUICK = settings(deadline=None, max_examples=examples(40))


def classes_of(world: World) -> RemainderProblem:
    weights = np.array(world.weights)
    table = table_of(world, (0,) * len(world.rows), 2**20)
    problem = Problem(table.hierarchies, InformationLoss(table.hierarchies, weights), world.payoffs, table.people)
    return remainder_problem(problem, table.population)


def relaxed(world: World, least: int) -> float:
    """The linear relaxation, cell by cell and value by value: Σ people · share kept at most."""
    values = list(world.people)
    cells = {slow.cell_of(world, value, levels) for value in values for levels in slow.strategies(world)}
    large = [cell for cell in cells if slow.count(world.people, cell) >= least]
    pairs = [
        (row, place)
        for place, cell in enumerate(large)
        for row, value in enumerate(values)
        if all(one in part for one, part in zip(value, cell, strict=True))
    ]
    worth = [-world.people[values[row]] * slow.kept(world, large[place]) for row, place in pairs] + [0.0] * len(large)
    limits, once = [], np.zeros((len(values), len(worth)))
    fewest = np.zeros((len(large), len(worth)))
    for number, (row, place) in enumerate(pairs):
        used = np.zeros(len(worth))
        used[number], used[len(pairs) + place] = 1.0, -1.0
        limits.append(used)
        once[row, number] = 1.0
        fewest[place, number] = -world.people[values[row]]
    fewest[:, len(pairs) :] = least * np.eye(len(large))
    above = np.concatenate([np.array(limits), fewest])
    found = linprog(worth, above, np.zeros(len(above)), once, np.ones(len(values)), bounds=(0, 1))
    assert found.status == 0
    return -float(found.fun)


@QUICK
@given(world=st.one_of(worlds(max_attributes=2, max_count=6), worlds(max_attributes=2, crossing=True)), data=st.data())
def test_whatever_the_prices_the_best_classes_are_not_worth_more(world: World, data: st.DataObject) -> None:
    """From classes that are found, from none, and after few rounds or many; the optimum is CP-SAT's."""
    if not feasible(world):
        return
    classes = classes_of(world)
    nowhere = np.full(len(classes.codes), UNPLACED)
    node = data.draw(st.sampled_from([find(classes, left_out=0).node, nowhere]))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(prices, "_ROUNDS", (1, data.draw(st.integers(1, 40))))
        patched.setattr(prices, "_TOGETHER", data.draw(st.sampled_from([1, 2**13])))
        bound = priced_bound(classes, node)
    best = best_classes(world, safe(world))
    assert best is not None
    assert bound is not None
    assert world.payoffs.benefit * bound >= best - 1e-3
    assert bound >= relaxed(world, safe(world)) - 1e-6


def test_one_person_cannot_make_two_cells_large_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """k = 2: (a1, *) and (*, b2) keep half, and need the same person; prices 0, 1 and 0 are enough for both."""
    problem = two_attributes({("a1", "b1"): 1, ("a1", "b2"): 1, ("a2", "b2"): 1}, lost=(0.5, 0.5), least=2)
    found = find(problem)
    assert found.bound(problem) == pytest.approx(1.5)
    assert problem.worth(found.node) == pytest.approx(1.0)
    monkeypatch.setattr(prices, "_TOGETHER", 1)
    monkeypatch.setattr(prices, "_LESS", 0.95)
    monkeypatch.setattr(prices, "_ROUNDS", (1, 100))
    bound = priced_bound(problem, found.node)
    assert bound == pytest.approx(1.0, abs=0.1)
    assert bound is not None
    assert bound >= 1.0


def test_where_cells_are_too_many_there_is_no_bound_by_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = two_attributes({("a1", "b1"): 2, ("a1", "b2"): 2, ("a2", "b2"): 2}, lost=(0.5, 0.5), least=2)
    node = find(problem).node
    assert priced_bound(problem, node) is not None
    with monkeypatch.context() as patched:
        patched.setattr(prices, "_SEARCHED", 0)
        assert priced_bound(problem, node) is None
    monkeypatch.setattr(prices, "_WORK", 0)
    assert priced_bound(problem, node) is None


@pytest.mark.slow
def test_the_outcome_names_what_proves_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """871 people in eight attributes; everybody's best cell alone leaves a gap of 29 %."""
    table = adult_eight.table(0.0001, records=200, memory_limit=2**20)
    weights = np.array([1.0, 1, 0, 1, 1, 1, 1, 1])
    made = generalize(table, Method.NO_ATTACK_REMAINDER, adult.PAYOFFS, weights).division
    assert made is not None
    assert made.bound_by is BoundBy.PRICES
    assert 0 < 1 - made.payoff / made.upper_bound < 0.09
    monkeypatch.setattr(prices, "_SEARCHED", 0)
    table = adult_eight.table(0.0001, records=200, memory_limit=2**20)
    simple = generalize(table, Method.NO_ATTACK_REMAINDER, adult.PAYOFFS, weights).division
    assert simple is not None
    assert simple.bound_by is BoundBy.BEST_CELLS
    assert simple.payoff == made.payoff
    assert 1 - simple.payoff / simple.upper_bound > 0.25
