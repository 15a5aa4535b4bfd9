"""Linkage of files with generalized attributes and masked numbers: nearest record by the sum of scaled components.

A component is the squared distance on the hierarchy, or the squared difference of standardised values, over its mean
over all pairs of an individual and a released record, so that every attribute weighs the same on average.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.linkage.figure import Floats, Linkage, linkage
from tasks.assessments.linkage.files import NEAREST, Files, Positions, cheapest_credit, common_scale, distinct_rows
from tasks.assessments.linkage.generalized_files import AxisGroups, distance_table
from tasks.microdata.hierarchy import Codes

_APART = 1e9
"""More than any sum of components of numbers comes to."""


@dataclass(frozen=True)
class GeneralizedPart:
    """Known generalized attributes: leaf codes of each individual, and each released cell in axis positions."""

    groups: tuple[AxisGroups, ...]
    leaves: Codes
    cells: Codes


@dataclass(frozen=True)
class MixedFiles:
    """Files of an intruder with attributes of both kinds; made by ``mixed_files``.

    A table a generalized attribute holds its components: ``leaf`` is the row of each individual, ``position`` the
    column of each distinct cell, ``cell`` the cell of each distinct released record, of which ``counts`` are released.
    Numbers are scaled so that the squared difference is the component; ``truth`` only scores an attack. Records are
    compared within ``rows`` alone, (n_classes,), the distinct released records of each class; ``kind`` is the class of
    each individual.
    """

    truth: Positions
    tables: tuple[Floats, ...]
    leaf: Positions
    cell: Positions
    position: Positions
    original: Floats
    masked: Floats
    counts: NDArray[np.int64]
    rows: tuple[Positions, ...]
    kind: Positions


def mixed_files(
    truth: Positions,
    part: GeneralizedPart,
    numbers: Files | None,
    equal: Positions | None = None,
    *,
    matching: bool = False,
) -> MixedFiles:
    """Attributes of both kinds side by side; the generalized part may have no attributes where numbers are given.

    ``truth`` is each own record; ``equal`` the class of each released record: nobody's own is in another class.
    With ``matching``, whether groups hold the known values comes first, in place of a distance. ParameterError if an
    attribute has too many values to compare, or a number does not vary.
    """
    n_released, distinct = len(part.cells), distinct_rows(part.cells.astype(np.float64))
    equal = np.zeros(n_released, dtype=np.intp) if equal is None else equal
    tables, leaf, position = [], [], []
    for group, own, released in zip(part.groups, part.leaves.T, part.cells.T, strict=True):
        leaves, row, people = np.unique(own, return_inverse=True, return_counts=True)
        positions, column, records = np.unique(released, return_inverse=True, return_counts=True)
        if matching:
            table = np.where(group.holds(leaves[:, None], positions), 0.0, _APART)
        else:
            table = distance_table(group, leaves, positions) ** 2
        mean = people @ table @ records / (len(truth) * n_released)
        tables.append(table / (mean if mean > 0 and not matching else 1.0))
        leaf.append(row)
        position.append(column[distinct.first])
    original, masked = np.empty((len(truth), 0)), np.empty((n_released, 0))
    if numbers:
        original, masked = common_scale(numbers)
        # The mean squared difference over all pairs is var x + var y + (mean x − mean y)².
        mean = original.var(axis=0) + masked.var(axis=0) + (original.mean(axis=0) - masked.mean(axis=0)) ** 2
        original, masked = original / np.sqrt(mean), masked / np.sqrt(mean)
    alike = distinct_rows(np.column_stack([distinct.of.astype(np.float64), equal, masked]))
    kinds = equal[alike.first]
    by_kind = np.split(np.argsort(kinds, kind="stable"), np.cumsum(np.bincount(kinds))[:-1])
    return MixedFiles(
        truth=alike.of[truth],
        tables=tuple(tables),
        leaf=np.array(leaf, dtype=np.intp).reshape(-1, len(truth)).T,
        cell=distinct.of[alike.first],
        position=np.array(position, dtype=np.intp).reshape(-1, len(distinct.first)).T,
        original=original,
        masked=masked[alike.first],
        counts=alike.counts,
        rows=tuple(by_kind),
        kind=equal[truth],
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
    root = np.sqrt(weight[len(tables) :])
    original, masked = files.original * root, np.ascontiguousarray((files.masked * root).T)
    columns = np.ascontiguousarray(files.position.T)
    within = [(files.cell[rows], masked[:, rows], files.counts[rows]) for rows in files.rows]
    credit = np.zeros(len(files.truth))
    for who, (truth, kind) in enumerate(zip(files.truth, files.kind, strict=True)):
        cell, values_of, counts = within[kind]
        of_cells = np.zeros(len(files.position))
        for table, leaf, column in zip(tables, files.leaf[who], columns, strict=True):
            of_cells += table[leaf][column]
        total = of_cells[cell]
        for number, values in zip(original[who], values_of, strict=True):
            total += np.square(values - number)
        own = int(np.searchsorted(files.rows[kind], truth))
        if among is None:
            credit[who] = cheapest_credit(total[None], own, counts)[0]
            continue
        near = nearest_of(total)
        if own in near:
            parts = zip(files.tables, files.leaf[who], columns, strict=True)
            at = [table[leaf][column][cell[near]] for table, leaf, column in parts]
            at += list(np.square(files.masked[files.rows[kind][near]] - files.original[who]).T)
            cost = among(np.stack(at, axis=1))
            credit[who] = cheapest_credit(cost[None], int(np.flatnonzero(near == own)[0]), counts[near])[0]
    return linkage(credit, int(files.counts.sum()))


def nearest_of(total: Floats) -> Positions:
    """Positions of the ``NEAREST`` smallest, in no order."""
    near: Positions = np.arange(len(total)) if len(total) <= NEAREST else np.argpartition(total, NEAREST)[:NEAREST]
    return near


def components(files: MixedFiles) -> Floats:
    """Component k of individual i and the record of individual j at [i, j, k], so that the diagonal holds own pairs."""
    found = [
        table[leaf][:, position[files.cell[files.truth]]]
        for table, leaf, position in zip(files.tables, files.leaf.T, files.position.T, strict=True)
    ]
    found += [
        (number[:, None] - values) ** 2
        for number, values in zip(files.original.T, files.masked[files.truth].T, strict=True)
    ]
    return np.stack(found, axis=2)
