"""Cells of all lattice nodes, height by height: people and records in each, and the cell above it along each attribute.

The height of a node is the sum of its levels, so that the cells next above those of one height are of the next one.
They do not depend on stakes or budgets: those of a small file are found once for all who go through them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from tasks.microdata.cube import DenseCube, Lattice, SparseCube
from tasks.microdata.hierarchy import Codes, Hierarchy
from tasks.microdata.tuples import Counts, distinct_tuples, radix_strides

_KEPT = 2**21
"""Cells up to which they are kept: 24 bytes each, and 12 for each attribute."""

Places = NDArray[np.integer]
Link = tuple[int, int, Places, Places]


@dataclass(frozen=True, eq=False)
class Layer:
    """Cells of all nodes of one height; where they are many, of a single node."""

    height: int
    cells: Codes
    """Axis positions, shape (n_cells, n_attributes)."""
    numbers: Counts
    """Number of each cell among the cells of all nodes, growing where counts are sparse; shape (n_cells,)."""
    people: Counts
    """People in each, shape (n_cells,)."""
    records: Counts
    """Records in each, shape (n_cells,)."""
    links: tuple[Link, ...]
    """The attribute, the layer below (counted from 0, as they are gone through), its cells that are not at the
    attribute's top level, and the cell of this layer above each along it; cells as places in their layers."""


