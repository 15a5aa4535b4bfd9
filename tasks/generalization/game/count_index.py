"""Count index that every method is applied to, and the resulting generalization."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.generalization.game.demands import Demands
from tasks.generalization.game.facts import BudgetOutcome, DivisionOutcome, KAnonymityOutcome
from tasks.generalization.game.payoffs import Floats
from tasks.generalization.game.safe_harbor import SafeHarborAxis
from tasks.generalization.game.transparency import cell_numbers, effective_sizes
from tasks.microdata.cell_layers import CellLayers
from tasks.microdata.cube import DenseCube, SparseCube, count_cube, cube_cells
from tasks.microdata.hierarchy import Codes, Hierarchy
from tasks.microdata.tuples import Counts, Tuples
from tasks.request.model import BudgetPolicy, Method


@dataclass(frozen=True)
class MethodCells:
    """Cells that a method gives data and population before any demand of k-anonymity."""

    levels: Codes
    """Level of each attribute of each data tuple."""
    cells: Codes
    """Cell of each data tuple, in canonical axis positions."""
    own_cells: Callable[[], Codes]
    """Makes the cell of each population tuple."""
    division: DivisionOutcome | None = None
    """Quality of a partition; None for other methods."""
    withheld: NDArray[np.bool_] | None = None
    """Whether a budget leaves the records of each data tuple out; None where there is none."""
    released: NDArray[np.bool_] | None = None
    """Whether a record of each population tuple would be released under a budget; None where there is none."""
    budget: BudgetOutcome | None = None
    """Compliance with the budget; None where there is none."""

    @cached_property
    def own(self) -> Codes:
        """Cell of each population tuple."""
        return self.own_cells()


@dataclass(frozen=True)
class CountIndex:
    """Data and population in distinct tuples, over the same hierarchies, with Safe Harbor's grouping of each axis."""

    hierarchies: tuple[Hierarchy, ...]
    safe_harbor: tuple[SafeHarborAxis, ...]
    data: Tuples
    population: Tuples
    memory_limit: int
    """Bytes that a dense count cube may take."""
    listed: Counts | None = None
    """People of each population tuple in the external register; None without one."""
    from_below: bool = False
    """Whether a class may have more people than are counted."""
    demands: Demands | None = None
    """Requirements of k-anonymity on every method's classes; None where the policy demands none."""
    budget: BudgetPolicy | None = None
    """Limits of the whole file, which the per-record methods and the partitions keep; None where there are none."""
    brief: bool = False
    """Whether searches are short and prove no bound, for figures beside those of a decision."""
    proven: bool = True
    """Whether the gap to an upper bound is proven where searches are not exact; the cells are the same, but that brief
    searches without proofs compare remainder classes with no partition, and within a budget take a first pass."""
    outcomes: dict[Hashable, "Generalization"] = field(default_factory=dict, repr=False, compare=False)
    """Cells already computed; recipients with equal stakes share them."""
    made: dict[Hashable, MethodCells] = field(default_factory=dict, repr=False, compare=False)
    """The last methods' own cells, which do not depend on demands."""
    linked: dict[Hashable, tuple[float, float]] = field(default_factory=dict, repr=False, compare=False)
    """Shares of files' records that are linked without their rule and with it; recipients with equal files share
    them."""
    most_made: int = field(default=1, repr=False, compare=False)
    """Number of methods whose cells are kept."""

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
    def layers(self) -> CellLayers:
        """Cells of every strategy with their people and records."""
        return CellLayers(self.hierarchies, self.people, self.records)

    @property
    def keeps_cells(self) -> bool:
        """Whether cells are at hand once they are counted: in a cube of all of them, or since they are few."""
        return self.people.form == "dense" or self.layers.are_few

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
    def game_size(self) -> int:
        """Distinct tuples of the population, times strategies."""
        return len(self.population) * prod(tree.n_levels for tree in self.hierarchies)

    @property
    def choices(self) -> int:
        """Distinct tuples of the data, times strategies."""
        return len(self.data) * prod(tree.n_levels for tree in self.hierarchies)

    @property
    def cube_cells(self) -> int:
        """Cells of the dense cube, whether or not it is built."""
        return cube_cells(self.hierarchies)

    def demanding(self, demands: Demands | None) -> "CountIndex":
        """The index under other demands, with the cubes that were counted already."""
        return self._other(demands=demands, outcomes={})

    def within(self, budget: BudgetPolicy | None) -> "CountIndex":
        """The index within another budget, with the cubes that were counted already."""
        return self._other(budget=budget, outcomes={}, made={})

    def briefly(self) -> "CountIndex":
        """The index with short searches, with the cubes that were counted already."""
        return self._other(brief=True, outcomes={}, made={})

    def __getstate__(self) -> dict[str, Any]:
        """Without what the last methods made: another process makes it where it is asked for."""
        return vars(self) | {"made": {}}

    def _other(self, **changes: Any) -> "CountIndex":
        other = replace(self, **changes)
        for counted in ("people", "records", "layers"):
            if counted in self.__dict__:
                other.__dict__[counted] = self.__dict__[counted]
        return other


@dataclass(frozen=True)
class Generalization:
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
    """People of ``effective`` who are in the external register; None without one."""
    withheld: NDArray[np.bool_] | None = None
    """Whether k-anonymity or a budget suppresses the tuple's records; None where nobody is suppressed."""
    k_anonymity: KAnonymityOutcome | None = None
    """Outcome of k-anonymity on the classes; None where the policy does not demand it."""
    own: Codes | None = None
    """Cell that the rule gives each population tuple, shape (n_population_tuples, n_attributes); None in what was kept
    without it."""
    counted: NDArray[np.bool_] | None = None
    """Whether a record of each population tuple would be released; None where every one would."""
    division: DivisionOutcome | None = None
    """Quality of a partition, before any demand of k-anonymity; None for other methods."""
    budget: BudgetOutcome | None = None
    """Compliance with the budget over the whole file; None where the policy has none."""


def matching_people(table: CountIndex, cells: Codes) -> Counts:
    """People of the population whose values a cell in axis positions holds, n_p; Safe Harbor's groups included."""
    lengths = np.array([hierarchy.axis_length for hierarchy in table.hierarchies])
    outside = (cells >= lengths).any(axis=1)
    people = np.zeros(len(cells), dtype=np.int64)
    people[~outside] = table.people.count(cells[~outside])
    if outside.any():
        people[outside] = _people_outside(table, cells[outside])
    return people


def _people_outside(table: CountIndex, cells: Codes) -> Counts:
    """Count cells with groups outside the hierarchies: those of one kind, level by level, in one pass each."""
    kinds = np.empty_like(cells)
    for axis, hierarchy in enumerate(table.hierarchies):
        inside = cells[:, axis] < hierarchy.axis_length
        kinds[:, axis] = np.where(inside, hierarchy.axis_levels[np.where(inside, cells[:, axis], 0)], cells[:, axis])
    people, wanted = np.zeros(len(cells), dtype=np.int64), cell_numbers(cells, table.axis_sizes)
    distinct, kind_of = np.unique(kinds, axis=0, return_inverse=True)
    for number, kind in enumerate(distinct):
        rows = np.flatnonzero(kind_of.ravel() == number)
        axes = zip(table.hierarchies, table.safe_harbor, table.population.codes.T, kind.tolist(), strict=True)
        held = [
            tree.positions[codes, own] if own < tree.axis_length else extra.positions[codes]
            for tree, extra, codes, own in axes
        ]
        numbers = cell_numbers(np.column_stack(held), table.axis_sizes)
        people[rows] = effective_sizes(wanted[rows], numbers, table.population.counts)
    return people
