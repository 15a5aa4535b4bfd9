"""How far learned weights are from the best there are: a proof, or the gap that is left.

Weights of a mean or of an OWA lie in a simplex. It is cut into smaller ones; in each, a record is lost for certain when
one rival beats it at all corners, and a comparison that holds at all corners is dropped. What remains undecided in a
small cell is settled by a mixed-integer program whose constants are as tight as the cell is small.
"""

import heapq
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
from numpy.typing import NDArray

from tasks.linkage.figure import Floats
from tasks.linkage.learning.program import most_credit, simplex
from tasks.linkage.learning.rows import MARGIN, Rows, unit

_SMALLEST_STEP = 1e-4
_FEW_ROWS = 150
_PROGRAM_NODES = 200


@dataclass(frozen=True)
class Certificate:
    """What no parameters of the family can exceed."""

    found: float
    """Credit of the best parameters that were found, in records."""
    upper_bound: float
    """Credit that none exceeds, in records; at least ``found``."""

    @property
    def gap(self) -> float:
        """Records by which better parameters could do better."""
        return max(self.upper_bound - self.found, 0.0)

    @property
    def proven(self) -> bool:
        """Whether the parameters are the best, up to ``1e-4`` of a record."""
        return self.gap <= _SMALLEST_STEP


@dataclass(frozen=True)
class _Cell:
    """A simplex of weights and what is still undecided in it."""

    corners: Floats
    """Weights, shape (n_weights, n_corners)."""
    values: Floats
    """Each undecided comparison at each corner, the margin taken off, shape (n_corners, n_rows)."""
    of: NDArray[np.intp]
    """Record of each row."""
    bound: float
    """Credit that no weights in the cell exceed."""


def certify_weights(rows: Rows, weights: Floats, cells: int) -> tuple[Floats, Certificate]:
    """Prove that weights are the best, find better ones, or say how much better there may be.

    Parameters
    ----------
    rows : Rows
        Of a family whose parameters are any weights from 0.
    weights : array of shape (n_weights,)
        The best that are known.
    cells : int
        Cells to look into, from 0. The result depends on nothing else: not on the time that it takes.

    Returns
    -------
    weights : array of shape (n_weights,)
        Those given, or better ones.
    certificate : Certificate
    """
    best = _Best(rows, weights, rows.value(weights))
    number = count()
    opened = [(-cell.bound, next(number), cell) for cell in [_whole(rows)] if cell.bound > best.needed]
    for _ in range(cells):
        if not opened or -opened[0][0] <= best.needed:
            break
        for cell in _looked_into(heapq.heappop(opened)[2], best):
            heapq.heappush(opened, (-cell.bound, next(number), cell))
    upper = max([best.credit, *(-opened[0][0] for _ in opened[:1])])
    return best.weights, Certificate(best.credit, upper if upper > best.needed else best.credit)


class _Best:
    """The best weights so far."""

    def __init__(self, rows: Rows, weights: Floats, credit: float) -> None:
        self.rows, self.weights, self.credit = rows, weights, credit

    @property
    def needed(self) -> float:
        """Credit that would be better, and not by rounding alone."""
        return self.credit + _SMALLEST_STEP

    def offer(self, weights: Floats) -> None:
        credit = self.rows.value(weights)
        if credit > self.needed:
            self.weights, self.credit = unit(weights), credit


def _whole(rows: Rows) -> _Cell:
    """All weights, of which only the direction matters: those that add up to 1."""
    size = len(rows.gains)
    everything = rows.sure + float(rows.credit.sum())
    return _reduced(rows, np.eye(size), rows.gains - MARGIN, rows.of, everything)


def _reduced(rows: Rows, corners: Floats, values: Floats, of: NDArray[np.intp], bound: float) -> _Cell:
    """A cell without the comparisons that hold throughout, and without the records that are lost throughout."""
    lost = np.unique(of[np.all(values <= 0, axis=0)])
    undecided = np.any(values <= 0, axis=0) & ~np.isin(of, lost)
    return _Cell(corners, values[:, undecided], of[undecided], bound - float(rows.credit[lost].sum()))


def _looked_into(cell: _Cell, best: _Best) -> list[_Cell]:
    """The parts of a cell that may still hold better weights."""
    best.offer(cell.corners.mean(axis=1))
    if cell.bound > best.needed and len(cell.of) <= _FEW_ROWS:
        cell = _settled(cell, best)
    if cell.bound <= best.needed or not len(cell.of):
        return []
    return [part for part in _halves(cell, best.rows) if part.bound > best.needed]


def _settled(cell: _Cell, best: _Best) -> _Cell:
    """The cell with the bound of its integer program, whose solution is offered."""
    records, of = np.unique(cell.of, return_inverse=True)
    credit = best.rows.credit[records]
    decided = cell.bound - float(credit.sum())
    values = cell.values / np.abs(cell.values).max(axis=0)
    corners = cell.corners.shape[1]
    answer = most_credit(
        values, values.min(axis=0), of, credit, simplex(corners), best.needed - decided, _PROGRAM_NODES
    )
    if answer.parameters is not None:
        best.offer(cell.corners @ answer.parameters)
    return replace(cell, bound=min(cell.bound, decided + answer.bound))


def _halves(cell: _Cell, rows: Rows) -> list[_Cell]:
    """The cell cut in the middle of the edge that most comparisons cross."""
    holds = (cell.values > 0).astype(np.float64)
    both = holds @ holds.T
    alone = np.diag(both)
    one, other = np.unravel_index(np.argmax(alone[:, None] + alone - 2 * both), both.shape)
    parts = []
    for moved in (one, other):
        corners, values = cell.corners.copy(), cell.values.copy()
        corners[:, moved] = (cell.corners[:, one] + cell.corners[:, other]) / 2
        values[moved] = (cell.values[one] + cell.values[other]) / 2
        parts.append(_reduced(rows, corners, values, cell.of, cell.bound))
    return parts
