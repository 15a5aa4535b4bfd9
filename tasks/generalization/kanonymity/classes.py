"""Equivalence classes of lattice nodes, counted from classes already counted, never from records.

The attributes are split into two halves and a distinct tuple is a pair of half tuples, so that the class numbers of a
node are two lookups and one sum. A node is counted from the coarsest stored node below it. The count cube over all
nodes (``tasks.microdata.cube``) would need every cell: hundreds of millions with eight attributes, of which the tuples
reach a few thousand a node.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.microdata.hierarchy import Hierarchy

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Levels = tuple[int, ...]

_KEY_LIMIT = 2**62
_CELLS_A_ROW = 8
_CELLS_AT_LEAST = 2**14
_ROWS_KEPT = 2**23
"""Rows of class tables kept to count further nodes from; 24 bytes each."""


def number_rows(columns: Sequence[NDArray[np.integer]], sizes: Sequence[int], n_rows: int) -> tuple[Ints, int]:
    """Number rows of codes so that equal rows, and only they, have equal numbers, in no particular order.

    ``columns`` are codes from 0, each of shape (n_rows,), ``sizes`` their upper bounds. Returns the numbers, from 0,
    and a bound above them all.
    """
    numbers, bound = np.zeros(n_rows, dtype=np.int64), 1
    for column, size in zip(columns, sizes, strict=True):
        if bound * size >= _KEY_LIMIT:
            numbers, bound = compact(numbers, bound)
        numbers, bound = numbers * size + column, bound * size
    return numbers, bound


def compact(numbers: Ints, bound: int) -> tuple[Ints, int]:
    """Renumber to 0, 1, …, leaving no number out; returns the new numbers and how many there are."""
    if _dense(bound, len(numbers)):
        present = np.zeros(bound, dtype=np.bool_)
        present[numbers] = True
        places = np.cumsum(present) - 1
        return places[numbers], int(places[-1]) + 1 if bound else 0
    places, distinct = pd.factorize(numbers)
    return places.astype(np.int64), len(distinct)


def ascending(numbers: NDArray[np.integer], bound: int) -> tuple[Ints, Ints, Ints]:
    """Distinct numbers from 0 and below ``bound``, ascending; the place of each number among them; and their counts."""
    if not _dense(bound, len(numbers)):
        distinct, place, counts = np.unique(numbers, return_inverse=True, return_counts=True)
        return distinct.astype(np.int64), place, counts
    cells = np.bincount(numbers, minlength=bound)
    found = np.flatnonzero(cells)
    counts, cells[found] = cells[found], np.arange(len(found))
    return found, cells[numbers], counts


def fold(rows: NDArray[np.integer]) -> tuple[Ints, Ints]:
    """Number of each row of codes from 0, equal for equal rows and without gaps, and the place of one row of each."""
    return fold_columns(list(rows.T), len(rows))


def fold_columns(columns: Sequence[NDArray[np.integer]], n_rows: int) -> tuple[Ints, Ints]:
    """``fold`` for rows given by their columns."""
    sizes = [int(column.max(initial=0)) + 1 for column in columns]
    numbers, many = compact(*number_rows(columns, sizes, n_rows))
    members = np.empty(many, dtype=np.int64)
    members[numbers] = np.arange(n_rows)
    return numbers, members


@dataclass(frozen=True)
class Half:
    """Distinct tuples over some of the attributes, and their groups' numbers at each combination of levels."""

    hierarchies: tuple[Hierarchy, ...]
    codes: Ints
    """Leaf codes, each row once; shape (n_half_tuples, n_half_attributes)."""
    _numbered: dict[Levels, tuple[Ints, int]] = field(default_factory=dict, repr=False, compare=False)

    def numbered(self, levels: Levels) -> tuple[Ints, int]:
        """Number of each half tuple's groups at these levels, from 0 without gaps, and how many there are."""
        if levels not in self._numbered:
            axes = list(zip(self.hierarchies, self.codes.T, levels, strict=True))
            columns = [tree.groups[codes, level] for tree, codes, level in axes]
            sizes = [len(tree.labels[level]) for tree, _, level in axes]
            self._numbered[levels] = compact(*number_rows(columns, sizes, len(self.codes)))
        return self._numbered[levels]


@dataclass(frozen=True)
class Classes:
    """The equivalence classes of a lattice node; all arrays of shape (n_classes,)."""

    left: Ints
    """One half tuple of each class, by its row among the left half's codes."""
    right: Ints
    records: Floats
    """Records of each class, whole numbers."""

    def __len__(self) -> int:
        return len(self.records)


