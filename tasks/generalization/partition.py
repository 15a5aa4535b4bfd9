"""Recursive partition: generalization that keeps its promise to a recipient who knows the rule.

Per-record play lets an informed recipient keep, among the people of a released cell, only those whose own best
strategy is that cell. Here whole cells are divided instead, and everybody in a released cell is released as that cell:

    best(cell) = max(weight · payoff of releasing the cell, max over attributes Σ best(children along it))

so the group that a record hides in is the cell itself. The optimum is over all partitions that such splits can make.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tasks.generalization.exact import Rule
from tasks.generalization.game import Floats
from tasks.generalization.problem import Problem, all_attacked
from tasks.microdata.cube import DenseCube, SparseCube, cells_at
from tasks.microdata.hierarchy import Codes, Hierarchy
from tasks.microdata.lattice import Lattice
from tasks.microdata.tuples import Counts

_RELEASE = -1
_TIE = 1e-12
"""Relative: sums over millions of people are compared. Equal sums are split, which tells the recipient more."""


@dataclass(frozen=True)
class Partition:
    """Which cells to release and which to split, for every cell that can be reached."""

    hierarchies: tuple[Hierarchy, ...]
    choices: "DenseChoices | SparseChoices"
    total: float
    """Sum over the cell weights of the publisher's payoff."""

    def levels(self, codes: Codes) -> Codes:
        """Levels at which leaf codes are released; both of shape (n_tuples, n_attributes).

        Walks from the cell that holds everything down the chosen splits.
        """
        levels = np.tile(np.array([h.n_levels - 1 for h in self.hierarchies], dtype=np.int32), (len(codes), 1))
        active, cells = np.arange(len(codes)), cells_at(codes, levels, self.hierarchies)
        while len(active):
            choice = self.choices.at(cells, levels[active])
            split = choice != _RELEASE
            active, cells, choice = active[split], cells[split], choice[split]
            for axis, hierarchy in enumerate(self.hierarchies):
                along = np.flatnonzero(choice == axis)
                rows = active[along]
                levels[rows, axis] -= 1
                cells[along, axis] = hierarchy.positions[codes[rows, axis], levels[rows, axis]]
        return levels


@dataclass(frozen=True)
class DenseChoices:
    """Split axis of every cell of the count cube, −1 to release."""

    axis: NDArray[np.int8]

    def at(self, cells: Codes, levels: Codes) -> NDArray[np.int8]:  # noqa: ARG002
        """Choice at each cell, in axis positions."""
        chosen: NDArray[np.int8] = self.axis[tuple(cells.T)]
        return chosen


@dataclass
class SparseChoices:
    """Split axis of every reachable cell, node by node."""

    cube: SparseCube
    lattice: Lattice
    by_node: dict[int, NDArray[np.int8]] = field(default_factory=dict)

    def at(self, cells: Codes, levels: Codes) -> NDArray[np.int8]:
        """Choice at each cell, in axis positions; a cell nobody reaches is released whole."""
        numbers = cells.astype(np.int64) @ self.cube.strides
        chosen = np.full(len(cells), _RELEASE, dtype=np.int8)
        node_of = self.lattice.number(levels)
        for node in np.unique(node_of):
            rows = np.flatnonzero(node_of == node)
            keys, _ = self.cube.node(tuple(int(level) for level in self.lattice.nodes[node]))
            place = np.minimum(np.searchsorted(keys, numbers[rows]), len(keys) - 1)
            chosen[rows] = np.where(keys[place] == numbers[rows], self.by_node[int(node)][place], _RELEASE)
        return chosen


def partition(problem: Problem, weights: DenseCube | SparseCube, rule: Rule) -> Partition:
    """Best partition of the population into released cells.

    Parameters
    ----------
    problem : Problem
        Its counts must be of the same form as the weights.
    weights : DenseCube or SparseCube
        What a cell's payoff is multiplied by: its people (a rule that does not depend on the data) or its records.
    rule : Rule
        ``NO_ATTACK`` releases only cells that nobody attacks.

    Raises
    ------
    StageFailed
        If the rule leaves no partition: even the cell that holds everybody is attacked.
    """
    if isinstance(weights, DenseCube) and isinstance(problem.people, DenseCube):
        result = _dense(problem, problem.people, weights, rule)
    elif isinstance(weights, SparseCube) and isinstance(problem.people, SparseCube):
        result = _sparse(problem, problem.people, weights, rule)
    else:
        raise TypeError("population and weights must be counted in the same form")
    if not np.isfinite(result.total):
        raise all_attacked("no release exists that nobody would attack", problem.payoffs)
    return result


