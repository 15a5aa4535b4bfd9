"""Recursive partition: optimal over all recursive splits, and everybody in a released cell is released as that cell."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.core.errors import StageFailed
from tasks.generalization.game.exact import GameRule
from tasks.generalization.game.partition import RELEASE, partition
from tasks.generalization.game.payoffs import Payoffs
from tasks.microdata import cell_layers
from tasks.microdata.cube import cells_at
from tasks.microdata.hierarchy import Codes
from tests.reference.partition_by_node import Cell, partition_by_node
from tests.support import slow
from tests.support.examples import examples
from tests.support.worlds import People, World, worlds

QUICK = settings(deadline=None, max_examples=examples(40))
RULES = st.sampled_from(GameRule)


def feasible(world: World, rule: GameRule) -> bool:
    payoffs = world.payoffs
    return rule is GameRule.BASIC or payoffs.cost * sum(world.people.values()) >= payoffs.gain


def levels_of(world: World, weights: People, rule: GameRule, *, sparse: bool) -> tuple[float, Codes]:
    split = partition(world.problem(sparse=sparse), world.cube(weights, sparse=sparse), rule)
    return split.total, split.levels(world.codes(world.all_values))


@QUICK
@given(world=worlds(), rule=RULES, by_records=st.booleans(), sparse=st.booleans())
def test_as_the_recursion_over_sets(world: World, rule: GameRule, by_records: bool, sparse: bool) -> None:
    weights = world.records if by_records else world.people
    total, released = slow.partition(world, weights, no_attack=rule is GameRule.NO_ATTACK)
    if not feasible(world, rule):
        assert total == -np.inf
        with pytest.raises(StageFailed):
            levels_of(world, weights, rule, sparse=sparse)
        return
    got, levels = levels_of(world, weights, rule, sparse=sparse)
    assert got == pytest.approx(total, abs=1e-6)
    for value, at in zip(world.all_values, levels, strict=True):
        leaf = slow.cell_of(world, value, (0,) * len(value))
        assert slow.cell_of(world, value, tuple(at)) == released[leaf]


@pytest.mark.slow
@QUICK
@given(world=worlds(), rule=RULES)
def test_dense_and_sparse_release_everybody_alike_even_who_is_not_in_the_population(
    world: World, rule: GameRule
) -> None:
    if feasible(world, rule):
        dense = levels_of(world, world.people, rule, sparse=False)
        sparse = levels_of(world, world.people, rule, sparse=True)
        assert dense[0] == pytest.approx(sparse[0], abs=1e-6)
        np.testing.assert_array_equal(dense[1], sparse[1])


@QUICK
@given(world=worlds(), rule=RULES, sparse=st.booleans(), few=st.booleans())
def test_the_same_to_the_last_bit_as_node_by_node(world: World, rule: GameRule, sparse: bool, few: bool) -> None:
    if not feasible(world, rule):
        return
    problem, trees, payoffs = world.problem(sparse=sparse), world.hierarchies, world.payoffs
    counts: Counter[Cell] = Counter()
    for codes, number in zip((tuples := world.tuples(world.people)).codes, tuples.counts.tolist(), strict=True):
        for cell in product(*(tree.positions[leaf].tolist() for tree, leaf in zip(trees, codes, strict=True))):
            counts[cell] += number

    def worth(cell: Cell) -> tuple[float, int]:
        people = np.array([counts[cell]])
        value = payoffs.publisher(payoffs.benefit * problem.loss.kept(np.array([cell])), people) * people
        forbidden = rule is GameRule.NO_ATTACK and payoffs.attacked(people)[0]
        return -np.inf if forbidden else float(value[0]), RELEASE

    total, choices = partition_by_node(trees, counts, worth)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(cell_layers, "_KEPT", 2**22 if few else 0)
        found = partition(problem, problem.people, rule)
        levels = found.levels(tuples.codes)
    assert found.total == total
    for codes, at in zip(tuples.codes, levels.tolist(), strict=True):
        place = [tree.n_levels - 1 for tree in trees]
        while (choice := choices[tuple(int(one) for one in cells_at(codes[None], np.array(place), trees)[0])]) >= 0:
            place[choice] -= 1
        assert at == place


@QUICK
@given(world=worlds(), rule=RULES)
def test_everybody_in_a_released_cell_is_released_as_that_cell(world: World, rule: GameRule) -> None:
    if not feasible(world, rule):
        return
    problem, people = world.problem(), world.tuples(world.people)
    levels = partition(problem, problem.people, rule).levels(people.codes)
    cells = problem.canonical(cells_at(people.codes, levels, problem.hierarchies))
    distinct, cell = np.unique(cells, axis=0, return_inverse=True)
    released_as = np.bincount(cell, weights=people.counts)
    np.testing.assert_array_equal(problem.people.count(distinct), released_as)
    if rule is GameRule.NO_ATTACK:
        assert not problem.payoffs.attacked(problem.people.count(distinct)).any()


@QUICK
@given(world=worlds(), by_records=st.booleans(), rule=RULES)
def test_never_worse_than_one_common_strategy(world: World, by_records: bool, rule: GameRule) -> None:
    if not feasible(world, rule):
        return
    weights = world.records if by_records else world.people
    total, _ = levels_of(world, weights, rule, sparse=False)
    for levels in slow.strategies(world):
        cells = {slow.cell_of(world, value, levels) for value in world.people}
        if rule is GameRule.BASIC or not any(slow.attacked(world, cell) for cell in cells):
            common = sum(slow.count(weights, cell) * slow.payoff(world, cell) for cell in cells)
            assert total >= common - 1e-6


def test_by_hand(pair_world: World) -> None:
    # A cell of n people pays n·v, less 110 in all where they are fewer than 6; v is 90, 60, 30, 0 from leaf to top.
    # b12 as it is: 6·30 = 180. Along a: (a1,b12) 2·60 - 110, (a2,b12) in leaves 2·(2·90 - 110), in all 150;
    # along b: 140.
    # b34 as it is: 4·30 - 110 = 10. In leaves: (a1,b3) 90 - 110, (a2,b4) 3·90 - 110, in all 140.
    # So b is split once, 320, and not a: a1 in (a1,b12) and (a1,b3) -10, a2 in leaves 140 + 160, in all 290.
    world = World(
        pair_world.rows,
        pair_world.people,
        pair_world.records,
        Payoffs(benefit=90, loss=110, gain=60, cost=10),
        pair_world.weights,
    )
    total, levels = levels_of(world, world.people, GameRule.BASIC, sparse=False)
    assert total == pytest.approx(320)
    at = dict(zip(world.all_values, levels.tolist(), strict=True))
    assert all(at[a, b] == [1, 1] for a in ("a1", "a2") for b in ("b1", "b2"))
    assert at["a1", "b3"] == at["a2", "b4"] == [0, 0]
    # Nobody is to be attacked: a1 has 3 people and b34 has 4, so the 10 stay together.
    total, levels = levels_of(world, world.people, GameRule.NO_ATTACK, sparse=False)
    assert total == 0
    assert levels.tolist() == [[1, 2]] * 8


def test_who_is_not_in_the_population_is_released_in_no_more_detail_than_the_cell_without_people(
    pair_world: World,
) -> None:
    people = {("a1", "b1"): 6, ("a1", "b2"): 6}
    world = World(pair_world.rows, people, people, pair_world.payoffs, pair_world.weights)
    for sparse in (False, True):
        total, levels = levels_of(world, people, GameRule.NO_ATTACK, sparse=sparse)
        assert total == pytest.approx(12 * 90)
        at = dict(zip(world.all_values, levels.tolist(), strict=True))
        assert at["a1", "b1"] == [0, 0]
        assert at["a2", "b1"] == [0, 2], "a2 is a cell without people once a is split"
        assert at["a1", "b3"] == [0, 1], "and so is b34 within a1"


def test_infeasible_is_a_block_that_says_how_many_people_it_takes(pair_world: World) -> None:
    eager = Payoffs(benefit=90, loss=60, gain=110.5, cost=10)
    world = World(pair_world.rows, pair_world.people, pair_world.records, eager, pair_world.weights)
    for sparse in (False, True):
        problem = world.problem(sparse=sparse)
        with pytest.raises(StageFailed, match="nobody would attack") as caught:
            partition(problem, problem.people, GameRule.NO_ATTACK)
        assert "at least 12 people" in caught.value.expected
        assert partition(problem, problem.people, GameRule.BASIC).total > 0


def test_counts_of_two_forms_do_not_mix(pair_world: World) -> None:
    problem = pair_world.problem()
    with pytest.raises(TypeError, match="same form"):
        partition(problem, pair_world.cube(pair_world.people, sparse=True), GameRule.BASIC)


def test_equal_sums_are_split(pair_world: World) -> None:
    # With no loss from attacks and a weightless attribute every split along it is worth the same: it is taken.
    world = World(
        pair_world.rows, {("a1", "b1"): 6, ("a2", "b1"): 6}, {("a1", "b1"): 1}, pair_world.payoffs, (0.0, 1.0)
    )
    problem = world.problem()
    levels = partition(problem, problem.people, GameRule.NO_ATTACK).levels(world.codes([("a1", "b1"), ("a2", "b1")]))
    assert levels.tolist() == [[0, 0], [0, 0]]
