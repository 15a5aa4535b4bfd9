"""Sums of the known sets' contributions, row by row or set by set.

Known sets of few combinations of values are counted in cubes, the others group by group. Whatever the number of
threads and partitions, the figures of a row are added up in one order: the same input gives the same bits.
"""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from itertools import starmap
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.combined.coded_table import CodedTable, Floats, Integers, counted
from tasks.assessments.combined.consequence import Consequence
from tasks.assessments.combined.count_cubes import Node, gathered, narrow_sets, plan_cubes, totals
from tasks.assessments.combined.known_sets import KnownSet
from tasks.assessments.combined.wide_sets import Rows, Totals, Tree, blocks, found_rows, plan_trees

_BLOCK = 2**16
# In cells for each row: the largest cube, the largest that several sets share, and those that are kept at once.
_CELLS_A_ROW = 1.0
_SHARED_CELLS_A_ROW = 0.5
_CELLS_AT_ONCE_A_ROW = 2.0
_FEW_CELLS = 4096
# Rows, known sets and values of the largest attribute from which on rows are sorted by it.
_SORTED_ROWS = 2**17
_SORTED_SETS = 16
_SORTED_VALUES = 32

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class _Lookup:
    """Contribution of a cube's known sets, by cell, and the cell of each row."""

    node: Node
    cells: Integers
    likelihood: Floats
    consequence: Floats | None


@dataclass(frozen=True)
class Exposure:
    """Rows, and the known sets that may find them."""

    table: CodedTable
    weights: Mapping[KnownSet, float]
    """Weight of each known set; with a set, its subsets."""
    partitions: int = 1

    @cached_property
    def ambiguous(self) -> tuple[int, ...]:
        """Sensitive attributes that may be known as well."""
        return tuple(place for place in self._sensitive if place in self._knowable)

    @cached_property
    def hidden(self) -> tuple[int, ...]:
        """Sensitive attributes that are never known."""
        return tuple(place for place in self._sensitive if place not in self._knowable)

    @cached_property
    def _knowable(self) -> frozenset[int]:
        return frozenset().union(*self.weights)

    @cached_property
    def _sensitive(self) -> tuple[int, ...]:
        return tuple(place for place, sensitivity in enumerate(self.table.sensitivities) if sensitivity.present)

    @cached_property
    def _narrow(self) -> dict[KnownSet, float]:
        cells = max(int(_CELLS_A_ROW * len(self.table)), _FEW_CELLS)
        by_record = {place for place in self.ambiguous if self.table.sensitivities[place].by_record}
        candidates = (known for known in self.weights if by_record.isdisjoint(known))
        return {known: self.weights[known] for known in narrow_sets(candidates, self.table.cardinalities, cells)}

    @cached_property
    def cubes(self) -> list[Node]:
        """Cubes that count the known sets of few combinations of values."""
        shared = max(int(_SHARED_CELLS_A_ROW * len(self.table)), _FEW_CELLS)
        return plan_cubes(self._narrow, self.table.cardinalities, shared)

    @cached_property
    def trees(self) -> list[Tree]:
        """Trees of the other known sets."""
        wide = {known: weight for known, weight in self.weights.items() if known not in self._narrow}
        return plan_trees(wide, self.ambiguous, self.table.cardinalities)

    @cached_property
    def figures(self) -> Floats:
        """W(A)·W(a) of each ambiguous attribute, row by row; shape (n_ambiguous, n_rows)."""
        figures = np.empty((len(self.ambiguous), len(self.table)))

        def fill(rows: slice) -> None:
            for number, place in enumerate(self.ambiguous):
                figures[number, rows] = self.table.sensitivity(place, rows)

        in_parallel(fill, _row_blocks(len(self.table)))
        return figures

    def order(self) -> Rows | None:
        """Rows sorted by the attribute of most values that may be known; None where a sort would not pay."""
        largest = max(self._knowable, key=lambda place: (self.table.cardinalities[place], -place), default=None)
        if largest is None or self.table.cardinalities[largest] < _SORTED_VALUES:
            return None
        if len(self.table) < _SORTED_ROWS or len(self.weights) < _SORTED_SETS:
            return None
        return np.argsort(self.table.leading(largest), kind="stable")

    def reordered(self, order: Rows) -> "Exposure":
        """The rows in another order, without the attributes that are never known."""
        return Exposure(self.table.reordered(order, self._knowable), self.weights, self.partitions)

    def shape(self, node: Node) -> tuple[int, ...]:
        """Shape of a cube."""
        return tuple(self.table.cardinalities[attribute] for attribute in node.axes)

    def counts(self, node: Node, cells: Integers) -> NDArray[np.int64]:
        """Count the records of each cell of a cube."""
        shape = self.shape(node)
        return counted(cells, math.prod(shape), self.table.counts, self.partitions).reshape(shape)


@dataclass(frozen=True)
class RowSums:
    """Sum over the known sets for each row."""

    likelihood: Floats
    """Σ w(KS)/count(KS), shape (n_rows,)."""
    ambiguous: Floats
    """Σ w(KS)/count(KS) · Σ W(A)·W(a) over the ambiguous attributes A ∉ KS, shape (n_rows,)."""

    def risk(self, exposure: Exposure, alpha: float) -> Floats:
        """D of each row, shape (n_rows,)."""
        hidden = Consequence(exposure.table, exposure.hidden)
        risks = np.empty(len(self.likelihood))

        def finish(rows: slice) -> None:
            risks[rows] = alpha * (hidden.at(rows) * self.likelihood[rows] + self.ambiguous[rows])

        in_parallel(finish, _row_blocks(len(risks)))
        return risks


