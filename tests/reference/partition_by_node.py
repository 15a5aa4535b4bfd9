"""The best partition one lattice node after the other, each cell by a look-up of its own; slow.

Sums are added in the same order as by ``tasks.generalization.game.partition``, so that even equal sums fall alike.
"""

from collections.abc import Callable
from itertools import product

import numpy as np

from tasks.generalization.game.partition import _TIE
from tasks.microdata.hierarchy import Hierarchy

Cell = tuple[int, ...]
"""Axis positions."""


def partition_by_node(
    hierarchies: tuple[Hierarchy, ...], people: dict[Cell, int], worth: Callable[[Cell], tuple[float, int]]
) -> tuple[float, dict[Cell, int]]:
    """Sum over everybody, and the choice of each cell that ``people`` counts: release, withhold or an attribute."""
    best: dict[Cell, float] = {}
    choices: dict[Cell, int] = {}
    for levels in sorted(product(*(range(tree.n_levels) for tree in hierarchies)), key=sum):
        blocks = (range(*tree.offsets[level : level + 2]) for tree, level in zip(hierarchies, levels, strict=True))
        for cell in filter(people.__contains__, product(*blocks)):
            value, choice = worth(cell)
            for axis, tree in enumerate(hierarchies if people[cell] else ()):
                if levels[axis] == 0:
                    continue
                split = 0.0
                for part in _parts(tree, cell[axis]):
                    split += best.get((*cell[:axis], part, *cell[axis + 1 :]), 0.0)
                margin = _TIE * abs(split)
                taken = split >= value - margin if choice < 0 else split > value + margin
                if np.isfinite(split) and taken:
                    value, choice = split, axis
            best[cell], choices[cell] = value, choice
    return value, choices


def _parts(tree: Hierarchy, position: int) -> list[int]:
    """Positions of the groups that a group is made of on the next level below."""
    level = int(tree.axis_levels[position])
    held = tree.positions[tree.positions[:, level] == position, level - 1]
    return sorted(set(held.tolist()))
