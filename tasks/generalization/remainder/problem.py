"""Distinct tuples to be put into classes, and the demands on a class."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.generalization.game.problem import Problem, all_attacked, safe_people
from tasks.generalization.kanonymity.classes import (
    Bools,
    Floats,
    Half,
    Ints,
    Levels,
    compact,
    fold,
    fold_columns,
    half_of,
)
from tasks.microdata.cube import Lattice, cells_at
from tasks.microdata.hierarchy import Codes, Hierarchy
from tasks.microdata.tuples import Tuples

Admissible = Callable[[Ints, Ints, int, Ints], Bools]
"""Whether each of some classes may be released: rows, class of each (from 0), number of classes, strategy of each."""

UNPLACED = -1
_NUMBERS_A_ROW = 4
"""Numbers of cells for each row up to which they are not renumbered."""


@dataclass(frozen=True, eq=False)
class RemainderProblem:
    """Distinct tuples to be put into classes.

    An assignment of rows to classes is the strategy of each, ``UNPLACED`` for a row in no class: rows with equal labels
    are one class.
    """

    codes: Codes
    """Leaf codes of each row, shape (n_rows, n_attributes)."""
    counts: Floats
    """People or records of each row."""
    hierarchies: tuple[Hierarchy, ...]
    lost: tuple[Floats, ...]
    """Share lost in each attribute by leaf and level, the same for all leaves of a group; 1 in sum at most."""
    least: int
    """Least people or records of a class."""
    admissible: Admissible | None = None
    """Further demands on a class."""
    records: Floats | None = None
    """Records of the file in each row, where a class needs some."""
    least_records: int = 0
    """Least records of a class that has any."""
    factors: Floats | None = None
    """Factor of a loss for each row and attribute, in the bound alone; 1 everywhere where not given."""

    @cached_property
    def lattice(self) -> Lattice:
        """All strategies."""
        return Lattice.of(self.hierarchies)

    @property
    def top(self) -> int:
        """The strategy that releases nothing."""
        return len(self.lattice) - 1

    @cached_property
    def mean_losses(self) -> Floats:
        """Mean loss of each strategy in each attribute over everybody, shape (n_strategies, n_attributes)."""
        mean = np.empty(self.lattice.nodes.shape)
        for axis, lost in enumerate(self.lost):
            shares = np.bincount(self.codes[:, axis], self.counts, len(lost)) / self.counts.sum()
            mean[:, axis] = (shares @ lost)[self.lattice.nodes[:, axis]]
        return mean

    @cached_property
    def mean_loss(self) -> Floats:
        """Mean loss of each strategy over everybody, rounded."""
        return np.asarray(np.round(self.mean_losses.sum(axis=1), 9))

    @cached_property
    def priced(self) -> list[int]:
        """Attributes that cost anything, the one with most values first."""
        priced = [axis for axis, lost in enumerate(self.lost) if lost.any()]
        return sorted(priced, key=lambda axis: -self.hierarchies[axis].n_leaves)

    @cached_property
    def strategies(self) -> Ints:
        """Strategies that differ in their losses: an attribute that costs nothing is withheld, and divided later."""
        free = [axis for axis in range(len(self.lost)) if axis not in self.priced]
        return np.flatnonzero((self.lattice.nodes == self.lattice.nodes[self.top])[:, free].all(axis=1))

    @cached_property
    def profiles(self) -> tuple[Ints, Ints]:
        """Profile of each row, and one row of each: rows of a profile are worth the same at every strategy."""
        kinds = [np.unique(np.round(lost, 12), axis=0, return_inverse=True)[1].ravel() for lost in self.lost]
        return fold_columns([kind[self.codes[:, axis]] for axis, kind in enumerate(kinds)], len(self.codes))

    def merged(self) -> tuple["RemainderProblem", Ints]:
        """The problem with rows made one that differ in nothing that costs anything, and the new row of each.

        Strategies that withhold the rest have the same cells. There must be no further demands.
        """
        number, member = fold_columns([self.codes[:, axis] for axis in self.priced], len(self.codes))
        counts = np.bincount(number, self.counts).astype(np.float64)
        records = None if self.records is None else np.bincount(number, self.records).astype(np.float64)
        return replace(self, codes=self.codes[member], counts=counts, records=records), number

    @cached_property
    def _halves(self) -> tuple[tuple[Half, NDArray[np.int32]], tuple[Half, NDArray[np.int32]]]:
        middle, codes = (len(self.hierarchies) + 1) // 2, self.codes.astype(np.int64)
        left, left_of = half_of(codes[:, :middle], self.hierarchies[:middle])
        right, right_of = half_of(codes[:, middle:], self.hierarchies[middle:])
        return (left, left_of.astype(np.int32)), (right, right_of.astype(np.int32))

    @cached_property
    def _large(self) -> dict[tuple[int, Levels], tuple[NDArray[np.int32], int]]:
        return {}

    def _large_groups(self, side: int, levels: Levels) -> tuple[NDArray[np.int32], int]:
        """Number of each half tuple's groups, from 0, −1 where they have fewer people than a class, and how many."""
        if (side, levels) not in self._large:
            half, half_of_row = self._halves[side]
            number, many = half.numbered(levels)
            large = np.bincount(number[half_of_row], self.counts, many) >= self.least
            named = np.where(large, np.cumsum(large) - 1, -1).astype(np.int32)
            self._large[side, levels] = named[number], int(large.sum())
        return self._large[side, levels]

    @cached_property
    def _last_rows(self) -> list[tuple[Ints, tuple[NDArray[np.int32], ...]]]:
        return []

    def _halves_of(self, rows: Ints) -> tuple[NDArray[np.int32], ...]:
        """Half tuples of some rows; kept for the next strategy, as the same rows are often asked for again."""
        if not self._last_rows or self._last_rows[0][0] is not rows:
            halves = tuple(half_of_row.take(rows) for _, half_of_row in self._halves)
            self._last_rows[:] = [(rows, halves)]
        return self._last_rows[0][1]

    def enough(self, rows: Ints, classes: Ints, number: int) -> Bools:
        """Whether classes of some rows, numbered from 0, have the people and records that they need."""
        large: Bools = np.bincount(classes, self.counts[rows], number) >= self.least
        if self.records is not None:
            large &= self.filed(np.bincount(classes, self.records[rows], number))
        return large

    def filed(self, records: NDArray[Any]) -> Bools:
        """Whether classes may have these numbers of records."""
        return np.asarray((records == 0) | (records >= self.least_records))

    def kept(self, codes: Codes, node: Ints | int) -> Floats:
        """Share of information that leaf codes keep at a strategy, the same for all or each its own."""
        levels, kept = self.lattice.nodes[node], np.ones(len(codes))
        for axis, lost in enumerate(self.lost):
            kept -= lost.take(codes[:, axis] * lost.shape[1] + levels[..., axis])
        return kept

    def lost_by(self, rows: Ints, axis: int, level: NDArray[np.integer] | int) -> Floats:
        """Loss of some rows in an attribute at a level, the same for all or each its own, as the bound counts it."""
        lost: Floats = self.lost[axis][self.codes[rows, axis], level]
        return lost if self.factors is None else np.asarray(lost * self.factors[rows, axis])

    def kept_by_row(self, node: Ints) -> Floats:
        """Share of information that each row keeps; none where it is in no class."""
        kept, placed = np.zeros(len(node)), np.flatnonzero(node != UNPLACED)
        kept[placed] = self.kept(self.codes[placed], node[placed])
        return kept

    def worth(self, node: Ints) -> float:
        """Σ count · share of information kept."""
        return float(self.counts @ self.kept_by_row(node))

    def cells(self, rows: Ints, strategy: int, done: Bools | None = None) -> tuple[Ints, Ints, int]:
        """Rows whose cell at a strategy may have enough people, their cells from 0, and a bound above all of these.

        Rows that are ``done`` are left out.
        """
        levels, middle = tuple(self.lattice.nodes[strategy].tolist()), len(self._halves[0][0].hierarchies)
        (one, n_one), (other, n_other) = (
            self._large_groups(side, part) for side, part in enumerate((levels[:middle], levels[middle:]))
        )
        first, last = (
            number.take(half, mode="clip") for number, half in zip((one, other), self._halves_of(rows), strict=True)
        )
        held = (first >= 0) & (last >= 0)
        if done is not None:
            held &= ~done[rows]
        places, bound = held.nonzero()[0], n_one * n_other
        cell = first[places] * np.int64(n_other) + last[places]
        return rows[places], *(compact(cell, bound) if bound > _NUMBERS_A_ROW * len(places) else (cell, bound))

    def classes(self, node: Ints, rows: Ints) -> tuple[Ints, int]:
        """Class of each of some rows by the label of its cell, numbered from 0, and how many there are."""
        cells = cells_at(self.codes[rows], self.lattice.nodes[node[rows]], self.hierarchies)
        finest = [tree.finest[cells[:, axis]] for axis, tree in enumerate(self.hierarchies)]
        number, members = fold_columns(finest, len(rows))
        return number, len(members)

    def holding(self, codes: Codes, node: Ints) -> Ints:
        """The strategy of the first class, by mean loss, that holds each leaf code; ``UNPLACED`` where none does."""
        found, used = np.full(len(codes), UNPLACED), np.unique(node[node != UNPLACED])
        for strategy in used[np.argsort(self.mean_loss[used], kind="stable")].tolist():
            rows, levels = np.flatnonzero(found == UNPLACED), self.lattice.nodes[strategy]
            if len(rows) == 0:
                break
            both = np.concatenate([self.codes[node == strategy], codes[rows]])
            number, members = fold(cells_at(both, levels, self.hierarchies))
            there = np.zeros(len(members), dtype=np.bool_)
            there[number[: len(both) - len(rows)]] = True
            found[rows[there[number[len(both) - len(rows) :]]]] = strategy
        return found


def remainder_problem(problem: Problem, people: Tuples) -> RemainderProblem:
    """Classes of people that nobody attacks; StageFailed if even the class of everybody is attacked."""
    follower = problem.payoffs
    if not np.isfinite(follower.safe_group) or safe_people(follower) > people.total:
        raise all_attacked("no release exists that nobody would attack", follower)
    axes = zip(problem.loss.by_axis, problem.hierarchies, strict=True)
    return RemainderProblem(
        codes=people.codes,
        counts=people.counts.astype(np.float64),
        hierarchies=problem.hierarchies,
        lost=tuple(loss[tree.positions] / problem.loss.maximum for loss, tree in axes),
        least=safe_people(follower),
    )
