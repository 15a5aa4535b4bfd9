"""The best weights of all, proven: branch and bound over the simplex, and an integer program in small cells.

The simplex of weights is cut into smaller ones; in each, a record is lost for certain when one rival beats it at all
corners, and a comparison that holds at all corners is dropped. What remains undecided in a small cell is settled by a
mixed-integer program whose constants are as tight as the cell is small (Torra 2016, slide 33).
"""

import heapq
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from tasks.assessments.linkage.learning.comparisons import MARGIN, Rows, lowest, unit
from tasks.assessments.linkage.learning.learn import LEAST_STEP
from tasks.assessments.linkage.problem.figure import Floats

_INFEASIBLE = 2
_MOST_NUMBERS = 10**8
_FEW_ROWS = 150
_FEW_RECORDS = 4
_WORST = 3
_TOWARDS_CORNER = 0.7
_PROGRAM_NODES = 200


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


def best_weights(rows: Rows, weights: Floats, bound: float, cells: int) -> tuple[Floats, float]:
    """Better weights than those given, if there are any, and the credit that none exceeds.

    Parameters
    ----------
    rows : Rows
        Of a family whose parameters are any weights from 0.
    weights : array of shape (n_weights,)
        The best that are known.
    bound : float
        Credit that none is known to exceed.
    cells : int
        Cells to look into, from 0; fewer where they hold many comparisons. The result does not depend on the time
        that it takes.

    Returns
    -------
    weights : array of shape (n_weights,)
        Those given, or better ones, the largest 1.
    bound : float
        In records.
    """
    best = _Best(rows, weights, value(rows, weights))
    number = count()
    opened = [(-cell.bound, next(number), cell) for cell in [_whole(best, bound)] if cell.bound > best.needed]
    left = _MOST_NUMBERS
    for _ in range(cells):
        if not opened or -opened[0][0] <= best.needed or left <= 0:
            break
        whole = heapq.heappop(opened)[2]
        left -= whole.values.size
        for cell in _looked_into(whole, best):
            heapq.heappush(opened, (-cell.bound, next(number), cell))
    bound = -opened[0][0] if opened else best.credit
    return best.weights, bound if bound > best.needed else best.credit


def value(rows: Rows, weights: Floats) -> float:
    """Credit that the weights win, in records."""
    return rows.sure + float(rows.credit @ rows.wins(weights)[rows.records])


class _Best:
    """The best weights so far."""

    def __init__(self, rows: Rows, weights: Floats, credit: float) -> None:
        self.rows, self.weights, self.credit = rows, weights, credit

    @property
    def needed(self) -> float:
        """Credit that would be better, and not by rounding alone."""
        return self.credit + LEAST_STEP

    def offer(self, weights: Floats) -> None:
        """Keep the weights if they are better."""
        credit = value(self.rows, weights)
        if credit > self.needed:
            self.weights, self.credit = unit(weights), credit


def _whole(best: _Best, bound: float) -> _Cell:
    """All weights, of which only the direction matters: those that add up to 1.

    Where few records are in question, the program of the worst rivals alone may settle them at once.
    """
    rows = best.rows
    everything = rows.sure + float(rows.credit.sum())
    cell = _reduced(rows, np.eye(len(rows.gains)), rows.gains - MARGIN, rows.of, everything)
    if best.needed < bound <= best.credit + _FEW_RECORDS:
        bound = min(bound, _settled(_worst(cell, best.weights / best.weights.sum()), best).bound)
    return replace(cell, bound=min(cell.bound, bound))


def _worst(cell: _Cell, weights: Floats) -> _Cell:
    """The whole with the worst rivals of each record alone, for the weights and for mixtures near each corner."""
    n = len(weights)
    mixtures = np.vstack([weights, np.full(n, 1 / n), _TOWARDS_CORNER * np.eye(n) + (1 - _TOWARDS_CORNER) / n])
    kept = np.unique(np.concatenate([lowest(mixture @ cell.values, cell.of, _WORST) for mixture in mixtures]))
    return replace(cell, values=cell.values[:, kept], of=cell.of[kept])


def _reduced(rows: Rows, corners: Floats, values: Floats, of: NDArray[np.intp], bound: float) -> _Cell:
    """A cell without the comparisons that hold throughout, and without the records that are lost throughout."""
    lost = np.zeros(len(rows.credit), dtype=np.bool_)
    lost[of[np.all(values <= 0, axis=0)]] = True
    undecided = np.any(values <= 0, axis=0) & ~lost[of]
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
    if not len(cell.of):
        return cell
    records, of = np.unique(cell.of, return_inverse=True)
    credit = best.rows.credit[records]
    decided = cell.bound - float(credit.sum())
    values = cell.values / np.abs(cell.values).max(axis=0)
    answer = most_credit(values, of, credit, best.needed - decided, _PROGRAM_NODES)
    if answer.weights is not None:
        best.offer(cell.corners @ answer.weights)
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


@dataclass(frozen=True)
class Answer:
    """Result of the solver."""

    bound: float
    """Credit that no weights exceed; −∞ where none reaches what was asked for."""
    weights: Floats | None
    """The best that it met, which add up to 1; None where it met none."""


def most_credit(values: Floats, of: NDArray[np.intp], credit: Floats, needed: float, nodes: int) -> Answer:
    """Most credit of records whose comparisons all hold.

    Maximise Σ credit_i z_i subject to x·Δ_r ≥ −C_r (1 − z_i) for each row r of record i, Σ x = 1, x ≥ 0, z_i ∈ {0, 1},
    with the smallest constant C_r that lets any x through (Torra 2016, slide 33, with a constant a row).

    Parameters
    ----------
    values : array of shape (n_weights, n_rows)
        Δ, the margin taken off.
    of : array of shape (n_rows,)
        Record of each row, 0 to n_records − 1.
    credit : array of shape (n_records,)
    needed : float
        Only solutions of at least this credit count.
    nodes : int
        Branch-and-bound nodes that the solver may take; the result does not depend on the time it has.
    """
    size, n_records, n_rows = len(values), len(credit), len(of)
    constant = np.maximum(-values.min(axis=0), 0)
    chosen = sparse.csr_array((constant, (np.arange(n_rows), of)), shape=(n_rows, n_records))
    value = np.concatenate([np.zeros(size), credit])
    total = np.concatenate([np.ones(size), np.zeros(n_records)])
    solution = milp(
        -value,
        integrality=np.concatenate([np.zeros(size), np.ones(n_records)]),
        bounds=Bounds(0, 1),
        constraints=[
            LinearConstraint(sparse.hstack([sparse.csr_array(values.T), -chosen], format="csr"), -constant, np.inf),
            LinearConstraint(total[None, :], 1, 1),
            LinearConstraint(value[None, :], needed, np.inf),
        ],
        options={"node_limit": nodes, "mip_rel_gap": 0.0},
    )
    if solution.status == _INFEASIBLE:
        return Answer(-np.inf, None)
    most = float(credit.sum())
    bound = most if solution.mip_dual_bound is None else min(-float(solution.mip_dual_bound), most)
    return Answer(bound, None if solution.x is None else np.maximum(solution.x[:size], 0))
