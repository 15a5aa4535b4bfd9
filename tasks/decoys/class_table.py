"""Equivalence classes as the assignment, the attack by collusion and the tracing see them, and which look alike."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import ParameterError, row_positions
from tasks.decoys.lineage import Lineage, canonical_cells
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class ClassTable:
    """Classes of a file, with their records and the people whom each is linked with; shows nothing of them."""

    cells: Codes = field(repr=False)
    """Axis positions, shape (n_classes, n_attributes)."""
    records: Counts = field(repr=False)
    """Records of each class, from 1; shape (n_classes,)."""
    people: Counts = field(repr=False)
    """People of the population who match each class, shape (n_classes,)."""

    def __len__(self) -> int:
        return len(self.records)

    @property
    def total(self) -> int:
        """Records of all classes."""
        return int(self.records.sum())

    def take(self, rows: Rows | NDArray[np.bool_]) -> Self:
        """Some of the classes."""
        return type(self)(self.cells[rows], self.records[rows], self.people[rows])

    def with_rows(self, *others: "ClassTable") -> "ClassTable":
        """These classes, followed by those of other tables."""
        tables = (self, *others)
        return ClassTable(
            np.concatenate([table.cells for table in tables]),
            np.concatenate([table.records for table in tables]),
            np.concatenate([table.people for table in tables]),
        )


def no_classes(n_attributes: int) -> ClassTable:
    """A table without rows."""
    return ClassTable(np.empty((0, n_attributes), np.int32), np.empty(0, np.int64), np.empty(0, np.int64))


def checked_classes(table: ClassTable, axes: Sequence[Lineage], where: str) -> ClassTable:
    """The table with canonical cells.

    Raises
    ------
    ParameterError
        If its arrays do not go together, a class has no records or a negative number of people, or a cell is not on
        the axes.
    """
    cells = canonical_cells(table.cells, axes, where)
    if table.records.shape != (len(cells),) or table.people.shape != (len(cells),):
        raise ParameterError(
            "the classes do not have one count of records and one of people each",
            where=where,
            expected=f"two arrays of {len(cells)} counts",
            got=f"shapes {table.records.shape} and {table.people.shape}",
            fix="count records and people of each class",
        )
    wrong = np.flatnonzero((table.records < 1) | (table.people < 0))
    if len(wrong):
        raise ParameterError(
            "classes have no records or a negative number of people",
            where=f"{where}, {row_positions(wrong)}",
            expected="records from 1 and people from 0",
            got=f"{len(wrong)} classes with others",
            fix="leave out classes that are not released, and count their people anew",
        )
    return ClassTable(cells, table.records.astype(np.int64), table.people.astype(np.int64))


def half_octaves(people: Counts) -> NDArray[np.int64]:
    """Half-octave of each number of people, ⌊2 log₂ n⌋; −1 for no people.

    >>> half_octaves(np.array([0, 1, 2, 3, 4, 5, 6]))
    array([-1,  0,  2,  3,  4,  4,  5])
    """
    square = np.square(people.astype(np.float64))
    return np.frexp(square)[1].astype(np.int64) - 1


def looks(tables: Sequence[ClassTable]) -> list[NDArray[np.intp]]:
    """Number of the bin of each class of each table; size and linking do not distinguish classes of one bin.

    A bin is a number of records and a half-octave of people linked. Somebody with the population counts the people of
    every class; a half-octave apart, counts do not distinguish a decoy from a real class.
    """
    values = [np.column_stack([table.records, half_octaves(table.people)]) for table in tables]
    if not values:
        return []
    _, numbers = np.unique(np.concatenate(values), axis=0, return_inverse=True)
    ends = np.cumsum([len(table) for table in tables])[:-1]
    return [part.astype(np.intp) for part in np.split(numbers.ravel(), ends)]
