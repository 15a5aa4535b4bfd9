"""Generalization hierarchies over the values of one attribute, in integer form.

Most are trees. Where a request says so, levels may cross: five-year bands, and above them *minor* and *adult*, of which
both have a part of one band. Its groups are then runs along one order of the values all the same.

A hierarchy does not read files and does not know an attribute's role; ``tasks.microdata.build`` reads and writes the
ARX form, ``tasks.microdata.build`` makes hierarchies from intervals, prefixes and groups.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.core.errors import HierarchyError, row_positions

Codes = NDArray[np.int32]

MISSING = "(no value)"
"""Label of the leaf for missing values, where records lack one."""


@dataclass(frozen=True)
class Hierarchy:
    """Levels of groups over the attribute's domain; level 0 is the values, its leaves, the last level one group.

    Leaves are ordered so that every group of every level is a run of neighbouring leaves, and groups of a level are
    numbered along that order. The *axis* of a hierarchy lists the groups of all its levels, level 0 first; a
    *position* on the axis therefore names one group of one level.

    A hierarchy is a tree where every group lies inside one group of the next level; otherwise its levels *cross*.
    """

    name: str
    labels: tuple[tuple[str, ...], ...]
    """Labels of the groups of each level."""
    groups: Codes
    """Group of each leaf at each level, array of shape (n_leaves, n_levels)."""
    values: tuple[tuple[str, ...], ...] = ()
    """Values that each leaf holds where the leaves are groups, as of ``from_level``; empty where they are values."""
    limits: tuple[int, int] | None = None
    """First and last whole number, where the request states them; values of other hierarchies may be the data's."""

    @classmethod
    def stored(
        cls, name: str, labels: Iterable[Iterable[str]], groups: Codes, values: Iterable[Iterable[str]] = ()
    ) -> "Hierarchy":
        """A hierarchy whose labels and values were stored as lists."""
        return cls(name, tuple(map(tuple, labels)), groups, tuple(map(tuple, values)))

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
        """Position of the lowest level that holds the very same leaves, by axis position."""
        first = np.concatenate([self.starts(level) for level in range(self.n_levels)]).astype(np.int64)
        _, lowest, run = np.unique(first * (self.n_leaves + 1) + self.sizes, return_index=True, return_inverse=True)
        finest: Codes = lowest[run].astype(np.int32)
        return finest

    @cached_property
    def is_tree(self) -> bool:
        """Whether every group lies inside one group of the next level, so that no levels cross."""
        return all(self.nests(level, level - 1) for level in range(1, self.n_levels))

    def nests(self, level: int, below: int) -> bool:
        """Whether every group of a level is made up of whole groups of a lower one."""
        return bool(np.isin(self.starts(level), self.starts(below)).all())

    def nested_below(self, level: int) -> int:
        """Highest lower level of whose whole groups a level (≥ 1) is made up; the next one in a tree."""
        return next(below for below in reversed(range(level)) if self.nests(level, below))

    def starts(self, level: int) -> Codes:
        """First leaf of each group of a level."""
        return np.flatnonzero(np.diff(self.groups[:, level], prepend=-1)).astype(np.int32)

    def encode(self, values: Sequence[str] | NDArray[np.object_], *, groups: bool = True) -> Codes:
        """Leaf number of each value; −1 for one outside the domain. Leaves that are groups are known by name, if so."""
        asked = pd.Index(np.asarray(values, dtype=object))
        found = self._leaves.get_indexer(asked)
        if self.values:
            leaf = np.append(np.repeat(np.arange(self.n_leaves), [len(held) for held in self.values]), -1)
            of_value = leaf[pd.Index([*chain(*self.values)], dtype="object").get_indexer(asked)]
            found = np.where((of_value < 0) & groups, found, of_value)
        return found.astype(np.int32)

    @cached_property
    def domain(self) -> dict[str, int]:
        """Leaf of each value."""
        held = self.values or ((label,) for label in self.labels[0])
        return {value: leaf for leaf, values in enumerate(held) for value in values}

    @cached_property
    def missing_leaf(self) -> int:
        """Leaf for missing values; −1 where no record lacks one."""
        return int(self._leaves.get_indexer(pd.Index([MISSING], dtype="object"))[0])

    @cached_property
    def _leaves(self) -> pd.Index:
        return pd.Index(self.labels[0], dtype="object")


