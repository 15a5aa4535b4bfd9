"""Recursive partition: generalization whose group sizes hold against a recipient who knows the rule.

Whole cells are divided, and everybody in a released cell is released as that cell, so the group that a record hides in
is the cell itself:

    best(cell) = max(weight · payoff of releasing the cell, max over attributes Σ best(children along it))

The optimum is over all partitions that such splits can make.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tasks.generalization.exact import Rule
from tasks.generalization.game import Floats
from tasks.generalization.problem import Problem, all_attacked
from tasks.microdata.cube import DenseCube, Lattice, SparseCube, cells_at
from tasks.microdata.hierarchy import Codes, Hierarchy, check_trees
from tasks.microdata.tuples import Counts

RELEASE, WITHHOLD = -1, -2
"""Choices for a cell that is not split; every other choice is the attribute that it is split along."""

_TIE = 1e-12
"""Relative: sums over millions of people are compared. Equal sums are split, which gives the recipient more detail."""
_LARGEST_TRIED = 2**24

Choice = NDArray[np.int8]
Worth = Callable[[int, Codes, Counts, Counts], tuple[Floats, Choice]]
"""Payoff, in sum over the weights, of cells that are not split, and whether each is released or withheld for that.

Takes the lattice node, its cells in axis positions, their people and their weights; minus infinity where neither is
allowed.
"""


@dataclass(frozen=True)
class Partition:
    """Choice between release and split for every cell that can be reached."""

    hierarchies: tuple[Hierarchy, ...]
    choices: "Choices"
    total: float
    """Sum over the cell weights of the publisher's payoff."""

    def levels(self, codes: Codes) -> Codes:
        """Levels at which leaf codes are released; both of shape (n_tuples, n_attributes)."""
        return self.walk(codes)[0]

    def walk(self, codes: Codes) -> tuple[Codes, NDArray[np.bool_]]:
        """Levels of the last cell of each leaf code down the chosen splits, and whether that cell is withheld."""
        withheld = np.zeros(len(codes), dtype=np.bool_)
        levels = np.tile(np.array([h.n_levels - 1 for h in self.hierarchies], dtype=np.int32), (len(codes), 1))
        active = np.arange(len(codes))
        while len(active):
            choice = self.choices.at(cells_at(codes[active], levels[active], self.hierarchies), levels[active])
            withheld[active[choice == WITHHOLD]] = True
            active, choice = active[choice >= 0], choice[choice >= 0]
            levels[active, choice] -= 1
        return levels, withheld


@dataclass
class Choices:
    """Choice for every cell that somebody is in; one that nobody is in is released whole."""

    cube: DenseCube | SparseCube
    lattice: Lattice
    dense: Choice | None
    """Choice at each cell of a dense cube."""
    by_node: dict[int, tuple[Counts, Choice]] = field(default_factory=dict)
    """Of a sparse cube: numbers of each node's cells, growing, and their choices."""

    def put(self, node: int, numbers: Counts, choices: Choice) -> None:
        """Keep the choices for the cells of a node."""
        if self.dense is not None:
            self.dense[numbers] = choices
        else:
            self.by_node[node] = numbers, choices

    def at(self, cells: Codes, levels: Codes) -> Choice:
        """Choice for cells in axis positions, at levels that are theirs; both of shape (n_cells, n_attributes)."""
        numbers = cells @ self.cube.strides
        if self.dense is not None:
            return np.asarray(self.dense[numbers])
        chosen, node_of = np.full(len(cells), RELEASE, dtype=np.int8), self.lattice.number(levels)
        for node in np.unique(node_of):
            rows = np.flatnonzero(node_of == node)
            known, choices = self.by_node[int(node)]
            place = np.minimum(np.searchsorted(known, numbers[rows]), len(known) - 1)
            chosen[rows] = np.where(known[place] == numbers[rows], choices[place], RELEASE)
        return chosen


