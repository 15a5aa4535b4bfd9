"""The exact solver agrees with exhaustive search, with the continued lattice search, and with plain loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.generalization.game import problem as problems
from tasks.generalization.game.exact import GameRule, solve
from tasks.generalization.game.payoffs import Payoffs
from tasks.generalization.paper_searches import backward_induction
from tests.reference.continued_search import continued_search
from tests.support import slow
from tests.support.examples import examples
from tests.support.worlds import World, worlds

QUICK = settings(deadline=None, max_examples=examples(40))


def check_against_loops(world: World, rule: GameRule, floors: list[tuple[int, ...]] | None, *, sparse: bool) -> None:
    problem, values = world.problem(sparse=sparse), world.all_values
    codes = world.codes(values)
    floor = None if floors is None else np.array(floors, dtype=np.int32)
    nodes, payoffs = solve(problem, codes, rule, floor)
    slow_nodes, slow_payoffs, _ = backward_induction(problem, codes, rule, floor)
    np.testing.assert_array_equal(nodes, slow_nodes)
    np.testing.assert_allclose(payoffs, slow_payoffs, rtol=0, atol=1e-9)
    for row, value in enumerate(values):
        levels, worth = slow.best_strategy(
            world, value, no_attack=rule is GameRule.NO_ATTACK, floor=None if floors is None else floors[row]
        )
        if levels is None:
            assert nodes[row] == -1
            assert payoffs[row] == -np.inf
        else:
            assert tuple(problem.lattice.nodes[nodes[row]]) == levels
            assert payoffs[row] == pytest.approx(worth, abs=1e-9)


@pytest.mark.slow
@QUICK
@given(world=st.one_of(worlds(), worlds(crossing=True)), rule=st.sampled_from(GameRule), sparse=st.booleans())
def test_every_strategy_and_payoff_is_that_of_plain_loops(world: World, rule: GameRule, sparse: bool) -> None:
    check_against_loops(world, rule, None, sparse=sparse)


@QUICK
@given(world=worlds(max_attributes=2), rule=st.sampled_from(GameRule), data=st.data())
def test_with_a_floor_of_its_own_for_each_tuple(world: World, rule: GameRule, data: st.DataObject) -> None:
    one_floor = st.tuples(*(st.integers(0, height - 1) for height in slow.heights(world)))
    number = len(world.all_values)
    floors = data.draw(st.lists(one_floor, min_size=number, max_size=number))
    check_against_loops(world, rule, floors, sparse=False)


@QUICK
@given(world=worlds())
def test_continued_lattice_search_is_optimal(world: World) -> None:
    problem = world.problem()
    codes = world.codes(world.all_values)
    nodes, payoffs, searched = continued_search(problem, codes)
    best_nodes, best = solve(problem, codes)
    np.testing.assert_array_equal(nodes, best_nodes)
    np.testing.assert_allclose(payoffs, best, rtol=0, atol=1e-9)
    assert (searched >= 1).all()
    assert (searched <= len(problem.lattice)).all()


@QUICK
@given(world=worlds(), rule=st.sampled_from(GameRule), profiles_a_pass=st.integers(1, 3))
def test_passes_of_any_size_give_the_same(world: World, rule: GameRule, profiles_a_pass: int) -> None:
    problem = world.problem()
    codes = world.codes(world.all_values)
    whole = solve(problem, codes, rule)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(problems, "_MATRIX_CELLS", profiles_a_pass * len(problem.lattice))
        parts = solve(problem, codes, rule)
    np.testing.assert_array_equal(whole[0], parts[0])
    np.testing.assert_array_equal(whole[1], parts[1])


@settings(deadline=None, max_examples=examples(10))
@given(world=worlds(max_attributes=2))
def test_no_tuples_no_strategies(world: World) -> None:
    problem = world.problem()
    nothing = world.codes(world.all_values)[:0]
    for solver in (solve, backward_induction):
        nodes, payoffs = solver(problem, nothing)[:2]
        assert nodes.shape == payoffs.shape == (0,)


def test_best_strategies_by_hand(pair_world: World) -> None:
    problem, codes = pair_world.problem(), pair_world.codes([("a1", "b1")])
    nodes, payoffs = solve(problem, codes)
    assert problem.lattice.nodes[nodes].tolist() == [[1, 0]]
    assert payoffs[0] == pytest.approx(40)
    nodes, payoffs = solve(problem, codes, GameRule.NO_ATTACK)
    assert problem.lattice.nodes[nodes].tolist() == [[1, 1]]
    assert payoffs[0] == pytest.approx(30)
    nodes, payoffs = solve(problem, codes, floor=np.array([[0, 1]], dtype=np.int32))
    assert problem.lattice.nodes[nodes].tolist() == [[0, 1]]
    assert payoffs[0] == pytest.approx(30), "a tie with (1, 1), which comes later"


def test_an_attacked_strategy_does_not_hide_an_equal_one_that_comes_first(pair_world: World) -> None:
    # (1,0) pays 60 - 90/3 with 3 people; (0,2) is worth 30 and nobody attacks its 6. All others pay less.
    people = {("a1", "b1"): 1, ("a1", "b3"): 5, ("a2", "b1"): 2}
    payoffs = Payoffs(benefit=90, loss=90, gain=60, cost=10)
    world = World(pair_world.rows, people, people, payoffs, pair_world.weights)
    problem, codes = world.problem(), world.codes([("a1", "b1")])
    for solver in (solve, backward_induction):
        nodes, best = solver(problem, codes)[:2]
        assert problem.lattice.nodes[nodes].tolist() == [[0, 2]]
        assert best[0] == pytest.approx(30)
    assert problem.lattice.nodes[continued_search(problem, codes)[0]].tolist() == [[0, 2]]


def test_no_strategy_where_the_whole_population_is_attacked(pair_world: World) -> None:
    problem, codes = pair_world.problem(), pair_world.codes([("a1", "b1")])
    eager = Payoffs(benefit=90, loss=60, gain=1e6, cost=1)
    nodes, payoffs = solve(
        type(problem)(problem.hierarchies, problem.loss, eager, problem.people), codes, GameRule.NO_ATTACK
    )
    assert nodes.tolist() == [-1]
    assert payoffs.tolist() == [-np.inf]