def values_of(hierarchy: Hierarchy) -> str:
    """The values that a hierarchy takes, for a message: their limits where the request states them, else how many."""
    if hierarchy.limits:
        return "a whole number from {} to {}, as the hierarchy has them".format(*hierarchy.limits)
    number = len(hierarchy.domain) - (MISSING in hierarchy.domain)
    return f"one of the {number:,} values of the hierarchy" if number > 1 else "the one value that it has"


def with_leaf_apart(hierarchy: Hierarchy, label: str) -> Hierarchy:
    """A hierarchy with one more value, which shares no group with any other below the top."""
    labels = tuple((*level, label) for level in hierarchy.labels[:-1])
    row = np.array([[*map(len, hierarchy.labels[:-1]), 0]], dtype=np.int32)
    groups = np.concatenate([hierarchy.groups, row])
    values = (*hierarchy.values, (label,)) if hierarchy.values else ()
    return replace(hierarchy, labels=(*labels, hierarchy.labels[-1]), groups=groups, values=values)


def from_level(hierarchy: Hierarchy, level: int) -> Hierarchy:
    """The hierarchy from a level on: the groups of that level are its leaves, and still take the values in them.

    Raises
    ------
    HierarchyError
        If there is no such level below the last one, or a group of it has parts in several groups of a higher one.
    """
    if level == 0:
        return hierarchy
    where, last = f"attributes.{hierarchy.name}.level", hierarchy.n_levels - 1
    if level >= last:
        raise HierarchyError(
            "the hierarchy has no such level below its last one, which tells nothing",
            where=where,
            expected=f"0 to {last - 1}",
            got=f"{level}",
            fix="name a lower level, or give the column the role withheld",
        )
    crossing = [above for above in range(level + 1, last) if not hierarchy.nests(above, level)]
    if crossing:
        raise HierarchyError(
            "a group of the level has parts in several groups of a higher one",
            where=where,
            expected="a level whose groups lie whole in those of all higher ones",
            got=f"one that crosses level {crossing[0]}",
            fix="name another level, or take the levels that cross out of the hierarchy",
        )
    first = hierarchy.starts(level)
    values = tuple(hierarchy.labels[0][start:end] for start, end in pairwise([*first, hierarchy.n_leaves]))
    return replace(hierarchy, labels=hierarchy.labels[level:], groups=hierarchy.groups[first, level:], values=values)


def check_trees(what: str, hierarchies: Sequence[Hierarchy]) -> None:
    """Refuse hierarchies whose levels cross; ``what`` needs trees, for the message.

    Raises
    ------
    HierarchyError
    """
    crossing = ", ".join(hierarchy.name for hierarchy in hierarchies if not hierarchy.is_tree)
    if crossing:
        raise HierarchyError(
            what,
            where=f"attributes with levels that cross: {crossing}",
            expected="hierarchies that are trees",
            got="levels that cross",
            fix="leave out the levels that cross, or do without what needs trees",
        )


