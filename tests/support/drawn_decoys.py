"""Decoy classes drawn by plausibility for one recipient, to see whether they can be told from real classes."""

from collections.abc import Sequence

import numpy as np

from tasks.decoys.classes import ClassTable, Rows
from tasks.decoys.decoy_cells import DecoyCells, RiskBand, log_likeness

_NEAREST = 30
"""Released classes of the nearest link counts that a size is drawn from."""


def drawn_decoys(
    found: DecoyCells, number: int, band: RiskBand, generator: np.random.Generator, *, linked_alike: bool = True
) -> ClassTable:
    """So many cells of a band, without replacement, in sizes of released classes.

    Where they are linked alike, a size is that of a class that links to about as many people.
    """
    eligible = np.flatnonzero(found.usable & found.in_band(band))
    keys = log_likeness(found, eligible, generator) + generator.gumbel(size=len(eligible))
    cells = np.sort(eligible[np.argsort(-keys, kind="stable")][:number])
    if len(cells) < number:
        raise ValueError("there are not enough cells")
    return as_classes(found, cells, _sizes(found, cells, generator, linked_alike=linked_alike))


def as_classes(found: DecoyCells, rows: Rows, sizes: np.ndarray) -> ClassTable:
    """Some cells as classes of given sizes."""
    return ClassTable(found.cells[rows], sizes, found.people[rows])


def _sizes(
    found: DecoyCells, cells: Sequence[int] | Rows, generator: np.random.Generator, *, linked_alike: bool
) -> np.ndarray:
    classes = found.release.classes
    drawn = np.empty(len(cells), dtype=np.int64)
    for number, cell in enumerate(cells):
        fitting = np.flatnonzero((classes.records <= found.pool[cell]) & (classes.records >= found.minimum))
        if linked_alike and len(fitting) > _NEAREST:
            distance = np.abs(np.log1p(classes.people[fitting]) - np.log1p(found.people[cell]))
            fitting = fitting[np.argsort(distance, kind="stable")[:_NEAREST]]
        drawn[number] = classes.records[generator.choice(fitting)]
    return drawn
