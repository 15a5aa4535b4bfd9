"""Equivalence classes, the groups that their cells are made of, and which classes are of the same origin.

A position on an attribute's axis stands for a set of leaves, and one set can have several positions (a level that
generalizes some values no further). Everything here is by the *canonical* position, the lowest with the same leaves.

Classes of two files are of the same origin if they can come from the same original records: Antonatos et al.,
*AnonTokens* (2019), Definition 1: in every quasi-identifier the value of one class is a parent or a child of the value
of the other. The definition leaves out what its own example needs: the values may also be equal, and any ancestor
counts, not the parent alone. The direction may differ from one quasi-identifier to the next.

Groups of one hierarchy either hold one another or have no value in common, so two classes are of the same origin just
when some combination of values lies in both. It follows that classes of a file recoded alike are never of the same
origin; those of a file whose records are generalized each by itself can be.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.microdata.hierarchy import Codes, Hierarchy, check_trees
from tasks.microdata.tuples import Counts

Rows = NDArray[np.intp]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]

NOTHING = -1
_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")
_OCTAVES = 256
"""More half-octaves than any number of people has."""
_BLOCK = 2**20
"""Groups that are looked up at once, about."""


@dataclass(frozen=True, eq=False)
class ClassTable:
    """Equivalence classes of a file; shows nothing of them."""

    cells: Codes = field(repr=False)
    """Axis positions, shape (n_classes, n_attributes)."""
    records: Counts = field(repr=False)
    """Records of each class, from 1; shape (n_classes,)."""
    people: Counts = field(repr=False)
    """People of the population who match each class, shape (n_classes,); of a remainder class, its own people."""
    inside: Counts | None = field(repr=False, default=None)
    """People whose values each cell holds, those of other classes too; None where they are the people."""

    def __len__(self) -> int:
        return len(self.records)

    def take(self, rows: Rows | Flags) -> Self:
        """Some of the classes."""
        inside = None if self.inside is None else self.inside[rows]
        return type(self)(self.cells[rows], self.records[rows], self.people[rows], inside)


def joined(tables: Sequence[ClassTable]) -> ClassTable:
    """The classes of several tables, at least one, one after the other."""
    return ClassTable(
        np.concatenate([table.cells for table in tables]),
        np.concatenate([table.records for table in tables]),
        np.concatenate([table.people for table in tables]),
        None
        if all(table.inside is None for table in tables)
        else np.concatenate([table.people if table.inside is None else table.inside for table in tables]),
    )


def sums_of(weights: Counts, groups: Counts, wanted: Counts) -> Counts:
    """Sum of the weights of each wanted group; 0 for one that has none."""
    return pd.Series(weights).groupby(groups).sum().reindex(wanted, fill_value=0).to_numpy(np.int64)


def half_octaves(people: Counts) -> NDArray[np.int64]:
    """Half-octave of each number of people, ⌊2 log₂ n⌋; −1 for no people.

    >>> half_octaves(np.array([0, 1, 2, 3, 4, 5, 6]))
    array([-1,  0,  2,  3,  4,  4,  5])
    """
    square = np.square(people.astype(np.float64))
    return np.frexp(square)[1].astype(np.int64) - 1


def people_bins(people: Counts, inside: Counts | None) -> NDArray[np.int64]:
    """Number of each class's bin by people: those linked and those inside its cell, each within a half-octave."""
    return half_octaves(people) * _OCTAVES + half_octaves(people if inside is None else inside)


def looks(table: ClassTable, *, by_people: bool = True) -> Rows:
    """Number of each class's bin: as many records, and people within half-octaves unless by records alone.

    A holder of the population can count the people of every class; so close together, counts distinguish no decoy.
    """
    values = np.column_stack([table.records, people_bins(table.people, table.inside) if by_people else table.records])
    return np.unique(values, axis=0, return_inverse=True)[1].ravel().astype(np.intp)


@dataclass(frozen=True)
class Lineage:
    """Ancestors of the groups of one attribute."""

    canonical: Codes
    """Canonical position of each position, shape (n_positions,)."""
    above: Codes
    """Canonical positions of the groups that hold each position's leaves and more, −1 where there are fewer;
    shape (n_positions, depth)."""
    at_level: Codes
    """Canonical position of each position at each level of the hierarchy or, where it is higher, at its own;
    shape (n_positions, n_levels)."""
    levels: Codes
    """Level of each position; of a group outside the hierarchy, the least level with a group that holds it."""

    def __len__(self) -> int:
        return len(self.canonical)

    @property
    def top(self) -> int:
        """Canonical position of the group of all leaves: a value that is withheld or unknown."""
        return int(self.at_level[0, -1])


def lineages(hierarchies: Sequence[Hierarchy], outside: Sequence[Codes | None] | None = None) -> tuple[Lineage, ...]:
    """The lineage of each attribute; a HierarchyError where the levels of a hierarchy cross.

    `outside` has, for each attribute, the position of each leaf under a grouping with groups that are not in the
    hierarchy, which follow its axis (``tasks.generalization.game.safe_harbor.SafeHarborAxis.positions``), or None.
    """
    check_trees("decoys are placed in groups that lie inside one another", hierarchies)
    groupings = outside or [None] * len(hierarchies)
    return tuple(_lineage(hierarchy, grouping) for hierarchy, grouping in zip(hierarchies, groupings, strict=True))