def hierarchy_from_rows(
    name: str, rows: Sequence[Sequence[str]], where: str, *, levels_may_cross: bool = False
) -> Hierarchy:
    """Build a hierarchy from rows of the ARX form: leaf first, its groups level by level after it, the top last.

    Parameters
    ----------
    name : str
        Name of the attribute.
    rows : sequence of sequences of str
        One row a leaf, all of one length. Their order does not matter for a tree; where levels cross, it or that of
        the leaves as numbers must bring the rows of every group together.
    where : str
        File or part of the request that the rows come from, for messages.
    levels_may_cross : bool
        Whether a group may have parts in several groups of the next level.

    Raises
    ------
    HierarchyError
        If there are no rows, depths differ, a label is empty, a leaf occurs twice, the last level is not one group,
        or one label stands for different groups (as it does in a cycle). If levels may not cross, if a group has two
        parents; if they may, if groups are no runs of neighbouring rows or a level has more than the one below it.
    """
    table = _checked_table(rows, where)
    levels = [pd.factorize(table[:, level])[0] for level in range(table.shape[1])]
    order = np.lexsort(levels)
    astray = ((level, _astray(*pair)) for level, pair in enumerate(pairwise(levels), start=1))
    crossing, rows_astray = next(((level, found) for level, found in astray if len(found)), (0, order[:0]))
    if crossing and not levels_may_cross:
        raise HierarchyError(
            "a group of the hierarchy has two parents",
            where=f"{where}, level {crossing}, {row_positions(rows_astray)}",
            expected="every group inside one group of the next level",
            fix="give the rows of a group the same label at all higher levels, or add “levels_may_cross: true” to "
            "the hierarchy if that is meant",
        )
    if crossing:
        order = _order_of_runs(table, where)
    codes = np.column_stack(levels)[order]
    new = np.diff(codes, axis=0, prepend=-1) != 0
    labels = tuple(tuple(map(str, table[order, level][new[:, level]])) for level in range(table.shape[1]))
    hierarchy = Hierarchy(name, labels, (np.cumsum(new, axis=0) - 1).astype(np.int32))
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
    return hierarchy


def _checked_table(rows: Sequence[Sequence[str]], where: str) -> NDArray[np.object_]:
    depth = len(rows[0]) if rows else 0
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
            "the hierarchy has no level above its values" if rows else "the hierarchy is empty",
            where=where,
            expected="one row for each value of the domain, with the value and the top at least",
            got="one label in each row" if rows else "no rows",
            fix="add the rows, and a last column that is the same for all, usually *",
        )
    table = np.array(rows, dtype=object)
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
    tops = len(set(table[:, -1]))
    if tops > 1:
        raise HierarchyError(
            "the last level of the hierarchy is not one group",
            where=where,
            expected="the same last label in every row",
            got=f"{tops} different labels",
            fix="add a last column that is the same for all, usually *",
        )
    return table


def _astray(below: NDArray[np.intp], above: NDArray[np.intp]) -> NDArray[np.intp]:
    """Rows that are in another group of a level than the first row of their group of the level below."""
    first_parent = np.full(below.max() + 1, -1, dtype=np.intp)
    first_parent[below[::-1]] = above[::-1]
    return np.flatnonzero(first_parent[below] != above)


def _order_of_runs(table: NDArray[np.object_], where: str) -> NDArray[np.intp]:
    """Order of the rows in which every group of every level is a run: as they are, or that of their numbers."""
    orders = [np.arange(len(table))]
    numbers = pd.to_numeric(pd.Series(table[:, 0]), errors="coerce").to_numpy(dtype=np.float64)
    if np.isfinite(numbers).all():
        orders.append(np.argsort(numbers, kind="stable"))
    depth = range(table.shape[1])
    order = next((one for one in orders if not any(len(_returning(table[one, level])) for level in depth)), None)
    if order is None:
        level = next(level for level in depth if len(_returning(table[:, level])))
        raise HierarchyError(
            "the groups of a level that crosses others are not runs of neighbouring rows",
            where=f"{where}, level {level}, {row_positions(_returning(table[:, level]))}",
            expected="rows in one order in which those of every group, at every level, come one after the other",
            got="rows of a group with others between them",
            fix="put the rows in that order; where there is none, leave out one of the levels",
        )
    for level, (below, above) in enumerate(pairwise(len(set(table[:, level])) for level in depth), start=1):
        if above > below:
            raise HierarchyError(
                "a level of the hierarchy has more groups than the one below it",
                where=f"{where}, level {level}",
                expected=f"at most {below:,} groups",
                got=f"{above:,}",
                fix="put the levels in order, from specific to general",
            )
    return order


def _returning(labels: NDArray[np.object_]) -> NDArray[np.intp]:
    """Rows that return to a group after another one."""
    codes, _ = pd.factorize(labels)
    return np.flatnonzero(pd.Series(codes).duplicated() & (np.diff(codes, prepend=-1) != 0))
