"""The best of all partitions into hierarchical cells, recursive or not, of a world of few people."""

from functools import cache

import numpy as np

from tasks.generalization.exact import Rule
from tests.support import slow
from tests.support.worlds import People, World

MOST_PLACES = 9
"""Distinct combinations of values past which this takes too long."""


def places(world: World, weights: People) -> list[tuple[int, ...]]:
    """Distinct combinations of values of a world."""
    return sorted({*world.people, *weights})


def best_of_all(world: World, rule: Rule, weights: People) -> float:
    """Most that any choice of cells pays that holds everybody once, by recursion over sets of people."""
    held_places = places(world, weights)
    worth: dict[int, float] = {}
    for levels in slow.strategies(world):
        for place in held_places:
            cell = slow.cell_of(world, place, levels)
            held = sum(
                1 << number
                for number, other in enumerate(held_places)
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

    return best((1 << len(held_places)) - 1)
