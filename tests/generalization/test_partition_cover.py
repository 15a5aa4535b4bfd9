"""All partitions into hierarchical cells: as set partitioning by plain loops, and better than recursive splits."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.errors import ParameterError, StageFailed
from tasks.generalization.exact import Rule
from tasks.generalization.game import Payoffs
from tasks.generalization.wide_partition.cover import Cover, Limits, best_cover
from tasks.microdata.cube import cells_at
from tests.support import slow
from tests.support.interlocking import interlocking_world
from tests.support.worlds import People, World, worlds

PLACES = 9


def cover_of(world: World, rule: Rule, weights: People, limits: Limits | None = None) -> Cover:
    people = world.tuples(world.people)
    return best_cover(
        world.problem(), people, people if weights is world.people else world.tuples(weights), rule, limits
    )


def best_of_all(world: World, rule: Rule, weights: People) -> float:
    """Most that any choice of cells pays that holds everybody once, by recursion over sets of people."""
    places = sorted({*world.people, *weights})
    worth: dict[int, float] = {}
    for levels in slow.strategies(world):
        for place in places:
            cell = slow.cell_of(world, place, levels)
            held = sum(
                1 << number
                for number, other in enumerate(places)
                if all(value in part for value, part in zip(other, cell, strict=True))
            )
            paid = slow.count(weights, cell) * slow.payoff(world, cell) if slow.count(world.people, cell) else 0.0
            if rule is Rule.NO_ATTACK and slow.count(world.people, cell) and slow.attacked(world, cell):
                paid = -np.inf
            worth[held] = max(worth.get(held, -np.inf), paid)

    @cache
    def best(rest: int) -> float:
        if rest == 0:
            return 0.0
        first = rest & -rest
        return max(
            (paid + best(rest ^ held) for held, paid in worth.items() if held & first and held & rest == held),
            default=-np.inf,
        )

    return best((1 << len(places)) - 1)


@settings(deadline=None, max_examples=30)
@given(world=worlds(max_count=6), rule=st.sampled_from(Rule), by_records=st.booleans())
def test_as_set_partitioning_over_all_cells(world: World, rule: Rule, by_records: bool) -> None:
    weights = world.records if by_records else world.people
    if len({*world.people, *weights}) > PLACES:
        return
    try:
        found = cover_of(world, rule, weights)
    except StageFailed:
        assert best_of_all(world, rule, weights) == -np.inf
        return
    assert found.proven
    assert found.total == pytest.approx(best_of_all(world, rule, weights), abs=1e-6)
    assert found.total >= found.recursive - 1e-6
    cells = cells_at(found.members.codes, found.levels, found.hierarchies)
    distinct, number = np.unique(cells, axis=0, return_inverse=True)
    people = np.bincount(number.ravel(), weights=found.members.people).astype(np.int64)
    np.testing.assert_array_equal(world.problem().people.count(distinct), people)


@pytest.mark.parametrize(
    ("rule", "payoffs", "recursive"),
    # A cell of n people pays 90·n as single leaves, 60·n as a pair along one attribute, 30·n along two. Nobody is
    # attacked in twos. Interlocked: the two corners as they are, 2·2·90, and three pairs, 3·2·60, in all 720.
    # Recursive, No-Attack: some attribute halves the whole. Each half has a corner of 2 and three more people: one
    # pair stays whole in the other half's place, so that two single people must join others; at best 600.
    # Basic, losing 70 for each cell of one: as 720 again, and 640 where one attribute is split first.
    [
        (Rule.NO_ATTACK, Payoffs(benefit=90, loss=60, gain=20, cost=10), 600),
        (Rule.BASIC, Payoffs(benefit=90, loss=70, gain=20, cost=10), 640),
    ],
)
def test_cells_that_interlock_beat_every_recursive_split(rule: Rule, payoffs: Payoffs, recursive: float) -> None:
    world = interlocking_world(payoffs)
    found = cover_of(world, rule, world.people)
    by_loops, _ = slow.partition(world, world.people, no_attack=rule is Rule.NO_ATTACK)
    assert found.recursive == pytest.approx(by_loops) == pytest.approx(recursive)
    assert found.total == pytest.approx(720) == pytest.approx(best_of_all(world, rule, world.people))
    assert found.proven
    assert sorted(map(tuple, found.levels_of_cell.tolist())) == [(0, 0, 0), (0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0)]


def test_a_search_that_is_cut_short_still_bounds() -> None:
    world = interlocking_world()
    found = cover_of(world, Rule.NO_ATTACK, world.people, Limits(rounds=1, columns=0, branches=1))
    assert found.recursive - 1e-6 <= found.total <= 720 + 1e-6 <= found.bound + 2e-6
    assert not found.proven


def test_too_much_to_look_at_is_refused() -> None:
    world = interlocking_world()
    people = world.tuples({**world.people})
    many = people.__class__(
        np.zeros((2**24, 3), dtype=np.int32), np.ones(2**24, dtype=np.int64), np.arange(2**24, dtype=np.int64)
    )
    with pytest.raises(ParameterError, match="too many cells"):
        best_cover(world.problem(), many, many, Rule.BASIC)