class Stock:
    """Classes of nodes counted so far, to count further nodes from; at most ``_ROWS_KEPT`` rows."""

    def __init__(self, n_attributes: int) -> None:
        self._classes: dict[Levels, Classes] = {}
        self._levels = np.empty((64, n_attributes), dtype=np.int32)
        self._sizes = np.empty(64, dtype=np.int64)
        self._rows = 0

    def get(self, levels: Levels) -> Classes | None:
        """The classes of a node, if counted."""
        return self._classes.get(levels)

    def add(self, levels: Levels, classes: Classes) -> None:
        """Keep the classes of a node; all others are let go where there is no room."""
        if self._rows + len(classes) > _ROWS_KEPT:
            self._classes.clear()
            self._rows = 0
        number = len(self._classes)
        if number == len(self._sizes):
            self._levels = np.concatenate([self._levels, np.empty_like(self._levels)])
            self._sizes = np.concatenate([self._sizes, np.empty_like(self._sizes)])
        self._classes[levels] = classes
        self._levels[number], self._sizes[number] = levels, len(classes)
        self._rows += len(classes)

    def coarsest_below(self, levels: Levels) -> Classes | None:
        """The fewest classes among the nodes counted that are more specific in no attribute."""
        number = len(self._classes)
        below = np.flatnonzero((self._levels[:number] <= levels).all(axis=1))
        if len(below) == 0:
            return None
        chosen = self._levels[below[self._sizes[below].argmin()]]
        return self._classes[tuple(chosen.tolist())]


@dataclass(frozen=True)
class Tally:
    """Distinct tuples of a table, as pairs of half tuples, and the classes of the nodes counted so far."""

    left: Half
    right: Half
    tuples: Classes
    """The distinct tuples with their records."""
    tuple_of_record: Ints
    stock: Stock = field(repr=False, compare=False)

    def codes(self, classes: Classes) -> Ints:
        """Leaf codes of one tuple of each class, shape (n_classes, n_attributes)."""
        return np.concatenate([self.left.codes[classes.left], self.right.codes[classes.right]], axis=1)

    def classes(self, levels: Levels) -> Classes:
        """The classes of a node."""
        counted = self.stock.get(levels)
        if counted is None:
            source = self._source(levels)
            counted = _merged(source, *self._cells(source, levels))
            self.stock.add(levels, counted)
        return counted

    def class_of_tuple(self, levels: Levels) -> Ints:
        """Number among ``classes(levels)`` of the class of each distinct tuple."""
        classes = self.classes(levels)
        numbers, bound = self._cells(self.tuples, levels)
        own, _ = self._cells(classes, levels)
        if _dense(bound, len(numbers)):
            place = np.empty(bound, dtype=np.int64)
            place[own] = np.arange(len(own))
            return place[numbers]
        return pd.Index(own).get_indexer(pd.Index(numbers)).astype(np.int64)

    def _cells(self, rows: Classes, levels: Levels) -> tuple[Ints, int]:
        middle = len(self.left.hierarchies)
        left, n_left = self.left.numbered(levels[:middle])
        right, n_right = self.right.numbered(levels[middle:])
        cells = (left * n_right).take(rows.left)
        cells += right.take(rows.right)
        return cells, n_left * n_right

    def _source(self, levels: Levels) -> Classes:
        """The smallest stored table; the left half's levels get their own table, since many nodes share it."""
        middle = len(self.left.hierarchies)
        if any(levels[:middle]) and any(levels[middle:]):
            self.classes((*levels[:middle], *(0 for _ in levels[middle:])))
        return self.stock.coarsest_below(levels) or self.tuples


def _dense(bound: int, n_rows: int) -> bool:
    """Whether an array with one place a cell costs less than hashing the rows."""
    return bound <= _CELLS_A_ROW * n_rows + _CELLS_AT_LEAST


def _merged(rows: Classes, cells: Ints, bound: int) -> Classes:
    """Rows with equal cell numbers made one."""
    if not _dense(bound, len(rows)):
        cells, bound = compact(cells, bound)
    records = np.bincount(cells, weights=rows.records, minlength=bound).astype(np.float64, copy=False)
    one_of = np.empty(bound, dtype=np.int64)
    one_of[cells] = np.arange(len(cells))
    present = np.flatnonzero(records > 0)
    chosen = one_of.take(present)
    return Classes(rows.left.take(chosen), rows.right.take(chosen), records.take(present))


def tally(codes: Ints, hierarchies: Sequence[Hierarchy], counts: Ints | None = None) -> Tally:
    """Fold records, leaf codes of shape (n_records, n_attributes), into distinct tuples, split for counting.

    With ``counts`` each row stands for so many records.
    """
    middle = (len(hierarchies) + 1) // 2
    halves = [half_of(codes[:, :middle], hierarchies[:middle]), half_of(codes[:, middle:], hierarchies[middle:])]
    (left, left_of), (right, right_of) = halves
    numbers, member = fold(np.column_stack([left_of, right_of]))
    records = np.bincount(numbers, counts, minlength=len(member)).astype(np.float64)
    tuples = Classes(left_of[member], right_of[member], records)
    return Tally(left, right, tuples, numbers, Stock(len(hierarchies)))


def half_of(codes: Ints, hierarchies: Sequence[Hierarchy]) -> tuple[Half, Ints]:
    """Distinct tuples over some attributes, and the one of each row of leaf codes."""
    numbers, member = fold(codes)
    return Half(tuple(hierarchies), codes[member]), numbers