def partition(
    problem: Problem,
    weights: DenseCube | SparseCube,
    rule: Rule,
    worth: Worth | None = None,
    reach: DenseCube | None = None,
) -> Partition:
    """Best partition of the population into released cells.

    ``weights`` multiply a cell's payoff: its people (a rule that does not depend on the data) or its records, counted
    in the same form as the people. ``worth`` takes the place of the publisher's payoff under the rule; ``reach`` counts
    what cells may have without having people. Raises HierarchyError if levels cross, and StageFailed if even the cell
    that holds everybody is attacked; with a ``worth`` the total is minus infinity instead.
    """
    check_trees("the exact recursion divides each group into those of the level below", problem.hierarchies)
    if problem.people.form != weights.form:
        raise TypeError("population and weights must be counted in the same form")
    cube, lattice, strides = problem.people, problem.lattice, problem.people.strides
    pays, least = (_under(problem, rule), _least(problem, rule)) if worth is None else (worth, 0)
    parents = [_parents(hierarchy) for hierarchy in problem.hierarchies]
    node_below = np.cumprod([1, *lattice.heights[:0:-1]])[::-1]
    dense = isinstance(cube, DenseCube)
    choices = Choices(cube, lattice, np.full(len(cube), RELEASE, dtype=np.int8) if dense else None)
    place = np.empty(len(cube), dtype=np.int32) if dense else None
    best: dict[int, tuple[Codes, Counts, Floats, Floats]] = {}
    heights = lattice.nodes.sum(axis=1)
    for node in np.argsort(heights, kind="stable").tolist():
        best = {below: kept for below, kept in best.items() if heights[below] >= heights[node] - 1}
        cells, people = _cells(problem, lattice.nodes[node], reach, least)
        numbers = cells @ strides
        value, choice = pays(node, cells, people, people if weights is cube else weights.count(cells))
        empty = np.flatnonzero(people == 0)
        unsplit = value[empty], choice[empty]
        if place is not None:
            place[numbers] = np.arange(len(numbers), dtype=np.int32)
        for axis in np.flatnonzero(lattice.nodes[node]).tolist():
            children, below, children_people, sums = best[node - int(node_below[axis])]
            position = children[:, axis]
            above = below + (parents[axis][position] - position) * strides[axis]
            parent = np.searchsorted(numbers, above) if place is None else place[above]
            split = np.bincount(parent, sums, len(numbers)).astype(np.float64)
            if worth is None:  # else no cell is left out below, so that the children hold everybody
                split[np.bincount(parent, children_people, len(numbers)) < people] = -np.inf
            _take_better(value, choice, split, axis)
        value[empty], choice[empty] = unsplit
        choices.put(node, numbers, choice)
        if worth is None:
            possible = np.flatnonzero(np.isfinite(value))
            cells, numbers = cells.T[:, possible].T, numbers[possible]
            people, value = people[possible], value[possible]
        best[node] = cells, numbers, people.astype(np.float64), value
    total = float(value.sum()) if len(value) else -np.inf
    if worth is None and not np.isfinite(total):
        raise all_attacked("no release exists that nobody would attack", problem.payoffs)
    return Partition(problem.hierarchies, choices, total)


def _cells(problem: Problem, levels: Codes, reach: DenseCube | None, least: int) -> tuple[Codes, Counts]:
    """Cells of a node with ``least`` people or more, in axis positions, in growing order of their numbers."""
    cube, hierarchies = problem.people, problem.hierarchies
    if isinstance(cube, SparseCube):
        numbers, people = cube.node(tuple(levels.tolist()))
        axes = zip(cube.strides, hierarchies, strict=True)
        return np.stack([numbers // stride % tree.axis_length for stride, tree in axes]).T, people
    starts = [int(tree.offsets[level]) for tree, level in zip(hierarchies, levels, strict=True)]
    ends = [int(tree.offsets[level + 1]) for tree, level in zip(hierarchies, levels, strict=True)]
    block = tuple(map(slice, starts, ends))
    counts = cube.counts[block]
    there = np.flatnonzero(counts >= least if reach is None else counts + reach.counts[block])
    cells: Codes = (np.stack(np.unravel_index(there, counts.shape)) + np.array(starts)[:, None]).T
    return cells, counts.ravel()[there].astype(np.int64)


def _parents(hierarchy: Hierarchy) -> Codes:
    """Position of the group of the next level that holds that of each position; of the last level, its own."""
    upper = [min(level + 1, hierarchy.n_levels - 1) for level in range(hierarchy.n_levels)]
    return np.concatenate([hierarchy.positions[hierarchy.starts(level), up] for level, up in enumerate(upper)])


def _least(problem: Problem, rule: Rule) -> int:
    """Smallest group that may be released or divided."""
    everybody = int(problem.people.count(np.array([[tree.axis_length - 1 for tree in problem.hierarchies]]))[0])
    largest = min(problem.payoffs.safe_group + 1, everybody, _LARGEST_TRIED)
    if rule is Rule.BASIC or largest < 1:
        return 1
    sizes = np.arange(1, int(largest) + 1)
    return int(sizes[np.argmin(problem.payoffs.attacked(sizes))])


def _under(problem: Problem, rule: Rule) -> Worth:
    """The publisher's payoff under a rule; nothing is gained or lost where nobody is."""
    payoffs = problem.payoffs

    def worth(_node: int, cells: Codes, people: Counts, weights: Counts) -> tuple[Floats, Choice]:
        value = payoffs.publisher(payoffs.benefit * problem.loss.kept(cells), people) * weights
        if rule is Rule.NO_ATTACK:
            value[payoffs.attacked(people)] = -np.inf
        value[people == 0] = 0.0
        return value, np.full(len(value), RELEASE, dtype=np.int8)

    return worth


def _take_better(value: Floats, choice: Choice, split: Floats, axis: int) -> None:
    """Split where that pays at least as much as the best so far; among equal splits the first axis stays."""
    margin = _TIE * np.abs(np.where(np.isfinite(split), split, 0.0))
    better = np.where(choice < 0, split >= value - margin, split > value + margin) & np.isfinite(split)
    value[better] = split[better]
    choice[better] = axis
