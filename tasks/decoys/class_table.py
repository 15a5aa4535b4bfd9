"""Equivalence classes with their records and the people they link to, and which classes look alike."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts

Rows = NDArray[np.intp]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ClassTable:
    """Equivalence classes of a file; shows nothing of them."""

    cells: Codes = field(repr=False)
    """Axis positions, shape (n_classes, n_attributes)."""
    records: Counts = field(repr=False)
    """Records of each class, from 1; shape (n_classes,)."""
    people: Counts = field(repr=False)
    """People of the population who match each class, shape (n_classes,)."""

    def __len__(self) -> int:
        return len(self.records)

    def take(self, rows: Rows | Flags) -> Self:
        """Some of the classes."""
        return type(self)(self.cells[rows], self.records[rows], self.people[rows])


def joined(tables: Sequence[ClassTable]) -> ClassTable:
    """The classes of several tables, at least one, one after the other."""
    return ClassTable(
        np.concatenate([table.cells for table in tables]),
        np.concatenate([table.records for table in tables]),
        np.concatenate([table.people for table in tables]),
    )


def half_octaves(people: Counts) -> NDArray[np.int64]:
    """Half-octave of each number of people, ⌊2 log₂ n⌋; −1 for no people.

    >>> half_octaves(np.array([0, 1, 2, 3, 4, 5, 6]))
    array([-1,  0,  2,  3,  4,  4,  5])
    """
    square = np.square(people.astype(np.float64))
    return np.frexp(square)[1].astype(np.int64) - 1


def looks(table: ClassTable) -> Rows:
    """Number of each class's bin; size and linking do not distinguish the classes of one bin.

    A bin is a number of records and a half-octave of people linked. Somebody with the population counts the people of
    every class; less than a half-octave apart, counts do not distinguish a decoy from a real class.
    """
    values = np.column_stack([table.records, half_octaves(table.people)])
    return np.unique(values, axis=0, return_inverse=True)[1].ravel().astype(np.intp)
