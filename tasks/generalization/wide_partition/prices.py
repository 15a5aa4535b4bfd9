"""An upper bound from prices of the tuples, where the rule demands large groups.

If in every cell that may be released the prices of its tuples add up to at least what it pays, no division pays more
than all prices together: the dual of set partitioning (Balas and Padberg 1976), and so for any division into
hierarchical cells, recursive or not. From any prices one pass over all cells gives such ones: each tuple's price is
lowered by the least that any of its cells has to spare for each unit of weight, so that no cell is lowered by more than
it has, and raised where that is negative. Passes follow one another, each from prices lowered further than the last
one proves; the next one repairs that.

Departure: the prices are not the best ones, as ``cover`` finds them by column generation for small files.

A pass goes attribute by attribute, those with most values first. Groups of fewer people than the rule allows are left
out with all that they could be divided into, and tuples that agree so far are counted as one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tasks.generalization.game import Floats
from tasks.generalization.kanonymity.classes import compact, number_rows
from tasks.generalization.wide_partition.graph import Ints
from tasks.generalization.wide_partition.members import Division

_FURTHER = 2.5
"""Step by which prices are lowered, as a multiple of the slack that a pass finds."""
_WORTH = 0.004
"""Share of the bound that a pass must gain for another one."""
_ROWS_A_NODE = 500
"""Rows that the work on a node costs besides its own."""


def priced_bound(division: Division, prices: Floats, passes: int, rows: int) -> float:
    """Bound on the weighted payoff of every division into hierarchical cells; infinite where no pass was finished.

    Parameters
    ----------
    division : Division
    prices : array of shape (n_tuples,)
        To begin with, for each unit of weight: best what the tuples are worth in a good division.
    passes : int
        At most.
    rows : int
        Rows that each pass may go over, merged tuples of all strategies together.
    """
    search, weights, best = _Pass.of(division, rows), division.members.weights, np.inf
    counted = np.flatnonzero(weights > 0)
    for _ in range(passes):
        spare = search.spare(prices)
        bound = float(weights[counted] @ (prices - spare)[counted])
        gained, best = best - bound, min(best, bound)
        if not gained > _WORTH * abs(best):
            break
        prices = prices - np.where(spare > 0, _FURTHER, 1.0) * spare
    return best


@dataclass(frozen=True)
class _Rows:
    """Tuples that agree in the groups of some attributes, and in the values of the others; arrays of one length."""

    head: Ints
    """Number of the groups."""
    member: Ints
    """One tuple of each row."""
    people: Floats
    weights: Floats
    worth: Floats
    """Prices of the members in all."""
    lost: Floats
    """Information lost in the attributes that have a group."""

    def __len__(self) -> int:
        return len(self.head)

    def only(self, rows: Ints) -> "_Rows":
        return _Rows(
            self.head[rows],
            self.member[rows],
            self.people[rows],
            self.weights[rows],
            self.worth[rows],
            self.lost[rows],
        )

    def merged(self, numbers: Ints, bound: int) -> "_Rows":
        """Rows with equal numbers, from 0 without gaps, made one."""
        one_of = np.empty(bound, dtype=np.int64)
        one_of[numbers] = np.arange(len(numbers))

        def summed(own: Floats) -> Floats:
            return np.bincount(numbers, own, bound).astype(np.float64, copy=False)

        people, weights, worth = summed(self.people), summed(self.weights), summed(self.worth)
        return _Rows(self.head[one_of], self.member[one_of], people, weights, worth, self.lost[one_of])


@dataclass
class _Pass:
    division: Division
    order: Sequence[int]
    """Attributes: free ones, whose highest level is enough, and then those with most values first."""
    levels: Sequence[range]
    """Levels of each attribute in that order."""
    tails: Sequence[tuple[Ints, int]]
    """Number of each tuple's values in the attributes after each one, and how many there are."""
    rows: int
    left: int = 0
    """Rows that may still be gone over."""

    @classmethod
    def of(cls, division: Division, rows: int) -> "_Pass":
        trees, codes = division.problem.hierarchies, division.members.codes
        free = [division.larger_is_better and not own.any() for own in division.problem.loss.by_axis]
        order = sorted(range(len(trees)), key=lambda axis: (not free[axis], -trees[axis].n_leaves))
        levels, tails = [], []
        for place, axis in enumerate(order):
            levels.append(range(trees[axis].n_levels - 1 if free[axis] else 0, trees[axis].n_levels))
            after = order[place + 1 :]
            columns = [codes[:, other].astype(np.int64) for other in after]
            tails.append(compact(*number_rows(columns, [trees[other].n_leaves for other in after], len(codes))))
        return cls(division, order, levels, tails, rows)

    def spare(self, prices: Floats) -> Floats:
        """Least that the cells of each tuple have to spare for each unit of weight; 0 for tuples that weigh nothing."""
        members, self.left = self.division.members, self.rows
        number = len(members)
        whole = _Rows(
            np.zeros(number, dtype=np.int64),
            np.arange(number),
            members.people.astype(np.float64),
            members.weights.astype(np.float64),
            members.weights * prices,
            np.zeros(number),
        )
        least = np.where(members.people > 0, np.inf, prices)
        return np.where(members.weights > 0, np.minimum(self._least(0, whole, 1), least), 0.0)

    def _least(self, place: int, rows: _Rows, heads: int) -> Floats:
        """The same for rows whose groups in the attributes before a place are settled; −∞ where it is too much work."""
        last = place + 1 == len(self.order)
        self.left -= (len(self.levels[place]) if last else 1) * len(rows) + _ROWS_A_NODE
        if self.left < 0:
            return np.full(len(rows), -np.inf)
        if last:
            return self._cells(rows, heads)
        found = np.full(len(rows), np.inf)
        for level in self.levels[place]:
            kept, part, bound = self._grouped(place, level, rows, heads)
            if len(kept) == 0:
                continue
            if level == 0:
                below = self._least(place + 1, part, bound)
            else:
                tails, n_tails = self.tails[place]
                numbers, count = compact(part.head * n_tails + tails[part.member], bound * n_tails)
                below = self._least(place + 1, part.merged(numbers, count), bound)[numbers]
            found[kept] = np.minimum(found[kept], below)
        return found

    def _grouped(self, place: int, level: int, rows: _Rows, heads: int) -> tuple[Ints, _Rows, int]:
        """Rows with one more attribute at a level, without those in groups of too few people; how many groups."""
        axis = self.order[place]
        tree = self.division.problem.hierarchies[axis]
        leaves = self.division.members.codes[rows.member, axis]
        n_groups = len(tree.labels[level])
        head, bound = compact(rows.head * n_groups + tree.groups[leaves, level], heads * n_groups)
        large = np.bincount(head, rows.people, bound) >= self.division.least
        kept = np.flatnonzero(large[head])
        part = rows.only(kept)
        lost = part.lost + self.division.problem.loss.by_axis[axis][tree.positions[leaves[kept], level]]
        return kept, replace(part, head=(np.cumsum(large) - 1)[head[kept]], lost=lost), int(large.sum())

    def _cells(self, rows: _Rows, heads: int) -> Floats:
        """The least that rows' cells at any level of the last attribute have to spare."""
        axis, levels = self.order[-1], self.levels[-1]
        tree = self.division.problem.hierarchies[axis]
        positions = tree.positions[self.division.members.codes[rows.member, axis], levels.start :]
        numbers = (rows.head[:, None] * tree.axis_length + positions).ravel()
        cell, count = compact(numbers, heads * tree.axis_length)
        sums = (np.repeat(own, len(levels)) for own in (rows.people, rows.weights, rows.worth))
        people, weights, worth = (np.bincount(cell, own, count) for own in sums)
        lost = np.empty(count)
        lost[cell] = (rows.lost[:, None] + self.division.problem.loss.by_axis[axis][positions]).ravel()
        kept = 1 - lost / self.division.problem.loss.maximum
        paid = self.division.paid(kept, np.rint(people).astype(np.int64), np.rint(weights).astype(np.int64))
        with np.errstate(divide="ignore", invalid="ignore"):
            spare = np.where(weights > 0, (worth - paid) / weights, np.inf)
        least: Floats = spare[cell].reshape(-1, len(levels)).min(axis=1)
        return least
