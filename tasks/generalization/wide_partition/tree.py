"""The best division of a graph of cells, and the levels that it gives to anybody."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tasks.generalization.game import Floats
from tasks.generalization.wide_partition.axes import Axis
from tasks.generalization.wide_partition.graph import Graph, Ints, Round, runs
from tasks.generalization.wide_partition.members import Division
from tasks.microdata.hierarchy import Codes

_TIE = 1e-12
"""Relative: sums over millions of people are compared. Equal sums are split, which gives the recipient more detail."""

RELEASED = -1
_NOBODY = -1


@dataclass(frozen=True)
class Tree:
    """Divided and released cells; the first nodes are the roots."""

    axes: tuple[Axis, ...]
    positions: Codes
    """Closed cell of each node, shape (n_nodes, n_attributes)."""
    leaves: Codes
    """Leaf codes of one member of each node."""
    people: Ints
    axis: NDArray[np.int8]
    """Attribute along which a node is divided; −1 where it is released."""
    level: NDArray[np.int8]
    """Level that it is divided into."""
    parent: Ints
    """Node that each node comes from; −1 for a root."""
    value: Floats
    """Weighted payoff of each node's released cells."""
    of_member: Ints
    """Released node of each member tuple; −1 for those that no root holds."""

    @property
    def total(self) -> float:
        """Weighted payoff of everything that is released."""
        return float(self.value[self.parent < 0].sum())

    @property
    def smallest_group(self) -> int:
        """People of the smallest released cell that has any."""
        sizes = self.people[(self.axis == RELEASED) & (self.people > 0)]
        return int(sizes.min())

    @cached_property
    def _index(self) -> tuple[Ints, Ints]:
        """Sorted keys of the nodes that have a parent, and the nodes."""
        nodes = np.flatnonzero(self.parent >= 0)
        groups = np.empty(len(nodes), dtype=np.int64)
        for number, axis in enumerate(self.axes):
            along = self.axis[self.parent[nodes]] == number
            own = nodes[along]
            groups[along] = axis.hierarchy.positions[self.leaves[own, number], self.level[self.parent[own]]]
        keys = self._keys(self.parent[nodes], groups)
        order = np.argsort(keys)
        return keys[order], nodes[order]

    def _keys(self, parents: Ints, groups: Ints) -> Ints:
        longest = max(axis.hierarchy.axis_length for axis in self.axes)
        return parents * longest + groups

    def levels(self, codes: Codes) -> Codes:
        """Levels at which leaf codes are released, from the first root down; both of shape (n, n_attributes).

        Who is not among the members leaves the way of the others as soon as no member shares the group.
        """
        trees = [axis.hierarchy for axis in self.axes]
        levels = np.tile(np.array([tree.n_levels - 1 for tree in trees], dtype=np.int32), (len(codes), 1))
        rows, nodes = np.arange(len(codes)), np.zeros(len(codes), dtype=np.int64)
        while len(rows):
            inside = self._close(codes, levels, rows, nodes)
            rows, nodes = rows[inside], nodes[inside]
            divided = self.axis[nodes] != RELEASED
            rows, nodes = rows[divided], nodes[divided]
            groups = np.empty(len(rows), dtype=np.int64)
            for number, tree in enumerate(trees):
                along = np.flatnonzero(self.axis[nodes] == number)
                levels[rows[along], number] = self.level[nodes[along]]
                groups[along] = tree.positions[codes[rows[along], number], self.level[nodes[along]]]
            below = self._children(nodes, groups)
            rows, nodes = rows[below >= 0], below[below >= 0]
        return levels

    def _children(self, nodes: Ints, groups: Ints) -> Ints:
        known, children = self._index
        if len(known) == 0:
            return np.full(len(nodes), _NOBODY)
        wanted = self._keys(nodes, groups)
        place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        return np.where(known[place] == wanted, children[place], _NOBODY)

    def _close(self, codes: Codes, levels: Codes, rows: Ints, nodes: Ints) -> NDArray[np.bool_]:
        """Bring levels down to the closed cell of each row's node; whether the row is in it.

        Attribute after attribute. A row outside stops at the highest level at which it leaves the members' group.
        Where levels cross, a cell is where its split has put it.
        """
        inside = np.ones(len(rows), dtype=np.bool_)
        for number, axis in enumerate(self.axes):
            if axis.crossing:
                continue
            tree = axis.hierarchy
            here = np.flatnonzero(inside)
            row, node = rows[here], nodes[here]
            target = tree.axis_levels[self.positions[node, number]]
            leaf = codes[row, number]
            within = tree.positions[leaf, target] == self.positions[node, number]
            apart = (tree.groups[leaf] != tree.groups[self.leaves[node, number]]).sum(axis=1)
            levels[row, number] = np.where(within, target, np.minimum(apart - 1, levels[row, number]))
            inside[here[~within]] = False
        return inside


