"""A copy for each of several recipients who may collude: one solution gives the copies of all of them.

The per-record methods are exact record by record (``records``); partitions are exact among those over one common tree
of splits (``nested``). Where one representation for all is optimal anyway (``Colluders.as_one``) it is what all get.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tasks.errors import ParameterError, StageFailed
from tasks.generalization.collusion.colluders import Colluders
from tasks.generalization.collusion.nested import nested_partitions
from tasks.generalization.collusion.records import solve_separately
from tasks.generalization.dividing import cells_fit, most_cells, sparse_memory
from tasks.generalization.exact import Rule
from tasks.generalization.partition import partition
from tasks.generalization.problem import Problem, all_attacked
from tasks.generalization.table import Table
from tasks.microdata.hierarchy import Codes

CopiesRule = Callable[[Codes], Codes]
"""Gives leaf codes their levels in each copy; shape (n_tuples, n_attributes) to (n_recipients, n_tuples,
n_attributes)."""

_WHERE = "policy.generalization.collusion"
_BYTES_A_CELL = 4
"""What the recursion keeps of a cell for each set of recipients: its choice, and for a while its best sum."""


def copies_by_record(
    problem: Problem, codes: Codes, colluders: Colluders, rule: Rule, floor: Codes | None = None
) -> Codes:
    """Levels of leaf codes in each recipient's copy, each record by itself; parameters as of ``solve_separately``.

    Returns
    -------
    array of shape (n_recipients, n_tuples, n_attributes)

    Raises
    ------
    StageFailed
        If a record has no strategies that no hand attacks, or too many combinations of them to try.
    """
    try:
        nodes, _ = solve_separately(problem, codes, colluders, rule, floor)
    except ParameterError as error:
        raise StageFailed(**error.fields()) from None
    if (nodes < 0).any():
        raise all_attacked("some records have no strategies that nobody would attack", colluders.shared)
    return problem.lattice.nodes[nodes.T]


def copies_by_cell(table: Table, problem: Problem, colluders: Colluders, rule: Rule, cell_weights: str) -> CopiesRule:
    """Rule of the recipients' partitions.

    Parameters
    ----------
    table : Table
    problem : Problem
        Its own follower is not asked.
    colluders : Colluders
    rule : Rule
    cell_weights : {"population", "data"}
        What the payoff of a cell is multiplied by.

    Raises
    ------
    StageFailed
        If the rule leaves no partitions, or there are too many cells or recipients to divide them for.
    """
    number = len(colluders.members)
    if not cells_fit(table) or not _choices_fit(table, number):
        raise StageFailed(
            "the cells are too many to divide them for recipients who may collude",
            where=_WHERE,
            expected="a table whose cells can be counted, and kept for every set of these recipients",
            got=f"more than {table.memory_limit // 2**20:,} MB hold for {number} recipients",
            fix="allow more memory_limit_mb, use fewer quasi-identifiers or recipients, or play basic or no-attack",
        )
    weights = table.records if cell_weights == "data" else table.people
    if colluders.as_one(rule):
        one = partition(replace(problem, payoffs=colluders.shared), weights, rule)
        return lambda codes: np.broadcast_to(one.levels(codes), (number, *codes.shape))
    try:
        return nested_partitions(problem, weights, colluders, rule).levels
    except ParameterError as error:
        raise StageFailed(**error.fields()) from None


def _choices_fit(table: Table, number: int) -> bool:
    """Whether what is kept of each cell for every set of recipients fits in memory."""
    taken: int = most_cells(table) * (2**number - 1) * _BYTES_A_CELL
    return taken <= sparse_memory(table)
