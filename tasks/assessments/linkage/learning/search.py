"""Search for parameters: from the start that a linear program gives, exactly along lines.

Along w + t·v a record is won for t in one interval, where its rivals' half-lines meet; the number of records that are
won at once is largest where most intervals overlap. Nothing is approximated: the objective is the count itself. The
linear program minimises Σ credit·max(0, 1 − w·Δ) over each record's worst rivals.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from tasks.assessments.linkage.learning.comparisons import MARGIN, Rows, combined, lowest, unit
from tasks.assessments.linkage.learning.family import LinearCone
from tasks.assessments.linkage.problem.figure import Floats

_ROUNDS = 4
_WORST = 3
_MOST_ENTRIES = 400_000


def hinge(rows: Rows, cone: LinearCone, start: Floats) -> list[Floats]:
    """Parameters of a few rounds; each adds the rivals that are worst under the last one's.

    Parameters
    ----------
    rows : Rows
    cone : LinearCone
    start : array of shape (n_parameters,)

    Returns
    -------
    list of arrays of shape (n_parameters,)
        Up to ``_ROUNDS``; fewer where no new rival is found or the program gives nothing. Where records and
        parameters are many, some of the records alone make the program.
    """
    parameters, chosen, found = start, np.zeros(len(rows.of), dtype=bool), []
    every = -(-len(rows.starts) * len(rows.gains) * _WORST * _ROUNDS // _MOST_ENTRIES)
    for _ in range(_ROUNDS):
        worst = lowest(rows.scores(unit(parameters)), rows.of, _WORST)
        worst = worst[rows.of[worst] % every == 0]
        if chosen[worst].all():
            break
        chosen[worst] = True
        solved = _solved(rows, cone, np.flatnonzero(chosen))
        if solved is None:
            break
        parameters = solved
        found.append(parameters)
    return found


def _solved(rows: Rows, cone: LinearCone, chosen: NDArray[np.intp]) -> Floats | None:
    size, records = len(rows.gains), len(rows.starts)
    short = sparse.csr_array((np.ones(len(chosen)), (np.arange(len(chosen)), rows.of[chosen])), (len(chosen), records))
    allowed = sparse.csr_array(cone.rows)
    conditions = sparse.block_array(
        [[sparse.csr_array(rows.gains[:, chosen].T), short], [allowed, sparse.csr_array((allowed.shape[0], records))]]
    )
    least = np.concatenate([np.ones(len(chosen)), np.zeros(allowed.shape[0])])
    bounds = [(None, None)] * size + [(0, None)] * records
    costs = np.concatenate([np.zeros(size), rows.credit])
    # HiGHS takes sparse conditions; the stubs know dense ones only.
    solution = linprog(costs, A_ub=-conditions, b_ub=-least, bounds=bounds, method="highs")  # type: ignore[call-overload]
    if solution.x is None or not np.abs(solution.x[:size]).max() > 0:
        return None
    return unit(solution.x[:size])


_FARTHEST = 100.0
_LEAST_GAIN = 1e-6
_REFRESH = 64
_SEVERAL = 12
_PATIENCE = 50
"""Lines a parameter without a gain after which a walk ends."""


@dataclass(frozen=True)
class Stretch:
    """Position on a line with the largest gain."""

    credit: float
    low: float
    high: float


def best_stretches(rows: Rows, scores: Floats, rates: Floats, low: float, high: float) -> list[Stretch]:
    """The stretches of a line within [low, high] on which the most is won, in order; none if nothing ever is.

    Parameters
    ----------
    rows : Rows
    scores, rates : array of shape (n_rows,)
        Each comparison at t = 0, less the margin, and what it gains per unit of t.
    low, high : float
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        # A rate of 0 gives −∞ where the comparison holds and +∞ where it does not.
        crossing = -scores / (rates + 0.0)
    rising = rates >= 0
    first = np.maximum.reduceat(np.where(rising, crossing, -np.inf), rows.starts)
    last = np.minimum.reduceat(np.where(rising, np.inf, crossing), rows.starts)
    first, last = np.maximum(first, low), np.minimum(last, high)
    somewhere = first < last
    if not somewhere.any():
        return []
    credit = rows.credit[somewhere]
    # Where one interval ends and another begins, the end comes first.
    ends = np.concatenate([last[somewhere], first[somewhere]])
    change = np.concatenate([-credit, credit])
    order = np.argsort(ends, kind="stable")
    total, ends = np.cumsum(change[order]), ends[order]
    most = total[:-1].max()
    at = np.flatnonzero((total[:-1] >= most - _LEAST_GAIN) & (ends[1:] > ends[:-1]))
    return [Stretch(float(total[place]), float(ends[place]), float(ends[place + 1])) for place in at]


