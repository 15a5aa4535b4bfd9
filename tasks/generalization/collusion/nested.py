"""Partitions for several recipients who may collude, one inside another: exact over one common tree of splits.

Whole cells are divided as in ``partition``. At a cell of the tree some recipients may be given that cell, and the
others' copies are divided further along one attribute:

    best(cell, R) = max over A ⊆ R of  released(cell, A, R∖A) + max over attributes of Σ best(child, R∖A)

with R the recipients who have no cell yet. The copies are then nested: of two, one holds the other's cells, so the
intersection that a hand sees is the cell of the last of its members, and everybody of a released cell is released as
that cell in every copy. What is charged for a hand is charged where its last member is given a cell. Partitions whose
trees differ are not among those compared: their intersections would not be cells of a tree.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.errors import ParameterError
from tasks.generalization.collusion.colluders import Colluders
from tasks.generalization.exact import Rule
from tasks.generalization.game import Floats
from tasks.generalization.partition import kept_by
from tasks.generalization.problem import Problem, all_attacked
from tasks.microdata.cube import DenseCube, SparseCube, cells_at
from tasks.microdata.hierarchy import Codes, check_trees
from tasks.microdata.tuples import Counts

_TIE = 1e-12
"""Relative: sums over millions of people are compared. Equal sums are split, which tells the recipients more."""
_MOST_RECIPIENTS = 4
_STOP = -1

Choices = NDArray[np.int16]


@dataclass(frozen=True)
class NestedPartitions:
    """One partition a recipient, over one tree of splits."""

    problem: Problem
    n_recipients: int
    choices: "dict[tuple[int, int], Choices]"
    """By node and set of recipients without a cell: set that is left, and the axis that it is split along."""
    sweep: "_Dense | _Sparse"
    total: float
    """Sum over the cell weights of the publisher's payoff, over all recipients."""

    def levels(self, codes: Codes) -> Codes:
        """Levels at which leaf codes are released; (n_tuples, n_attributes) to (n_recipients, n_tuples, n_attributes).

        A tuple in a cell without people has the levels of that cell.
        """
        hierarchies, lattice = self.problem.hierarchies, self.problem.lattice
        at = np.tile(np.array([tree.n_levels - 1 for tree in hierarchies], dtype=np.int32), (len(codes), 1))
        released = np.tile(at, (self.n_recipients, 1, 1))
        waiting = np.full(len(codes), 2**self.n_recipients - 1)
        while (waiting > 0).any():
            node_of, before = lattice.number(at), waiting.copy()
            for node in np.unique(node_of[before > 0]):
                for left in np.unique(before[(node_of == node) & (before > 0)]):
                    rows = np.flatnonzero((node_of == node) & (before == left))
                    levels = lattice.nodes[node]
                    place = self.sweep.place(cells_at(codes[rows], levels, hierarchies), int(node))
                    choice = np.where(place >= 0, self.choices[int(node), int(left)].take(place, mode="clip"), _STOP)
                    rest, axis = _decoded(choice, len(hierarchies))
                    waiting[rows] = rest
                    for member in range(self.n_recipients):
                        given = rows[(left >> member & 1 == 1) & (rest >> member & 1 == 0)]
                        released[member, given] = levels
                    going = rest > 0
                    at[rows[going], axis[going]] -= 1
        return released


def nested_partitions(
    problem: Problem, weights: DenseCube | SparseCube, colluders: Colluders, rule: Rule
) -> NestedPartitions:
    """Best nested partitions of the population, one a recipient.

    Parameters
    ----------
    problem : Problem
        Its counts must be of the same form as the weights; its own follower is not asked.
    weights : DenseCube or SparseCube
        What a cell's payoff is multiplied by.
    colluders : Colluders
        At most four recipients.
    rule : Rule
        ``NO_ATTACK`` releases only cells that no hand attacks that may come together.

    Raises
    ------
    ParameterError
        If there are more recipients.
    StageFailed
        If the rule leaves no partitions.
    HierarchyError
        If levels cross.
    """
    check_trees("copies are nested along hierarchies that are trees", problem.hierarchies)
    number = len(colluders.members)
    if number > _MOST_RECIPIENTS:
        raise ParameterError(
            "too many recipients to divide cells for at once",
            where="recipients",
            expected=f"at most {_MOST_RECIPIENTS}",
            got=f"{number}",
            fix="give some of them one representation",
        )
    sweep = _sweep(problem, weights)
    everybody, lattice = 2**number - 1, problem.lattice
    best: dict[tuple[int, int], Floats] = {}
    choices: dict[tuple[int, int], Choices] = {}
    for node in np.argsort(lattice.nodes.sum(axis=1), kind="stable").tolist():
        release = _Release(sweep, colluders, rule, node)
        split = {left: _best_split(problem, sweep, best, node, left) for left in range(1, everybody + 1)}
        for left in range(1, everybody + 1):
            best[node, left], choices[node, left] = _best_choice(release, split, left, len(problem.hierarchies))
        _forget(best, problem, node, everybody)
    total = float(best[len(lattice) - 1, everybody].sum())
    if not np.isfinite(total):
        raise all_attacked("no release exists that nobody would attack", colluders.shared)
    return NestedPartitions(problem, number, choices, sweep, total)


