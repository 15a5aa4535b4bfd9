"""The lattice of strategies, and people counted in each of their cells: densely, or sparsely for many attributes.

The cube has one axis an attribute, and an axis lists the groups of all levels (see ``Hierarchy``). A cell is therefore
a row of axis positions, one an attribute, and all lattice nodes live in one array.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tasks.microdata.hierarchy import Codes, Hierarchy
from tasks.microdata.tuples import Counts, Tuples, places_among, radix_strides

_COUNT_BYTES = 8
_FEW = 1 / 32
"""Cells asked for, as a share of the population's tuples, up to which a lattice node is not counted as a whole."""


@dataclass(frozen=True)
class DenseCube:
    """All cells of all levels in one array."""

    counts: NDArray[np.integer]
    """People in each cell; one axis an attribute, of its hierarchy's ``axis_length``."""
    form: Literal["dense"] = "dense"

    def __len__(self) -> int:
        return int(self.counts.size)

    @cached_property
    def strides(self) -> Counts:
        """Distance of neighbours along each axis in the flattened cube."""
        return np.array(self.counts.strides, dtype=np.int64) // self.counts.itemsize

    def count(self, cells: Codes) -> Counts:
        """People in each cell; cells of shape (n_cells, n_attributes) in axis positions."""
        numbers = np.zeros(len(cells), dtype=np.int64)
        for axis, stride in enumerate(self.strides):
            numbers += cells[:, axis] * stride
        return self.counts.ravel().take(numbers).astype(np.int64)


def cube_cells(hierarchies: Sequence[Hierarchy]) -> int:
    """Cells of the dense cube over these hierarchies."""
    return prod(hierarchy.axis_length for hierarchy in hierarchies)


def dense_cube(tuples: Tuples, hierarchies: Sequence[Hierarchy]) -> DenseCube:
    """Count the leaves once, then add them up level by level along each axis, each from the nearest that it nests."""
    leaves = tuple(slice(hierarchy.n_leaves) for hierarchy in hierarchies)
    # The narrowest integer that can hold every count: half the memory to walk through.
    counter = np.int32 if tuples.total < 2**31 else np.int64
    counts: NDArray[np.integer] = np.zeros([hierarchy.axis_length for hierarchy in hierarchies], dtype=counter)
    counts[tuple(tuples.codes.T)] = tuples.counts
    filled = list(leaves)
    for axis, hierarchy in enumerate(hierarchies):
        for level in range(1, hierarchy.n_levels):
            lower = hierarchy.nested_below(level)
            below = counts[(*filled[:axis], _level(hierarchy, lower), *filled[axis + 1 :])]
            here = (*filled[:axis], _level(hierarchy, level), *filled[axis + 1 :])
            counts[here] = np.add.reduceat(below, hierarchy.groups[hierarchy.starts(level), lower], axis=axis)
        filled[axis] = slice(None)
    return DenseCube(counts)


def _level(hierarchy: Hierarchy, level: int) -> slice:
    return slice(int(hierarchy.offsets[level]), int(hierarchy.offsets[level + 1]))