def best_tree(division: Division, graph: Graph) -> Tree:
    """The division of a graph's roots that pays most."""
    value, chosen = _best(division, graph)
    parent_of = np.full(graph.count, _NOBODY)
    node_of = np.full(graph.count, _NOBODY)
    node_of[graph.roots] = np.arange(len(graph.roots))
    count = len(graph.roots)
    of_member = np.full(len(division.members), _NOBODY)
    parts: list[tuple[Ints, Codes, Codes, Ints, NDArray[np.int8], NDArray[np.int8]]] = []
    for one in graph.rounds:
        rows = np.flatnonzero(node_of[one.numbers] >= 0)
        split = chosen[one.numbers[rows]]
        nodes = node_of[one.numbers[rows]]
        divided = split != RELEASED
        axis = np.full(len(rows), RELEASED, dtype=np.int8)
        level = np.full(len(rows), RELEASED, dtype=np.int8)
        axis[divided], level[divided] = one.axes[split[divided]], one.levels[split[divided]]
        children, owner = _children(graph, one, split[divided])
        node_of[children] = count + np.arange(len(children))
        parent_of[children] = nodes[divided][owner]
        count += len(children)
        cells = one.cells
        leaves = division.members.codes[cells.members[cells.starts[rows]]]
        parts.append((one.numbers[rows], cells.positions[rows], leaves, cells.people[rows], axis, level))
        last = rows[~divided]
        of_member[cells.members[runs(cells.starts[last], cells.sizes[last])]] = np.repeat(
            nodes[~divided], cells.sizes[last]
        )
    numbers, positions, leaves, people, axes, levels = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.argsort(node_of[numbers])
    numbers = numbers[order]
    return Tree(
        division.axes,
        positions[order],
        leaves[order],
        people[order],
        axes[order],
        levels[order],
        parent_of[numbers],
        value[numbers],
        of_member,
    )


def _children(graph: Graph, one: Round, splits: Ints) -> tuple[Ints, Ints]:
    """Cells that some splits make, and the place of each one's split among them."""
    ends = np.append(one.child_starts[1:], len(one.children))
    sizes = ends[splits] - one.child_starts[splits] if len(splits) else np.empty(0, dtype=np.int64)
    if len(splits) == 0:
        return sizes, sizes
    return graph.final[one.children[runs(one.child_starts[splits], sizes)]], np.repeat(np.arange(len(splits)), sizes)


def _best(division: Division, graph: Graph) -> tuple[Floats, Ints]:
    """Most that each cell of a graph pays, and the split of its round by which it does, −1 to release."""
    value = np.full(graph.count, -np.inf)
    chosen = np.full(graph.count, RELEASED, dtype=np.int64)
    for one in reversed(graph.rounds):
        cells = one.cells
        value[one.numbers] = division.value(cells.positions, cells.people, cells.weights)
        if len(one.parents):
            sums = np.add.reduceat(value[graph.final[one.children]], one.child_starts)
            order = np.lexsort((one.levels, one.axes, -sums, one.parents))
            first = order[np.flatnonzero(np.diff(one.parents[order], prepend=-1))]
            first = first[np.isfinite(sums[first])]
            parents = one.parents[first]
            better = first[sums[first] >= value[parents] - _TIE * np.abs(sums[first])]
            value[one.parents[better]], chosen[one.parents[better]] = sums[better], better
    return value, chosen
