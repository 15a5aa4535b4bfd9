"""Equivalence classes of lattice nodes, counted from classes already counted, never from records.

A node is counted from the coarsest stored node below it. The count cube over all nodes (``tasks.microdata.cube``) would
need every cell: hundreds of millions with eight attributes, of which the tuples reach a few thousand a node.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import le

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
"""Rows of class tables kept to count further nodes from; 16 bytes each."""


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


def half_of(codes: Ints, hierarchies: Sequence[Hierarchy]) -> tuple[Half, Ints]:
    """Distinct tuples over some attributes, and the one of each row of leaf codes."""
    numbers, member = fold(codes)
    return Half(tuple(hierarchies), codes[member]), numbers


@dataclass(frozen=True)
class Classes:
    """The equivalence classes of a lattice node; all arrays of shape (n_classes,)."""

    member: Ints
    """One distinct tuple of each class."""
    records: Floats
    """Records of each class, whole numbers."""

    def __len__(self) -> int:
        return len(self.records)


@dataclass(frozen=True)
class Tally:
    """Distinct tuples of a table with their records, and the classes of the nodes counted so far."""

    hierarchies: tuple[Hierarchy, ...]
    codes: Ints
    """Leaf codes of each tuple, shape (n_tuples, n_attributes)."""
    tuples: Classes
    """The distinct tuples with their records."""
    tuple_of_record: Ints
    counted: dict[Levels, Classes] = field(default_factory=dict, repr=False, compare=False)
    """Classes of nodes counted so far, to count further nodes from; at most about ``_ROWS_KEPT`` rows."""

    def classes(self, levels: Levels) -> Classes:
        """The classes of a node."""
        if levels not in self.counted:
            more_specific = (one for node, one in self.counted.items() if all(map(le, node, levels)))
            source = min(more_specific, key=len, default=self.tuples)
            if sum(map(len, self.counted.values())) > _ROWS_KEPT:
                self.counted.clear()
            self.counted[levels] = _merged(source, *self._cells(source, levels))
        return self.counted[levels]

    def class_of_tuple(self, levels: Levels) -> Ints:
        """Number among ``classes(levels)`` of the class of each distinct tuple."""
        numbers, _ = self._cells(self.tuples, levels)
        own, _ = self._cells(self.classes(levels), levels)
        return pd.Index(own).get_indexer(pd.Index(numbers)).astype(np.int64)

    def _cells(self, rows: Classes, levels: Levels) -> tuple[Ints, int]:
        axes = list(zip(self.hierarchies, self.codes.T, levels, strict=True))
        columns = [tree.groups[:, level][codes[rows.member]] for tree, codes, level in axes]
        return number_rows(columns, [len(tree.labels[level]) for tree, _, level in axes], len(rows))


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
    return Classes(rows.member.take(one_of.take(present)), records.take(present))


def tally(codes: Ints, hierarchies: Sequence[Hierarchy], counts: Ints | None = None) -> Tally:
    """Fold records, leaf codes of shape (n_records, n_attributes), into distinct tuples.

    With ``counts`` each row stands for so many records.
    """
    numbers, member = fold(codes)
    records = np.bincount(numbers, counts, minlength=len(member)).astype(np.float64)
    tuples = Classes(np.arange(len(member)), records)
    return Tally(tuple(hierarchies), np.asfortranarray(codes[member]), tuples, numbers)
