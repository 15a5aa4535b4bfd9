"""No classes keep more than everybody in their best cell of ``least`` people.

The cells that hold enough people are gone through from the most general one, an attribute at a time; a cell is left
where none of its people could gain any more. Where even these are too many, the loss is bounded in some attributes at a
time, all others withheld, and the bounds add up. ``prices`` has a lower bound, where it is not too much work.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tasks.generalization.kanonymity.classes import Bools, Floats, Ints, compact, fold_columns
from tasks.generalization.remainder.problem import UNPLACED, RemainderProblem
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import radix_strides

_WORK = 200_000_000
"""Rows times strategies that are gone through at most before the attributes are parted."""
_OVERHEAD = 2_000
"""Work of a strategy besides its rows, counted as rows: nearly all where rows are few and attributes many."""
_GAIN = 1e-12
_MERGED, _ALIKE = 2**13, 0.8
"""Least rows for merging those that lose the same from now on, and the share that must be left at most."""
_SPARSE = 8
"""Most places for each row at which finer cells are counted without renumbering."""


@dataclass(frozen=True)
class BestCells:
    """The best cell of enough people for each row."""

    lost: Floats
    """Least share of information that any class of each row loses."""
    strategies: Ints
    """Strategies of the best cells; of attributes bounded apart from others, with those withheld."""


class Cells(NamedTuple):
    """The cells of one strategy that hold enough people."""

    strategy: int
    rows: Ints
    """Rows in these cells."""
    cell: Ints
    """Cell of each of these rows, numbered from 0 without gaps."""
    lost: Floats
    """Loss of each of these rows in the attributes gone through."""


def best_cells(problem: RemainderProblem, node: Ints) -> BestCells:
    """Best cells; ``node`` has strategies of classes that are known, which saves work but changes nothing."""
    return _best(problem, np.where(node == UNPLACED, problem.top, node), problem.priced)


def strategies_of_cells(problem: RemainderProblem, most: int) -> Ints | None:
    """Strategies at which some cell has enough people; None where finding them takes more rows times strategies."""
    search = CellSearch(problem, problem.priced, most, overhead=_OVERHEAD)
    found = np.unique([problem.top, *(cells.strategy for cells in search.cells())])
    return found if search.through else None


def _best(problem: RemainderProblem, node: Ints, axes: list[int]) -> BestCells:
    limit, levels = _WORK if len(axes) > 1 else sys.maxsize, problem.lattice.nodes[node]
    known = sum((problem.lost_by(np.arange(len(node)), axis, levels[:, axis]) for axis in axes), np.zeros(len(node)))
    search = CellSearch(problem, axes, limit, known, _OVERHEAD)
    strategies = [cells.strategy for cells in search.cells()]
    if search.through:
        return BestCells(known, np.unique(np.array(strategies, dtype=np.int64)))
    parts = [_best(problem, node, part) for part in (axes[::2], axes[1::2])]
    return BestCells(parts[0].lost + parts[1].lost, np.union1d(parts[0].strategies, parts[1].strategies))


@dataclass
class CellSearch:
    """All cells with enough people, from the most general strategy on, in some attributes, the others withheld."""

    problem: RemainderProblem
    axes: list[int]
    limit: int
    """Rows and overhead, times strategies after which the search ends."""
    known: Floats | None = None
    """Loss of each row as far as is known, lowered by the search. If given, only cells that lower it are found.

    Rows that no cell can part any more are then made one, so that the rows of a cell need not be the problem's.
    """
    overhead: int = 0
    """Work of a strategy besides its rows, counted as rows."""
    work: int = 0
    """Rows and overhead, times strategies, so far."""

    @property
    def through(self) -> bool:
        """Whether no cell was left out because of the limit."""
        return self.work <= self.limit

    def cells(self) -> Iterator[Cells]:
        """Cells by strategy, the most general one apart, which has everybody in one cell."""
        rows = np.arange(len(self.problem.codes))
        everybody = Cells(self.problem.top, rows, np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows)))
        yield from self._finer(self.problem.lattice.nodes[self.problem.top], 0, everybody)

    def _finer(self, levels: Codes, place: int, inside: Cells) -> Iterator[Cells]:
        """Cells that are finer in an attribute from a place on; ``inside.lost`` is the loss in those before."""
        for later in range(place, len(self.axes)):
            inside = self._promising(inside)
            if len(inside.rows) == 0:
                return
            if later > place and self.known is not None and len(inside.rows) > _MERGED:
                number, members = self._alike(inside, later)
                if len(members) < _ALIKE * len(number):
                    yield from self._merged(levels, later, inside, (number, members), self.known)
                    return
            axis = self.axes[later]
            for level in self._below(axis, int(levels[axis])):
                finer = levels.copy()
                finer[axis] = level
                part = self._part(finer, axis, inside)
                if len(part.rows) and self.through:
                    lost = part.lost + self._of(part.rows, axis, level) + self._withheld[later][part.rows]
                    found = part._replace(lost=lost)
                    if self._lowers(found):
                        yield found
                    yield from self._finer(finer, later, part)
            inside = inside._replace(lost=inside.lost + self._of(inside.rows, axis, int(levels[axis])))

    def _lowers(self, cells: Cells) -> bool:
        """Lower the known losses to those in some cells; returns whether any fell, True where none are known."""
        if self.known is None:
            return True
        less = (cells.lost < self.known[cells.rows] - _GAIN).nonzero()[0]
        self.known[cells.rows[less]] = cells.lost[less]
        return len(less) > 0

    def _alike(self, inside: Cells, place: int) -> tuple[Ints, Ints]:
        """Number of each row, equal for those of a cell that are alike from an attribute on, and a place for each."""
        columns = [inside.cell, *(self._columns[axis][inside.rows] for axis in self.axes[place:])]
        if self.problem.records is not None:
            columns.append((self.problem.records[inside.rows] > 0).astype(np.int64))
        return fold_columns(columns, len(inside.rows))

    def _merged(
        self, levels: Codes, place: int, inside: Cells, alike: tuple[Ints, Ints], known: Floats
    ) -> Iterator[Cells]:
        """Finer cells of rows made one; what these lose at most is what those made one do."""
        (number, members), problem = alike, self.problem
        rows, most, before = inside.rows[members], np.zeros(len(members)), known[inside.rows]
        np.maximum.at(most, number, before)
        merged = replace(
            problem,
            codes=problem.codes[rows],
            counts=_summed(problem.counts[inside.rows], number),
            records=None if problem.records is None else _summed(problem.records[inside.rows], number),
        )
        search = CellSearch(merged, self.axes, self.limit - self.work, most, self.overhead)
        cells = Cells(inside.strategy, np.arange(len(members)), inside.cell[members], inside.lost[members])
        yield from search._finer(levels, place, cells)
        self.work += search.work
        known[inside.rows] = np.minimum(before, most[number])

    def _below(self, axis: int, level: int) -> range:
        """Levels next to be tried: the one below, or any below the uppermost where levels cross."""
        tree = self.problem.hierarchies[axis]
        if tree.is_tree:
            return range(max(level - 1, 0), level)
        return range(level if level == tree.n_levels - 1 else 0)

    def _promising(self, inside: Cells) -> Cells:
        """Cells in which somebody could lose less."""
        if self.known is None:
            return inside
        able = np.zeros(int(inside.cell.max()) + 1, dtype=np.bool_)
        able[inside.cell[self.known[inside.rows] - inside.lost > _GAIN]] = True
        if able.all():
            return inside
        return Cells(inside.strategy, *_taken(able[inside.cell], inside.rows, inside.cell, inside.lost))

    def _part(self, levels: Codes, axis: int, inside: Cells) -> Cells:
        """Finer cells of enough people."""
        _, rows, cell, fixed = inside
        number, tree, level = int(cell.max()) + 1, self.problem.hierarchies[axis], int(levels[axis])
        many = len(tree.labels[level])
        part, parts = cell * many + tree.groups[:, level][self._columns[axis][rows]], number * many
        if parts > _SPARSE * len(rows):
            part, parts = compact(part, parts)
        self.work += len(rows) + self.overhead
        if self.problem.records is not None:
            records = self.problem.records[rows]
            held = self.problem.filed(np.bincount(part, records, parts))[part] | (records == 0)
            rows, part, fixed = _taken(held, rows, part, fixed)
        enough = np.bincount(part, self.problem.counts[rows], parts) >= self.problem.least
        rows, part, fixed = _taken(enough[part], rows, part, fixed)
        strategy = int(levels @ self._strides)
        return Cells(strategy, rows, (enough.cumsum() - 1)[part], fixed)

    @cached_property
    def _withheld(self) -> list[Floats]:
        """Loss of each row where the attributes from each place on are withheld."""
        losses, rows = [np.zeros(len(self.problem.codes))], np.arange(len(self.problem.codes))
        for axis in reversed(self.axes[1:]):
            losses.append(losses[-1] + self._of(rows, axis, self.problem.hierarchies[axis].n_levels - 1))
        return losses[::-1]

    def _of(self, rows: Ints, axis: int, level: int) -> Floats:
        lost: Floats = self.problem.lost[axis][:, level]
        one_group = len(self.problem.hierarchies[axis].labels[level]) == 1
        lost = lost[:1] if one_group else lost[self._columns[axis][rows]]
        return lost if self.problem.factors is None else lost * self.problem.factors[rows, axis]

    @cached_property
    def _strides(self) -> Ints:
        """Distance of neighbouring strategies in the lattice's numbering."""
        return radix_strides(self.problem.lattice.heights)

    @cached_property
    def _columns(self) -> Codes:
        """Leaf codes of each row, an attribute after the other."""
        return np.ascontiguousarray(self.problem.codes.T)


def _summed(weights: Floats, number: Ints) -> Floats:
    return np.asarray(np.bincount(number, weights), dtype=np.float64)


def _taken(held: Bools, rows: Ints, cell: Ints, fixed: Floats) -> tuple[Ints, Ints, Floats]:
    """Some of the rows; quicker by their places than by what is held."""
    places = held.nonzero()[0]
    return rows[places], cell[places], fixed[places]