@dataclass(eq=False)
class CellLayers:
    """The cells with people or records in them; TypeError where the two are counted in different forms."""

    hierarchies: Sequence[Hierarchy]
    """Trees."""
    people: DenseCube | SparseCube
    records: DenseCube | SparseCube
    """The people once more where no records count."""

    def __post_init__(self) -> None:
        """Refuse counts of two forms."""
        if self.people.form != self.records.form:
            raise TypeError("population and weights must be counted in the same form")

    def upward(self, least: int = 0) -> Iterator[Layer]:
        """Layers from the leaves to the cell of everybody, cells of fewer than ``least`` people left out of many."""
        return iter(self._kept) if self.are_few else self._made(least)

    @cached_property
    def are_few(self) -> bool:
        """Whether the cells are so few that all of them are kept."""
        most = 0
        for cube in {id(cube): cube for cube in (self.people, self.records)}.values():
            if isinstance(cube, SparseCube):
                most += len(cube.people) * prod(tree.n_levels for tree in self.hierarchies)
            else:
                most += int(np.count_nonzero(cube.counts))
        return most <= _KEPT

    @cached_property
    def _kept(self) -> list[Layer]:
        return list(self._made(0))

    def _made(self, least: int) -> Iterator[Layer]:
        if isinstance(self.people, DenseCube) and isinstance(self.records, DenseCube):
            return self._of_blocks(self.people, self.records, least)
        return self._of_tuples()

    def _of_tuples(self) -> Iterator[Layer]:
        """Each layer from the one below: a cell has the people of its parts along the first attribute not at a leaf."""
        held = [cube.people for cube in (self.people, self.records) if isinstance(cube, SparseCube)]
        tuples, place = distinct_tuples(np.concatenate([one.codes for one in held]), self.hierarchies)
        of = np.split(place, [len(held[0])])
        people, records = (_sums(rows, one.counts, len(tuples)) for rows, one in zip(of, held, strict=True))
        layer = Layer(0, tuples.codes, tuples.codes @ self.people.strides, people, records, ())
        while True:
            yield layer
            above = [self._above(layer, axis) for axis in range(len(self.hierarchies))]
            first = np.ones(len(layer.numbers), dtype=np.bool_)
            parts, wholes = [], []
            for axis, (rows, numbers) in enumerate(above):
                parts.append(rows[first[rows]])
                wholes.append(numbers[first[rows]])
                first &= self.hierarchies[axis].axis_levels[layer.cells[:, axis]] == 0
            part = np.concatenate(parts)
            if len(part) == 0:
                return
            numbers, place = np.unique(np.concatenate(wholes), return_inverse=True)
            axes = zip(self.people.strides, self.hierarchies, strict=True)
            cells = np.stack([numbers // stride % tree.axis_length for stride, tree in axes]).astype(np.int32).T
            people, records = (_sums(place, counts[part], len(numbers)) for counts in (layer.people, layer.records))
            links = tuple(
                (axis, layer.height, rows.astype(np.int32), np.searchsorted(numbers, found).astype(np.int32))
                for axis, (rows, found) in enumerate(above)
            )
            layer = Layer(layer.height + 1, cells, numbers, people, records, links)

    def _of_blocks(self, people: DenseCube, records: DenseCube, least: int) -> Iterator[Layer]:
        """Each layer from the blocks of its nodes in the cubes."""
        lattice, place = Lattice.of(self.hierarchies), np.empty(len(people), dtype=np.int32)
        heights, steps = lattice.nodes.sum(axis=1), radix_strides(lattice.heights)
        order = np.argsort(heights, kind="stable")
        layer_of = heights if self.are_few else np.argsort(order)
        made: dict[int, Layer] = {}
        for number, nodes in enumerate(np.split(order, np.flatnonzero(np.diff(layer_of[order])) + 1)):
            height = int(heights[nodes[0]])
            made = {below: layer for below, layer in made.items() if layer.height >= height - 1}
            blocks = [self._block(people, records, node, least) for node in lattice.nodes[nodes]]
            cells = np.concatenate(blocks, axis=1).T
            numbers = cells @ people.strides
            place[numbers] = np.arange(len(numbers), dtype=np.int32)
            links = []
            for axis, step in enumerate(steps.tolist()):
                for below in np.unique(layer_of[nodes[lattice.nodes[nodes, axis] > 0] - step]).tolist():
                    rows, found = self._above(made[below], axis)
                    links.append((axis, below, rows.astype(np.int32), place[found]))
            held = people.counts.ravel().take(numbers).astype(np.int64)
            filed = held if records is people else records.counts.ravel().take(numbers).astype(np.int64)
            made[number] = Layer(height, cells, numbers, held, filed, ())
            yield replace(made[number], links=tuple(links))

    def _block(self, people: DenseCube, records: DenseCube, levels: Codes, least: int) -> Codes:
        """Cells of a node with ``least`` people or more, or with anybody at all if that is 0, by attribute."""
        axes = list(zip(self.hierarchies, levels.tolist(), strict=True))
        block = tuple(slice(int(tree.offsets[level]), int(tree.offsets[level + 1])) for tree, level in axes)
        counts = people.counts[block]
        there = np.flatnonzero(counts >= least if least else counts + records.counts[block])
        starts = np.array([place.start for place in block], dtype=np.int32)[:, None]
        return np.stack(np.unravel_index(there, counts.shape), dtype=np.int32, casting="same_kind") + starts

    def _above(self, layer: Layer, axis: int) -> tuple[Places, Counts]:
        """Places of the cells that are not at an attribute's top level, and numbers of those above them along it."""
        step = self._steps[axis][layer.cells[:, axis]]
        rows = np.flatnonzero(step)
        return rows, layer.numbers[rows] + step[rows]

    @cached_property
    def _steps(self) -> list[Counts]:
        """For each attribute and axis position, what the cell above has its number higher by; 0 at the top."""
        axes = zip(self.hierarchies, self.people.strides, strict=True)
        return [(_parents(tree) - np.arange(tree.axis_length)) * stride for tree, stride in axes]


def _parents(tree: Hierarchy) -> Codes:
    """Position of the group of the next level that holds that of each position; of the last level, its own."""
    upper = [min(level + 1, tree.n_levels - 1) for level in range(tree.n_levels)]
    return np.concatenate([tree.positions[tree.starts(level), up] for level, up in enumerate(upper)])


def _sums(place: Places, weights: Counts, number: int) -> Counts:
    return np.rint(np.bincount(place, weights, number)).astype(np.int64)
