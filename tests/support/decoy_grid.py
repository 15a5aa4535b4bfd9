"""A square of cells with people and records at random, fine enough that empty cells look like occupied ones."""

from collections.abc import Sequence
from functools import cache

import numpy as np

from tasks.decoys.linked_release import LinkedRelease
from tasks.microdata.hierarchy import Hierarchy, hierarchy_from_rows
from tasks.microdata.tuples import Tuples, distinct_tuples
from tests.support.recoded import recoded_alike, recoded_by_class

SIDE = 36


def axis(name: str, leaves: int = SIDE) -> Hierarchy:
    """Leaves in threes, then all."""
    rows = [[f"{name}{leaf:02}", f"{name}, third {leaf // 3}", "*"] for leaf in range(leaves)]
    return hierarchy_from_rows(name, rows, "a test")


TREES = (axis("x"), axis("y"))


def tuples(counts: np.ndarray, trees: Sequence[Hierarchy] = TREES) -> Tuples:
    """Distinct tuples of an array of counts, one axis an attribute."""
    codes = np.argwhere(counts > 0).astype(np.int32)
    return distinct_tuples(codes, trees, counts[counts > 0].astype(np.int64))[0]


@cache
def world(seed: int = 1, rate: float = 0.03) -> tuple[Tuples, Tuples]:
    """Data and population; people thin out along the first axis."""
    generator = np.random.default_rng(seed)
    people = generator.poisson(np.linspace(60, 12, SIDE)[:, None] * np.ones(SIDE))
    return tuples(generator.binomial(people, rate)), tuples(people)


@cache
def grid(minimum: int = 1, seed: int = 1, rate: float = 0.03) -> LinkedRelease:
    data, population = world(seed, rate)
    return recoded_alike(data, population, TREES, (0, 0), minimum=minimum)


@cache
def overlapping_grid() -> LinkedRelease:
    """Every other value of the second axis is released in threes: these cells hold their neighbours' too."""
    data, population = world()
    cells, own = (np.column_stack([part.codes[:, 0], _in_threes(part.codes[:, 1])]) for part in (data, population))
    kept = np.ones(len(data), dtype=bool)
    return recoded_by_class(data, population, TREES, cells=cells, kept=kept, own=own, overlapping=True)


def _in_threes(leaves: np.ndarray) -> np.ndarray:
    positions = TREES[1].positions
    return np.where(leaves % 2 == 0, positions[leaves, 0], positions[leaves, 1])
