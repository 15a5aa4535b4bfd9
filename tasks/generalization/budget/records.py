"""A strategy for each distinct tuple, under a budget over the whole file.

Of the strategies nobody attacks only the most specific count, and no attacked one above them; without floors on what
attributes keep, only the most valuable of the former, and of the attacked ones those that pay more for more expected
re-identifications.

The prices of the limits are part of the rule: people who are not in the file have the strategy that pays most at these
prices. All records of a tuple have the strategy of the plan, which differs from the prices' answer for the few that
spend the rest of a limit. Transparency is therefore measured as if the recipient knew the prices and these few, though
neither is disclosed.
"""

from dataclasses import dataclass

import numpy as np

from tasks.core.errors import StageFailed
from tasks.generalization.budget.knapsack import Options, Places, allocate
from tasks.generalization.budget.limits import (
    ATTACKED,
    REIDENTIFICATIONS,
    SUPPRESSED,
    WHERE,
    BudgetedLevels,
    Limit,
    Plan,
    limits_of,
    usage_of,
    usage_of_suppression,
)
from tasks.generalization.game.exact import GameRule, solve
from tasks.generalization.game.payoffs import TIE, Floats
from tasks.generalization.game.problem import Problem, allowed_nodes
from tasks.generalization.kanonymity.classes import Bools
from tasks.microdata.cube import cells_at
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts, Tuples
from tasks.request.model import BudgetPolicy

SUPPRESS = -1
"""Label of leaving a record out; the other labels are lattice nodes."""

_MATRIX_CELLS = 4_000_000
_MOST_EVALUATIONS = 4_000_000_000
_DECIMALS = 9
"""Decimals at which payoffs are compared: at the prices strategies often tie, and the first of them is chosen."""


@dataclass(frozen=True, eq=False)
class RecordPlan(Plan):
    """The strategy by which the records of each distinct tuple are released."""

    nodes: Counts
    """Lattice node of each tuple, −1 where it is suppressed."""


def plan_records(
    problem: Problem, data: Tuples, budget: BudgetPolicy, rule: GameRule = GameRule.BASIC, floor: Codes | None = None
) -> RecordPlan:
    """Give the records of a file the strategies that pay most in sum within a budget, its ``least_records`` left aside.

    ``floor`` has the least level of each attribute, shape (n_tuples, n_attributes) (SH-Friendly). Raises ParameterError
    if no attribute can have a floor that the budget demands, StageFailed if no release is found that keeps the budget.
    """
    limits = limits_of(budget, problem.hierarchies, data.total)
    options = strategies(problem, data, budget, limits, rule, floor)
    found = allocate(options.times(data.counts), limits, data.counts)
    _, alone = solve(problem, data.codes, rule, floor)
    without, nodes = float(data.counts @ alone), options.label[found.options]
    return RecordPlan(limits, found.used, found.prices, found.payoff, found.bound, without, nodes)


def budgeted_records(
    problem: Problem,
    population: Tuples,
    data: Tuples,
    budget: BudgetPolicy,
    rule: GameRule,
    *,
    floors: tuple[Codes, Codes] | None = None,
) -> BudgetedLevels:
    """A strategy for each tuple within the budget, and at its prices for all others of the population.

    ``floors`` has the least levels of the data's and of the population's tuples (SH-Friendly). Raises StageFailed as
    ``plan_records``, or if some people of the population have no strategy.
    """
    of_data, of_people = (None, None) if floors is None else floors
    plan = plan_records(problem, data, budget, rule, of_data)
    there = data.find(population.keys)
    own = np.where(there >= 0, plan.nodes[there], _at_prices(problem, population, budget, rule, of_people, plan))
    top = len(problem.lattice) - 1
    levels, own_levels = (problem.lattice.nodes[np.where(one == SUPPRESS, top, one)] for one in (plan.nodes, own))
    outcome = plan.outcome(data.total, data.total)
    return BudgetedLevels(levels, own_levels, plan.nodes == SUPPRESS, own == SUPPRESS, outcome)


def _at_prices(  # noqa: PLR0917
    problem: Problem, population: Tuples, budget: BudgetPolicy, rule: GameRule, floor: Codes | None, plan: RecordPlan
) -> Counts:
    """Strategy of each population tuple that is worth most at the prices of a plan, −1 where it is suppressed."""
    if budget.utility_floor:
        options = strategies(problem, population, budget, plan.limits, rule, floor)
        worth = np.round(options.payoffs - plan.prices @ options.usage, _DECIMALS)
        return options.label[options.chosen(worth)]
    prices = {limit.name: float(price) for limit, price in zip(plan.limits, plan.prices, strict=True)}

    def charge(people: Counts) -> Floats:
        risk = prices.get(REIDENTIFICATIONS, 0.0) * problem.payoffs.reidentified(people)
        risk = risk + prices.get(ATTACKED, 0.0) * problem.payoffs.attacked(people)
        return np.where(people < (budget.least_people or 0), np.inf, risk)

    nodes, payoffs = solve(problem, population.codes, rule, floor, charge)
    if budget.suppression is not None:
        nodes = np.where(payoffs < -prices[SUPPRESSED] - TIE, SUPPRESS, nodes)
    elif (nodes < 0).any():
        raise StageFailed(
            "some people of the population have no strategy that the policy allows",
            where=WHERE,
            expected="for everybody a strategy within the rule",
            got=f"none for {int(population.counts[nodes < 0].sum()):,} people",
            fix="use a larger population, allow suppression, or change the terms",
        )
    return nodes.astype(np.int64)