@dataclass(frozen=True)
class SparseCube:
    """Only the cells that some tuples can reach, counted node by node when first asked for.

    A node's cells are found by numbering the groups of the reaching tuples; people outside those cells are not kept.
    Where few cells of a node are asked for, these alone are counted, and nothing is kept.
    """

    people: Tuples
    reach: Tuples
    hierarchies: Sequence[Hierarchy]
    form: Literal["sparse"] = "sparse"
    _nodes: dict[tuple[int, ...], tuple[Counts, Counts]] = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(len(keys) for keys, _ in self._nodes.values())

    @cached_property
    def strides(self) -> Counts:
        """Distance of neighbours along each axis in the numbering of all cells."""
        return radix_strides([hierarchy.axis_length for hierarchy in self.hierarchies])

    def count(self, cells: Codes) -> Counts:
        """People in each cell; 0 for a cell that the reaching tuples do not have."""
        node_of = np.zeros(len(cells), dtype=np.int64)
        for axis, hierarchy in enumerate(self.hierarchies):
            node_of = node_of * hierarchy.n_levels + hierarchy.axis_levels[cells[:, axis]]
        heights = [hierarchy.n_levels for hierarchy in self.hierarchies]
        numbers = cells.astype(np.int64) @ self.strides
        counts = np.zeros(len(cells), dtype=np.int64)
        order = np.argsort(node_of, kind="stable")
        nodes, first = np.unique(node_of[order], return_index=True)
        for node, rows in zip(nodes, np.split(order, first)[1:], strict=True):
            levels = tuple(int(level) for level in np.unravel_index(node, heights))
            if levels in self._nodes or len(rows) > len(self.people) * _FEW:
                keys, people = self.node(levels)
            else:
                keys, people = self._people_of_few(np.unique(numbers[rows]), levels)
            place, found = places_among(keys, numbers[rows])
            counts[rows] = np.where(found, people[place], 0)
        return counts

    def node(self, levels: tuple[int, ...]) -> tuple[Counts, Counts]:
        """Numbers of the reachable cells of a lattice node, growing, and the people in each."""
        if levels not in self._nodes:
            keys = np.unique(self._cell_numbers(self._reaching, levels))
            numbers = self._cell_numbers(self._everybody, levels)
            self._nodes[levels] = keys, self._people(keys, numbers, self.people.counts)
        return self._nodes[levels]

    def _people_of_few(self, keys: Counts, levels: tuple[int, ...]) -> tuple[Counts, Counts]:
        """As ``node`` for some of its cells, counted among those who are in one by each half of the attributes."""
        (first, first_of), (last, last_of) = self._halves
        middle = len(first)
        one, other = self._cell_numbers(first, levels), self._cell_numbers(last, levels, middle)
        later = keys % self.strides[middle - 1]
        halves = (keys - later, one), (later, other)
        one_held, other_held = (places_among(np.unique(part), numbers)[1] for part, numbers in halves)
        rows = np.flatnonzero(one_held[first_of])
        rows = rows[other_held[last_of[rows]]]
        return keys, self._people(keys, one[first_of[rows]] + other[last_of[rows]], self.people.counts[rows])

    @staticmethod
    def _people(keys: Counts, numbers: Counts, people: Counts) -> Counts:
        """People in each of some cells, whose numbers grow; ``numbers`` are the cells of these people."""
        place, found = places_among(keys, numbers)
        return np.rint(np.bincount(place[found], weights=people[found], minlength=len(keys))).astype(np.int64)

    @cached_property
    def _halves(self) -> tuple[tuple[Codes, NDArray[np.intp]], tuple[Codes, NDArray[np.intp]]]:
        """Distinct codes over the first and over the last attributes, by column, and that of each row of the people."""
        codes, middle = self._everybody, (len(self.hierarchies) + 1) // 2
        return self._distinct(codes[:middle]), self._distinct(codes[middle:], middle)

    def _distinct(self, columns: Codes, start: int = 0) -> tuple[Codes, NDArray[np.intp]]:
        leaves = self._cell_numbers(columns, [0] * (start + len(columns)), start)
        _, members, inverse = np.unique(leaves, return_index=True, return_inverse=True)
        return columns[:, members], inverse

    @cached_property
    def _reaching(self) -> Codes:
        return np.ascontiguousarray(self.reach.codes.T)

    @cached_property
    def _everybody(self) -> Codes:
        return self._reaching if self.reach is self.people else np.ascontiguousarray(self.people.codes.T)

    def _cell_numbers(self, columns: Codes, levels: Sequence[int], start: int = 0) -> Counts:
        """Parts of the numbers of cells that some attributes give, their leaf codes one attribute after the other."""
        numbers = np.zeros(columns.shape[1], dtype=np.int64)
        for axis, column in enumerate(columns, start):
            numbers += (self.hierarchies[axis].positions[:, levels[axis]] * self.strides[axis]).take(column)
        return numbers


