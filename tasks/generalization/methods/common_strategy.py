"""One common strategy for the whole file: the levels that pay most in sum over its records.

Branch and bound over boxes of strategies, each all between a most specific and a most general one, or a single one
where levels cross: no strategy of a box releases more value than the most specific one, and none of its groups adds
more to that than a group of the size at the most general one or of fewer people could. Only most general strategies are
counted, once each: a few dozen of 55,296 where one of little generalization is the best.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from tasks.generalization.game.count_index import CountIndex
from tasks.generalization.game.payoffs import TIE, Floats
from tasks.generalization.game.problem import Problem
from tasks.generalization.methods.method import GeneralizationMethod, Recoding
from tasks.microdata.cube import SparseCube
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Tuples
from tasks.request.model import Method

Levels = tuple[int, ...]
Box = tuple[Levels, Levels]
"""Levels of the most specific strategy and of the most general one."""

_LARGEST_TRIED = 2**24
"""A larger group adds what the largest that is tried adds, or nothing is taken off."""


def common_strategy(problem: Problem, data: Tuples) -> Codes:
    """Levels with the greatest sum of the publisher's payoffs, shape (n_attributes,); the first among equals."""
    people = problem.people
    if isinstance(people, SparseCube):  # one that keeps nothing: a node is asked for once, and there may be very many
        problem = replace(problem, people=replace(people, _nodes={}))
    search, near = _BoxSearch.of(problem, data), TIE * data.total
    while search.boxes and search.bound >= search.best - 2 * near:
        search.step()
    return np.array(min(node for node, total in search.totals.items() if total >= search.best - near), dtype=np.int32)


@dataclass
class _BoxSearch:
    problem: Problem
    data: Tuples
    losses: Sequence[Floats]
    """Information loss of the file in each attribute at each of its levels."""
    caps: Floats
    """Most that a group of at most n people adds to its released value; the last holds beyond."""
    boxes: list[tuple[float, int, Box, float, bool]] = field(default_factory=list)
    """Open boxes: bound with its sign changed, number, the box, what its groups add at most, whether that was counted
    at the box's own most general strategy."""
    totals: dict[Levels, float] = field(default_factory=dict)
    """Payoffs of the strategies counted so far."""
    best: float = -np.inf
    made: int = 0

    @classmethod
    def of(cls, problem: Problem, data: Tuples) -> "_BoxSearch":
        """All strategies, none counted."""
        trees, losses = problem.hierarchies, []
        for axis, (tree, loss) in enumerate(zip(trees, problem.loss.by_axis, strict=True)):
            leaves = np.bincount(data.codes[:, axis], weights=data.counts, minlength=tree.n_leaves)
            losses.append(leaves @ loss[tree.positions])
        top = np.array([tree.n_levels - 1 for tree in trees], dtype=np.int32)
        everybody = int(problem.evaluate(data.codes[:1], top)[1].max())
        sizes = np.arange(min(problem.payoffs.safe_group, everybody, _LARGEST_TRIED) + 1).astype(np.int64)
        most = np.maximum.accumulate(problem.payoffs.publisher(np.zeros(len(sizes)), sizes))
        search = cls(problem, data, losses, np.append(most, 0.0) if len(most) <= everybody else most)
        # Boxes that hold all strategies together: one for each way in which levels that cross can lie.
        ways = [
            [(0, tree.n_levels - 1)] if tree.is_tree else [(one, one) for one in range(tree.n_levels)] for tree in trees
        ]
        for way in product(*ways):
            search._put((tuple(low for low, _ in way), tuple(high for _, high in way)), 0.0, counted=False)
        return search

    @property
    def bound(self) -> float:
        """No strategy of an open box pays more."""
        return -self.boxes[0][0]

    def step(self) -> None:
        """Count the most general strategy of the box that promises most, or else cut the box in two."""
        _, _, box, most, counted = heapq.heappop(self.boxes)
        if not counted:
            self._put(box, min(self._count(box[1]), most), counted=True)
        elif box[0] != box[1]:
            below, above = _halves(self.losses, box)
            self._put(below, most, counted=False)
            self._put(above, most, counted=True)

    def _put(self, box: Box, most: float, *, counted: bool) -> None:
        lost = sum(losses[level] for losses, level in zip(self.losses, box[0], strict=True))
        value = self.problem.payoffs.benefit * (self.data.total - lost / self.problem.loss.maximum)
        heapq.heappush(self.boxes, (-(value + most), self.made, box, most, counted))
        self.made += 1

    def _count(self, node: Levels) -> float:
        """Note what a strategy pays; the most that groups add there or below."""
        value, people = self.problem.evaluate(self.data.codes, np.array(node, dtype=np.int32))
        self.totals[node] = float(self.data.counts @ self.problem.payoffs.publisher(value, people))
        self.best = max(self.best, self.totals[node])
        return float(self.data.counts @ self.caps[np.clip(people, 1, len(self.caps) - 1)])


def _halves(losses: Sequence[Floats], box: Box) -> tuple[Box, Box]:
    """A box cut in two where half of what its widest attribute can lose is lost; most specific part first."""
    low, high = box
    ranges = [own[high[axis]] - own[low[axis]] if high[axis] > low[axis] else -1.0 for axis, own in enumerate(losses)]
    axis = int(np.argmax(ranges))
    own = losses[axis][low[axis] : high[axis]]
    middle = (losses[axis][low[axis]] + losses[axis][high[axis]]) / 2
    cut = low[axis] + max(int(np.searchsorted(own, middle, side="right")) - 1, 0)
    return (low, (*high[:axis], cut, *high[axis + 1 :])), ((*low[:axis], cut + 1, *low[axis + 1 :]), high)


def _recoding(table: CountIndex, problem: Problem, _weights: str) -> Recoding:
    chosen = common_strategy(problem, table.data)
    return Recoding(lambda codes: np.broadcast_to(chosen, codes.shape))


COMMON = GeneralizationMethod(
    Method.COMMON,
    _recoding,
    "One common strategy",
    "One strategy for the whole file, the one with the greatest total payoff.",
    "Every record is generalized alike, so a released cell holds exactly the people who match it and the "
    "probability 1/n_p holds against a recipient who knows the rule.",
    common=True,
    plain="All records are made equally coarse, as is worth most to the publisher",
)
