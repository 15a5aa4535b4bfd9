"""Divisions of the groups of one attribute: trees, and hierarchies whose levels cross.

Levels cross where a group of one level is not inside one group of the next (five-year bands and *minor, adult*). A
group can then be divided into the groups of any lower level that lie wholly inside it; ``meets`` adds levels for those
of which some do not.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.microdata.hierarchy import Codes, Hierarchy

NO_LEVEL = -1


@dataclass(frozen=True)
class Axis:
    """The groups of one hierarchy with the levels that each can be divided into."""

    hierarchy: Hierarchy
    nested: NDArray[np.bool_]
    """Whether the groups of a level that meet a group lie inside it; shape (axis_length, n_levels), lower levels."""
    targets: NDArray[np.int8]
    """Levels that a group is divided into in one step, −1 for none; shape (axis_length, n_options)."""
    first: Codes
    """Least number of a level's groups that meet a group; shape (axis_length, n_levels)."""
    span: Codes
    """Largest less least number of these groups, plus 1."""
    crossing: bool
    """Whether some group cannot be divided into the groups of the level below it."""

    @classmethod
    def of(cls, hierarchy: Hierarchy) -> "Axis":
        """Divisions of every group of a hierarchy."""
        shape = (hierarchy.axis_length, hierarchy.n_levels)
        nested = np.zeros(shape, dtype=np.bool_)
        first = np.full(shape, hierarchy.n_leaves, dtype=np.int32)
        last = np.zeros(shape, dtype=np.int32)
        for level in range(hierarchy.n_levels):
            above = hierarchy.positions[:, level]
            for lower in range(level):
                below = hierarchy.groups[:, lower]
                inside = np.ones(shape[0], dtype=np.bool_)
                np.logical_and.at(inside, above, _pure(below, above)[below])
                own = np.unique(above)
                nested[own, lower] = inside[own]
                np.minimum.at(first[:, lower], above, below)
                np.maximum.at(last[:, lower], above, below)
        targets = _steps(hierarchy, nested)
        below_it = np.maximum(hierarchy.axis_levels - 1, 0)
        crossing = not nested[np.arange(shape[0]), below_it][hierarchy.axis_levels > 0].all()
        return cls(hierarchy, nested, targets, first, np.maximum(last - first + 1, 1), crossing)


def _pure(below: Codes, above: Codes) -> NDArray[np.bool_]:
    """Whether each lower group lies inside one higher group."""
    least = np.full(int(below.max()) + 1, np.iinfo(np.int32).max, dtype=np.int32)
    most = np.full(len(least), -1, dtype=np.int32)
    np.minimum.at(least, below, above)
    np.maximum.at(most, below, above)
    pure: NDArray[np.bool_] = least == most
    return pure


def _steps(hierarchy: Hierarchy, nested: NDArray[np.bool_]) -> NDArray[np.int8]:
    """Levels that are not reached by way of another level, one row a group."""
    direct = nested.copy()
    for level in range(hierarchy.n_levels):
        above = hierarchy.positions[:, level]
        for between in range(level):
            for lower in range(between):
                by_way = np.ones(len(nested), dtype=np.bool_)
                np.logical_and.at(by_way, above, nested[hierarchy.positions[:, between], lower])
                own = np.unique(above)
                direct[own, lower] &= ~(nested[own, between] & by_way[own])
    options = max(int(direct.sum(axis=1).max(initial=0)), 1)
    targets = np.full((len(nested), options), NO_LEVEL, dtype=np.int8)
    for position, levels in enumerate(direct):
        reached = np.flatnonzero(levels)[::-1]
        targets[position, : len(reached)] = reached
    return targets
