"""Recursive partition: generalization whose group sizes hold against a recipient who knows the rule.

Per-record strategies let an informed recipient narrow the people of a released cell to those whose own best strategy
is that cell. Here whole cells are divided instead, and everybody in a released cell is released as that cell:

    best(cell) = max(weight · payoff of releasing the cell, max over attributes Σ best(children along it))

so the group that a record hides in is the cell itself. The optimum is over all partitions that such splits can make.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tasks.generalization.exact import Rule
from tasks.generalization.game import Floats, InformationLoss
from tasks.generalization.problem import Problem, all_attacked
from tasks.microdata.cube import DenseCube, Lattice, SparseCube, cells_at
from tasks.microdata.hierarchy import Codes, Hierarchy, check_trees
from tasks.microdata.tuples import Counts

RELEASE, WITHHOLD = -1, -2
"""Choices for a cell that is not split; every other choice is the attribute that it is split along."""

_TIE = 1e-12
"""Relative: sums over millions of people are compared. Equal sums are split, which gives the recipient more detail."""


@dataclass(frozen=True)
class Partition:
    """Choice between release and split for every cell that can be reached."""

    hierarchies: tuple[Hierarchy, ...]
    choices: "Choices"
    total: float
    """Sum over the cell weights of the publisher's payoff."""

    def levels(self, codes: Codes) -> Codes:
        """Levels at which leaf codes are released; both of shape (n_tuples, n_attributes).

        Walks from the cell that holds everything down the chosen splits.
        """
        return self.walk(codes)[0]

    def walk(self, codes: Codes) -> tuple[Codes, NDArray[np.bool_]]:
        """Levels of the last cell of each leaf code, and whether that cell is withheld."""
        withheld = np.zeros(len(codes), dtype=np.bool_)
        levels = np.tile(np.array([h.n_levels - 1 for h in self.hierarchies], dtype=np.int32), (len(codes), 1))
        active, cells = np.arange(len(codes)), cells_at(codes, levels, self.hierarchies)
        while len(active):
            choice = self.choices.at(cells, levels[active])
            withheld[active[choice == WITHHOLD]] = True
            split = choice >= 0
            active, cells, choice = active[split], cells[split], choice[split]
            for axis, hierarchy in enumerate(self.hierarchies):
                along = np.flatnonzero(choice == axis)
                rows = active[along]
                levels[rows, axis] -= 1
                cells[along, axis] = hierarchy.positions[codes[rows, axis], levels[rows, axis]]
        return levels, withheld


class Choices(Protocol):
    """Choice for each cell: the attribute that it is split along, or that it is released or withheld."""

    def at(self, cells: Codes, levels: Codes) -> NDArray[np.int8]:
        """Choice at cells in axis positions; levels are theirs; both of shape (n_cells, n_attributes)."""
        ...


@dataclass(frozen=True)
class DenseChoices:
    """Choice at every cell of the count cube."""

    axis: NDArray[np.int8]

    def at(self, cells: Codes, levels: Codes) -> NDArray[np.int8]:  # noqa: ARG002
        """Choice at each cell, in axis positions."""
        chosen: NDArray[np.int8] = self.axis[tuple(cells.T)]
        return chosen


@dataclass
class SparseChoices:
    """Choice at every reachable cell, node by node."""

    cube: SparseCube
    lattice: Lattice
    by_node: dict[int, NDArray[np.int8]] = field(default_factory=dict)

    def at(self, cells: Codes, levels: Codes) -> NDArray[np.int8]:
        """Choice at each cell, in axis positions; a cell nobody reaches is released whole."""
        numbers = cells.astype(np.int64) @ self.cube.strides
        chosen = np.full(len(cells), RELEASE, dtype=np.int8)
        node_of = self.lattice.number(levels)
        for node in np.unique(node_of):
            rows = np.flatnonzero(node_of == node)
            keys, _ = self.cube.node(tuple(int(level) for level in self.lattice.nodes[node]))
            place = np.minimum(np.searchsorted(keys, numbers[rows]), len(keys) - 1)
            chosen[rows] = np.where(keys[place] == numbers[rows], self.by_node[int(node)][place], RELEASE)
        return chosen


@dataclass(frozen=True)
class NodeCells:
    """The cells of one lattice node, in the shape that they are counted in."""

    levels: tuple[int, ...]
    positions: tuple[Codes, ...]
    """Axis positions of the cells, one array an attribute; together they broadcast to the shape of the counts."""
    block: tuple[slice, ...]
    """Where the cells are in a dense cube; empty for a sparse one."""
    people: Counts
    weights: Counts

    def of(self, cube: DenseCube | SparseCube) -> Counts:
        """Counts of the same cells in another cube of the same form."""
        if isinstance(cube, DenseCube):
            return cube.counts[self.block].astype(np.int64)
        return cube.node(self.levels)[1]


def kept_by(positions: Sequence[Codes], loss: InformationLoss) -> Floats:
    """Share of information kept by cells whose axis positions, one array an attribute, broadcast to their shape."""
    lost: Floats = np.zeros(1)
    for losses, at in zip(loss.by_axis, positions, strict=True):
        lost = lost + losses[at]
    return 1.0 - lost / loss.maximum


Worth = Callable[[NodeCells], tuple[Floats, NDArray[np.int8]]]
"""Payoff of each cell if it is not split, in sum over its weight, and whether it is released or withheld for that;
minus infinity where neither is allowed. Both are new arrays in the shape of the counts."""