def search(
    rows: Rows, cone: LinearCone, starts: Sequence[Floats], generator: np.random.Generator, *, lines: int, bound: float
) -> Floats:
    """Improve on the best of several starts; the worse half of them is given up again and again.

    Parameters
    ----------
    rows : Rows
    cone : LinearCone
    starts : sequence of arrays of shape (n_parameters,)
        Allowed parameters, at least one.
    generator : numpy Generator
    lines : int
        Lines to search in all.
    bound : float
        Credit that no parameters exceed; who reaches it stops.

    Returns
    -------
    array of shape (n_parameters,)
        Allowed parameters, the largest 1 in size, that win no less than any start.
    """
    runs = [_Run(rows, cone, start, bound) for start in starts]
    rounds = len(runs).bit_length()
    for _ in range(rounds):
        for run in runs:
            run.search(generator, -(-lines // (rounds * len(runs))))
        runs = sorted(runs, key=lambda run: -run.credit)[: (len(runs) + 1) // 2]
    return runs[0].parameters


class _Run:
    """One walk through the parameters; it moves among equals and never to fewer records."""

    def __init__(self, rows: Rows, cone: LinearCone, start: Floats, bound: float) -> None:
        self._rows, self._cone, self._bound = rows, cone, bound
        self._lines = 0
        self.parameters = unit(start)
        self._scores = rows.scores(self.parameters)
        self.credit = self._won(self._scores)

    def _won(self, scores: Floats) -> float:
        return self._rows.sure + (float(self._rows.credit @ self._rows.won(scores)) if len(scores) else 0.0)

    def search(self, generator: np.random.Generator, lines: int) -> None:
        """Search so many lines through where the walk stands, or until no more is won for long or at all."""
        idle = 0
        for _ in range(lines):
            if self.credit >= self._bound - _LEAST_GAIN or idle >= _PATIENCE * len(self.parameters):
                break
            before = self.credit
            self._lines += 1
            self._step(generator)
            idle = 0 if self.credit > before + _LEAST_GAIN else idle + 1

    def _step(self, generator: np.random.Generator) -> None:
        direction = _direction(self.parameters, generator)
        rates = combined(direction, self._rows.gains)
        low, high = self._cone.step_range(self.parameters, direction)
        found = best_stretches(self._rows, self._scores, rates, max(low, -_FARTHEST), min(high, _FARTHEST))
        if not found or self._rows.sure + found[0].credit < self.credit - _LEAST_GAIN:
            return
        t = _point(found, generator)
        moved = self.parameters + t * direction
        size = np.abs(moved).max()
        if not size > 0:
            return
        if self._lines % _REFRESH:
            scores = (self._scores + MARGIN + t * rates) / size - MARGIN
        else:
            scores = self._rows.scores(moved / size)
        credit = self._won(scores)
        if credit >= self.credit - _LEAST_GAIN:
            self.parameters, self._scores, self.credit = moved / size, scores, credit


def _direction(parameters: Floats, generator: np.random.Generator) -> Floats:
    """One parameter, two, or several in proportion to their sizes."""
    n, which = len(parameters), generator.random()
    direction = np.zeros(n)
    if which < 0.3:
        direction[generator.integers(n)] = 1.0
    elif which < 0.7 and n > 1:
        direction[generator.choice(n, 2, replace=False)] = generator.normal(size=2)
    else:
        several = generator.choice(n, min(n, _SEVERAL), replace=False)
        direction[several] = generator.normal(size=len(several)) * (np.abs(parameters[several]) + 0.01)
    return direction


def _point(stretches: list[Stretch], generator: np.random.Generator) -> float:
    """The middle of the longest stretch, or, to move about among equals, a random point of any."""
    if generator.random() < 0.5:
        chosen, part = max(stretches, key=lambda stretch: stretch.high - stretch.low), 0.5
    else:
        chosen, part = stretches[generator.integers(len(stretches))], generator.uniform(0.05, 0.95)
    return chosen.low + part * (chosen.high - chosen.low)
