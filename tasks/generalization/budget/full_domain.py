"""One strategy for all records within a budget: of the levels at which nobody left is attacked, those that keep most.

Cells that would be attacked, or have too few people or records, are left out. Strategies are compared by the weighted
geometric mean of the information that each attribute keeps in the file, so that none is withheld while another keeps
its finest values, as a sum over attributes would have it; what is left out counts by value. The search is that of
k-anonymity (``kanonymity.optimum``), with the safe group as k-map. It is exact but where a floor on what an attribute
keeps is exceeded by the records left out alone, then fewer of them are, and where there are very many strategies: then
it goes stepwise from the most general one. No bound on the payoff but V is known.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np

from tasks.core.errors import ParameterError, StageFailed
from tasks.generalization.budget.limits import (
    BudgetedLevels,
    Limit,
    Plan,
    in_words,
    limits_of,
    lost_share,
    not_kept,
    usage_of,
    usage_of_suppression,
    within,
)
from tasks.generalization.budget.partitions import Weighed
from tasks.generalization.constraints.k_map import KMap
from tasks.generalization.game.problem import Problem, all_attacked, safe_people
from tasks.generalization.kanonymity.checks import checked_limit
from tasks.generalization.kanonymity.classes import Bools, Floats, Levels, fold, tally
from tasks.generalization.kanonymity.costs import AdditiveCost
from tasks.generalization.kanonymity.metrics import AxisCost, Metric, Reference
from tasks.generalization.kanonymity.optimum import minimise
from tasks.generalization.kanonymity.suppressed_classes import judge
from tasks.microdata.cube import cells_at
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Tuples
from tasks.request.model import BudgetPolicy

_LOST = 1e-3
"""Share of its information that an attribute which is withheld counts as keeping."""
_MISSING = 10.0
"""Cost of leaving out all records of a value, in units of the logarithm of what a column keeps.

