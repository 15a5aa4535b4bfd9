"""No classes keep more than prices of people add up to, if no cell is worth more than the people in it cost.

The prices solve the dual of the problem's linear relaxation, in which people are divisible and a cell may be used in
part. Any prices u, in shares of information a person, give a bound (Lagrangian duality). Classes of everybody keep Σ u
and, class by class, Σ (v − u) over its people, v being what its cell keeps. That is never more than the sum over those
people of the cell who cost less than v or, where they are too few for a class, over the ``least`` people who cost
least. Prices begin with what people keep in known classes. They are lowered together over and over; in between the
cells are gone through, some at a time, and where a cell is worth more than its cheapest people cost, those rise.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tasks.generalization.kanonymity.classes import Bools, Floats, Ints
from tasks.generalization.remainder.bound import Cells, CellSearch
from tasks.generalization.remainder.problem import RemainderProblem

MOST_ROWS = 2**15
"""Rows of a problem; with more, finding out that there are too many cells takes as long as the classes."""
_SEARCHED = 2**24
"""Rows times strategies that are gone through at most to find all cells."""
_WORK = 2**23
"""Rows of distinct cells, times rounds, in all."""
_ROUNDS = 4, 40
"""Least and most rounds; with work for fewer there is no bound."""
_LOWERED, _LESS = 0.04, 0.85
"""What all prices are lowered by in the first round, and how much that is of itself a round later."""
_SETTLED = 1
"""Rounds at last in which no price is lowered."""
_TOGETHER = 2**13
"""Rows of cells that are gone through together, at least."""
_ROUNDING = 1e-9


def priced_bound(problem: RemainderProblem, node: Ints) -> float | None:
    """Σ count · share of information kept if everybody is in a class: never more than this; None for too many cells.

    ``node`` has the strategies of known classes.
    """
    groups = _distinct_cells(problem) if len(problem.codes) <= MOST_ROWS else None
    if groups is None:
        return None
    rounds = min(_WORK // sum(len(group.rows) for group in groups), _ROUNDS[1])
    if rounds < _ROUNDS[0]:
        return None
    prices = problem.kept_by_row(node)
    for number in range(rounds):
        lowered = 0.0 if number >= rounds - _SETTLED else _LOWERED * _LESS**number
        prices = prices - lowered
        for group in groups:
            group.raise_prices(prices, problem)
    over = sum(float(np.maximum(group.excess(prices, problem).worth, 0.0).sum()) for group in groups)
    return float(problem.counts @ prices + over) + _ROUNDING * float(problem.counts.sum())


@dataclass(frozen=True)
class _Excess:
    """What the people of each cell for whom it pays most, at least a class of them, keep in it beyond their prices."""

    taken: Floats
    """How many of each row these are."""
    worth: Floats
    """What they keep beyond their prices, by cell."""


@dataclass
class _Group:
    """Some cells, whatever their strategies."""

    rows: Ints
    """Rows, a cell after the other, those of each by the prices that they had last."""
    cell: Ints
    """Cell of each of these rows, numbered from 0."""
    kept: Floats
    """Share of information that each cell keeps."""

    @property
    def first(self) -> Ints:
        """Place of the first row of each cell."""
        return np.searchsorted(self.cell, np.arange(len(self.kept)))

    def only(self, chosen: Bools) -> "_Group":
        """Some of the cells."""
        inside = chosen[self.cell]
        return _Group(self.rows[inside], (np.cumsum(chosen) - 1)[self.cell[inside]], self.kept[chosen])

    def excess(self, prices: Floats, problem: RemainderProblem) -> _Excess:
        """Compare the cells with the prices; rows are sorted by these."""
        self.rows = self.rows[np.lexsort((prices[self.rows], self.cell))]
        weights, gain = problem.counts[self.rows], self.kept[self.cell] - prices[self.rows]
        people = np.cumsum(weights)
        before = people - weights - np.append(0.0, people)[self.first][self.cell]
        taken = np.where(gain > 0, weights, np.clip(problem.least - before, 0.0, weights))
        return _Excess(taken, np.bincount(self.cell, taken * gain, len(self.kept)).astype(np.float64, copy=False))

    def raise_prices(self, prices: Floats, problem: RemainderProblem) -> None:
        """Raise prices, in place, where a cell is worth more than its cheapest people cost, all of them alike."""
        excess = self.excess(prices, problem)
        rise = np.maximum(excess.worth, 0.0) / np.bincount(self.cell, excess.taken, len(self.kept))
        dear = np.flatnonzero((rise > 0)[self.cell] & (excess.taken > 0))
        rows, share = self.rows[dear], excess.taken[dear] / problem.counts[self.rows[dear]]
        np.maximum.at(prices, rows, prices[rows] + rise[self.cell[dear]] * share)


def _distinct_cells(problem: RemainderProblem) -> list[_Group] | None:
    """All cells of enough people, cells of the same people once; None where finding them is too much work."""
    search, everybody = CellSearch(problem, problem.priced, _SEARCHED), np.arange(len(problem.codes))
    nowhere = np.zeros(len(everybody), dtype=np.int64)
    found = [_group(problem, Cells(problem.top, everybody, nowhere, np.zeros(len(everybody))))]
    found += [_group(problem, cells) for cells in search.cells()]
    if not search.through:
        return None
    named = np.random.default_rng(0).integers(1, 2**62, len(everybody))
    names = np.concatenate([np.add.reduceat(named[one.rows], one.first) for one in found])
    kept = np.concatenate([one.kept for one in found])
    order = np.lexsort((-kept, names))
    once = np.zeros(len(names), dtype=np.bool_)
    once[order[np.flatnonzero(np.diff(names[order], prepend=names[order[0]] - 1))]] = True
    chosen = np.split(once, np.cumsum([len(one.kept) for one in found])[:-1])
    return list(_together([one.only(mine) for one, mine in zip(found, chosen, strict=True)]))


def _group(problem: RemainderProblem, cells: Cells) -> _Group:
    order = np.argsort(cells.cell, kind="stable")
    rows, cell = cells.rows[order], cells.cell[order]
    first = np.flatnonzero(np.diff(cell, prepend=-1))
    return _Group(rows, cell, problem.kept(problem.codes[rows[first]], cells.strategy))


def _together(groups: list[_Group]) -> Iterator[_Group]:
    """Groups made one until they have enough rows."""
    start, rows = 0, np.cumsum([len(group.rows) for group in groups])
    while start < len(groups):
        before = rows[start - 1] if start else 0
        end = min(int(np.searchsorted(rows, before + _TOGETHER)) + 1, len(groups))
        some = groups[start:end]
        number = np.cumsum([0, *(len(group.kept) for group in some)])
        cell = np.concatenate([group.cell + first for group, first in zip(some, number[:-1], strict=True)])
        yield _Group(np.concatenate([group.rows for group in some]), cell, np.concatenate([one.kept for one in some]))
        start = end
