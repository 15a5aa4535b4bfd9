"""Ancestors of every position on an attribute's axis, ready for vectorised look-up.

A position stands for a set of leaves, and one set can have several positions (a level that generalizes some values no
further). Everything here is by the *canonical* position, the lowest one with the same leaves.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tasks.microdata.hierarchy import Codes, Hierarchy, check_trees

NOTHING = -1


@dataclass(frozen=True)
class Lineage:
    """Ancestors of the groups of one attribute."""

    canonical: Codes
    """Canonical position of each position, shape (n_positions,)."""
    above: Codes
    """Canonical positions of the groups that hold each position's leaves and more, −1 where there are fewer;
    shape (n_positions, depth)."""
    raised: Codes
    """Canonical position of each position at each level of the hierarchy or, where it is higher, at its own;
    shape (n_positions, n_levels)."""
    levels: Codes
    """Level of each position; of a group outside the hierarchy, the least level with a group that holds it."""

    def __len__(self) -> int:
        return len(self.canonical)

    @property
    def top(self) -> int:
        """Canonical position of the group of all leaves: a value that is withheld or unknown."""
        return int(self.raised[0, -1])


def lineages(hierarchies: Sequence[Hierarchy], outside: Sequence[Codes | None] | None = None) -> tuple[Lineage, ...]:
    """The lineage of each attribute.

    Parameters
    ----------
    hierarchies : sequence of Hierarchy
    outside : sequence of arrays of shape (n_leaves,) or None, optional
        For each attribute, the position of each leaf under a grouping of which some groups are not in the hierarchy;
        their positions follow its axis (``tasks.generalization.safe_harbor.SafeHarborAxis.positions``).

    Raises
    ------
    HierarchyError
        If the levels of a hierarchy cross, so that a group has no one line of ancestors.
    """
    check_trees("decoys are placed in groups that lie inside one another", hierarchies)
    groupings = outside or [None] * len(hierarchies)
    return tuple(_lineage(hierarchy, grouping) for hierarchy, grouping in zip(hierarchies, groupings, strict=True))


def _lineage(hierarchy: Hierarchy, grouping: Codes | None) -> Lineage:
    first = np.concatenate([hierarchy.starts(level) for level in range(hierarchy.n_levels)])
    level = np.arange(hierarchy.n_levels, dtype=np.int32)
    raised = hierarchy.finest[hierarchy.positions[first[:, None], np.maximum(level, hierarchy.axis_levels[:, None])]]
    own = Lineage(hierarchy.finest, _strict(raised, hierarchy.finest), raised, hierarchy.axis_levels)
    if grouping is None:
        return own
    for position in np.unique(grouping[grouping >= hierarchy.axis_length]):
        own = _with_group(own, hierarchy, np.flatnonzero(grouping == position))
    return own


def _strict(raised: Codes, canonical: Codes) -> Codes:
    repeated = np.zeros(raised.shape, dtype=bool)
    repeated[:, 1:] = raised[:, 1:] == raised[:, :-1]
    return np.where(repeated | (raised == canonical[:, None]), NOTHING, raised).astype(np.int32)


def _with_group(own: Lineage, hierarchy: Hierarchy, leaves: np.ndarray) -> Lineage:
    """The lineage with one more group, of leaves that no group of the hierarchy has by themselves."""
    position = len(own)
    held = np.isin(np.arange(hierarchy.n_leaves), leaves)
    groups = [(level, group) for level, labels in enumerate(hierarchy.labels) for group in range(len(labels))]
    within = np.array([held[hierarchy.groups[:, level] == group].all() for level, group in groups], dtype=bool)
    inside = np.concatenate([within, np.zeros(position - hierarchy.axis_length, dtype=bool)])
    floor = int(np.argmax((hierarchy.groups[leaves] == hierarchy.groups[leaves[0]]).all(axis=0)))
    raised = hierarchy.finest[hierarchy.positions[leaves[0], np.maximum(np.arange(hierarchy.n_levels), floor)]]
    holders = np.unique(raised)
    width = max(own.above.shape[1] + 1, len(holders))
    above = np.full((position + 1, width), NOTHING, dtype=np.int32)
    above[:position, : own.above.shape[1]] = own.above
    above[:position, own.above.shape[1]] = np.where(inside, position, NOTHING)
    above[position, : len(holders)] = holders
    return Lineage(
        canonical=np.append(own.canonical, np.int32(position)),
        above=above,
        raised=np.vstack([own.raised, raised]).astype(np.int32),
        levels=np.append(own.levels, np.int32(floor)),
    )


def canonical_cells(cells: Codes, axes: Sequence[Lineage]) -> Codes:
    """Cells with each group at its canonical position, so that equal cells are equal rows; one axis an attribute."""
    return np.column_stack([line.canonical[cells[:, axis]] for axis, line in enumerate(axes)]).astype(np.int32)
