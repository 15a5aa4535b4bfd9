"""Plausible records of nobody: the records of decoy classes, released cells with invented values.

``draw_records`` is all that the rest asks of how records are invented: classes in, values by column out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tasks.candidate.candidate import Candidate
from tasks.decoys.classes import ClassTable, Floats, Rows
from tasks.decoys.linked_release import LinkedRelease, finite
from tasks.decoys.manifest import Record
from tasks.decoys.outbound import OutboundColumns
from tasks.decoys.value_model import draw_values
from tasks.decoys.value_rules import Column
from tasks.generalization.transparency import cell_numbers


@dataclass(frozen=True)
class RealRecords:
    """The original records of one file, whose like decoys are made of."""

    release: LinkedRelease = field(repr=False)
    tuple_of_record: NDArray[np.int32] = field(repr=False)
    columns: OutboundColumns = field(repr=False)

    @cached_property
    def context(self) -> Floats:
        """An intruder's view of each record's cell, shape (n_records, n_features)."""
        numbers = cell_numbers(self.release.cells, self.release.axis_sizes)
        _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
        return finite(self.release.seen(self.release.cells[first]))[inverse[self.tuple_of_record]]

    @cached_property
    def released(self) -> "ClassRecords":
        """Values of the records that are released, by class."""
        number = self.release.class_of_tuple[self.tuple_of_record]
        rows = np.flatnonzero(number >= 0)
        return ClassRecords(self.release.classes, at_rows(self.columns.values, rows), number[rows])


@dataclass(frozen=True)
class ClassRecords:
    """Values of the records of some classes; shows none."""

    classes: ClassTable = field(repr=False)
    columns: dict[str, Column] = field(repr=False)
    """In numbers, each of shape (n_records,); empty where the file has no columns beside its quasi-identifiers."""
    class_of_record: Rows = field(repr=False)


def draw_records(
    real: RealRecords, tables: Sequence[ClassTable], generator: np.random.Generator, *, common_from: int | None
) -> list[ClassRecords]:
    """Draw the records of several sets of decoy classes of one file.

    Parameters
    ----------
    real : RealRecords
    tables : sequence of ClassTable
        Cells as they are released.
    generator : numpy.random.Generator
        The same generator gives the same records.
    common_from : int, optional
        As of ``tasks.decoys.value_model.draw_values``.

    Raises
    ------
    ParameterError
        If some decoy is a copy of a real record however often it is drawn.
    """
    numbers = [np.repeat(np.arange(len(table)), table.records) for table in tables]
    if not real.columns.by_name:
        return [ClassRecords(table, {}, number) for table, number in zip(tables, numbers, strict=True)]
    context = [finite(real.release.seen(table.cells))[number] for table, number in zip(tables, numbers, strict=True)]
    drawn = draw_values(
        real.columns.values,
        real.context,
        np.concatenate(context),
        generator,
        common_from=common_from,
        kinds=real.columns.kinds,
    )
    ends = np.cumsum([0, *map(len, numbers)])
    return [
        ClassRecords(table, at_rows(drawn, np.arange(start, end)), number)
        for table, number, start, end in zip(tables, numbers, ends[:-1], ends[1:], strict=True)
    ]


def as_texts(made: ClassRecords, columns: OutboundColumns, candidate: Candidate) -> tuple[Record, ...]:
    """Decoy records as they stand in a candidate's file: texts by column, in its order."""
    cells, names = made.classes.cells[made.class_of_record], candidate.request.outbound
    texts: dict[str, Sequence[str | None]] = dict(columns.texts(made.columns))
    for axis, name in enumerate(candidate.request.quasi_identifiers):
        texts[name] = [candidate.index.axis_labels[axis][position] for position in cells[:, axis].tolist()]
    return tuple(dict(zip(names, row, strict=True)) for row in zip(*(texts[name] for name in names), strict=True))


def at_rows(columns: dict[str, Column], rows: Rows) -> dict[str, Column]:
    """Some records of each column."""
    return {name: column[rows] for name, column in columns.items()}
