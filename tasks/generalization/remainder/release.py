"""Cells become classes, in an order: of the people left, and of people of other classes who can be spared."""

from dataclasses import dataclass

import numpy as np

from tasks.generalization.kanonymity.classes import Bools, Floats, Ints, compact
from tasks.generalization.remainder.orders import CellOrder
from tasks.generalization.remainder.problem import UNPLACED, RemainderProblem

_GAIN = 1e-9
_NEAR = 0.1
"""Largest share of information lost by somebody who is moved for others."""


def released(problem: RemainderProblem, order: CellOrder, start: Ints | None = None) -> Ints:
    """Strategy of each row once an order is gone through; ``start`` has those of rows that are in a class already."""
    node = np.full(len(problem.codes), UNPLACED, dtype=np.int64) if start is None else start.copy()
    done = node != UNPLACED
    for strategy, left, _ in order(done):
        rows, cell, many = problem.cells(left, strategy, done)
        enough = problem.enough(rows, cell, many)
        if problem.admissible is not None and enough.any():
            held = enough[cell]
            large, (number, many) = rows[held], compact((np.cumsum(enough) - 1)[cell[held]], int(enough.sum()))
            enough[enough] = problem.admissible(large, number, many, np.full(len(large), strategy))
        within = rows[enough[cell]]
        node[within], done[within] = strategy, True
    return node


def released_at_prices(problem: RemainderProblem, order: CellOrder, prices: Floats, start: Ints | None = None) -> Ints:
    """Strategy of each row where people are left behind, or moved from a class that can spare them, if that pays.

    ``prices`` are the share of information that each row keeps where a cell leaves it behind, as an earlier pass had
    it. A cell with fewer than ``least`` people left is made a class with people of better classes if its own gain over
    their prices is greater than what the others lose.
    """
    node = np.full(len(problem.codes), UNPLACED, dtype=np.int64) if start is None else start
    state, done = _ClassesMade.of(problem, node), np.zeros(len(node), dtype=np.bool_)
    for strategy, rows, worth in order(done):
        spare = state.spare(strategy, rows, worth)
        if start is None:  # a class grows no more once it is made, and never spares whom it cannot spare now
            done[rows[~spare]] = True
        state.fill(strategy, rows[spare], prices, worth)
    return state.node