def count_cube(
    people: Tuples, hierarchies: Sequence[Hierarchy], reach: Tuples, memory_limit: int
) -> DenseCube | SparseCube:
    """The dense cube where it takes at most ``memory_limit`` bytes, else the sparse one over the cells of ``reach``."""
    if cube_cells(hierarchies) * _COUNT_BYTES <= memory_limit:
        return dense_cube(people, hierarchies)
    return SparseCube(people, reach, hierarchies)


def cells_at(codes: Codes, levels: NDArray[np.int32], hierarchies: Sequence[Hierarchy]) -> Codes:
    """Axis positions of the cells of leaf codes at given levels, shape (n_tuples, n_attributes).

    Levels are of that shape too, or of shape (n_attributes,).
    """
    levels = np.broadcast_to(levels, codes.shape)
    cells = np.empty_like(codes)
    for axis, hierarchy in enumerate(hierarchies):
        cells[:, axis] = hierarchy.positions.take(codes[:, axis] * hierarchy.n_levels + levels[:, axis])
    return cells


@dataclass(frozen=True)
class Lattice:
    """All strategies over the levels of some hierarchies, numbered in lexicographic order."""

    heights: tuple[int, ...]
    """Levels of each attribute, the paper's h_f."""

    @classmethod
    def of(cls, hierarchies: Sequence[Hierarchy]) -> "Lattice":
        """The lattice over the levels of these hierarchies."""
        return cls(tuple(hierarchy.n_levels for hierarchy in hierarchies))

    def __len__(self) -> int:
        return int(np.prod(self.heights))

    @cached_property
    def nodes(self) -> Codes:
        """Level of each attribute at each node, shape (n_nodes, n_attributes), in lexicographic order."""
        grid = np.indices(self.heights, dtype=np.int32)
        return np.ascontiguousarray(grid.reshape(len(self.heights), -1).T)

    def number(self, levels: Codes) -> NDArray[np.intp]:
        """Number of the node with these levels; shape (n_rows, n_attributes) to (n_rows,)."""
        numbers: NDArray[np.intp] = np.ravel_multi_index(tuple(levels.T), self.heights)
        return numbers

    def intensity(self, levels: Codes) -> NDArray[np.float64]:
        """Generalization intensity GI of each row of levels, 0 to 1 (Wan et al. 2015, eq. 5)."""
        result: NDArray[np.float64] = levels.sum(axis=1) / (sum(self.heights) - len(self.heights))
        return result


class NodeCounts:
    """Counts of leaf codes at lattice nodes, for solvers that ask millions of times; the same as ``count(cells_at)``.

    In a dense cube a cell's place is a sum over the attributes, each part of it looked up by leaf and level.
    """

    def __init__(self, cube: DenseCube | SparseCube, lattice: Lattice, hierarchies: Sequence[Hierarchy]) -> None:
        self.cube, self.lattice, self.hierarchies = cube, lattice, hierarchies
        self._levels: Counts = np.ascontiguousarray(lattice.nodes.T, dtype=np.int64)
        """Level of each attribute at each node, shape (n_attributes, n_nodes)."""
        self._offsets = [tree.positions * stride for tree, stride in zip(hierarchies, cube.strides, strict=True)]

    def leaves(self, codes: Codes) -> NDArray[np.integer]:
        """Leaf codes as ``count`` takes them, one column a tuple."""
        if isinstance(self.cube, SparseCube):
            return codes.T
        return np.ascontiguousarray((codes.astype(np.int64) * self.lattice.heights).T)

    def count(self, leaves: NDArray[np.integer], nodes: NDArray[np.intp]) -> Counts:
        """People in the cell of each tuple at its node."""
        if isinstance(self.cube, SparseCube):
            return self.cube.count(cells_at(leaves.T.astype(np.int32), self.lattice.nodes[nodes], self.hierarchies))
        places = np.zeros(len(nodes), dtype=np.int64)
        for leaf, offsets, level in zip(leaves, self._offsets, self._levels, strict=True):
            places += offsets.take(leaf + level.take(nodes))
        people: Counts = self.cube.counts.take(places).astype(np.int64)
        return people
