"""All partitions into hierarchical cells, not only recursive ones: set partitioning by column generation.

With two attributes whose hierarchies are trees, hierarchical cells that tile everything can always be divided along
some attribute; with three they can interlock so that no attribute divides them, and a recursive partition may be
beaten.
The best of all is

    max Σ v(c)·x(c),  Σ over the cells c that hold t of x(c) = 1 for every tuple t,  x binary.

The linear relaxation is solved on a growing set of cells. Cells whose value exceeds the sum of their tuples' prices are
added until there are none; every strategy's cells are looked at each time. Prices that are raised by what their cells
exceed them are feasible, so that each round gives a bound. Cells that fall short of their price by more than the gap
between bound and best partition are in no better one: where the others are few enough, the integer program over them
decides, and otherwise gives a partition with its gap.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csc_matrix

from tasks.errors import ParameterError, StageFailed
from tasks.generalization.exact import Rule
from tasks.generalization.game import Floats
from tasks.generalization.kanonymity.classes import compact, number_rows
from tasks.generalization.problem import Problem, all_attacked
from tasks.generalization.wide_partition.graph import Explorer, Ints, whole
from tasks.generalization.wide_partition.members import Division, Members
from tasks.generalization.wide_partition.tree import best_tree
from tasks.microdata.cube import cells_at
from tasks.microdata.hierarchy import Codes, Hierarchy
from tasks.microdata.lattice import Lattice
from tasks.microdata.tuples import Tuples

_NEAR = 1e-9
"""Relative: a value that exceeds its price by less does not."""
_LARGEST = 2**26
_ADDED_A_STRATEGY = 50


@dataclass(frozen=True)
class Limits:
    """Where the search for the best partition ends without proof."""

    rounds: int = 200
    columns: int = 20_000
    """Cells in the integer program."""
    branches: int = 2_000


@dataclass(frozen=True)
class Cover:
    """A partition of the members into hierarchical cells, and how far from the best it may be."""

    hierarchies: tuple[Hierarchy, ...]
    levels_of_cell: Codes
    """Level of each attribute of each released cell, shape (n_cells, n_attributes)."""
    cell_of_member: Ints
    members: Members
    total: float
    """Weighted payoff."""
    bound: float
    """No partition into hierarchical cells pays more."""
    recursive: float
    """What the best recursive partition pays, or the best one found."""

    @property
    def proven(self) -> bool:
        """Whether no partition into hierarchical cells pays more."""
        return self.bound <= self.total + 1e-6 * max(abs(self.total), 1.0)

    @property
    def levels(self) -> Codes:
        """Levels at which each member tuple is released, shape (n_tuples, n_attributes)."""
        levels: Codes = self.levels_of_cell[self.cell_of_member]
        return levels


@dataclass
class _Cells:
    """Every cell of every strategy, by member."""

    cell: NDArray[np.int32]
    """Number of each member's cell at each node, counted through all nodes; shape (n_nodes, n_members)."""
    value: Floats
    """Weighted payoff of each cell; −inf where the rule forbids it."""
    size: Floats
    """Member tuples of each cell."""

    @classmethod
    def of(cls, division: Division, lattice: Lattice) -> "_Cells":
        """Count and value all cells."""
        trees, members = division.problem.hierarchies, division.members
        cell = np.empty((len(lattice), len(members)), dtype=np.int32)
        values, sizes, count = [], [], 0
        for node, levels in enumerate(lattice.nodes):
            positions = cells_at(members.codes, levels, trees)
            columns = [column.astype(np.int64) for column in positions.T]
            numbers, number = compact(*number_rows(columns, [tree.axis_length for tree in trees], len(members)))
            first = np.empty(number, dtype=np.int64)
            first[numbers] = np.arange(len(numbers))
            people = np.rint(np.bincount(numbers, weights=members.people)).astype(np.int64)
            weights = np.rint(np.bincount(numbers, weights=members.weights)).astype(np.int64)
            values.append(division.value(positions[first], people, weights))
            sizes.append(np.bincount(numbers))
            cell[node] = numbers + count
            count += number
        return cls(cell, np.concatenate(values), np.concatenate(sizes).astype(np.float64))

    @cached_property
    def last(self) -> Ints:
        """Last cell of each node."""
        last: Ints = self.cell.max(axis=1).astype(np.int64)
        return last

    def excess(self, prices: Floats) -> Floats:
        """What each cell's value exceeds the sum of its members' prices by."""
        priced = np.bincount(self.cell.ravel(), weights=np.tile(prices, len(self.cell)), minlength=len(self.value))
        excess: Floats = self.value - priced
        return excess

    def bound(self, prices: Floats, excess: Floats) -> float:
        """Σ of prices that no cell exceeds: each is raised by the most that a cell of its own exceeds them a member."""
        raised = np.maximum(excess / self.size, 0.0)[self.cell].max(axis=0)
        return float((prices + raised).sum())


