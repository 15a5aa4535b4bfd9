"""Releases in remainder classes, played by the method itself, for decoys beside them."""

from functools import cache

import numpy as np

from tasks.decoys.linked_release import LinkedRelease
from tasks.generalization.game.count_index import CountIndex
from tasks.generalization.game.payoffs import Follower, Payoffs
from tasks.generalization.generalize import generalize
from tasks.request.model import Method
from tests.support import adult, decoy_grid
from tests.support.generalization import floor_axis, table_of
from tests.support.worlds import World


def released(table: CountIndex, payoffs: Follower, weights: np.ndarray) -> LinkedRelease:
    """The release of everybody in remainder classes."""
    made = generalize(table, Method.NO_ATTACK_REMAINDER, payoffs, weights)
    assert made.own is not None
    return LinkedRelease(
        hierarchies=table.hierarchies,
        data=table.data,
        cells=made.cells,
        released=np.ones(len(table.data), dtype=bool),
        population=table.population,
        own=made.own,
        axis_sizes=table.axis_sizes,
        overlapping=False,
        remainders=True,
    )


def of_world(world: World, payoffs: Follower) -> LinkedRelease:
    """Remainder classes of a small world, under stakes that need not be its own."""
    return released(table_of(world, (0,) * len(world.rows), 2**20), payoffs, np.array(world.weights))


@cache
def of_grid(people: int = 50) -> LinkedRelease:
    """Classes of so many people or more, of the grid of ``tests.support.decoy_grid``."""
    data, population = decoy_grid.world(rate=0.01)
    floors = tuple(floor_axis(tree, 0) for tree in decoy_grid.TREES)
    table = CountIndex(decoy_grid.TREES, floors, data, population, 2**20)
    return released(table, Payoffs(benefit=1200, loss=4 * people, gain=4 * people, cost=4), np.ones(2))


@cache
def of_adult() -> LinkedRelease:
    """Adult-TN in classes of 75 people or more, as the case study has it."""
    return released(adult.table(), adult.PAYOFFS, np.array([1.0, 1.0, 0.0, 1.0]))
