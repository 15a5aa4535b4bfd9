"""The partition where the exact recursion does not reach: divided from the top, improved, and bounded.

Everything is measured in member tuples, never in seconds: the same data give the same partition.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tasks.generalization.exact import Rule
from tasks.generalization.game import Floats, InformationLoss
from tasks.generalization.problem import Problem, all_attacked
from tasks.generalization.wide_partition.bound import upper_bound
from tasks.generalization.wide_partition.common import common_levels, common_tree
from tasks.generalization.wide_partition.graph import Explorer, whole
from tasks.generalization.wide_partition.improve import improved
from tasks.generalization.wide_partition.meets import Refined
from tasks.generalization.wide_partition.members import Division, Members
from tasks.generalization.wide_partition.prices import priced_bound
from tasks.generalization.wide_partition.tree import Tree, best_tree
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Tuples

_BYTES = 64
"""A member of a waiting cell, with the values computed for it."""
_ROOM_AT_LEAST = 2**20
_ROOM_A_TUPLE = 2
_PASSES = ((2, 4), (8, 16))
"""Local search: largest part and parts that share the room, as divisors of the number of tuples."""
_COUNTED = 2**26
"""Tuples times strategies that are counted for the bound."""
_STRATEGIES = 1000
_ENTRY_BYTES = 32
"""A tuple in an open box of the bound, with the values computed for it."""
_PRICED = 6
"""Passes over all cells that lower the prices of the tuples, for the bound where groups must be large."""
_PRICED_ROWS = 2**26
"""Merged tuples that such a pass may go over."""


@dataclass(frozen=True)
class WidePartition:
    """A division of the population into released cells, and how far from the best it may be."""

    tree: Tree
    """Over the refined hierarchies."""
    refined: tuple[Refined, ...]
    total: float
    """Sum over the weights of the publisher's payoff."""
    bound: float
    """No division into hierarchical cells pays more, recursive or not."""
    complete: bool
    """Whether every recursive division was looked at, so that this is the best of them."""
    common: float | None
    """Payoff of the best common strategy that nobody attacks; None where there is none."""

    def levels(self, codes: Codes) -> Codes:
        """Levels at which leaf codes are released; both of shape (n_tuples, n_attributes)."""
        levels = self.tree.levels(codes)
        return np.column_stack([one.levels[codes[:, axis], levels[:, axis]] for axis, one in enumerate(self.refined)])


def wide_partition(
    problem: Problem, population: Tuples, weighted: Tuples, rule: Rule, memory_limit: int
) -> WidePartition:
    """Partition of the population into released cells; of trees, at least as good as k-anonymity with groups as safe.

    Parameters
    ----------
    problem : Problem
        Its own counts are not used.
    population : Tuples
    weighted : Tuples
        What a cell's payoff is multiplied by: the population again (a rule that does not depend on the data) or the
        data.
    rule : Rule
        ``NO_ATTACK`` releases only cells that nobody attacks.
    memory_limit : int
        Bytes that cells which wait to be divided may take, beyond what holds every tuple twice.

    Raises
    ------
    StageFailed
        If the rule leaves no partition: even the cell that holds everybody is attacked.
    """
    refined = tuple(Refined.of(hierarchy) for hierarchy in problem.hierarchies)
    members = Members.of(population, weighted)
    division = Division.of(_over(problem, refined), members, rule)
    number = len(division.members)
    room = max(min(memory_limit // _BYTES, max(_ROOM_AT_LEAST, _ROOM_A_TUPLE * number)), number)
    graph = Explorer(division, room).explore(whole(division))
    tree = best_tree(division, graph)
    levels = common_levels(division)
    straight = None if levels is None else common_tree(division, levels)
    if not graph.complete:
        if straight is not None and straight.total > tree.total:
            tree = straight
        for largest, together in _PASSES:
            tree = improved(division, tree, max(number // largest, 1), max(number // together, 1), room)
    if not np.isfinite(tree.total):
        raise all_attacked("no release exists that nobody would attack", problem.payoffs)
    # Every group of a meet is one of the hierarchy's, so that its own levels bound what a tuple can be paid.
    trees = all(hierarchy.is_tree for hierarchy in problem.hierarchies)
    bounding = division if trees else Division.of(problem, members, rule)
    kept = division.problem.loss.kept(tree.positions)[tree.of_member]
    return WidePartition(
        tree=tree,
        refined=refined,
        total=tree.total,
        bound=max(_bound(bounding, problem.payoffs.benefit * kept, memory_limit), tree.total),
        complete=graph.complete,
        common=None if straight is None else straight.total,
    )


def _bound(division: Division, worth: Floats, memory_limit: int) -> float:
    """By prices where large groups leave few enough cells to go over; else by each tuple's best cell."""
    number = len(division.members)
    if division.rule is Rule.NO_ATTACK:
        bound = priced_bound(division, worth, _PRICED, _PRICED_ROWS)
        if np.isfinite(bound):
            return bound
    counted = max(min(_COUNTED // number, _STRATEGIES), 1)
    return upper_bound(division, counted, max(memory_limit // _ENTRY_BYTES, 4 * number))


def _over(problem: Problem, refined: Sequence[Refined]) -> Problem:
    hierarchies = tuple(one.hierarchy for one in refined)
    return replace(problem, hierarchies=hierarchies, loss=InformationLoss(hierarchies, problem.loss.weights))
