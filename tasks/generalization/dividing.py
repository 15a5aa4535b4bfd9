"""Choice of the solver that divides the population: exact over all cells where possible, else the wide partition.

The exact recursion adds up children level by level, so it takes trees whose cells can be counted.
"""

from collections.abc import Callable
from math import prod

from tasks.generalization.exact import Rule
from tasks.generalization.partition import partition
from tasks.generalization.problem import Problem
from tasks.generalization.table import CountIndex, DivisionOutcome
from tasks.generalization.wide_partition import wide_partition
from tasks.microdata.hierarchy import Codes

LevelsRule = Callable[[Codes], Codes]
"""Gives leaf codes the levels they are released at; both of shape (n_tuples, n_attributes)."""

_BYTES_A_CELL = 40
"""Bytes that the sparse recursion stores per cell: its number, people, weight, best sum, choice and one member."""
_SPARSE_AT_LEAST = 2**26


def divided(table: CountIndex, problem: Problem, rule: Rule, cell_weights: str) -> tuple[LevelsRule, DivisionOutcome]:
    """The division of a table's population, and how good it is.

    Parameters
    ----------
    table : CountIndex
    problem : Problem
    rule : Rule
    cell_weights : {"population", "data"}
        What the payoff of a cell is multiplied by.

    Raises
    ------
    StageFailed
        If the rule leaves no partition.
    """
    by_data = cell_weights == "data"
    if recursion_fits(table):
        exact = partition(problem, table.records if by_data else table.people, rule)
        return exact.levels, DivisionOutcome(payoff=exact.total, upper_bound=None, exact=True)
    wide = wide_partition(
        problem, table.population, table.data if by_data else table.population, rule, table.memory_limit
    )
    return wide.levels, DivisionOutcome(payoff=wide.total, upper_bound=wide.bound, exact=wide.complete)


def recursion_fits(table: CountIndex) -> bool:
    """Whether the exact recursion can be run: no levels cross, and all cells can be counted."""
    return all(hierarchy.is_tree for hierarchy in table.hierarchies) and cells_fit(table)


def cells_fit(table: CountIndex) -> bool:
    """Whether all cells can be counted: densely, or those that the population has, strategy by strategy."""
    return table.people.form == "dense" or most_cells(table) * _BYTES_A_CELL <= sparse_memory(table)


def most_cells(table: CountIndex) -> int:
    """Cells of the cube where it is dense; else the most that the population has, strategy by strategy."""
    if table.people.form == "dense":
        return table.cube_cells
    return len(table.population) * prod(hierarchy.n_levels for hierarchy in table.hierarchies)


def sparse_memory(table: CountIndex) -> int:
    """Bytes that may be taken by what is kept of cells."""
    return max(table.memory_limit, _SPARSE_AT_LEAST)