def row_sums(exposure: Exposure) -> RowSums:
    """Add up the known sets row by row.

    Many rows are sorted by the attribute of most values first, so that cells that are counted or looked up one after
    the other lie near each other in memory.
    """
    order = exposure.order()
    if order is None:
        return _Summing(exposure).sums
    found = _Summing(exposure.reordered(order)).sums
    sums = RowSums(np.empty(len(order)), np.empty(len(order)))
    sums.likelihood[order], sums.ambiguous[order] = found.likelihood, found.ambiguous
    return sums


class _Summing:
    def __init__(self, exposure: Exposure) -> None:
        self._exposure = exposure
        self._figures = dict(zip(exposure.ambiguous, exposure.figures, strict=True))
        self.sums = RowSums(np.zeros(len(exposure.table)), np.zeros(len(exposure.table)))
        for batch in self._batches():
            lookups = in_parallel(self._counted, batch)
            in_parallel(partial(self._look_up, lookups), _row_blocks(len(exposure.table)))
        for tree in exposure.trees:
            other = (place for place in exposure.ambiguous if place not in (tree.attribute, *tree.figures))
            consequence = Consequence(exposure.table, other)
            in_parallel(partial(self._search, tree, consequence), blocks(exposure.table, tree.attribute))

    def _batches(self) -> Iterator[list[Node]]:
        """Cubes that are kept at once: as many as fit in a processor's cache, roughly."""
        rows = len(self._exposure.table)
        limit = max(_CELLS_AT_ONCE_A_ROW * rows, _FEW_CELLS)
        batch: list[Node] = []
        held = 0.0
        for node in self._exposure.cubes:
            size = math.prod(self._exposure.shape(node)) + rows / 2
            if batch and held + size > limit:
                yield batch
                batch, held = [], 0.0
            batch.append(node)
            held += size
        yield batch

    def _counted(self, node: Node) -> _Lookup:
        exposure = self._exposure
        cells = exposure.table.cells(node.axes)
        own = {place: exposure.table.sensitivities[place].weights for place in exposure.ambiguous}
        likelihood, consequence = gathered(node, exposure.counts(node, cells), own)
        return _Lookup(node, cells, likelihood.ravel(), None if consequence is None else consequence.ravel())

    def _look_up(self, lookups: list[_Lookup], rows: slice) -> None:
        likelihood, ambiguous = self.sums.likelihood[rows], self.sums.ambiguous[rows]
        for lookup in lookups:
            cells = lookup.cells[rows]
            chances = np.take(lookup.likelihood, cells)
            likelihood += chances
            unknown = [figure[rows] for place, figure in self._figures.items() if place not in lookup.node.axes]
            if unknown:
                ambiguous += chances * reduce(np.add, unknown)
            if lookup.consequence is not None:
                ambiguous += np.take(lookup.consequence, cells)

    def _search(self, tree: Tree, other: Consequence, block: Rows) -> None:
        table, exposure = self._exposure.table, self._exposure
        likelihood, ambiguous = np.zeros(len(block)), np.zeros(len(block))
        figures = np.empty((1 + len(tree.figures), len(block)))
        figures[0] = other.at(block)
        for number, place in enumerate(tree.figures, start=1):
            figures[number] = table.sensitivity(place, block)
        for found in found_rows(table, tree, block, figures, exposure.partitions):
            weights = found.branch.beyond if found.beyond else found.branch.weights
            likelihood[found.rows] += weights[0] * found.chances
            if exposure.ambiguous:
                ambiguous[found.rows] += np.einsum("i,ij->j", weights, found.figures) * found.chances
        self.sums.likelihood[block] += likelihood
        self.sums.ambiguous[block] += ambiguous


def set_totals(exposure: Exposure, figures: Floats) -> Iterator[tuple[KnownSet, Floats]]:
    """Contribution of each known set over all rows.

    Parameters
    ----------
    exposure : Exposure
    figures : array of shape (n_figures, n_rows)

    Yields
    ------
    known : tuple of int
    array of shape (n_figures,)
        w(KS) · Σ figure/count(KS).
    """
    order = exposure.order()
    if order is not None:
        exposure, figures = exposure.reordered(order), np.take(figures, order, axis=1)
    table = exposure.table

    def counted_in(node: Node) -> list[tuple[KnownSet, Floats]]:
        cells = table.cells(node.axes)
        counts = exposure.counts(node, cells)
        sums = np.empty((len(figures), counts.size))
        for number, figure in enumerate(figures):
            sums[number] = np.bincount(cells, figure, counts.size)
        return list(totals(node, counts, sums.reshape(-1, *counts.shape)))

    def found_in(tree: Tree, block: Rows) -> Totals:
        found = Totals()
        for event in found_rows(table, tree, block, np.take(figures, block, axis=1), exposure.partitions):
            found.add(event)
        return found

    for parts in in_parallel(counted_in, exposure.cubes):
        yield from parts
    for tree in exposure.trees:
        everything = Totals()
        for found in in_parallel(partial(found_in, tree), blocks(table, tree.attribute)):
            everything.include(found)
        yield from everything.of(tree.root)


def in_parallel(function: Callable[[_Item], _Result], items: Iterable[_Item]) -> list[_Result]:
    """Apply a function to each item, on as many threads as there are processors."""
    work = list(items)
    threads = min(len(work), _processors())
    if threads < 2:
        return [function(item) for item in work]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, work))


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _row_blocks(rows: int) -> Iterator[slice]:
    return starmap(slice, ((start, min(start + _BLOCK, rows)) for start in range(0, rows, _BLOCK)))
