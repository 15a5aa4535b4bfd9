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
from functools import cached_property

import numpy as np

from tasks.generalization.kanonymity.classes import Bools, Floats, Ints
from tasks.generalization.remainder.bound import Cells, CellSearch
from tasks.generalization.remainder.problem import RemainderProblem
from tasks.generalization.remainder.release import running

_MOST_ROWS = 2**15
"""Rows of a problem; with more, finding out that there are too many cells takes as long as the classes."""
_SEARCHED = 2**24
"""Rows times strategies that are gone through at most to find all cells."""
_WORK = 2**23
"""Rows of distinct cells, times rounds, in all."""
_ROUNDS = 4, 40
"""Least and most rounds; with work for fewer there is no bound."""
_LOWERED, _LESS = 0.04, 0.85
"""Reduction of all prices in the first round, and its factor from one round to the next."""
_SETTLED = 1
"""Number of last rounds, in which no price is lowered."""
_TOGETHER = 2**13
"""Rows of cells that are gone through together, at least."""
_ROUNDING = 1e-9


def priced_bound(problem: RemainderProblem, node: Ints) -> float | None:
    """Σ count · share of information kept if everybody is in a class: never more than this; None for too many cells.

    ``node`` has the strategies of known classes.
    """
    groups = _distinct_cells(problem) if len(problem.codes) <= _MOST_ROWS else None
    if groups is None:
        return None
    rounds = min(_WORK // sum(len(group.rows) for group in groups), _ROUNDS[1])
    if rounds < _ROUNDS[0]:
        return None
    prices, weighed = problem.kept_by_row(node), [(group, problem.counts[group.rows]) for group in groups]
    for number in range(rounds):
        lowered = 0.0 if number >= rounds - _SETTLED else _LOWERED * _LESS**number
        prices = prices - lowered
        for group, weights in weighed:
            group.raise_prices(prices, weights, problem.least)
    over = sum(float(group.excess(prices, weights, problem.least).worth.sum()) for group, weights in weighed)
    return float(problem.counts @ prices + over) + _ROUNDING * float(problem.counts.sum())


@dataclass(frozen=True)
class _Excess:
    """Excess of each cell: the gain beyond prices of the people for whom it pays most, at least a class of them.

    Nothing where that is below 0.
    """

    taken: Floats
    """Number of these people of each row; 0 for cells in which nobody keeps more than they cost."""
    worth: Floats
    """Excess by cell."""


@dataclass(frozen=True)
class _Group:
    """Some cells, whatever their strategies."""

    rows: Ints
    """Rows, a cell after the other."""
    cell: Ints
    """Cell of each of these rows, numbered from 0."""
    kept: Floats
    """Share of information that each cell keeps."""

    @cached_property
    def first(self) -> Ints:
        """Place of the first row of each cell."""
        return np.searchsorted(self.cell, np.arange(len(self.kept)))

    @cached_property
    def by_row(self) -> Floats:
        """Share of information that the cell of each row keeps."""
        return self.kept[self.cell]

    def only(self, chosen: Bools) -> "_Group":
        """Some of the cells."""
        inside = chosen[self.cell]
        return _Group(self.rows[inside], (np.cumsum(chosen) - 1)[self.cell[inside]], self.kept[chosen])

    def excess(self, prices: Floats, weights: Floats, least: int) -> _Excess:
        """Compare the cells with the prices; ``weights`` are the people of this group's rows."""
        gain = self.by_row - prices[self.rows]
        taken = np.where(gain > 0, weights, 0.0)
        people, worth = np.add.reduceat(taken, self.first), np.add.reduceat(taken * gain, self.first)
        few = (people < least) & (worth > 0)
        # Whoever is lacking loses at least what the nearest of them does: only cells that still gain are to be sorted.
        nearest = np.maximum.reduceat(np.where(gain > 0, -np.inf, gain), self.first)
        worth[few] += (least - people[few]) * nearest[few]
        few &= worth > 0
        if few.any():
            some = np.flatnonzero(few[self.cell])
            some = some[np.lexsort((-gain[some], self.cell[some]))]
            before = running(weights[some], self.cell[some]) - weights[some]
            taken[some] = np.maximum(taken[some], np.clip(least - before, 0.0, weights[some]))
            worth[few] = np.bincount(self.cell[some], taken[some] * gain[some], len(few))[few]
        return _Excess(taken, np.maximum(worth, 0.0))

    def raise_prices(self, prices: Floats, weights: Floats, least: int) -> None:
        """Raise prices, in place, where a cell is worth more than its cheapest people cost, all of them alike."""
        excess = self.excess(prices, weights, least)
        worth = excess.worth > 0
        if not worth.any():
            return
        rise = np.zeros(len(worth))
        rise[worth] = excess.worth[worth] / np.add.reduceat(excess.taken, self.first)[worth]
        dear = np.flatnonzero(worth[self.cell] & (excess.taken > 0))
        rows, share = self.rows[dear], excess.taken[dear] / weights[dear]
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
