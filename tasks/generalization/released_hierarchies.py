"""A method's own classes as the leaves of hierarchies, so that they can be generalized further and never less.

The groups that a method releases of an attribute are the leaves of its released hierarchy. At level j a group has its
own level or j, whichever is higher; a group of Safe Harbor's that the hierarchy lacks stays as it is below the least
level that holds it. Metrics measure the real groups, not the leaves.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tasks.generalization.game.count_index import CountIndex, matching_people
from tasks.generalization.game.safe_harbor import SafeHarborAxis
from tasks.generalization.kanonymity.classes import Floats
from tasks.generalization.kanonymity.metrics import AxisCost, Metric, Reference, axis_cost
from tasks.microdata.hierarchy import Codes, Hierarchy
from tasks.microdata.tuples import Counts


@dataclass(frozen=True)
class ReleasedAxis:
    """The groups that a method releases of one attribute, as leaves."""

    hierarchy: Hierarchy
    """Over the released groups; has as many levels as the attribute's own."""
    positions: Codes
    """Canonical position, on the attribute's own axis, of each position of ``hierarchy``; shape (axis_length,)."""
    levels: Codes
    """Level of each leaf's group at each level of ``hierarchy``, shape (n_leaves, n_levels)."""
    leaf_of: Codes
    """Leaf of each position on the attribute's own axis, −1 where the method does not release it."""

    @cached_property
    def groups(self) -> Codes:
        """Position, on the attribute's own axis, of each leaf's group at each level; shape (n_leaves, n_levels)."""
        return self.positions[self.hierarchy.positions]


@dataclass(frozen=True)
class ReleasedHierarchies:
    """The released hierarchies of a count index under one method."""

    table: CountIndex
    axes: tuple[ReleasedAxis, ...]

    @classmethod
    def of(cls, table: CountIndex, *cells: Codes) -> "ReleasedHierarchies":
        """Hierarchies over the groups of some cells, all of shape (n, n_attributes) in canonical positions."""
        pairs = zip(table.hierarchies, table.safe_harbor, strict=True)
        used = [np.unique(np.concatenate([rows[:, axis] for rows in cells])) for axis in range(len(table.hierarchies))]
        return cls(table, tuple(released_axis(*pair, groups) for pair, groups in zip(pairs, used, strict=True)))

    @property
    def hierarchies(self) -> tuple[Hierarchy, ...]:
        """One an attribute."""
        return tuple(axis.hierarchy for axis in self.axes)

    def leaves(self, cells: Codes) -> Codes:
        """Leaf codes of cells of the method, same shape."""
        return np.column_stack([axis.leaf_of[cells[:, place]] for place, axis in enumerate(self.axes)])

    def cells(self, leaves: Codes, levels: Sequence[int] | Codes) -> Codes:
        """Released cells, in canonical positions of the table, of leaf codes at some levels (of a node or of each)."""
        at = np.broadcast_to(np.asarray(levels, dtype=np.int32), leaves.shape)
        return np.column_stack([axis.groups[leaves[:, i], at[:, i]] for i, axis in enumerate(self.axes)])

    def true_levels(self, leaves: Codes, levels: Codes) -> Codes:
        """Level that each leaf code has at some level; all of shape (n, n_attributes)."""
        return np.column_stack([axis.levels[leaves[:, i], levels[:, i]] for i, axis in enumerate(self.axes)])

    def count(self, cells: Codes) -> Counts:
        """People of the population who match cells in positions of the released hierarchies (for ``KMap``)."""
        return matching_people(
            self.table, np.column_stack([axis.positions[cells[:, i]] for i, axis in enumerate(self.axes)])
        )

    def reference(self, metric: Metric, leaves: Codes) -> Reference:
        """Cost of the table's records, given as leaves, from the groups that are released and the values collected."""
        data, costs = self.table.data, list[AxisCost | None]()
        trees = zip(self.table.hierarchies, self.axes, self.table.safe_harbor, data.codes.T, leaves.T, strict=True)
        for tree, axis, extra, codes, leaf in trees if metric is not Metric.DISCERNIBILITY else ():
            collected = np.bincount(codes, data.counts, tree.n_leaves).astype(np.float64)
            values = np.bincount(leaf, data.counts, axis.hierarchy.n_leaves).astype(np.float64)
            own = np.bincount(leaf, data.counts * np.log2(collected[codes]), len(values)) / np.maximum(values, 1)
            sizes = np.concatenate([tree.sizes, extra.extra_sizes])[axis.groups]
            held = _by_group(collected, tree, extra)[axis.groups]
            costs.append(axis_cost(metric, values, axis.levels, sizes, held, own))
        return Reference(metric, tuple(costs), data.total)


def released_axis(hierarchy: Hierarchy, extra: SafeHarborAxis, used: Codes) -> ReleasedAxis:
    """The hierarchy over some canonical positions of an attribute, each once; ``extra`` has those outside."""
    inside = used < hierarchy.axis_length
    first = np.concatenate([hierarchy.starts(level) for level in range(hierarchy.n_levels)])
    outside = [int(np.argmax(extra.positions == position)) for position in used[~inside]]
    leaf = np.empty(len(used), dtype=np.int32)
    leaf[inside], leaf[~inside] = first[used[inside]], outside
    own = np.empty(len(used), dtype=np.int32)
    own[inside], own[~inside] = hierarchy.axis_levels[used[inside]], extra.floor[leaf[~inside]]
    level = np.arange(hierarchy.n_levels, dtype=np.int32)
    levels = np.maximum(own[:, None], level)
    groups = hierarchy.finest[hierarchy.positions[leaf[:, None], levels]]
    groups = np.where(~inside[:, None] & (level < own[:, None]), used[:, None], groups).astype(np.int32)
    order = np.lexsort(tuple(groups.T))
    ordered = groups[order]
    new = np.diff(ordered, axis=0, prepend=-1) != 0
    tree = Hierarchy(
        hierarchy.name,
        tuple(tuple(str(position) for position in ordered[new[:, at], at]) for at in level),
        (np.cumsum(new, axis=0) - 1).astype(np.int32),
    )
    leaf_of = np.full(hierarchy.axis_length + len(extra.extra_labels), -1, dtype=np.int32)
    leaf_of[used[order]] = np.arange(len(used), dtype=np.int32)
    return ReleasedAxis(tree, np.concatenate([ordered[new[:, at], at] for at in level]), levels[order], leaf_of)


def _by_group(values: Floats, hierarchy: Hierarchy, extra: SafeHarborAxis) -> NDArray[np.float64]:
    """Sum of the leaves' values in each group of an axis, groups outside the hierarchy last."""
    parts = [np.add.reduceat(values, hierarchy.starts(level)) for level in range(hierarchy.n_levels)]
    own = np.arange(hierarchy.axis_length, hierarchy.axis_length + len(extra.extra_labels))
    return np.concatenate([*parts, [float(values[extra.positions == position].sum()) for position in own]])