def strategies(  # noqa: PLR0917
    problem: Problem,
    data: Tuples,
    budget: BudgetPolicy,
    limits: tuple[Limit, ...],
    rule: GameRule,
    floor: Codes | None = None,
) -> Options:
    """Options of every distinct tuple: payoff and use of the limits of one record at each undominated strategy.

    ``least_people`` forbids strategies, ``least_records`` does not. Labels are lattice nodes, −1 for suppression; the
    best payoff of a group is first, with the least risk among equals. Raises StageFailed if some tuple has no strategy,
    or the lattice is too large for the file.
    """
    if len(problem.lattice) * len(data) > _MOST_EVALUATIONS:
        raise StageFailed(
            "the lattice is too large for a budget over this file",
            where=WHERE,
            expected=f"strategies times distinct records at most {_MOST_EVALUATIONS:,}",
            got=f"{len(problem.lattice):,} times {len(data):,}",
            fix="use a partition, fewer quasi-identifiers or lower hierarchies",
        )
    step = max(1, _MATRIX_CELLS // len(problem.lattice))
    found = [(np.zeros(0, dtype=np.intp),) * 2]
    for start in range(0, len(data), step):
        rows = slice(start, start + step)
        some, nodes = _undominated(problem, data.codes[rows], budget, rule, None if floor is None else floor[rows])
        found.append((some + start, nodes))
    tuples, nodes = (np.concatenate(parts) for parts in zip(*found, strict=True))
    cells = cells_at(data.codes[tuples], problem.lattice.nodes[nodes], problem.hierarchies)
    people = problem.people.count(cells)
    payoffs = problem.payoffs.publisher(problem.payoffs.benefit * problem.loss.kept(cells), people)
    reidentified = problem.payoffs.reidentified(people)
    usage = usage_of(limits, problem.payoffs, problem.hierarchies, cells, people)
    if budget.suppression is not None:
        alone = np.setdiff1d(np.arange(len(data)), tuples[~problem.payoffs.attacked(people)])
        tuples, nodes = np.concatenate([tuples, alone]), np.concatenate([nodes, np.full(len(alone), SUPPRESS)])
        payoffs, reidentified = (np.concatenate([one, np.zeros(len(alone))]) for one in (payoffs, reidentified))
        usage = np.hstack([usage, np.tile(usage_of_suppression(limits)[:, None], len(alone))])
    without = int(data.counts.sum() - data.counts[np.unique(tuples)].sum())
    if without:
        many = "" if budget.least_people is None else f" and that at least {budget.least_people:,} people match"
        raise StageFailed(
            "some records have no strategy that the policy allows",
            where="policy.generalization",
            expected=f"for every record a strategy within the rule{many}",
            got=f"none for {without:,} records",
            fix="use a larger population, allow suppression, or change the terms",
        )
    order = np.lexsort((nodes, reidentified, -np.round(payoffs, _DECIMALS), tuples))
    if not budget.utility_floor:
        order = order[_less_risk(tuples[order], reidentified[order], nodes[order])]
    starts = np.flatnonzero(np.diff(tuples[order], prepend=-1))
    return Options(payoffs[order], usage[:, order], starts, nodes[order].astype(np.int64))


def _undominated(
    problem: Problem, codes: Codes, budget: BudgetPolicy, rule: GameRule, floor: Codes | None
) -> tuple[Places, Places]:
    """Tuple and node of each strategy that no strategy without risk beats in everything, tuple by tuple."""
    nodes = problem.lattice.nodes
    people = np.stack([problem.people.count(cells_at(codes, levels, problem.hierarchies)) for levels in nodes], axis=1)
    attacked = problem.payoffs.attacked(people)
    allowed = people >= (budget.least_people or 0)
    if rule is GameRule.NO_ATTACK:
        allowed &= ~attacked
    if floor is not None:
        allowed &= allowed_nodes(problem.lattice, floor)
    allowed &= ~_above(allowed & ~attacked, problem.lattice.heights)
    tuples, chosen = np.nonzero(allowed)
    if not budget.utility_floor:
        kept = problem.loss.kept(cells_at(codes[tuples], nodes[chosen], problem.hierarchies))
        risky, best = attacked[tuples, chosen], np.full(len(codes), -np.inf)
        np.maximum.at(best, tuples[~risky], kept[~risky])
        stays = np.where(risky, kept > best[tuples], kept == best[tuples])
        return tuples[stays], chosen[stays]
    return tuples, chosen


def _above(safe: Bools, heights: tuple[int, ...]) -> Bools:
    """Whether a strategy is more general than one marked."""
    marked = safe.reshape(-1, *heights)
    reached = marked.copy()
    for axis in range(1, marked.ndim):
        np.logical_or.accumulate(reached, axis=axis, out=reached)
    above = np.zeros_like(marked)
    for axis in range(1, marked.ndim):
        np.moveaxis(above, axis, 0)[1:] |= np.moveaxis(reached, axis, 0)[:-1]
    return above.reshape(safe.shape)


def _less_risk(tuples: Places, reidentified: Floats, nodes: Places) -> Places:
    """Places at which the re-identifications are fewer than at every earlier place of the tuple; suppression stays."""
    _, rank = np.unique(reidentified, return_inverse=True)
    width, suppressed = int(rank.max(initial=0)) + 1, nodes == SUPPRESS
    key = np.where(suppressed, width, rank).astype(np.int64) - tuples.astype(np.int64) * (width + 2)
    before = np.minimum.accumulate(np.concatenate([[width + 2], key[:-1]]))
    return np.flatnonzero((key < before) | suppressed)
