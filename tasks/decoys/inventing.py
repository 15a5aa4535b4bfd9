"""The records of decoy classes: released cells with invented values, as they stand in a delivered file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tasks.decoys.candidates import Candidates
from tasks.decoys.class_table import ClassTable
from tasks.decoys.detectability import Detectability, Values, detectability
from tasks.decoys.generalized_release import Classes, Floats, GeneralizedRelease
from tasks.decoys.lineage import Lineage
from tasks.decoys.offer import decoy_classes
from tasks.decoys.outbound import OutboundColumns, at_rows, finite
from tasks.decoys.plausibility import seen
from tasks.decoys.sensitive_values import Column, draw_values
from tasks.generalization.transparency import cell_numbers

Row = Mapping[str, str | None]


@dataclass(frozen=True)
class Source:
    """The original records of one file, whose like decoys are made of."""

    release: GeneralizedRelease = field(repr=False)
    tuple_of_record: NDArray[np.int32] = field(repr=False)
    columns: OutboundColumns = field(repr=False)

    @cached_property
    def context(self) -> Floats:
        """An intruder's view of each record's cell, shape (n_records, n_features)."""
        release = self.release
        _, first, inverse = np.unique(
            cell_numbers(release.cells, release.axis_sizes), return_index=True, return_inverse=True
        )
        cells = release.cells[first]
        people = release.population.counts
        classes = Classes(
            cells=cells,
            sizes=np.ones(len(cells), dtype=np.int64),
            people=release.matching(cells, people),
            effective=release.owning(cells, people),
            listed=None if release.listed is None else release.matching(cells, release.listed),
        )
        return finite(seen(release, classes)[0])[inverse[self.tuple_of_record]]

    @cached_property
    def class_of_tuple(self) -> NDArray[np.intp]:
        """Released class of each data tuple, −1 for a suppressed one."""
        release = self.release
        numbers = cell_numbers(release.cells, release.axis_sizes)
        place = np.searchsorted(np.unique(numbers[release.kept]), numbers)
        return np.where(release.kept, place, -1)

    @cached_property
    def released(self) -> Values:
        """Values of the records that are released, by class."""
        number = self.class_of_tuple[self.tuple_of_record]
        rows = np.flatnonzero(number >= 0)
        return Values(at_rows(self.columns.values, rows), number[rows], self.columns.kinds)


@dataclass(frozen=True)
class Invented:
    """Values of decoy records, class by class; shows none."""

    classes: Classes = field(repr=False)
    columns: dict[str, Column] = field(repr=False)
    """In numbers, each of shape (n_records,); empty where the file has no columns beside its quasi-identifiers."""

    @property
    def values(self) -> Values:
        """The same by class."""
        return Values(self.columns, np.repeat(np.arange(len(self.classes)), self.classes.sizes))


def invent(
    source: Source,
    candidates: Candidates,
    tables: Sequence[ClassTable],
    axes: Sequence[Lineage],
    generator: np.random.Generator,
    *,
    common_from: int | None,
) -> list[Invented]:
    """Draw the values of several sets of decoy classes of one file.

    Parameters
    ----------
    source : Source
    candidates : Candidates
        That the classes were taken from.
    tables : sequence of ClassTable
    axes : sequence of Lineage
    generator : numpy.random.Generator
    common_from : int, optional
        As of ``tasks.decoys.sensitive_values.draw_values``.

    Raises
    ------
    ParameterError
        If some decoy is a copy of a real record however often it is drawn.
    """
    made = [decoy_classes(candidates, table, axes) for table in tables]
    columns = source.columns.values
    if not columns:
        return [Invented(classes, {}) for classes in made]
    context = [np.repeat(finite(seen(source.release, classes)[0]), classes.sizes, axis=0) for classes in made]
    drawn = draw_values(
        columns,
        source.context,
        np.concatenate(context),
        generator,
        common_from=common_from,
        kinds=source.columns.kinds,
    )
    ends = np.cumsum([0, *[len(part) for part in context]])
    return [
        Invented(classes, {name: column[start:end] for name, column in drawn.columns.items()})
        for classes, start, end in zip(made, ends[:-1], ends[1:], strict=True)
    ]


def tried(source: Source, invented: Invented, generator: np.random.Generator) -> Detectability:
    """How well decoys can be distinguished from the real classes of their file.

    Raises
    ------
    ParameterError
        If there are too few classes to measure it on.
    """
    if not invented.columns:
        return detectability(source.release, invented.classes, generator)
    return detectability(
        source.release, invented.classes, generator, real_values=source.released, decoy_values=invented.values
    )


def rows_of(
    invented: Invented,
    columns: OutboundColumns,
    names: Sequence[str],
    quasi_identifiers: Sequence[str],
    axis_labels: Sequence[Sequence[str]],
) -> tuple[Row, ...]:
    """Decoy records as text, by column in the order of the file.

    Parameters
    ----------
    invented : Invented
    columns : OutboundColumns
    names : sequence of str
        Outbound columns in the order of the file.
    quasi_identifiers : sequence of str
        Names of the attributes, in the order of the axes.
    axis_labels : sequence of sequences of str
        Label at each axis position, of each attribute.
    """
    cells = np.repeat(invented.classes.cells, invented.classes.sizes, axis=0)
    texts: dict[str, Sequence[str | None]] = dict(columns.texts(invented.columns))
    for axis, name in enumerate(quasi_identifiers):
        texts[name] = [axis_labels[axis][position] for position in cells[:, axis].tolist()]
    return tuple(dict(zip(names, row, strict=True)) for row in zip(*(texts[name] for name in names), strict=True))
