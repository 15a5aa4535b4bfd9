"""The searches of Wan et al. 2015 by name: figures by hand, agreement, and the bound on what is tried."""

import numpy as np
import pytest
from hypothesis import given, settings

from tasks.core.errors import ParameterError
from tasks.generalization import paper_searches as solvers
from tasks.generalization.game.payoffs import Payoffs
from tasks.generalization.paper_searches import SOLVERS, GameSearch, search_games
from tasks.request.model import Method
from tests.support.examples import examples
from tests.support.generalization import table_of
from tests.support.worlds import World, worlds

STAKES = Payoffs(benefit=90, loss=60, gain=60, cost=10)
MEMORY = 2**20


def searches(world: World, name: str, floors: tuple[int, ...] = (0, 0)) -> dict[Method, GameSearch]:
    payoffs = world.payoffs
    assert isinstance(payoffs, Payoffs)
    found = search_games(table_of(world, floors, MEMORY), payoffs, np.array(world.weights), name)
    return {one.method: one for one in found}


def test_the_exact_search_stops_where_no_value_is_left(pair_world: World) -> None:
    # (0,0) pays 90 - 60, (0,1) 60 - 60/2, (1,0) 60 - 60/3 = 40; whatever follows is worth 30 at most.
    basic = searches(pair_world, "exact")[Method.BASIC]
    assert (basic.payoff, basic.nodes_a_record, basic.nodes_a_tuple, basic.strategies) == (40, 3, 3, 6)
    assert (basic.optimal_share, basic.without_strategy) == (1, 0)


def test_the_exhaustive_search_tries_every_strategy(pair_world: World) -> None:
    found = searches(pair_world, "bis", floors=(0, 1))
    assert {one.nodes_a_record for one in found.values()} == {6}
    assert found[Method.BASIC].payoff == 40
    # Nobody attacks groups of 6: (1,1) keeps 30, (0,2) has 3 people.
    assert found[Method.NO_ATTACK].payoff == pytest.approx(30)
    assert found[Method.SH_FRIENDLY].payoff == pytest.approx(30)


def test_the_lattice_search_misses_the_optimum_of_one_record_in_three(pair_world: World) -> None:
    people = {("a1", "b1"): 5, ("a1", "b2"): 1}
    stakes = Payoffs(benefit=90, loss=300, gain=60, cost=10)
    # b1 stays at 90 - 300/5 with its two children charged 10; b2 goes on to (0,1), which 6 people share: 60.
    world = World(pair_world.rows, people, {("a1", "b1"): 1, ("a1", "b2"): 2}, stakes, pair_world.weights)
    found = searches(world, "lbs")
    assert list(found) == [Method.BASIC]
    basic = found[Method.BASIC]
    assert basic.payoff == pytest.approx((30 + 2 * 60) / 3)
    assert basic.optimal_share == pytest.approx(2 / 3)
    assert (basic.nodes_a_record, basic.nodes_a_tuple) == (3, 3)


def test_records_without_a_strategy_are_counted(pair_world: World) -> None:
    world = World(pair_world.rows, {("a1", "b1"): 2}, {("a1", "b1"): 3}, STAKES, (1.0, 1.0))
    for name in ("exact", "bis"):
        found = searches(world, name)[Method.NO_ATTACK]
        assert (found.payoff, found.without_strategy, found.optimal_share) == (None, 3, 1)


@settings(deadline=None, max_examples=examples(20))
@given(world=worlds(max_attributes=2))
def test_the_exact_and_the_exhaustive_search_agree(world: World) -> None:
    floors = tuple(0 for _ in world.rows)
    exact, tried = (searches(world, name, floors) for name in ("exact", "bis"))
    for method, one in exact.items():
        assert one.payoff == (None if tried[method].payoff is None else pytest.approx(tried[method].payoff, abs=1e-9))
        assert one.optimal_share == tried[method].optimal_share == 1
        assert one.nodes_a_record <= tried[method].nodes_a_record
    heuristic = searches(world, "lbs", floors)[Method.BASIC]
    assert heuristic.payoff is not None
    assert exact[Method.BASIC].payoff is not None
    assert heuristic.payoff <= exact[Method.BASIC].payoff + 1e-9


def test_too_many_strategies_are_not_tried(pair_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solvers, "MOST_EVALUATIONS", 5)
    with pytest.raises(ParameterError, match="too many strategies"):
        searches(pair_world, "bis")
    assert list(SOLVERS) == ["exact", "bis", "lbs"]
