"""Generalization hierarchies: trees over the values of one attribute, in integer form.

A hierarchy does not read files and does not know an attribute's role; ``tasks.microdata.arx`` reads and writes the
ARX form, ``tasks.microdata.build`` makes hierarchies from intervals, prefixes and groups.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.errors import HierarchyError, row_positions

Codes = NDArray[np.int32]


@dataclass(frozen=True)
class Hierarchy:
    """A tree whose leaves are the attribute's domain; level 0 is the leaves, the last level one group.

    Leaves are ordered so that every group of every level is a run of neighbouring leaves, and groups of a level are
    numbered along that order. The *axis* of a hierarchy lists the groups of all its levels, level 0 first; a
    *position* on the axis therefore names one group of one level.
    """

    name: str
    labels: tuple[tuple[str, ...], ...]
    """Labels of the groups of each level."""
    groups: Codes
    """Group of each leaf at each level, array of shape (n_leaves, n_levels)."""

    @property
    def n_leaves(self) -> int:
        """Values in the domain."""
        return len(self.labels[0])

    @property
    def n_levels(self) -> int:
        """Levels, the leaves included: the paper's h_f."""
        return len(self.labels)

    @cached_property
    def offsets(self) -> Codes:
        """Axis position of the first group of each level, with the axis length last; shape (n_levels + 1,)."""
        return np.concatenate([[0], np.cumsum([len(level) for level in self.labels])]).astype(np.int32)

    @property
    def axis_length(self) -> int:
        """Groups of all levels together."""
        return int(self.offsets[-1])

    @cached_property
    def positions(self) -> Codes:
        """Axis position of each leaf's group at each level, shape (n_leaves, n_levels)."""
        return self.groups + self.offsets[:-1]

    @cached_property
    def axis_labels(self) -> tuple[str, ...]:
        """Label at each axis position."""
        return tuple(label for level in self.labels for label in level)

    @cached_property
    def axis_levels(self) -> Codes:
        """Level of each axis position."""
        return np.repeat(np.arange(self.n_levels, dtype=np.int32), [len(level) for level in self.labels])

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Domain values in the group at each axis position, shape (axis_length,)."""
        counts = [np.bincount(self.groups[:, level]) for level in range(self.n_levels)]
        return np.concatenate(counts).astype(np.int64)

    @cached_property
    def finest(self) -> Codes:
        """For each axis position, the position of the lowest level that holds the very same leaves."""
        finest = np.arange(self.axis_length, dtype=np.int32)
        for level in range(1, self.n_levels):
            here = self.positions[self.starts(level), level]
            below = self.positions[self.starts(level), level - 1]
            same = self.sizes[here] == self.sizes[below]
            finest[here[same]] = finest[below[same]]
        return finest

    def starts(self, level: int) -> Codes:
        """First leaf of each group of a level."""
        first: Codes = np.flatnonzero(np.diff(self.groups[:, level], prepend=-1)).astype(np.int32)
        return first

    def child_starts(self, level: int) -> Codes:
        """First group of the level below of each group of a level (level ≥ 1)."""
        children: Codes = self.groups[self.starts(level), level - 1]
        return children

    @cached_property
    def leaf_index(self) -> pd.Index:
        """The domain's values, in leaf order."""
        return pd.Index(self.labels[0], dtype="object")

    def encode(self, values: Sequence[str] | NDArray[np.object_]) -> Codes:
        """Leaf number of each value; −1 for a value outside the domain."""
        return self.leaf_index.get_indexer(pd.Index(np.asarray(values, dtype=object))).astype(np.int32)