def _dense(problem: Problem, people: DenseCube, weights: DenseCube, rule: Rule) -> Partition:
    hierarchies = problem.hierarchies
    best = np.empty(people.counts.shape)
    axis_chosen = np.full(people.counts.shape, _RELEASE, dtype=np.int8)
    for _, levels in _fine_to_coarse(problem.lattice):
        block = tuple(_block(hierarchy, level) for hierarchy, level in zip(hierarchies, levels, strict=True))
        value = _release(problem, _kept(problem, block), people.counts[block], weights.counts[block], rule)
        choice = axis_chosen[block]
        for axis, level in enumerate(levels):
            if level > 0:
                below = (*block[:axis], _block(hierarchies[axis], level - 1), *block[axis + 1 :])
                split: Floats = np.add.reduceat(best[below], hierarchies[axis].child_starts(level), axis=axis)
                _take_better(value, choice, split, axis)
        choice[people.counts[block] == 0] = _RELEASE
        best[block] = value
    return Partition(hierarchies, DenseChoices(axis_chosen), float(best.ravel()[-1]))


def _sparse(problem: Problem, people: SparseCube, weights: SparseCube, rule: Rule) -> Partition:
    hierarchies, lattice = problem.hierarchies, problem.lattice
    choices = SparseChoices(people, lattice)
    best: dict[int, Floats] = {}
    members: dict[int, Codes] = {}
    for node, levels in _fine_to_coarse(lattice):
        at = tuple(int(level) for level in levels)
        keys, counts = people.node(at)
        cells = cells_at(people.reach.codes, levels, hierarchies)
        numbers, first = np.unique(cells.astype(np.int64) @ people.strides, return_index=True)
        members[node] = people.reach.codes[first]
        kept = problem.loss.kept(cells[first])
        value = _release(problem, kept, counts, weights.node(at)[1], rule)
        choice = np.full(len(keys), _RELEASE, dtype=np.int8)
        for axis, level in enumerate(at):
            if level > 0:
                child = np.array(levels)
                child[axis] -= 1
                child_node = int(lattice.number(child[None, :])[0])
                parents = cells_at(members[child_node], levels, hierarchies).astype(np.int64) @ people.strides
                place = np.searchsorted(numbers, parents)
                shares = np.bincount(place, weights=best[child_node], minlength=len(keys))
                _take_better(value, choice, shares.astype(np.float64), axis)
        best[node], choices.by_node[node] = value, choice
    return Partition(hierarchies, choices, float(best[len(lattice) - 1].sum()))


def _fine_to_coarse(lattice: Lattice) -> Iterator[tuple[int, Codes]]:
    for node in np.argsort(lattice.nodes.sum(axis=1), kind="stable"):
        yield int(node), lattice.nodes[node]


def _block(hierarchy: Hierarchy, level: int) -> slice:
    return slice(int(hierarchy.offsets[level]), int(hierarchy.offsets[level + 1]))


def _kept(problem: Problem, block: Sequence[slice]) -> Floats:
    """Share of information kept by each cell of a block of the cube."""
    dimensions = len(block)
    lost: Floats = np.zeros((1,) * dimensions)
    for axis, (losses, part) in enumerate(zip(problem.loss.by_axis, block, strict=True)):
        shape = [1] * dimensions
        shape[axis] = -1
        lost = lost + losses[part].reshape(shape)
    return 1.0 - lost / problem.loss.maximum


def _release(
    problem: Problem, kept: Floats, people: NDArray[np.integer], weights: NDArray[np.integer], rule: Rule
) -> Floats:
    """Weighted payoff of releasing each cell as it is; nothing is gained or lost where nobody is."""
    payoffs = problem.payoffs
    counts: Counts = people.astype(np.int64)
    value = payoffs.publisher(payoffs.benefit * kept, counts) * weights
    if rule is Rule.NO_ATTACK:
        value[payoffs.attacked(counts)] = -np.inf
    value[counts == 0] = 0.0
    return value


def _take_better(value: Floats, choice: NDArray[np.int8], split: Floats, axis: int) -> None:
    """Split where that pays at least as much as the best so far; among equal splits the first axis stays."""
    released = choice == _RELEASE
    margin = _TIE * np.abs(np.where(np.isfinite(split), split, 0.0))
    better = np.where(released, split >= value - margin, split > value + margin) & np.isfinite(split)
    value[better] = split[better]
    choice[better] = axis
