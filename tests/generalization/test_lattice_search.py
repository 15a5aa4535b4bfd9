"""Algorithm 2 of Wan et al. 2015, by hand: every child is charged L·π, and the search halts where none is better."""

import numpy as np
import pytest

from tasks.generalization.game.exact import solve
from tasks.generalization.game.payoffs import Payoffs
from tasks.generalization.paper_searches import lattice_search
from tests.reference.continued_search import continued_search
from tests.support.worlds import People, World


def world_of(people: People, payoffs: Payoffs, like: World) -> World:
    return World(like.rows, people, like.records, payoffs, like.weights)


def test_it_walks_to_the_best_child_and_halts_where_none_is_better(pair_world: World) -> None:
    problem, codes = pair_world.problem(), pair_world.codes([("a1", "b1")])
    # (0,0) pays 90 - 60; its children (1,0) 60 - 60/3 = 40 and (0,1) 60 - 60/2 = 30; then (1,1) 30 - 60/6 = 20.
    nodes, _, searched = lattice_search(problem, codes)
    assert problem.lattice.nodes[nodes].tolist() == [[1, 0]]
    assert searched.tolist() == [1 + 2 + 1]


def test_it_stops_at_once_where_nobody_attacks(pair_world: World) -> None:
    world = world_of({("a1", "b1"): 6}, pair_world.payoffs, pair_world)
    nodes, _, searched = lattice_search(world.problem(), world.codes([("a1", "b1")]))
    assert nodes.tolist() == [0]
    assert searched.tolist() == [1]


def test_it_stops_on_reaching_a_node_that_nobody_attacks(pair_world: World) -> None:
    world = world_of({("a1", "b1"): 1, ("a2", "b1"): 9}, pair_world.payoffs, pair_world)
    problem = world.problem()
    # (0,0) pays 90 - 60; (1,0) 60 - 60/10 = 54 with 10 people, and is not attacked.
    nodes, _, searched = lattice_search(problem, world.codes([("a1", "b1")]))
    assert problem.lattice.nodes[nodes].tolist() == [[1, 0]]
    assert searched.tolist() == [1 + 2]


def test_it_goes_on_to_a_child_that_is_no_worse(pair_world: World) -> None:
    world = World(pair_world.rows, {("a1", "b1"): 1}, pair_world.records, pair_world.payoffs, (0.0, 1.0))
    problem = world.problem()
    # (1,0) keeps as much as (0,0) and has no more people: 90 - 60 for both. (1,1) has less, 45 - 60.
    nodes, _, searched = lattice_search(problem, world.codes([("a1", "b1")]))
    assert problem.lattice.nodes[nodes].tolist() == [[1, 0]]
    assert searched.tolist() == [1 + 2 + 1]


def test_charging_children_that_nobody_attacks_misses_the_optimum(pair_world: World) -> None:
    world = world_of({("a1", "b1"): 5, ("a1", "b2"): 1}, Payoffs(benefit=90, loss=300, gain=60, cost=10), pair_world)
    problem, codes = world.problem(), world.codes([("a1", "b1")])
    # (0,0) pays 90 - 300/5 = 30. (0,1) really pays 60, for its 6 people are not attacked, but is charged 60 - 300/6.
    nodes, _, searched = lattice_search(problem, codes)
    assert problem.lattice.nodes[nodes].tolist() == [[0, 0]]
    assert searched.tolist() == [3]
    best, payoff = solve(problem, codes)
    assert problem.lattice.nodes[best].tolist() == [[0, 1]]
    assert payoff[0] == pytest.approx(60)


def test_continued_it_finds_the_optimum_and_prunes_what_cannot_pay(pair_world: World) -> None:
    people = {("a1", "b1"): 5, ("a1", "b2"): 1}
    world = World(pair_world.rows, people, people, Payoffs(benefit=120, loss=300, gain=60, cost=10), (2.0, 1.0))
    problem, codes = world.problem(), world.codes([("a1", "b1")])
    # (0,0) pays 120 - 300/5, (0,1) 90 and is not attacked, (1,0) is worth 60: nothing below either can pay 90.
    nodes, payoffs, searched = continued_search(problem, codes)
    assert problem.lattice.nodes[nodes].tolist() == [[0, 1]]
    assert payoffs[0] == pytest.approx(90)
    assert searched.tolist() == [3]


def test_continued_it_still_finds_the_first_of_equal_strategies() -> None:
    rows = (
        [["a1", "*"], ["a2", "*"]],
        [["b1", "b12", "b123", "*"], ["b2", "b12", "b123", "*"], ["b3", "b3", "b123", "*"], ["b4", "b4", "b4", "*"]],
        [["c1", "*"], ["c2", "*"]],
    )
    people = {("a1", "b1", "c1"): 1, ("a2", "b1", "c1"): 9, ("a1", "b4", "c1"): 9}
    world = World(rows, people, people, Payoffs(benefit=90, loss=60, gain=60, cost=10), (0.0, 0.0, 1.0))
    problem, codes = world.problem(), world.codes([("a1", "b1", "c1")])
    # (0,3,0) and (1,0,0) both keep everything and are not attacked; the first has only attacked strategies above it.
    nodes, payoffs, _ = continued_search(problem, codes)
    assert problem.lattice.nodes[nodes].tolist() == [[0, 3, 0]]
    np.testing.assert_array_equal(nodes, solve(problem, codes)[0])
    assert payoffs.tolist() == [90]


def test_each_tuple_is_searched_by_itself(pair_world: World) -> None:
    problem, values = pair_world.problem(), pair_world.all_values
    together, _, searched = lattice_search(problem, pair_world.codes(values))
    alone = [lattice_search(problem, pair_world.codes([value])) for value in values]
    np.testing.assert_array_equal(together, [nodes[0] for nodes, _, _ in alone])
    np.testing.assert_array_equal(searched, [number[0] for _, _, number in alone])
