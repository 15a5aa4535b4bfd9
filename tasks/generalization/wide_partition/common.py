"""The best common strategy with groups that nobody attacks: full-domain k-anonymity, as a division to start from."""

from dataclasses import dataclass, replace
from math import prod

import numpy as np

from tasks.core.errors import StageFailed
from tasks.generalization.game import Floats
from tasks.generalization.kanonymity.classes import Classes, Levels, Tally, tally
from tasks.generalization.kanonymity.judge import judge
from tasks.generalization.kanonymity.optimum import minimise
from tasks.generalization.wide_partition.graph import Cells, Explorer, Splits, whole
from tasks.generalization.wide_partition.members import Division
from tasks.generalization.wide_partition.tree import Tree, best_tree

_LARGEST_LATTICE = 2**24


@dataclass(frozen=True)
class _InformationLost:
    """Weighted information loss of a node (``kanonymity.costs.Cost``); nothing is suppressed."""

    by_axis: tuple[Floats, ...]
    """Loss of all members at each level, one array an attribute."""
    ranked = True

    def floor(self, heights: Levels) -> Floats:
        grid = np.zeros((1,) * len(heights))
        for axis, losses in enumerate(self.by_axis):
            grid = grid + losses[: heights[axis]].reshape([-1 if other == axis else 1 for other in range(len(heights))])
        return np.broadcast_to(grid, heights)

    def cost(self, levels: Levels, classes: Classes, withheld: np.ndarray) -> float:  # noqa: ARG002
        return float(sum(losses[level] for losses, level in zip(self.by_axis, levels, strict=True)))

    def below(self, levels: Levels, classes: Classes, firm: np.ndarray) -> Floats:  # noqa: ARG002
        return self.floor(tuple(level + 1 for level in levels))

    def above(self, classes: Classes) -> float:  # noqa: ARG002
        return -np.inf


def common_levels(division: Division) -> Levels | None:
    """Levels of the common strategy that keeps most information among those that nobody attacks.

    None where there is none, where levels cross (k-anonymity does not hold upwards then), and where there are more than
    2²⁴ strategies.
    """
    trees, safe = division.problem.hierarchies, division.problem.payoffs.safe_group
    heights = tuple(tree.n_levels for tree in trees)
    people = division.members.people
    if any(axis.crossing for axis in division.axes) or prod(heights) > _LARGEST_LATTICE or not np.isfinite(safe):
        return None
    k = max(int(np.ceil(safe * (1 - 1e-12))), 1)
    rows = np.flatnonzero(people)
    if k > people.sum():
        return None
    counted = _tally(division, rows)
    losses = []
    for axis, tree in enumerate(trees):
        leaves = np.bincount(division.members.codes[:, axis], weights=division.members.weights, minlength=tree.n_leaves)
        losses.append(leaves @ division.problem.loss.by_axis[axis][tree.positions])
    judged = judge(counted, trees, k, (), n_records=len(rows))
    try:
        return minimise(_InformationLost(tuple(losses)), judged, heights, 0).levels
    except StageFailed:
        return None


def _tally(division: Division, rows: np.ndarray) -> Tally:
    counted = tally(division.members.codes[rows].astype(np.int64), division.problem.hierarchies)
    people = np.bincount(counted.tuple_of_record, weights=division.members.people[rows]).astype(np.float64)
    return replace(counted, tuples=Classes(counted.tuples.left, counted.tuples.right, people))


@dataclass
class _Straight(Explorer):
    """Goes down to given levels, attribute after attribute."""

    levels: Levels = ()

    def _splits(self, cells: Cells) -> Splits:
        trees = self.division.problem.hierarchies
        at = np.column_stack([tree.axis_levels[cells.positions[:, axis]] for axis, tree in enumerate(trees)])
        above = (at > np.array(self.levels)) & (cells.people > 0)[:, None]
        open_ = np.flatnonzero(above.any(axis=1))
        axis = above[open_].argmax(axis=1)
        return Splits(open_, axis.astype(np.int8), (at[open_, axis] - 1).astype(np.int8), np.zeros(len(open_)))


def common_tree(division: Division, levels: Levels) -> Tree:
    """The best division by splits on the way from everybody to one common strategy; pays at least as much as it."""
    return best_tree(division, _Straight(division, 0, levels=levels).explore(whole(division)))
