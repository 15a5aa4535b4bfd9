"""Playing a method: which cell every tuple is released as, and how many people it hides among.

One door to all methods, so that the gate, the comparison of methods and the explanation of a verdict play alike.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from tasks.errors import StageFailed
from tasks.generalization.common import common_strategy
from tasks.generalization.exact import Rule, solve
from tasks.generalization.game import Floats, InformationLoss, Payoffs
from tasks.generalization.partition import partition
from tasks.generalization.problem import Problem
from tasks.generalization.safe_harbor import SafeHarborAxis
from tasks.linkage.transparency import cell_numbers, effective_sizes
from tasks.microdata.cube import DenseCube, SparseCube, cells_at, count_cube, cube_cells
from tasks.microdata.hierarchy import Codes, Hierarchy
from tasks.microdata.tuples import Counts, Tuples
from tasks.request.model import Method

_PARTITIONS = {Method.BASIC_PARTITION: Rule.BASIC, Method.NO_ATTACK_PARTITION: Rule.NO_ATTACK}
_OUTCOMES_KEPT = 16

LevelsRule = Callable[[Codes], Codes]
"""Gives leaf codes the levels they are released at; both of shape (n_tuples, n_attributes)."""


@dataclass(frozen=True)
class Table:
    """Data and population in distinct tuples, over the same hierarchies, with Safe Harbor's grouping of each axis."""

    hierarchies: tuple[Hierarchy, ...]
    safe_harbor: tuple[SafeHarborAxis, ...]
    data: Tuples
    population: Tuples
    memory_limit: int
    """Bytes that a dense count cube may take."""
    listed: Counts | None = None
    """People of each population tuple in the external register; None without one."""
    outcomes: dict[Hashable, "Played"] = field(default_factory=dict, repr=False, compare=False)
    """What was played already; recipients with equal stakes share it."""

    @cached_property
    def people(self) -> DenseCube | SparseCube:
        """People in every cell of every strategy."""
        return count_cube(self.population, self.hierarchies, self.population, self.memory_limit)

    @cached_property
    def records(self) -> DenseCube | SparseCube:
        """Records in every cell of every strategy, counted in the same form as the people."""
        limit = self.memory_limit if self.people.form == "dense" else 0
        return count_cube(self.data, self.hierarchies, self.population, limit)

    @cached_property
    def axis_sizes(self) -> tuple[int, ...]:
        """Axis positions of each attribute, Safe Harbor's own groups included."""
        return tuple(
            hierarchy.axis_length + len(axis.extra_labels)
            for hierarchy, axis in zip(self.hierarchies, self.safe_harbor, strict=True)
        )

    @cached_property
    def axis_labels(self) -> tuple[tuple[str, ...], ...]:
        """Label at each axis position, Safe Harbor's own groups included."""
        return tuple(
            hierarchy.axis_labels + axis.extra_labels
            for hierarchy, axis in zip(self.hierarchies, self.safe_harbor, strict=True)
        )

    @property
    def cube_cells(self) -> int:
        """Cells of the dense cube, whether or not it is built."""
        return cube_cells(self.hierarchies)


@dataclass(frozen=True)
class Played:
    """The outcome of a method for every distinct tuple of the data; all arrays of length n_tuples."""

    method: Method
    levels: Codes
    """Level of each attribute; for Safe Harbor the least level that is as general."""
    cells: Codes
    """Released cell in axis positions, each group at the lowest level that holds the same values."""
    kept: Floats
    """Share of information kept, 0 to 1."""
    people: Counts
    """People who match the cell, n_p."""
    effective: Counts
    """People whose own cell it is, n_T."""
    listed: Counts | None = None
    """Those of them in the external register; None without one."""


def play(table: Table, method: Method, payoffs: Payoffs, weights: Floats, cell_weights: str = "population") -> Played:
    """Play a method on the data and, with the same rule, on the whole population.

    Parameters
    ----------
    table : Table
    method : Method
    payoffs : Payoffs
        The recipient's stakes.
    weights : array of shape (n_attributes,)
        Weight of each attribute in the information loss.
    cell_weights : {"population", "data"}
        What a partition maximises the payoff over.

    Raises
    ------
    StageFailed
        If the method leaves some record no strategy.
    """
    key = (method, payoffs, weights.tobytes(), cell_weights if method in _PARTITIONS else None)
    if key not in table.outcomes:
        problem = _problem(table, payoffs, weights)
        if len(table.outcomes) >= _OUTCOMES_KEPT:
            del table.outcomes[next(iter(table.outcomes))]
        table.outcomes[key] = _play(table, problem, method, cell_weights)
    return table.outcomes[key]