What is missing by rule biases what is left: two in a hundred of all records may be a fifth of those without work.
"""
_MOST_SEARCHED = 2**28
"""Strategies, times distinct tuples, up to which the search is exact: seconds."""


@dataclass(frozen=True)
class _Sought:
    """Problem and records that one strategy is sought for, and the costs by which strategies are compared."""

    problem: Problem
    data: Tuples
    costs: tuple[AxisCost | None, ...]


def budgeted_full_domain(problem: Problem, weighed: Weighed, budget: BudgetPolicy | None) -> BudgetedLevels:
    """Levels of data and population, the same for all, and the records left out; nobody is without a budget.

    Raises StageFailed if no levels keep the budget, everybody together is attacked, or levels cross.
    """
    data, population, follower = weighed.data, weighed.population, problem.payoffs
    if not all(tree.is_tree for tree in problem.hierarchies):
        raise StageFailed(
            "no common strategy can be searched for where levels cross",
            where="policy.generalization.method",
            expected="hierarchies that are trees",
            got="levels that cross",
            fix="play no-attack-remainder, or make each level of a hierarchy consist of whole groups of the one below",
        )
    if not np.isfinite(follower.safe_group) or safe_people(follower) > population.total:
        raise all_attacked("no release exists that nobody would attack", follower)
    limits: tuple[Limit, ...] = ()
    most, least = 0, (safe_people(follower), 1)
    if budget is not None:
        limits = limits_of(budget, problem.hierarchies, data.total)
        most = checked_limit(budget.suppression or 0, data.total)
        least = max(least[0], budget.least_people or 1), budget.least_records or 1
    capacity = np.array([limit.capacity for limit in limits])

    def left_out(codes: Codes, levels: Codes) -> Bools:
        cells = cells_at(codes, levels, problem.hierarchies)
        few = problem.people.count(cells) < least[0]
        return few | (weighed.layers.records.count(cells) < least[1]) if least[1] > 1 else few

    heights, sought = _heights(problem, data, limits), _Sought(problem, data, _costs(problem, data))
    while True:
        if prod(heights) * len(data) > _MOST_SEARCHED:
            levels = _stepwise(sought, heights, left_out, most)
        else:
            levels = _levels(sought, heights, least, most)
        cells, out = cells_at(data.codes, levels, problem.hierarchies), left_out(data.codes, levels)
        used = usage_of(limits, follower, problem.hierarchies, cells, problem.people.count(cells))
        used = np.where(out, usage_of_suppression(limits)[:, None], used) @ data.counts
        if within(used, capacity):
            break
        most = int(data.counts[out].sum()) - 1
        if most < 0:
            raise not_kept(in_words(limits), "more at all levels that nobody would attack")
    payoff = float(data.counts[~out] @ (follower.benefit * problem.loss.kept(cells[~out])))
    plan = Plan(limits, used, np.zeros(len(limits)), payoff, follower.benefit * data.total, np.inf)
    return BudgetedLevels(
        np.broadcast_to(levels, data.codes.shape),
        np.broadcast_to(levels, population.codes.shape),
        out,
        left_out(population.codes, levels),
        plan.outcome(data.total, data.total),
    )


def _costs(problem: Problem, data: Tuples) -> tuple[AxisCost | None, ...]:
    """Costs of a record by attribute, None where nothing counts or can be lost; shape of both (n_leaves, n_levels).

    A level costs −ln of the share of the attribute's information that the file keeps at it, times the attribute's share
    of the weights. Leaving records out costs, by the same share, ``_MISSING`` times the share of a value's records that
    are left out, in the mean of the values that occur: those of a rare value are missed more.
    """
    costs: list[AxisCost | None] = []
    for axis, (tree, weight) in enumerate(zip(problem.hierarchies, problem.loss.weights, strict=True)):
        if tree.n_leaves == 1 or not weight:
            costs.append(None)
            continue
        share = float(weight / problem.loss.weights.sum()) / data.total
        lost = np.log(tree.sizes)[tree.positions] / np.log(tree.n_leaves)
        kept = 1 - data.counts @ lost[data.codes[:, axis]] / data.total
        levels = np.broadcast_to(-share * np.log(np.maximum(kept, _LOST)), lost.shape)
        having = np.bincount(data.codes[:, axis], data.counts, tree.n_leaves)
        missed = _MISSING * share * data.total / (np.count_nonzero(having) * np.maximum(having, 1))
        costs.append(AxisCost(levels, np.broadcast_to(missed[:, None], lost.shape)))
    return tuple(costs)


def _levels(sought: _Sought, heights: Levels, least: tuple[int, int], most: int) -> Codes:
    """Levels that cost least with at most ``most`` records left out.

    ``least`` are the people and the records of a cell, ``heights`` the levels of each attribute that are tried.
    """
    trees, data = sought.problem.hierarchies, sought.data
    table = tally(data.codes.astype(np.int64), trees, data.counts)
    cost = AdditiveCost(table, Reference(Metric.NON_UNIFORM_ENTROPY, sought.costs, data.total))
    judged = judge(table, trees, least[1], [KMap(sought.problem.people, least[0])])
    try:
        levels, *_ = minimise(cost, judged, heights, most)
    except ParameterError as error:
        raise StageFailed(**error.fields()) from None
    return np.array(levels, dtype=np.int32)


def _stepwise(sought: _Sought, heights: Levels, left_out: Callable[[Codes, Codes], Bools], most: int) -> Codes:
    """Levels of one attribute after another lowered by one, each time that at which the file then costs least.

    ``left_out`` tells which of some codes are at some levels; no more records than ``most`` ever are. Raises
    StageFailed if more are at the most general levels.
    """
    data, trees = sought.data, sought.problem.hierarchies
    levels, records = np.array(heights, dtype=np.int32) - 1, data.counts

    def worth(tried: Codes) -> float:
        out = left_out(data.codes, tried)
        if records[out].sum() > most:
            return -np.inf
        paid = 0.0
        for axis, cost in enumerate(sought.costs):
            if cost is not None:
                codes, level = data.codes[:, axis], tried[axis]
                paid += records @ cost.released[codes, level] + records[out] @ cost.more[codes[out], level]
        return -float(paid)

    start = worth(levels)
    if not np.isfinite(start):
        raise not_kept(f"at most {most} records left out", "more at the most general levels")

    def cells(tried: Codes) -> int:
        return len(fold(cells_at(data.codes, tried, trees))[1])

    def lowered(*, by_cells: bool) -> tuple[float, Codes]:
        """With the step that gains most, or most for each factor by which it multiplies the cells."""
        now, best = levels, start
        while True:
            steps = [now - step for step in np.eye(len(heights), dtype=np.int32) if (now - step).min() >= 0]
            found = [(paid, tried) for tried in steps if (paid := worth(tried)) >= best]
            if not found:
                return best, now
            own = cells(now) if by_cells else 1
            gains = [
                (paid - best) / np.log(cells(tried) / own + 1e-9) if by_cells else paid - best for paid, tried in found
            ]
            best, now = found[int(np.argmax(gains))]

    return max((lowered(by_cells=by_cells) for by_cells in (False, True)), key=lambda one: one[0])[1]


def _heights(problem: Problem, data: Tuples, limits: tuple[Limit, ...]) -> Levels:
    """Number of levels of each attribute at which its floor can be kept."""
    heights = [tree.n_levels for tree in problem.hierarchies]
    for limit in limits:
        if limit.axis is not None:
            tree = problem.hierarchies[limit.axis]
            lost: Floats = data.counts @ lost_share(tree)[tree.positions][data.codes[:, limit.axis]]
            kept = sum(within(one, np.array(limit.capacity)) for one in lost)
            heights[limit.axis] = max(1, min(heights[limit.axis], kept))
    return tuple(heights)