class _Release:
    """What releasing the cells of one node brings, by who is given them and who is left."""

    def __init__(self, sweep: "_Dense | _Sparse", colluders: Colluders, rule: Rule, node: int) -> None:
        kept, self.people, self._weights = sweep.cells(node)
        self._colluders = colluders
        self._values = [w * one.benefit * kept for w, one in zip(colluders.weights, colluders.members, strict=True)]
        self._costs = [
            (sum(1 << member for member in hand), colluders.charged(hand, probability, self.people, rule))
            for hand, probability in colluders.hands
        ]

    def worth(self, given: int, left: int) -> Floats:
        """Weighted payoff of giving cells to some recipients, with the cost of the hands that are then complete."""
        worth = np.zeros(self.people.shape)
        for member, value in enumerate(self._values):
            if given >> member & 1:
                worth = worth + value
        for hand, cost in self._costs:
            if hand & given and not hand & left:
                worth = worth + cost
        return np.where(self.people == 0, 0.0, _weighted(worth, self._weights))


def _weighted(worth: Floats, weights: Counts) -> Floats:
    """Worth times weights; what is forbidden stays so where nobody is weighed."""
    with np.errstate(invalid="ignore"):
        product: Floats = worth * weights
    return np.where(np.isfinite(worth), product, -np.inf)


def _best_split(
    problem: Problem, sweep: "_Dense | _Sparse", best: dict[tuple[int, int], Floats], node: int, left: int
) -> tuple[Floats, NDArray[np.int8]]:
    """Best sum over children for recipients who are left, with its axis; −inf where there is no child."""
    levels = problem.lattice.nodes[node]
    shape = sweep.cells(node)[1].shape
    value, chosen = np.full(shape, -np.inf), np.full(shape, _STOP, dtype=np.int8)
    for axis in np.flatnonzero(levels).tolist():
        child = levels.copy()
        child[axis] -= 1
        child_node = int(problem.lattice.number(child[None, :])[0])
        split = sweep.sums(best[child_node, left], node, child_node, axis)
        margin = _TIE * np.abs(np.where(np.isfinite(split), split, 0.0))
        better = np.isfinite(split) & (split > value + margin)
        value[better], chosen[better] = split[better], axis
    return value, chosen


def _best_choice(
    release: _Release, split: dict[int, tuple[Floats, NDArray[np.int8]]], left: int, n_axes: int
) -> tuple[Floats, Choices]:
    """Best payoff for the recipients who have no cell yet, and who of them is then still left, split along what."""
    value, choice = release.worth(left, 0), np.full(release.people.shape, _STOP, dtype=np.int16)
    for rest in range(1, left + 1):
        if rest & left != rest:
            continue
        below, axis = split[rest]
        tried = below if rest == left else release.worth(left & ~rest, rest) + below
        margin = _TIE * np.abs(np.where(np.isfinite(tried), tried, 0.0))
        better = np.isfinite(tried) & (tried >= value - margin)
        value = np.where(better, tried, value)
        choice = np.where(better, rest * n_axes + axis, choice).astype(np.int16)
    empty = release.people == 0
    return np.where(empty, 0.0, value), np.where(empty, _STOP, choice).astype(np.int16)