def population_cells(
    table: Table, method: Method, payoffs: Payoffs, weights: Floats, cell_weights: str = "population"
) -> Codes:
    """Cell that the method gives each population tuple, in axis positions; parameters as of ``play``.

    Raises
    ------
    StageFailed
        If the method leaves some record no strategy.
    """
    if method is Method.SAFE_HARBOR:
        return _safe_harbor_cells(table, table.population.codes)
    problem = _problem(table, payoffs, weights)
    return _cells(table, problem, table.population.codes, _levels_rule(table, problem, method, cell_weights))


def _problem(table: Table, payoffs: Payoffs, weights: Floats) -> Problem:
    return Problem(table.hierarchies, InformationLoss(table.hierarchies, weights), payoffs, table.people)


def _cells(table: Table, problem: Problem, codes: Codes, rule: LevelsRule) -> Codes:
    return problem.canonical(cells_at(codes, rule(codes), table.hierarchies))


def _play(table: Table, problem: Problem, method: Method, cell_weights: str) -> Played:
    if method is Method.SAFE_HARBOR:
        return _play_safe_harbor(table, problem)
    rule = _levels_rule(table, problem, method, cell_weights)
    levels = rule(table.data.codes)
    cells = problem.canonical(cells_at(table.data.codes, levels, table.hierarchies))
    own = _cells(table, problem, table.population.codes, rule)
    effective, listed = _effective(table, cells, own)
    return Played(
        method=method,
        levels=levels,
        cells=cells,
        kept=problem.loss.kept(cells),
        people=table.people.count(cells),
        effective=effective,
        listed=listed,
    )


def _levels_rule(table: Table, problem: Problem, method: Method, cell_weights: str) -> LevelsRule:
    if method in _PARTITIONS:
        weights = table.records if cell_weights == "data" else table.people
        return partition(problem, weights, _PARTITIONS[method]).levels
    if method is Method.COMMON:
        chosen = common_strategy(problem, table.data)
        return lambda codes: np.broadcast_to(chosen, codes.shape)
    floors = [axis.floor for axis in table.safe_harbor] if method is Method.SH_FRIENDLY else None
    rule = Rule.NO_ATTACK if method is Method.NO_ATTACK else Rule.BASIC
    return lambda codes: _per_record(problem, codes, rule, floors)


def _per_record(problem: Problem, codes: Codes, rule: Rule, floors: Sequence[Codes] | None) -> Codes:
    floor = None
    if floors is not None:
        floor = np.column_stack([levels[codes[:, axis]] for axis, levels in enumerate(floors)])
    nodes, _ = solve(problem, codes, rule, floor)
    if (nodes < 0).any():
        raise StageFailed(
            "some records have no strategy that nobody would attack",
            where="generalization",
            expected=f"a population of at least {problem.payoffs.safe_group:g} people (gain over cost)",
            got="fewer people in the whole population",
            fix="use a larger population, or terms with a smaller gain or a higher cost",
        )
    levels: Codes = problem.lattice.nodes[nodes]
    return levels


def _play_safe_harbor(table: Table, problem: Problem) -> Played:
    """Safe Harbor is one recoding for everybody: its groups do not overlap, so n_p is n_T."""
    data, floors = table.data.codes, [axis.floor for axis in table.safe_harbor]
    cells = _safe_harbor_cells(table, data)
    effective, listed = _effective(table, cells, _safe_harbor_cells(table, table.population.codes))
    lost = np.zeros(len(cells))
    for axis, (losses, extra) in enumerate(zip(problem.loss.by_axis, table.safe_harbor, strict=True)):
        own = problem.loss.weights[axis] * np.log(extra.extra_sizes)
        lost += np.concatenate([losses, own])[cells[:, axis]]
    return Played(
        method=Method.SAFE_HARBOR,
        levels=np.column_stack([levels[data[:, axis]] for axis, levels in enumerate(floors)]),
        cells=cells,
        kept=1.0 - lost / problem.loss.maximum,
        people=effective,
        effective=effective,
        listed=listed,
    )


def _safe_harbor_cells(table: Table, codes: Codes) -> Codes:
    return np.column_stack([axis.positions[codes[:, number]] for number, axis in enumerate(table.safe_harbor)])


def _effective(table: Table, released: Codes, own: Codes) -> tuple[Counts, Counts | None]:
    """People whose own cell is the released one: of the population, and of the register."""
    numbers, owned = cell_numbers(released, table.axis_sizes), cell_numbers(own, table.axis_sizes)
    listed = None if table.listed is None else effective_sizes(numbers, owned, table.listed)
    return effective_sizes(numbers, owned, table.population.counts), listed
