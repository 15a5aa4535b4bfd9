"""Upper bound on every division: each tuple at the best that any cell with its people could pay.

A tuple released in some cell adds the cell's released value and what the size of its group adds, so no division pays
more than Σ weight · max over cells that hold the tuple. That maximum is found by branch and bound over boxes of
strategies between a most specific and a most general node: no cell of the box keeps more than the first or holds more
people than the second. Whenever the search ends, the boxes left open bound it.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tasks.generalization.boxes import first_boxes, halves
from tasks.generalization.exact import Rule
from tasks.generalization.game import Floats
from tasks.generalization.kanonymity.classes import compact, number_rows
from tasks.generalization.wide_partition.graph import Ints
from tasks.generalization.wide_partition.members import Division
from tasks.microdata.cube import cells_at
from tasks.microdata.tuples import Counts


@dataclass(frozen=True)
class _Box:
    """Strategies between two nodes, and the tuples for which one of them may be better than what is found."""

    low: tuple[int, ...]
    high: tuple[int, ...]
    rows: Ints
    caps: Floats
    """Most that a group of the most general node's size adds, by row."""


def upper_bound(division: Division, nodes: int, entries: int) -> float:
    """Bound on the weighted payoff of every division into hierarchical cells, recursive or not.

    Parameters
    ----------
    division : Division
    nodes : int
        Strategies whose cells are counted at most.
    entries : int
        Tuples that open boxes may hold in all.
    """
    search = _Search.of(division)
    held, counted = 0, 0
    while search.boxes and counted < nodes and held <= entries:
        box = search.pop()
        for part in halves(search.losses, (box.low, box.high)):
            search.open(box, *part)
            counted += 1
        held = sum(len(one.rows) for _, _, one in search.boxes)
    return search.bound()


@dataclass
class _Search:
    division: Division
    losses: Sequence[Floats]
    """Mean over the values of what each attribute loses at each of its levels."""
    caps: Floats
    found: Floats
    """Most that a cell counted so far pays each tuple, per unit of weight."""
    boxes: list[tuple[float, int, _Box]]
    made: int = 0

    @classmethod
    def of(cls, division: Division) -> "_Search":
        """Nothing counted but the cell that holds everybody; one box for each way that crossing levels can lie.

        A tuple without people can be in a cell of its own, which pays nothing, or share one with somebody.
        """
        trees, members = division.problem.hierarchies, division.members
        by_axis = division.problem.loss.by_axis
        losses = [own[tree.positions].mean(axis=0) for tree, own in zip(trees, by_axis, strict=True)]
        search = cls(division, losses, division.caps, np.where(members.people > 0, -np.inf, 0.0), [])
        rows = np.flatnonzero(members.weights > 0)
        free = [division.larger_is_better and not own.any() for own in by_axis]
        crossing = [axis.crossing for axis in division.axes]
        for low, high in first_boxes(tuple(tree.n_levels for tree in trees), crossing, free):
            search._put(low, high, rows, search._counted(high, rows))
        return search

    def pop(self) -> _Box:
        """The box with most to hope for."""
        return heapq.heappop(self.boxes)[2]

    def open(self, box: _Box, low: tuple[int, ...], high: tuple[int, ...]) -> None:
        """Put part of a box; what its most general node pays is found."""
        caps = box.caps if high == box.high else self._counted(high, box.rows)
        self._put(low, high, box.rows, caps)

    def bound(self) -> float:
        """Σ weight · the most that anything found or still open may pay."""
        most = self.found.copy()
        for _, _, box in self.boxes:
            hoped = self._value(box.low, box.rows) + box.caps
            most[box.rows] = np.maximum(most[box.rows], hoped)
        weights = self.division.members.weights
        counts = np.flatnonzero(weights > 0)
        return float(weights[counts] @ most[counts])

    def _put(self, low: tuple[int, ...], high: tuple[int, ...], rows: Ints, caps: Floats) -> None:
        hoped = self._value(low, rows) + caps
        ahead = hoped > self.found[rows]
        if low == high:
            return
        rows, caps = rows[ahead], caps[ahead]
        if len(rows):
            known = np.where(np.isfinite(self.found[rows]), self.found[rows], 0.0)
            promise = float(self.division.members.weights[rows] @ (hoped[ahead] - known))
            self.made += 1
            heapq.heappush(self.boxes, (-promise, self.made, _Box(low, high, rows, caps)))

    def _value(self, levels: tuple[int, ...], rows: Ints) -> Floats:
        """Released value of each row's cell at a node."""
        problem = self.division.problem
        cells = cells_at(self.division.members.codes[rows], np.array(levels, dtype=np.int32), problem.hierarchies)
        value: Floats = problem.payoffs.benefit * problem.loss.kept(cells)
        return value

    def _counted(self, levels: tuple[int, ...], rows: Ints) -> Floats:
        """Caps of the group sizes at a node, by row; what its cells pay is noted."""
        sizes = self._sizes(levels)[rows]
        payoffs, value = self.division.problem.payoffs, self._value(levels, rows)
        paid = payoffs.publisher(value, sizes)
        if self.division.rule is Rule.NO_ATTACK:
            paid[payoffs.attacked(sizes)] = -np.inf
        paid[sizes == 0] = -np.inf
        self.found[rows] = np.maximum(self.found[rows], paid)
        return self.caps[np.minimum(sizes, len(self.caps) - 1)]

    def _sizes(self, levels: tuple[int, ...]) -> Counts:
        """People in each tuple's cell at a node."""
        trees, members = self.division.problem.hierarchies, self.division.members
        kept = [axis for axis, tree in enumerate(trees) if levels[axis] < tree.n_levels - 1]
        columns = [trees[axis].groups[members.codes[:, axis], levels[axis]].astype(np.int64) for axis in kept]
        spans = [len(trees[axis].labels[levels[axis]]) for axis in kept]
        numbers, _ = compact(*number_rows(columns, spans, len(members)))
        people: Counts = np.rint(np.bincount(numbers, weights=members.people)).astype(np.int64)[numbers]
        return people