def _decoded(choice: NDArray[np.int16], n_axes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Recipients who are left, 0 for none, and the axis that they are split along."""
    wide = choice.astype(np.int64)
    return np.where(wide == _STOP, 0, wide // n_axes), np.where(wide == _STOP, 0, wide % n_axes)


def _forget(best: dict[tuple[int, int], Floats], problem: Problem, node: int, everybody: int) -> None:
    """Drop sums of nodes that no node to come is split into: those two steps finer."""
    rank = problem.lattice.nodes.sum(axis=1)
    for old in np.flatnonzero(rank == rank[node] - 2).tolist():
        for left in range(1, everybody + 1):
            best.pop((old, left), None)


def _sweep(problem: Problem, weights: DenseCube | SparseCube) -> "_Dense | _Sparse":
    if isinstance(weights, DenseCube) and isinstance(problem.people, DenseCube):
        return _Dense(problem, problem.people, weights)
    if isinstance(weights, SparseCube) and isinstance(problem.people, SparseCube):
        return _Sparse(problem, problem.people, weights)
    raise TypeError("population and weights must be counted in the same form")


class _Dense:
    """Cells of a node as a block of the count cube."""

    def __init__(self, problem: Problem, people: DenseCube, weights: DenseCube) -> None:
        self._problem, self._people, self._weights = problem, people, weights

    def _block(self, node: int) -> tuple[slice, ...]:
        offsets = zip(self._problem.hierarchies, self._problem.lattice.nodes[node], strict=True)
        return tuple(slice(int(tree.offsets[level]), int(tree.offsets[level + 1])) for tree, level in offsets)

    def cells(self, node: int) -> tuple[Floats, Counts, Counts]:
        """Share of information kept, people and weight of each cell of a node."""
        block = self._block(node)
        mesh = np.ix_(*(np.arange(part.start, part.stop, dtype=np.int32) for part in block))
        kept = kept_by(mesh, self._problem.loss)
        return kept, self._people.counts[block].astype(np.int64), self._weights.counts[block].astype(np.int64)

    def sums(self, best: Floats, node: int, child: int, axis: int) -> Floats:  # noqa: ARG002
        """Sum of the children's payoffs of each cell of a node."""
        starts = self._problem.hierarchies[axis].child_starts(int(self._problem.lattice.nodes[node, axis]))
        split: Floats = np.add.reduceat(best, starts, axis=axis)
        return split

    def place(self, cells: Codes, node: int) -> NDArray[np.intp]:
        """Position of cells, given in axis positions, among those of their node."""
        block = self._block(node)
        inside = [cells[:, axis] - part.start for axis, part in enumerate(block)]
        found: NDArray[np.intp] = np.ravel_multi_index(inside, [part.stop - part.start for part in block])
        return found


class _Sparse:
    """The cells of a node that can be reached."""

    def __init__(self, problem: Problem, people: SparseCube, weights: SparseCube) -> None:
        self._problem, self._people, self._weights = problem, people, weights
        self._members: dict[int, Codes] = {}

    def _codes(self, node: int) -> Codes:
        """One leaf tuple of each cell, in the order of the cells' numbers."""
        if node not in self._members:
            cells = cells_at(self._people.reach.codes, self._problem.lattice.nodes[node], self._problem.hierarchies)
            _, first = np.unique(cells.astype(np.int64) @ self._people.strides, return_index=True)
            self._members[node] = self._people.reach.codes[first]
        return self._members[node]

    def _at(self, node: int) -> tuple[int, ...]:
        return tuple(int(level) for level in self._problem.lattice.nodes[node])

    def cells(self, node: int) -> tuple[Floats, Counts, Counts]:
        """Share of information kept, people and weight of each cell of a node."""
        cells = cells_at(self._codes(node), self._problem.lattice.nodes[node], self._problem.hierarchies)
        at = self._at(node)
        return self._problem.loss.kept(cells), self._people.node(at)[1], self._weights.node(at)[1]

    def sums(self, best: Floats, node: int, child: int, axis: int) -> Floats:  # noqa: ARG002
        """Sum of the children's payoffs of each cell of a node."""
        cells = cells_at(self._codes(child), self._problem.lattice.nodes[node], self._problem.hierarchies)
        keys, _ = self._people.node(self._at(node))
        place = np.searchsorted(keys, cells.astype(np.int64) @ self._people.strides)
        return np.bincount(place, weights=best, minlength=len(keys)).astype(np.float64)

    def place(self, cells: Codes, node: int) -> NDArray[np.intp]:
        """Position of cells, given in axis positions, among those of their node; −1 for one that nobody reaches."""
        numbers = cells.astype(np.int64) @ self._people.strides
        keys, _ = self._people.node(self._at(node))
        place = np.minimum(np.searchsorted(keys, numbers), len(keys) - 1)
        return np.where(keys[place] == numbers, place, -1)