def best_cover(
    problem: Problem, population: Tuples, weighted: Tuples, rule: Rule, limits: Limits | None = None
) -> Cover:
    """The best partition into hierarchical cells, with a bound; parameters as of ``wide_partition``.

    Raises
    ------
    ParameterError
        If strategies times tuples are more than can be looked at.
    StageFailed
        If the rule leaves no partition.
    """
    limits = limits or Limits()
    division = Division.of(problem, Members.of(population, weighted), rule)
    _check_size(problem, division)
    lattice = problem.lattice
    tree = best_tree(division, Explorer(division, _LARGEST).explore(whole(division)))
    if not np.isfinite(tree.total):
        raise all_attacked("no release exists that nobody would attack", problem.payoffs)
    cells = _Cells.of(division, lattice)
    nodes = lattice.number(tree.levels(division.members.codes))
    start = np.unique(cells.cell[nodes, np.arange(len(nodes))]).astype(np.int64)
    master = _Master(cells, start)
    bound = master.generate(limits.rounds)
    chosen, total = start, tree.total
    if bound > total + _NEAR * max(abs(total), 1.0):
        chosen, total, bound = _integer(cells, master, bound, (chosen, total), limits)
    node = np.searchsorted(cells.last, chosen)
    own = np.empty(len(division.members), dtype=np.int64)
    for number, (cell, at) in enumerate(zip(chosen, node, strict=True)):
        own[cells.cell[at] == cell] = number
    return Cover(problem.hierarchies, lattice.nodes[node], own, division.members, total, max(bound, total), tree.total)


def _check_size(problem: Problem, division: Division) -> None:
    work = len(problem.lattice) * len(division.members)
    if work > _LARGEST:
        raise ParameterError(
            "there are too many cells to look at all of them",
            where="best_cover",
            expected=f"strategies times distinct tuples of at most {_LARGEST:,}",
            got=f"{work:,}",
            fix="use the recursive partition, or coarser domains",
        )


class _Master:
    """The relaxation over some of the cells."""

    def __init__(self, cells: _Cells, start: Ints) -> None:
        self.cells = cells
        self.columns = start
        self.prices = np.zeros(cells.cell.shape[1])

    def generate(self, rounds: int) -> float:
        """Add cells until no other is worth more than its price; the least bound of all rounds."""
        best = np.inf
        for _ in range(rounds):
            self._solve()
            excess = self.cells.excess(self.prices)
            bound = self.cells.bound(self.prices, excess)
            if bound < best:
                best, self.best_prices = bound, self.prices
            new = self._worth(excess)
            if len(new) == 0:
                break
            self.columns = np.concatenate([self.columns, new])
        return float(best)

    def _solve(self) -> None:
        values = self.cells.value[self.columns]
        held = incidence(self.cells, self.columns)
        found = linprog(-values, A_eq=held, b_eq=np.ones(held.shape[0]), method="highs")  # type: ignore[call-overload]
        if found.status != 0:
            raise unsolved("linear", int(found.status))
        self.prices = -np.asarray(found.eqlin.marginals, dtype=np.float64)

    def _worth(self, excess: Floats) -> Ints:
        """Of each strategy, the cells that exceed their price most."""
        scale = _NEAR * np.maximum(np.abs(self.cells.value), 1.0)
        new = np.flatnonzero(np.isfinite(excess) & (excess > scale))
        new = np.setdiff1d(new, self.columns)
        node = np.searchsorted(self.cells.last, new)
        order = np.lexsort((-excess[new], node))
        rank = np.arange(len(new)) - np.searchsorted(node[order], node[order])
        return new[order[rank < _ADDED_A_STRATEGY]]


def unsolved(kind: str, status: int) -> StageFailed:
    """The error of a program that the solver gave up."""
    return StageFailed(
        f"the {kind} program of the partition was not solved",
        where="generalization",
        expected="an optimum",
        got=f"solver status {status}",
        fix="use the recursive partition",
    )


def incidence(cells: _Cells, columns: Ints) -> csc_matrix:
    """Members of some cells, shape (n_members, n_columns)."""
    place = np.full(len(cells.value), -1)
    place[columns] = np.arange(len(columns))
    column = place[cells.cell]
    _, member = np.nonzero(column >= 0)
    column = column[column >= 0]
    return csc_matrix((np.ones(len(member)), (member, column)), shape=(cells.cell.shape[1], len(columns)))


def _integer(
    cells: _Cells, master: _Master, bound: float, known: tuple[Ints, float], limits: Limits
) -> tuple[Ints, float, float]:
    """The best partition of the cells that one better than the known may have, what it pays, and a bound."""
    chosen, total = known
    slack = -cells.excess(master.best_prices)
    able = np.flatnonzero(np.isfinite(slack) & (slack <= bound - total + 1e-6 * max(abs(total), 1.0)))
    all_of_them = len(able) <= limits.columns
    pool = able if all_of_them else able[np.argsort(slack[able], kind="stable")[: limits.columns]]
    pool = np.union1d(pool, chosen)
    held = incidence(cells, pool)
    found = milp(
        -cells.value[pool],
        constraints=LinearConstraint(held, 1, 1),
        integrality=np.ones(len(pool), dtype=np.int64),
        bounds=Bounds(0, 1),
        options={"node_limit": limits.branches},
    )
    if all_of_them and found.mip_dual_bound is not None and np.isfinite(found.mip_dual_bound):
        bound = min(bound, max(-float(found.mip_dual_bound), total))
    if found.x is not None:
        taken = pool[found.x > 0.5]
        if cells.value[taken].sum() > total:
            chosen, total = taken, float(cells.value[taken].sum())
    return chosen, total, max(bound, total)
