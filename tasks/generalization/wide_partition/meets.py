"""Division of a group into those of a level that crosses its own: the groups inside it, and finer ones for the rest.

Adults cannot be divided into five-year bands, as one band holds minors too. They can be divided into the bands that
hold adults only and, for the rest, ages in years. Such a *meet* of two levels is a level like any other: each of its
groups is one of the hierarchy's.
"""

from dataclasses import dataclass

import numpy as np

from tasks.microdata.hierarchy import Codes, Hierarchy


@dataclass(frozen=True)
class Refined:
    """A hierarchy with the meets of its levels that cross among its levels, from specific to general."""

    hierarchy: Hierarchy
    levels: Codes
    """Level, in the hierarchy proper, of each leaf's group at each level; shape (n_leaves, n_levels)."""

    @classmethod
    def of(cls, hierarchy: Hierarchy) -> "Refined":
        """A tree is its own refinement."""
        own = np.tile(np.arange(hierarchy.n_levels, dtype=np.int32), (hierarchy.n_leaves, 1))
        if hierarchy.is_tree:
            return cls(hierarchy, own)
        columns, seen = list(own.T), {_groups(hierarchy, column).tobytes() for column in own.T}
        for above in range(hierarchy.n_levels):
            for below in range(above):
                if not hierarchy.nests(above, below):
                    meet = _meet(hierarchy, below, above)
                    key = _groups(hierarchy, meet).tobytes()
                    if key not in seen:
                        seen.add(key)
                        columns.append(meet)
        columns.sort(key=lambda column: -len(np.unique(_groups(hierarchy, column))))
        return cls(_with_levels(hierarchy, columns), np.column_stack(columns))


def _groups(hierarchy: Hierarchy, levels: Codes) -> Codes:
    """Group of each leaf at a level of its own, as the position of the lowest level with the same leaves."""
    groups: Codes = hierarchy.finest[hierarchy.positions[np.arange(hierarchy.n_leaves), levels]]
    return groups


def _meet(hierarchy: Hierarchy, below: int, above: int) -> Codes:
    """Level of each leaf's largest group, from one level down, that lies inside its group of another level."""
    levels = np.full(hierarchy.n_leaves, -1, dtype=np.int32)
    outer = hierarchy.groups[:, above]
    for level in reversed(range(below + 1)):
        groups, starts = hierarchy.groups[:, level], hierarchy.starts(level)
        inside = np.minimum.reduceat(outer, starts) == np.maximum.reduceat(outer, starts)
        inside &= np.maximum.reduceat(levels, starts) < 0
        levels[inside[groups]] = level
    return levels


def _with_levels(hierarchy: Hierarchy, columns: list[Codes]) -> Hierarchy:
    groups, labels = np.empty((hierarchy.n_leaves, len(columns)), dtype=np.int32), []
    for number, column in enumerate(columns):
        positions = _groups(hierarchy, column)
        new = np.diff(positions, prepend=-1) != 0
        groups[:, number] = np.cumsum(new) - 1
        labels.append(tuple(hierarchy.axis_labels[position] for position in positions[new]))
    return Hierarchy(hierarchy.name, tuple(labels), groups)