def partition(problem: Problem, weights: DenseCube | SparseCube, rule: Rule, worth: Worth | None = None) -> Partition:
    """Best partition of the population into released cells.

    Parameters
    ----------
    problem : Problem
        Its counts must be of the same form as the weights.
    weights : DenseCube or SparseCube
        What a cell's payoff is multiplied by: its people (a rule that does not depend on the data) or its records.
    rule : Rule
        ``NO_ATTACK`` releases only cells that nobody attacks.
    worth : callable, optional
        What a cell pays in place of the publisher's payoff under the rule.

    Raises
    ------
    StageFailed
        If the rule leaves no partition: even the cell that holds everybody is attacked. With a worth of the caller's
        own the total of such a partition is minus infinity instead.
    HierarchyError
        If levels cross; ``wide_partition`` takes such hierarchies.
    """
    check_trees("the exact recursion divides each group into those of the level below", problem.hierarchies)
    pays = _under(problem, rule) if worth is None else worth
    if isinstance(weights, DenseCube) and isinstance(problem.people, DenseCube):
        result = _dense(problem, problem.people, weights, pays)
    elif isinstance(weights, SparseCube) and isinstance(problem.people, SparseCube):
        result = _sparse(problem, problem.people, weights, pays)
    else:
        raise TypeError("population and weights must be counted in the same form")
    if worth is None and not np.isfinite(result.total):
        raise all_attacked("no release exists that nobody would attack", problem.payoffs)
    return result


def _dense(problem: Problem, people: DenseCube, weights: DenseCube, worth: Worth) -> Partition:
    hierarchies = problem.hierarchies
    best = np.empty(people.counts.shape)
    axis_chosen = np.full(people.counts.shape, RELEASE, dtype=np.int8)
    for _, levels in _fine_to_coarse(problem.lattice):
        block = tuple(_block(hierarchy, level) for hierarchy, level in zip(hierarchies, levels, strict=True))
        mesh = np.ix_(*(np.arange(part.start, part.stop, dtype=np.int32) for part in block))
        counted, weighted = people.counts[block].astype(np.int64), weights.counts[block].astype(np.int64)
        value, choice = worth(NodeCells(tuple(int(level) for level in levels), mesh, block, counted, weighted))
        empty = counted == 0
        alone, ends = value[empty], choice[empty]
        for axis, level in enumerate(levels):
            if level > 0:
                below = (*block[:axis], _block(hierarchies[axis], level - 1), *block[axis + 1 :])
                split: Floats = np.add.reduceat(best[below], hierarchies[axis].child_starts(level), axis=axis)
                _take_better(value, choice, split, axis)
        value[empty], choice[empty] = alone, ends
        axis_chosen[block] = choice
        best[block] = value
    return Partition(hierarchies, DenseChoices(axis_chosen), float(best.ravel()[-1]))


def _sparse(problem: Problem, people: SparseCube, weights: SparseCube, worth: Worth) -> Partition:
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
        value, choice = worth(NodeCells(at, tuple(cells[first].T), (), counts, weights.node(at)[1]))
        empty = counts == 0
        alone, ends = value[empty], choice[empty]
        for axis, level in enumerate(at):
            if level > 0:
                child = np.array(levels)
                child[axis] -= 1
                child_node = int(lattice.number(child[None, :])[0])
                parents = cells_at(members[child_node], levels, hierarchies).astype(np.int64) @ people.strides
                place = np.searchsorted(numbers, parents)
                shares = np.bincount(place, weights=best[child_node], minlength=len(keys))
                _take_better(value, choice, shares.astype(np.float64), axis)
        value[empty], choice[empty] = alone, ends
        best[node], choices.by_node[node] = value, choice
    return Partition(hierarchies, choices, float(best[len(lattice) - 1].sum()))


def _fine_to_coarse(lattice: Lattice) -> Iterator[tuple[int, Codes]]:
    for node in np.argsort(lattice.nodes.sum(axis=1), kind="stable"):
        yield int(node), lattice.nodes[node]


def _block(hierarchy: Hierarchy, level: int) -> slice:
    return slice(int(hierarchy.offsets[level]), int(hierarchy.offsets[level + 1]))


def _under(problem: Problem, rule: Rule) -> Worth:
    """The publisher's payoff under a rule; nothing is gained or lost where nobody is."""
    payoffs = problem.payoffs

    def worth(cells: NodeCells) -> tuple[Floats, NDArray[np.int8]]:
        value = (
            payoffs.publisher(payoffs.benefit * kept_by(cells.positions, problem.loss), cells.people) * cells.weights
        )
        if rule is Rule.NO_ATTACK:
            value[payoffs.attacked(cells.people)] = -np.inf
        value[cells.people == 0] = 0.0
        return value, np.full(value.shape, RELEASE, dtype=np.int8)

    return worth


def _take_better(value: Floats, choice: NDArray[np.int8], split: Floats, axis: int) -> None:
    """Split where that pays at least as much as the best so far; among equal splits the first axis stays."""
    released = choice < 0
    margin = _TIE * np.abs(np.where(np.isfinite(split), split, 0.0))
    better = np.where(released, split >= value - margin, split > value + margin) & np.isfinite(split)
    value[better] = split[better]
    choice[better] = axis
