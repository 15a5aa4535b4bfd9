"""One strategy for all records within a budget: of the levels at which nobody left is attacked, those that keep most.

Cells that would be attacked, or have too few people or records, are left out. The search is that of k-anonymity
(``kanonymity.optimum``), with the safe group as k-map and the game's information loss, in sum over the file's records,
as its metric. It is exact but where a floor on what an attribute keeps is exceeded by the records left out alone: then
fewer of them are, and the payoff of the strategy without that floor is the bound. Where there are very many strategies
the search goes stepwise from the most general one and proves no bound but V.
"""

from collections.abc import Callable
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
from tasks.generalization.kanonymity.checks import checked_limit
from tasks.generalization.kanonymity.classes import Bools, Floats, Levels, fold, tally
from tasks.generalization.kanonymity.costs import AdditiveCost
from tasks.generalization.kanonymity.judge import judge
from tasks.generalization.kanonymity.metrics import AxisCost, Metric, Reference
from tasks.generalization.kanonymity.optimum import minimise
from tasks.generalization.problem import Problem, all_attacked, safe_people
from tasks.microdata.cube import cells_at
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Tuples
from tasks.request.model import BudgetPolicy

_MOST_SEARCHED = 2**28
"""Strategies, times distinct tuples, up to which the search is exact: seconds."""


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
    most, least, bound = 0, (safe_people(follower), 1), -np.inf
    if budget is not None:
        limits = limits_of(budget, problem.hierarchies, data.total)
        most = checked_limit(budget.suppression or 0, data.total)
        least = max(least[0], budget.least_people or 1), budget.least_records or 1
    capacity = np.array([limit.capacity for limit in limits])

    def left_out(codes: Codes, levels: Codes) -> Bools:
        cells = cells_at(codes, levels, problem.hierarchies)
        few = problem.people.count(cells) < least[0]
        return few | (weighed.layers.records.count(cells) < least[1]) if least[1] > 1 else few

    heights = _heights(problem, data, limits)
    while True:
        if prod(heights) * len(data) > _MOST_SEARCHED:
            levels, cost = _stepwise(problem, data, heights, left_out, most), 0.0
        else:
            levels, cost = _levels(problem, data, heights, least, most)
        bound = max(bound, follower.benefit * (1 - cost) * data.total)
        cells, out = cells_at(data.codes, levels, problem.hierarchies), left_out(data.codes, levels)
        used = usage_of(limits, follower, problem.hierarchies, cells, problem.people.count(cells))
        used = np.where(out, usage_of_suppression(limits)[:, None], used) @ data.counts
        if within(used, capacity):
            break
        most = int(data.counts[out].sum()) - 1
        if most < 0:
            raise not_kept(in_words(limits), "more at all levels that nobody would attack")
    payoff = float(data.counts[~out] @ (follower.benefit * problem.loss.kept(cells[~out])))
    plan = Plan(limits, used, np.zeros(len(limits)), payoff, max(bound, payoff), np.inf)
    return BudgetedLevels(
        np.broadcast_to(levels, data.codes.shape),
        np.broadcast_to(levels, population.codes.shape),
        out,
        left_out(population.codes, levels),
        plan.outcome(data.total, data.total),
    )


def _levels(problem: Problem, data: Tuples, heights: Levels, least: tuple[int, int], most: int) -> tuple[Codes, float]:
    """Levels that lose least with at most ``most`` records left out, and the share of information that the file loses.

    ``least`` are the people and the records of a cell, ``heights`` the levels of each attribute that are tried.
    """
    trees = problem.hierarchies
    table = tally(data.codes.astype(np.int64), trees, data.counts)
    axes = []
    for tree, loss in zip(trees, problem.loss.by_axis, strict=True):
        lost = loss[tree.positions] / (problem.loss.maximum * data.total)
        axes.append(AxisCost(lost, lost[:, -1:] - lost) if lost[:, -1].any() else None)
    cost = AdditiveCost(table, Reference(Metric.NON_UNIFORM_ENTROPY, tuple(axes), data.total))
    try:
        levels, lost_in_all, *_ = minimise(
            cost, judge(table, trees, least[1], [KMap(problem.people, least[0])]), heights, most
        )
    except ParameterError as error:
        raise StageFailed(**error.fields()) from None
    return np.array(levels, dtype=np.int32), lost_in_all


def _stepwise(
    problem: Problem, data: Tuples, heights: Levels, left_out: Callable[[Codes, Codes], Bools], most: int
) -> Codes:
    """Levels of one attribute after another lowered by one, each time that at which the file then keeps most.

    ``left_out`` tells which of some codes are at some levels; no more records than ``most`` ever are. Raises
    StageFailed if more are at the most general levels.
    """
    levels, records = np.array(heights, dtype=np.int32) - 1, data.counts

    def worth(tried: Codes) -> float:
        out = left_out(data.codes, tried)
        if records[out].sum() > most:
            return -np.inf
        return float(records[~out] @ problem.loss.kept(cells_at(data.codes[~out], tried, problem.hierarchies)))

    start = worth(levels)
    if not np.isfinite(start):
        raise not_kept(f"at most {most} records left out", "more at the most general levels")

    def cells(tried: Codes) -> int:
        return len(fold(cells_at(data.codes, tried, problem.hierarchies))[1])

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
