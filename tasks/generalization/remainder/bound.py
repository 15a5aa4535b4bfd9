"""No classes keep more than everybody in their best cell of ``least`` people.

The cells that hold enough people are gone through from the most general one, an attribute at a time; a cell is left
where none of its people could gain any more. Where even these are too many, the loss is bounded in some attributes at a
time, all others withheld, and the bounds add up.
"""

import sys
from dataclasses import dataclass, field

import numpy as np

from tasks.generalization.kanonymity.classes import Floats, Ints, compact
from tasks.generalization.remainder.problem import UNPLACED, RemainderProblem
from tasks.microdata.hierarchy import Codes

_WORK = 200_000_000
"""Rows times strategies that are gone through at most before the attributes are parted."""
_GAIN = 1e-12


@dataclass(frozen=True)
class BestCells:
    """The best cell of enough people for each row."""

    lost: Floats
    """Share of information that no class of each row loses less than."""
    strategies: Ints
    """Strategies of the best cells; of attributes bounded apart from others, with those withheld."""


def best_cells(problem: RemainderProblem, node: Ints) -> BestCells:
    """Best cells; ``node`` has strategies of classes that are known, which saves work but changes nothing."""
    return _best(problem, np.where(node == UNPLACED, problem.top, node), problem.priced)


def strategies_of_cells(problem: RemainderProblem, most: int) -> Ints | None:
    """Strategies at which some cell has enough people; None where finding them takes more rows times strategies."""
    search = _CellSearch(problem, problem.priced, most, np.full(len(problem.codes), np.inf), improving=False)
    return np.unique([problem.top, *search.strategies]) if search.through() else None


def _best(problem: RemainderProblem, node: Ints, axes: list[int]) -> BestCells:
    limit, levels = _WORK if len(axes) > 1 else sys.maxsize, problem.lattice.nodes[node]
    known = sum((problem.lost_by(np.arange(len(node)), axis, levels[:, axis]) for axis in axes), np.zeros(len(node)))
    search = _CellSearch(problem, axes, limit, known)
    if search.through():
        return BestCells(search.lost, np.unique(np.array(search.strategies, dtype=np.int64)))
    parts = [_best(problem, node, part) for part in (axes[::2], axes[1::2])]
    return BestCells(parts[0].lost + parts[1].lost, np.union1d(parts[0].strategies, parts[1].strategies))


@dataclass
class _CellSearch:
    problem: RemainderProblem
    axes: list[int]
    limit: int
    lost: Floats
    """Least loss of each row so far, in these attributes."""
    improving: bool = True
    """Only to cells and strategies where somebody gains, or to all."""
    strategies: list[int] = field(default_factory=list)
    work: int = 0

    def through(self) -> bool:
        """Go through all cells; False where they are too many."""
        everybody = np.arange(len(self.lost))
        nowhere = np.zeros(len(everybody), dtype=np.int64)
        self._refine(self.problem.lattice.nodes[self.problem.top], 0, everybody, nowhere, np.zeros(len(everybody)))
        return self.work <= self.limit

    def _refine(self, levels: Codes, place: int, rows: Ints, cell: Ints, fixed: Floats) -> None:
        """Go through the cells that are finer in an attribute from a place on, ``fixed`` being lost in those before."""
        for later in range(place, len(self.axes)):
            axis = self.axes[later]
            for level in self._below(axis, int(levels[axis])):
                finer = levels.copy()
                finer[axis] = level
                inside = self._inside(rows, cell, fixed, axis, level)
                if len(inside[0]) and self.work <= self.limit:
                    self._note(finer, inside[0], inside[2], later)
                    self._refine(finer, later, *inside)
            fixed = fixed + self.problem.lost_by(rows, axis, levels[axis])

    def _below(self, axis: int, level: int) -> range:
        """Levels next to be tried: the one below, or any below the uppermost where levels cross."""
        tree = self.problem.hierarchies[axis]
        if tree.is_tree:
            return range(max(level - 1, 0), level)
        return range(level if level == tree.n_levels - 1 else 0)

    def _inside(self, rows: Ints, cell: Ints, fixed: Floats, axis: int, level: int) -> tuple[Ints, Ints, Floats]:
        """Rows in finer cells of enough people, of cells where somebody could gain; the cells and the loss so far."""
        cells, tree = int(cell.max()) + 1, self.problem.hierarchies[axis]
        if self.improving:
            most = np.zeros(cells)
            np.maximum.at(most, cell, self.lost[rows] - fixed)
            able = (most > _GAIN)[cell]
            rows, cell, fixed = rows[able], cell[able], fixed[able]
        many = len(tree.labels[level])
        part, parts = compact(cell * many + tree.groups[self.problem.codes[rows, axis], level], cells * many)
        self.work += len(rows)
        if self.problem.records is not None:
            filed = self.problem.filed(np.bincount(part, self.problem.records[rows], parts))
            able = filed[part] | (self.problem.records[rows] == 0)
            rows, part, fixed = rows[able], part[able], fixed[able]
        enough = np.bincount(part, self.problem.counts[rows], parts) >= self.problem.least
        held = enough[part]
        return rows[held], (np.cumsum(enough) - 1)[part[held]], fixed[held]

    def _note(self, levels: Codes, rows: Ints, fixed: Floats, place: int) -> None:
        total = fixed.copy()
        for axis in self.axes[place:]:
            total += self.problem.lost_by(rows, axis, levels[axis])
        less = total < self.lost[rows] - _GAIN
        self.lost[rows[less]] = total[less]
        if less.any() or not self.improving:
            self.strategies.append(int(self.problem.lattice.number(levels[None])[0]))
