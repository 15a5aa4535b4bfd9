"""Linkage of files with generalized attributes and masked numbers: nearest record by the sum of scaled components.

A component is the squared distance on the hierarchy, or the squared difference of standardised values, over its mean
over all pairs of an individual and a released record, so that every attribute weighs the same on average.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tasks.assessments.linkage.problem.figure import Floats, Linkage, linkage
from tasks.assessments.linkage.problem.files import (
    NEAREST,
    Files,
    Positions,
    cheapest_credit,
    common_scale,
    distinct_rows,
)
from tasks.assessments.linkage.problem.generalized_files import AxisGroups, distance_table
from tasks.generalization.kanonymity.classes import fold, fold_columns
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts

_APART = 1e9
"""More than any sum of components of numbers comes to."""


@dataclass(frozen=True)
class AlikeRecords:
    """The released records of a file, those that are alike folded: equal in all cells, in masked values and in class.

    ``cells``, (n_cells, n_attributes), are the distinct cells in axis positions and ``records`` the released records in
    each; ``cell`` is that of each distinct record, ``first`` one such record, ``of`` the distinct record of each
    record, and ``counts`` how many they are. Nobody's own record is in another class than ``class_of`` theirs:
    ``members`` are the distinct records class by class, each class from its ``start``.
    """

    cells: Codes
    records: Counts
    cell: Positions
    first: Positions
    of: Positions
    counts: Counts
    class_of: Positions
    members: Positions
    start: Positions

    def within(self, kind: int) -> Positions:
        """The distinct records of a class, ascending."""
        return self.members[self.start[kind] : self.start[kind + 1]]


def alike_records(cells: Codes, masked: Floats | None = None, classes: Positions | None = None) -> AlikeRecords:
    """Fold released records by cells, (n_records, n_attributes), by masked values and by classes, numbered from 0."""
    n_records = len(cells)
    numbers = [] if masked is None else [distinct_rows(masked).of]
    classes = np.zeros(n_records, dtype=np.intp) if classes is None else classes
    cell, in_cell = fold(cells)
    of, first = fold_columns([cell, classes, *numbers], n_records)
    kinds = classes[first]
    return AlikeRecords(
        cells=cells[in_cell],
        records=np.bincount(cell),
        cell=cell[first],
        first=first,
        of=of,
        counts=np.bincount(of),
        class_of=classes,
        members=np.argsort(kinds, kind="stable"),
        start=np.append(0, np.cumsum(np.bincount(kinds))),
    )


@dataclass(frozen=True)
class MixedFiles:
    """Files of an intruder with attributes of both kinds; made by ``mixed_files``.

    A table a generalized attribute holds its components: ``leaf`` is the row of each individual, ``position`` the
    column of each distinct cell. Numbers are scaled so that the squared difference is the component, ``masked`` of each
    distinct released record; ``truth`` only scores an attack.
    """

    truth: Positions
    tables: tuple[Floats, ...]
    leaf: Positions
    position: Positions
    original: Floats
    masked: Floats
    released: AlikeRecords


def mixed_files(
    truth: Positions,
    groups: Sequence[AxisGroups],
    leaves: Codes,
    released: AlikeRecords,
    numbers: Files | None = None,
    *,
    matching: bool = False,
) -> MixedFiles:
    """Attributes of both kinds side by side; there may be no generalized ones where numbers are given.

    ``truth`` is each own record, ``leaves``, (n_individuals, n_attributes), are the known values as leaf codes.
    With ``matching``, whether groups hold the known values comes first, in place of a distance. ParameterError if an
    attribute has too many values to compare, or a number does not vary.
    """
    n_released = len(released.of)
    tables, leaf, position = [], [], []
    for group, own, cells in zip(groups, leaves.T, released.cells.T, strict=True):
        known, row, people = np.unique(own, return_inverse=True, return_counts=True)
        positions, column = np.unique(cells, return_inverse=True)
        if matching:
            table = np.where(group.holds(known[:, None], positions), 0.0, _APART)
        else:
            table = distance_table(group, known, positions) ** 2
        records = np.bincount(column, released.records)
        mean = people @ table @ records / (len(truth) * n_released)
        tables.append(table / (mean if mean > 0 and not matching else 1.0))
        leaf.append(row)
        position.append(column)
    original, masked = np.empty((len(truth), 0)), np.empty((len(released.first), 0))
    if numbers:
        original, masked = common_scale(numbers)
        # The mean squared difference over all pairs is var x + var y + (mean x − mean y)².
        mean = original.var(axis=0) + masked.var(axis=0) + (original.mean(axis=0) - masked.mean(axis=0)) ** 2
        original, masked = original / np.sqrt(mean), masked[released.first] / np.sqrt(mean)
    return MixedFiles(
        truth=released.of[truth],
        tables=tuple(tables),
        leaf=np.array(leaf, dtype=np.intp).reshape(-1, len(truth)).T,
        position=np.array(position, dtype=np.intp).reshape(-1, len(released.cells)).T,
        original=original,
        masked=masked,
        released=released,
    )


def mixed_linkage(
    files: MixedFiles, weights: Sequence[float] | None = None, among: Callable[[Floats], Floats] | None = None
) -> Linkage:
    """Link to the least sum of components, with weights from 0, generalized ones first, all 1 where not given.

    ``among`` gives another distance of records by their components, (n_records, n_components), without weights; the
    ``NEAREST`` by the sum alone are then compared by it.
    """
    weight = np.ones(len(files.tables) + files.masked.shape[1]) if weights is None else np.asarray(weights)
    tables = [own * table for own, table in zip(weight, files.tables, strict=False)]
    root, released = np.sqrt(weight[len(tables) :]), files.released
    original, masked = files.original * root, files.masked * root
    columns = np.ascontiguousarray(files.position.T)
    kinds, credit = released.class_of[released.first[files.truth]], np.zeros(len(files.truth))
    for people in np.split(order := np.argsort(kinds), np.flatnonzero(np.diff(kinds[order])) + 1):
        rows = released.within(int(kinds[people[0]]))
        counts, values_of = released.counts[rows], np.ascontiguousarray(masked[rows].T)
        cell = released.cell[rows]
        # Few classes hold most cells: of a small one, the distances to its own cells are fewer.
        held, within = (slice(None), cell) if len(rows) > len(released.cells) else (cell, slice(None))
        own_columns = columns[:, held]
        for who in people:
            of_cells = np.zeros(own_columns.shape[1])
            for table, leaf, column in zip(tables, files.leaf[who], own_columns, strict=True):
                of_cells += table[leaf][column]
            total = of_cells[within]
            for number, values in zip(original[who], values_of, strict=True):
                total += np.square(values - number)
            own = int(np.searchsorted(rows, files.truth[who]))
            if among is None:
                credit[who] = cheapest_credit(total[None], own, counts)[0]
                continue
            near = nearest_of(total)
            if own in near:
                parts = zip(files.tables, files.leaf[who], columns, strict=True)
                at = [table[leaf][column[cell[near]]] for table, leaf, column in parts]
                at += list(np.square(files.masked[rows[near]] - files.original[who]).T)
                cost = among(np.stack(at, axis=1))
                credit[who] = cheapest_credit(cost[None], int(np.flatnonzero(near == own)[0]), counts[near])[0]
    return linkage(credit, int(released.counts.sum()))


def nearest_of(total: Floats) -> Positions:
    """Positions of the ``NEAREST`` smallest, in no order."""
    near: Positions = np.arange(len(total)) if len(total) <= NEAREST else np.argpartition(total, NEAREST)[:NEAREST]
    return near


def components(files: MixedFiles) -> Floats:
    """Component k of individual i and the record of individual j at [i, j, k], so that the diagonal holds own pairs."""
    found = [
        table[leaf][:, position[files.released.cell[files.truth]]]
        for table, leaf, position in zip(files.tables, files.leaf.T, files.position.T, strict=True)
    ]
    found += [
        (number[:, None] - values) ** 2
        for number, values in zip(files.original.T, files.masked[files.truth].T, strict=True)
    ]
    return np.stack(found, axis=2)
