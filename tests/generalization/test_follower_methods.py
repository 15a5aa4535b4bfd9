"""Every method under sequential adversaries and under several at once, against exhaustive search in plain loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.core.errors import StageFailed
from tasks.generalization.game.exact import GameRule
from tasks.generalization.game.partition import partition
from tasks.generalization.game.payoffs import Payoffs
from tasks.generalization.game.problem import all_attacked
from tasks.generalization.generalize import generalize
from tasks.generalization.methods.common_strategy import common_strategy
from tasks.generalization.paper_searches import lattice_search
from tests.generalization.test_exact_solver import check_against_loops
from tests.reference.continued_search import continued_search
from tests.support import slow
from tests.support.examples import examples
from tests.support.followers import attacked_everywhere, one_attempt, worlds_with_followers
from tests.support.generalization import NO_ATTACK, cells_as_sets, slow_rule, table_of, values_of
from tests.support.worlds import WITHOUT_TERMS, World

QUICK = settings(deadline=None, max_examples=examples(25))
MEBIBYTE = 2**20


@QUICK
@given(world=worlds_with_followers(), rule=st.sampled_from(GameRule), sparse=st.booleans(), data=st.data())
def test_record_by_record(world: World, rule: GameRule, sparse: bool, data: st.DataObject) -> None:
    floors = None
    if data.draw(st.booleans()):
        one = st.tuples(*(st.integers(0, height - 1) for height in slow.heights(world)))
        floors = data.draw(st.lists(one, min_size=len(world.all_values), max_size=len(world.all_values)))
    check_against_loops(world, rule, floors, sparse=sparse)


@QUICK
@given(world=worlds_with_followers(max_attributes=2), rule=st.sampled_from(GameRule), sparse=st.booleans())
def test_partition(world: World, rule: GameRule, sparse: bool) -> None:
    total, released = slow.partition(world, world.people, no_attack=rule is GameRule.NO_ATTACK)
    problem, people = world.problem(sparse=sparse), world.cube(world.people, sparse=sparse)
    if not np.isfinite(total):
        with pytest.raises(StageFailed, match="nobody would attack"):
            partition(problem, people, rule)
        return
    split = partition(problem, people, rule)
    assert split.total == pytest.approx(total, abs=1e-6)
    for value, at in zip(world.all_values, split.levels(world.codes(world.all_values)), strict=True):
        leaf = slow.cell_of(world, value, (0,) * len(value))
        assert slow.cell_of(world, value, tuple(at)) == released[leaf]


@QUICK
@given(
    world=worlds_with_followers(max_attributes=2),
    method=st.sampled_from(WITHOUT_TERMS),
    cell_weights=st.sampled_from(["population", "data"]),
)
def test_every_method_as_it_is_played(world: World, method, cell_weights: str) -> None:
    floors = (0,) * len(world.rows)
    table, weights = table_of(world, floors, MEBIBYTE), np.array(world.weights)
    if method in NO_ATTACK and attacked_everywhere(world):
        with pytest.raises(StageFailed, match="nobody would attack"):
            generalize(table, method, world.payoffs, weights, cell_weights)
        return
    try:
        generalization = generalize(table, method, world.payoffs, weights, cell_weights)
    except StageFailed:
        assert method in NO_ATTACK
        return
    own = slow_rule(world, method, floors, cell_weights)
    for value, cell in zip(values_of(table, table.data.codes), cells_as_sets(table, generalization), strict=True):
        assert cell == own(value)
    if method in NO_ATTACK:
        # Whom the population does not have may be alone in a cell that a partition leaves without people.
        assert not world.payoffs.attacked(generalization.people[generalization.people > 0]).any()


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(20))
@given(world=worlds_with_followers(max_attributes=2))
def test_common_strategy_and_continued_search(world: World) -> None:
    chosen = common_strategy(world.problem(), world.tuples(world.records))
    assert tuple(int(level) for level in chosen) == slow.common_strategy(world)
    codes = world.codes(world.all_values)
    nodes, payoffs, _ = continued_search(world.problem(), codes)
    for row, value in enumerate(world.all_values):
        levels, worth = slow.best_strategy(world, value)
        assert tuple(world.problem().lattice.nodes[nodes[row]]) == levels
        assert payoffs[row] == pytest.approx(worth, abs=1e-9)


@pytest.mark.parametrize(
    ("gain", "cost", "people"),
    [(60_000, 0.01, "6,000,000"), (125, 10, "13"), (0.3, 0.1, "3"), (1e200, 1e-100, "1e+300")],
)
def test_people_that_it_takes_to_keep_off_a_single_attempt_are_whole(gain: float, cost: float, people: str) -> None:
    error = all_attacked("nothing is left", Payoffs(benefit=1, loss=1, gain=gain, cost=cost))
    assert error.expected == f"a population of at least {people} people (gain over cost)"


def test_what_a_block_says_of_a_recipient_who_plans(pair_world: World) -> None:
    problem = pair_world.problem()
    planner = one_attempt(type(pair_world.payoffs)(benefit=90, loss=60, gain=125, cost=10), population=10)
    other = type(problem)(problem.hierarchies, problem.loss, planner, problem.people)
    with pytest.raises(StageFailed) as caught:
        partition(other, problem.people, GameRule.NO_ATTACK)
    assert caught.value.expected == "a population of at least 13 people (nobody attacks as many)"
    with pytest.raises(Exception, match="single attempt"):
        lattice_search(other, pair_world.codes([("a1", "b1")]))