@dataclass
class _ClassesMade:
    """Classes while they are made."""

    problem: RemainderProblem
    node: Ints
    kept: Floats
    """Share of information that each row keeps."""
    owner: Ints
    """Class of each row; 0 is nobody's."""
    size: Floats
    """People of each class, infinite for class 0; zero beyond the existing classes."""
    filed: Floats
    """Records of each class, where a class needs some."""
    number: int
    """Classes made so far, class 0 too."""

    @classmethod
    def of(cls, problem: RemainderProblem, node: Ints) -> "_ClassesMade":
        placed, owner = np.flatnonzero(node != UNPLACED), np.zeros(len(node), dtype=np.int64)
        classes, number = problem.classes(node, placed)
        owner[placed] = classes + 1
        size = np.append(np.inf, np.bincount(classes, problem.counts[placed], number))
        filed = np.append(np.inf, np.bincount(classes, _records(problem)[placed], number))
        return cls(problem, node.copy(), problem.kept_by_row(node), owner, size, filed, number + 1)

    def spare(self, strategy: int, rows: Ints, worth: float) -> Bools:
        """Whether each of some rows is in no class, in one of the strategy, or in one that can do without it.

        ``worth`` is the share that the row would keep, which must not be far below what it keeps.
        """
        able = self.size.take(self.owner.take(rows)) - self.problem.counts.take(rows) >= self.problem.least
        able &= self.kept.take(rows) < worth + _NEAR + _GAIN
        return np.asarray(able | (self.node.take(rows) == strategy))

    def fill(self, strategy: int, rows: Ints, prices: Floats, worth: float) -> None:
        """Make cells classes, or enlarge those that are, where people are left or would keep more.

        Whoever is left in a cell that can be a class joins it; people of other classes do where they gain, or where the
        cell needs them and gains more by it, at these prices of the people left, than they lose. ``worth`` is the share
        that the people of the cells would keep, nearly; where it is infinite, only people who are left make a class.
        """
        rows, cell, many = self.problem.cells(rows, strategy)
        counts, node = self.problem.counts.take(rows), self.node.take(rows)
        there, own = np.zeros(many, dtype=np.int64), node == strategy
        there[cell[own]] = self.owner[rows[own]]
        need = np.where(there > 0, 0.0, float(self.problem.least))
        left = node == UNPLACED
        wanting = left | (self.kept.take(rows) < worth) if np.isfinite(worth) else left
        possible = (np.bincount(cell, counts, many) >= need) & (np.bincount(cell, wanting, many) > 0)
        some = (possible.take(cell) & ~own).nonzero()[0]
        if len(some) == 0:
            return
        rows, cell, left, weights = rows.take(some), cell.take(some), left.take(some), counts.take(some)
        loss = np.where(left, prices.take(rows), self.kept.take(rows))
        loss -= self.problem.kept(self.problem.codes.take(rows, axis=0), strategy)
        gain = 0.0 - np.bincount(cell[left], (weights * loss)[left], many)
        need = need - np.bincount(cell[left], weights[left], many)
        most = gain + np.bincount(cell[~left], np.maximum(-weights * loss, 0.0)[~left], many)
        others = np.flatnonzero(~left & ((loss < -_GAIN) | ((need > 0)[cell] & (weights * loss < most[cell]))))
        others = others[self._spared(rows[others], loss[others])]
        others = others[_cheapest(cell[others], loss[others], weights[others], need)]
        gain -= np.bincount(cell[others], (weights * loss)[others], many)
        good = (need <= 0) | ((np.bincount(cell[others], weights[others], many) >= need) & (gain > _GAIN))
        taken = np.concatenate([np.flatnonzero(left), others])
        if self.problem.records is not None:
            before = np.where(there > 0, self.filed[there], 0.0)
            good &= self.problem.filed(before + np.bincount(cell[taken], self.problem.records[rows[taken]], many))
        taken = taken[good[cell[taken]]]
        if len(taken):
            self._move(rows[taken], cell[taken], strategy, there)

    def _spared(self, rows: Ints, loss: Floats) -> Ints:
        """Places of rows that their classes can spare together, the cheapest first."""
        owner, weights = self.owner[rows], self.problem.counts[rows]
        order = np.lexsort((loss, owner))
        if self.problem.records is not None:
            spare, records = (self.filed - self.problem.least_records)[owner], self.problem.records[rows]
            order = order[(records <= np.maximum(spare, 0))[order]]
            before = running(records[order], owner[order])
            order = order[(before <= spare[order]) | (records[order] == 0)]
        return order[running(weights[order], owner[order]) <= (self.size - self.problem.least)[owner[order]]]

    def _move(self, rows: Ints, cell: Ints, strategy: int, there: Ints) -> None:
        """Put rows into the classes of their cells, opened where they are not there."""
        weights, records = self.problem.counts[rows], _records(self.problem)[rows]
        np.subtract.at(self.size, self.owner[rows], weights)
        np.subtract.at(self.filed, self.owner[rows], records)
        opened = np.unique(cell[there[cell] == 0])
        there[opened] = self.number + np.arange(len(opened))
        self.number += len(opened)
        if self.number > len(self.size):
            more = np.zeros(max(self.number, 1024))
            self.size, self.filed = np.concatenate([self.size, more]), np.concatenate([self.filed, more])
        self.owner[rows], self.node[rows] = there[cell], strategy
        np.add.at(self.size, there[cell], weights)
        np.add.at(self.filed, there[cell], records)
        self.kept[rows] = self.problem.kept(self.problem.codes[rows], strategy)


def _records(problem: RemainderProblem) -> Floats:
    return np.zeros(len(problem.counts)) if problem.records is None else problem.records


def _cheapest(cell: Ints, loss: Floats, weights: Floats, need: Floats) -> Ints:
    """Places of rows that gain, and of as many of the others, those that lose least, as their cell needs."""
    order = np.lexsort((loss, cell))
    before = running(weights[order], cell[order]) - weights[order]
    return order[(loss[order] < 0) | (before < need[cell[order]])]


def running(weights: Floats, groups: Ints) -> Floats:
    """Running sums of weights within sorted groups."""
    if len(groups) == 0:
        return weights
    total, first = np.cumsum(weights), np.flatnonzero(np.diff(groups, prepend=groups[0] - 1))
    offset = np.repeat((total - weights)[first], np.diff(first, append=len(groups)))
    return np.asarray(total - offset)
