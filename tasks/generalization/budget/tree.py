"""All partitions of a small tree of cells under a budget, by CP-SAT.

A cell that the splits above come to is released, withheld or split along one attribute; a split comes to all the
cells below that hold somebody. A cell can be come to along several attributes, from one of them at most.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from ortools.sat.python import cp_model

from tasks.generalization.budget.exact import RANGE
from tasks.generalization.budget.priced import CellTerms, PricedCells
from tasks.generalization.budget.terms import Limit, usage_of_suppression
from tasks.generalization.game import Floats
from tasks.generalization.partition import RELEASE, WITHHOLD, Partition
from tasks.generalization.problem import Problem
from tasks.microdata.cube import cells_at
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts, Tuples, radix_strides

_MOST_CELLS = 5_000


@dataclass(frozen=True, eq=False)
class TreeChoices:
    """Choice at some cells; all others are released."""

    numbers: Counts
    """Of the cells, growing."""
    choices: Counts
    strides: Counts

    def at(self, cells: Codes, levels: Codes) -> NDArray[np.int8]:  # noqa: ARG002
        """Choice at each cell."""
        wanted = cells.astype(np.int64) @ self.strides
        place = np.minimum(np.searchsorted(self.numbers, wanted), len(self.numbers) - 1)
        return np.where(self.numbers[place] == wanted, self.choices[place], RELEASE).astype(np.int8)


@dataclass(frozen=True, eq=False)
class Tree:
    """What CP-SAT found."""

    found: Partition | None
    payoff: float
    bound: float
    """No partition within the limits pays more; minus infinity if there is none."""


@dataclass(frozen=True, eq=False)
class _Cells:
    numbers: Counts
    positions: Codes
    levels: Codes
    parents: Counts
    """Place of the cell one level up along each attribute, −1 where there is none; shape (n_cells, n_attributes)."""
    open: Counts
    """1 where somebody of the population is in the cell, so that it may be split."""
    terms: CellTerms


def best_tree(
    cells: PricedCells, data: Tuples, people: Tuples, limits: tuple[Limit, ...], effort: float
) -> Tree | None:
    """The best partition within the limits; None where the cells are too many for this to be worth while.

    Parameters
    ----------
    cells : PricedCells
    data, people : Tuples
        Whose cells there are.
    limits : tuple of Limit
    effort : float
        Deterministic time, about a second each.
    """
    problem = cells.problem
    codes = np.unique(np.concatenate([data.codes, people.codes]), axis=0)
    if len(codes) > _MOST_CELLS or len(codes) * len(problem.lattice) > 20 * _MOST_CELLS:
        return None
    every = _enumerate(cells, codes)
    if len(every.numbers) > _MOST_CELLS:
        return None
    return _solve(cells, every, limits, effort)


def _enumerate(cells: PricedCells, codes: Codes) -> _Cells:
    problem = cells.problem
    strides = radix_strides([hierarchy.axis_length for hierarchy in problem.hierarchies])
    positions = np.concatenate([cells_at(codes, at, problem.hierarchies) for at in problem.lattice.nodes])
    levels = np.repeat(problem.lattice.nodes, len(codes), axis=0)
    leaves = np.tile(codes, (len(problem.lattice), 1))
    numbers, first = np.unique(positions.astype(np.int64) @ strides, return_index=True)
    positions, levels, leaves = positions[first], levels[first], leaves[first]
    parents = np.full(positions.shape, -1, dtype=np.int64)
    for axis, height in enumerate(problem.lattice.heights):
        rows = np.flatnonzero(levels[:, axis] + 1 < height)
        above = levels[rows].copy()
        above[:, axis] += 1
        parents[rows, axis] = np.searchsorted(
            numbers, cells_at(leaves[rows], above, problem.hierarchies).astype(np.int64) @ strides
        )
    people = problem.people.count(positions)
    terms = cells.terms(tuple(positions.T), people, cells.weights.count(positions), cells.records.count(positions))
    return _Cells(numbers, positions, levels, parents, (people > 0).astype(np.int64), terms)


def _solve(cells: PricedCells, every: _Cells, limits: tuple[Limit, ...], effort: float) -> Tree:
    model, n_cells = cp_model.CpModel(), len(every.numbers)
    allowed = np.isfinite(every.terms.payoff)
    released = [model.new_bool_var("") if one else model.new_constant(0) for one in allowed]
    withheld = [model.new_bool_var("") if one else model.new_constant(0) for one in every.terms.withheld]
    splits = {
        (cell, axis): model.new_bool_var("")
        for cell, axis in zip(*np.nonzero((every.levels > 0) & (every.open[:, None] > 0)), strict=True)
    }
    for cell in range(n_cells):
        above = [(int(parent), axis) for axis, parent in enumerate(every.parents[cell]) if parent >= 0]
        came = sum(splits[one] for one in above if one in splits) if above else 1
        down = [splits[cell, axis] for axis in range(every.levels.shape[1]) if (cell, axis) in splits]
        model.add(released[cell] + withheld[cell] + sum(down) == came)
    _limit(model, cells, every, [*released, *withheld], limits)
    payoff = np.where(allowed, every.terms.payoff, 0.0)
    factor = _factor(payoff, 0.0)
    model.maximize(cp_model.LinearExpr.weighted_sum(released, np.ceil(payoff * factor).astype(np.int64).tolist()))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.max_deterministic_time = effort
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return Tree(None, -np.inf, -np.inf)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Tree(None, -np.inf, np.inf)
    choices = np.full(n_cells, RELEASE, dtype=np.int64)
    choices[[bool(solver.value(one)) for one in withheld]] = WITHHOLD
    for (cell, axis), split in splits.items():
        if solver.value(split):
            choices[cell] = axis
    total = float(payoff @ np.array([solver.value(one) for one in released], dtype=np.float64))
    return Tree(_partition(cells.problem, every, choices, total), total, solver.best_objective_bound / factor)


def _limit(
    model: cp_model.CpModel,
    cells: PricedCells,
    every: _Cells,
    ends: list[cp_model.IntVar],
    limits: tuple[Limit, ...],
) -> None:
    """Each limit over the cells released, then those withheld; rounded so that nothing within it is lost."""
    alone = usage_of_suppression(cells.budget)
    for used, each, limit in zip(every.terms.usage, alone, limits, strict=True):
        both = np.concatenate([used, each * every.terms.records])
        room = limit.capacity * (1 + 1e-10) + 1e-10
        factor = _factor(both, room)
        times = np.floor(both * factor).astype(np.int64)
        model.add(cp_model.LinearExpr.weighted_sum(ends, times.tolist()) <= int(np.ceil(room * factor)))


def _factor(values: Floats, room: float) -> float:
    return float(2.0 ** np.floor(np.log2(RANGE / max(float(np.abs(values).sum()), room, 1e-9))))


def _partition(problem: Problem, every: _Cells, choices: Counts, total: float) -> Partition:
    strides = radix_strides([hierarchy.axis_length for hierarchy in problem.hierarchies])
    return Partition(problem.hierarchies, TreeChoices(every.numbers, choices, strides), total)