def _lineage(hierarchy: Hierarchy, grouping: Codes | None) -> Lineage:
    first = np.concatenate([hierarchy.starts(level) for level in range(hierarchy.n_levels)])
    level = np.arange(hierarchy.n_levels, dtype=np.int32)
    at_level = hierarchy.finest[hierarchy.positions[first[:, None], np.maximum(level, hierarchy.axis_levels[:, None])]]
    no_more = at_level == hierarchy.finest[:, None]
    no_more[:, 1:] |= at_level[:, 1:] == at_level[:, :-1]
    above = np.where(no_more, NOTHING, at_level).astype(np.int32)
    own = Lineage(hierarchy.finest, above, at_level, hierarchy.axis_levels)
    if grouping is None:
        return own
    for position in np.unique(grouping[grouping >= hierarchy.axis_length]):
        own = _with_group(own, hierarchy, np.flatnonzero(grouping == position))
    return own


def _with_group(own: Lineage, hierarchy: Hierarchy, leaves: np.ndarray) -> Lineage:
    """The lineage with one more group, of leaves that no group of the hierarchy has by themselves."""
    position = len(own)
    held = np.isin(np.arange(hierarchy.n_leaves), leaves)
    groups = [(level, group) for level, labels in enumerate(hierarchy.labels) for group in range(len(labels))]
    within = np.array([held[hierarchy.groups[:, level] == group].all() for level, group in groups], dtype=bool)
    inside = np.concatenate([within, np.zeros(position - hierarchy.axis_length, dtype=bool)])
    floor = int(np.argmax((hierarchy.groups[leaves] == hierarchy.groups[leaves[0]]).all(axis=0)))
    at_level = hierarchy.finest[hierarchy.positions[leaves[0], np.maximum(np.arange(hierarchy.n_levels), floor)]]
    holders = np.unique(at_level)
    width = max(own.above.shape[1] + 1, len(holders))
    above = np.full((position + 1, width), NOTHING, dtype=np.int32)
    above[:position, : own.above.shape[1]] = own.above
    above[:position, own.above.shape[1]] = np.where(inside, position, NOTHING)
    above[position, : len(holders)] = holders
    return Lineage(
        canonical=np.append(own.canonical, np.int32(position)),
        above=above,
        at_level=np.vstack([own.at_level, at_level]).astype(np.int32),
        levels=np.append(own.levels, np.int32(floor)),
    )


def canonical_cells(cells: Codes, axes: Sequence[Lineage]) -> Codes:
    """Cells with each group at its canonical position, so that equal cells are equal rows; one axis an attribute."""
    return np.column_stack([line.canonical[cells[:, axis]] for axis, line in enumerate(axes)]).astype(np.int32)


def levels_of(cells: Codes, axes: Sequence[Lineage]) -> Codes:
    """Level of each group of some cells."""
    return np.column_stack([line.levels[cells[:, axis]] for axis, line in enumerate(axes)])


def canonical_table(table: ClassTable, axes: Sequence[Lineage]) -> ClassTable:
    """Classes with canonical cells."""
    return replace(table, cells=canonical_cells(table.cells, axes))


def same_origin_pairs(left: Codes, right: Codes, axes: Sequence[Lineage]) -> tuple[Rows, Rows]:
    """All pairs of a class of one file and a class of another that are of the same origin, as rows of each, in order.

    Attribute by attribute, those with the most values first, the beginnings of cells that still fit are joined: a group
    finds itself and its ancestors on the other side by search. So the cost follows the pairs that fit so far and the
    depth of the hierarchies, not the product of the files. Equal rows are allowed.
    """
    left, right = canonical_cells(left, axes), canonical_cells(right, axes)
    left_of, right_of = (np.zeros(len(cells), dtype=np.intp) for cells in (left, right))
    # Distinct beginnings are numbered; a key is the number of the beginning one attribute shorter, and the position.
    ours = theirs = np.zeros(min(len(left), len(right), 1), dtype=np.intp)
    for axis in sorted(range(len(axes)), key=lambda axis: -len(np.unique(left[:, axis]))):
        line = axes[axis]
        left_keys, left_of = np.unique(left_of * len(line) + left[:, axis], return_inverse=True)
        right_keys, right_of = np.unique(right_of * len(line) + right[:, axis], return_inverse=True)
        with_self = np.column_stack([np.arange(len(line)), line.above])
        at_most = _held(left_keys, right_keys, (ours, theirs), with_self)
        below = _held(right_keys, left_keys, (theirs, ours), line.above)
        ours, theirs = np.append(at_most[0], below[1]), np.append(at_most[1], below[0])
    pair, ours = _members(left_of, ours)
    again, theirs = _members(right_of, theirs[pair])
    ours = ours[again]
    order = np.lexsort((theirs, ours))
    return ours[order], theirs[order]


def _held(upper: Rows, lower: Rows, pairs: tuple[Rows, Rows], holders: Codes) -> tuple[Rows, Rows]:
    """Keys of both sides, of pairs of beginnings that fit, where the upper position is a holder of the lower one."""
    row, child = _members(lower // len(holders), pairs[1])
    found_upper, found_lower = [], []
    for block in np.array_split(np.arange(len(row)), 1 + row.size * holders.shape[1] // _BLOCK):
        sought = holders[lower[child[block]] % len(holders)]
        keys = pairs[0][row[block], None] * len(holders) + sought
        place = np.minimum(np.searchsorted(upper, keys), len(upper) - 1)
        at, column = np.nonzero((upper[place] == keys) & (sought >= 0))
        found_upper.append(place[at, column])
        found_lower.append(child[block][at])
    return np.concatenate(found_upper), np.concatenate(found_lower)


def _members(group_of_row: Rows, groups: Rows) -> tuple[Rows, Rows]:
    """The rows of each of some groups, after the place of the group among those given."""
    order = np.argsort(group_of_row, kind="stable")
    starts, ends = (np.searchsorted(group_of_row[order], groups, side=side) for side in _SIDES)
    place = np.repeat(np.arange(len(groups)), ends - starts)
    before = np.cumsum(ends - starts) - (ends - starts)
    return place, order[np.arange(len(place)) + (starts - before)[place]]
