"""Counting people in every cell of every strategy: the dense count cube, and a sparse form for many attributes.

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
from tasks.microdata.tuples import Counts, Tuples, radix_strides

_COUNT_BYTES = 8


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
        people: Counts = self.counts.ravel().take(numbers).astype(np.int64)
        return people


def cube_cells(hierarchies: Sequence[Hierarchy]) -> int:
    """Cells of the dense cube over these hierarchies."""
    return prod(hierarchy.axis_length for hierarchy in hierarchies)


def dense_cube(tuples: Tuples, hierarchies: Sequence[Hierarchy]) -> DenseCube:
    """Count the leaves once, then add them up level by level along each axis, each from the nearest that it nests.

    Parameters
    ----------
    tuples : Tuples
        Distinct tuples with counts.
    hierarchies : sequence of Hierarchy
        One an attribute.
    """
    leaves = tuple(slice(hierarchy.n_leaves) for hierarchy in hierarchies)
    counts = np.zeros([hierarchy.axis_length for hierarchy in hierarchies], dtype=_counter(tuples.total))
    counts[tuple(tuples.codes.T)] = tuples.counts
    filled = list(leaves)
    for axis, hierarchy in enumerate(hierarchies):
        for level in range(1, hierarchy.n_levels):
            lower = hierarchy.nested_below(level)
            below = counts[(*filled[:axis], _level(hierarchy, lower), *filled[axis + 1 :])]
            here = (*filled[:axis], _level(hierarchy, level), *filled[axis + 1 :])
            counts[here] = np.add.reduceat(below, hierarchy.child_starts(level, lower), axis=axis)
        filled[axis] = slice(None)
    return DenseCube(counts)


def _counter(total: int) -> type[np.int32] | type[np.int64]:
    """The narrowest integer that can hold every count: half the memory to walk through."""
    return np.int32 if total < 2**31 else np.int64


def _level(hierarchy: Hierarchy, level: int) -> slice:
    return slice(int(hierarchy.offsets[level]), int(hierarchy.offsets[level + 1]))


@dataclass(frozen=True)
class SparseCube:
    """Only the cells that some tuples can reach, counted node by node when first asked for.

    A node's cells are found by numbering the groups of the reaching tuples; people outside those cells are not kept.
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
        for node in np.unique(node_of):
            rows = np.flatnonzero(node_of == node)
            keys, people = self.node(tuple(int(level) for level in np.unravel_index(node, heights)))
            place = np.minimum(np.searchsorted(keys, numbers[rows]), len(keys) - 1)
            counts[rows] = np.where(keys[place] == numbers[rows], people[place], 0)
        return counts

    def node(self, levels: tuple[int, ...]) -> tuple[Counts, Counts]:
        """Numbers of the reachable cells of a lattice node, growing, and the people in each."""
        if levels not in self._nodes:
            keys = np.unique(self._cell_numbers(self.reach.codes, levels))
            people = self._cell_numbers(self.people.codes, levels)
            place = np.minimum(np.searchsorted(keys, people), len(keys) - 1)
            hit = keys[place] == people
            counts = np.bincount(place[hit], weights=self.people.counts[hit], minlength=len(keys))
            self._nodes[levels] = keys, np.rint(counts).astype(np.int64)
        return self._nodes[levels]

    def _cell_numbers(self, codes: Codes, levels: Sequence[int]) -> Counts:
        numbers = np.zeros(len(codes), dtype=np.int64)
        for axis, (hierarchy, level) in enumerate(zip(self.hierarchies, levels, strict=True)):
            numbers += hierarchy.positions[codes[:, axis], level] * self.strides[axis]
        return numbers


def count_cube(
    people: Tuples, hierarchies: Sequence[Hierarchy], reach: Tuples, memory_limit: int
) -> DenseCube | SparseCube:
    """The dense cube where it fits the limit, else the sparse form over the cells that ``reach`` has.

    Parameters
    ----------
    people : Tuples
        The population.
    hierarchies : sequence of Hierarchy
        One an attribute.
    reach : Tuples
        Tuples whose cells will be asked for.
    memory_limit : int
        Bytes that the dense cube may take.
    """
    if cube_cells(hierarchies) * _COUNT_BYTES <= memory_limit:
        return dense_cube(people, hierarchies)
    return SparseCube(people, reach, hierarchies)


def cells_at(codes: Codes, levels: NDArray[np.int32], hierarchies: Sequence[Hierarchy]) -> Codes:
    """Axis positions of the cells of leaf codes at given levels.

    Parameters
    ----------
    codes : array of shape (n_tuples, n_attributes)
        Leaf codes.
    levels : array of shape (n_tuples, n_attributes) or (n_attributes,)
        Level of each attribute.
    """
    levels = np.broadcast_to(levels, codes.shape)
    cells = np.empty_like(codes)
    for axis, hierarchy in enumerate(hierarchies):
        cells[:, axis] = hierarchy.positions.take(codes[:, axis] * hierarchy.n_levels + levels[:, axis])
    return cells