def hierarchy_from_rows(name: str, rows: Sequence[Sequence[str]], where: str) -> Hierarchy:
    """Build a hierarchy from rows of the ARX form: leaf first, its ancestors after it, the top last.

    Parameters
    ----------
    name : str
        Name of the attribute.
    rows : sequence of sequences of str
        One row a leaf, all of one length.
    where : str
        File or part of the request that the rows come from, for messages.

    Raises
    ------
    HierarchyError
        If there are no rows, depths differ, a label is empty, a leaf occurs twice, the last level is not one group,
        a group has two parents, or one label stands for different groups (as it does in a cycle).
    """
    _check_depth(rows, where)
    table = np.array(rows, dtype=object)
    _check_labels(table, where)
    levels = [pd.factorize(table[:, level])[0] for level in range(table.shape[1])]
    _check_nesting(levels, where)
    order = np.lexsort(levels)
    groups = np.empty(table.shape, dtype=np.int32)
    labels = []
    for level in range(table.shape[1]):
        ordered = table[order, level]
        codes = levels[level][order]
        new = np.diff(codes, prepend=-1) != 0
        groups[:, level] = np.cumsum(new) - 1
        labels.append(tuple(str(label) for label in ordered[new]))
    hierarchy = Hierarchy(name=name, labels=tuple(labels), groups=groups)
    _check_unambiguous(hierarchy, where)
    return hierarchy


def _check_depth(rows: Sequence[Sequence[str]], where: str) -> None:
    if not rows:
        raise HierarchyError(
            "the hierarchy is empty", where=where, expected="one row for each value of the domain", fix="add the rows"
        )
    depth = len(rows[0])
    uneven = [number for number, row in enumerate(rows) if len(row) != depth]
    if uneven:
        raise HierarchyError(
            "the hierarchy has rows of unequal depth",
            where=f"{where}, {row_positions(uneven)}",
            expected=f"{depth} labels in each row, as in the first",
            got=f"{len(rows[uneven[0]])} labels",
            fix="repeat a label where a level does not generalize further",
        )
    if depth < 2:
        raise HierarchyError(
            "the hierarchy has no level above its values",
            where=where,
            expected="at least two labels in each row: the value and the top",
            got="one",
            fix="add a last column that is the same for all, usually *",
        )


def _check_labels(table: NDArray[np.object_], where: str) -> None:
    holes = np.argwhere(table == "")
    if len(holes):
        raise HierarchyError(
            "the hierarchy has a hole",
            where=f"{where}, level {holes[0][1]}, {row_positions(np.unique(holes[:, 0]))}",
            expected="a label at every level of every row",
            got="an empty label",
            fix="fill in the label",
        )
    twice = np.flatnonzero(pd.Series(table[:, 0]).duplicated().to_numpy())
    if len(twice):
        raise HierarchyError(
            "a value occurs twice in the hierarchy",
            where=f"{where}, {row_positions(twice)}",
            expected="each value of the domain in one row",
            fix="remove the repeated rows",
        )
    if len(set(table[:, -1])) > 1:
        raise HierarchyError(
            "the last level of the hierarchy is not one group",
            where=where,
            expected="the same last label in every row",
            got=f"{len(set(table[:, -1]))} different labels",
            fix="add a last column that is the same for all, usually *",
        )


def _check_nesting(levels: Sequence[NDArray[np.intp]], where: str) -> None:
    for level, (below, above) in enumerate(pairwise(levels), start=1):
        first_parent = np.full(below.max() + 1, -1, dtype=np.intp)
        first_parent[below[::-1]] = above[::-1]
        crossing = np.flatnonzero(first_parent[below] != above)
        if len(crossing):
            raise HierarchyError(
                "a group of the hierarchy has two parents",
                where=f"{where}, level {level}, {row_positions(crossing)}",
                expected="every group inside one group of the next level",
                fix="give the rows of a group the same label at all higher levels",
            )


def _check_unambiguous(hierarchy: Hierarchy, where: str) -> None:
    """One label must mean one set of values, or nobody could read the released file."""
    seen: dict[str, int] = {}
    for position, label in enumerate(hierarchy.axis_labels):
        finest = int(hierarchy.finest[position])
        if seen.setdefault(label, finest) != finest:
            raise HierarchyError(
                "one label of the hierarchy stands for different groups, or the hierarchy has a cycle",
                where=f"{where}, level {hierarchy.axis_levels[position]}",
                expected="a label of its own for each group of values",
                fix="rename the label at one of the levels",
            )
