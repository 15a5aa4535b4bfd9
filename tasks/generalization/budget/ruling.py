"""Generalization of data and population by a method under a budget, so that each person has their own cell.

The prices of the limits are part of the rule: whoever is not in the file has the strategy that pays most at these
prices (where whole cells are divided, the cell that holds them). The distinct tuples of the file have the strategy of
the plan, all records of a tuple alike; it differs from the prices' answer for the few that spend the rest of a limit.
Transparency is therefore measured as if the recipient knew the prices and these few, though neither is disclosed.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import StageFailed
from tasks.generalization.budget.follower import PricedFollower
from tasks.generalization.budget.outcome import BudgetOutcome
from tasks.generalization.budget.partitions import PartitionPlan, Weighed, plan_partition
from tasks.generalization.budget.records import RecordPlan, plan_records
from tasks.generalization.budget.strategies import SUPPRESS, strategies
from tasks.generalization.budget.terms import ATTACKED, REIDENTIFICATIONS, SUPPRESSED, Budget
from tasks.generalization.exact import Rule, solve
from tasks.generalization.game import TIE
from tasks.generalization.problem import Problem
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts, Tuples

_DECIMALS = 9
"""Decimals at which payoffs are compared: at the prices strategies often tie, and the first of them is chosen."""

Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Ruled:
    """Levels of data and population tuples, and who is left out."""

    levels: Codes
    own_levels: Codes
    withheld: Bools
    """Whether each data tuple's records are left out."""
    own_withheld: Bools
    """Whether a record of each population tuple would be."""
    outcome: BudgetOutcome


def ruled_partition(problem: Problem, weighed: Weighed, budget: Budget, rule: Rule, memory_limit: int) -> Ruled:
    """A partition within the budget; parameters as of ``plan_partition``.

    Raises
    ------
    StageFailed
        If no partition within the budget exists, or none was found.
    """
    plan = plan_partition(problem, weighed, budget, rule, memory_limit=memory_limit)
    data, population = weighed.data, weighed.population
    outcome = _outcome(plan, data.total, weighed.tuples.total)
    levels, withheld = plan.chosen.walk(data.codes)
    own_levels, own_withheld = plan.chosen.walk(population.codes)
    return Ruled(levels, own_levels, withheld, own_withheld, outcome)


def ruled_records(
    problem: Problem,
    population: Tuples,
    data: Tuples,
    budget: Budget,
    rule: Rule,
    *,
    floors: tuple[Codes, Codes] | None = None,
) -> Ruled:
    """A strategy for each tuple within the budget, and at its prices for all others of the population.

    Parameters
    ----------
    problem : Problem
    population, data : Tuples
    budget : Budget
    rule : Rule
    floors : pair of arrays, optional
        Least levels of the data's and of the population's tuples (SH-Friendly).

    Raises
    ------
    StageFailed
        If no release within the budget exists, or none was found.
    """
    of_data, of_people = (None, None) if floors is None else floors
    plan = plan_records(problem, data, budget, rule, of_data)
    outcome = _outcome(plan, data.total, data.total)
    own = _at_prices(problem, population, budget, rule, floor=of_people, plan=plan)
    there = data.find(population.keys)
    own = np.where(there >= 0, plan.nodes[np.maximum(there, 0)], own)
    top = len(problem.lattice) - 1
    levels, own_levels = (problem.lattice.nodes[np.where(one == SUPPRESS, top, one)] for one in (plan.nodes, own))
    return Ruled(levels, own_levels, plan.nodes == SUPPRESS, own == SUPPRESS, outcome)


def _at_prices(
    problem: Problem, population: Tuples, budget: Budget, rule: Rule, *, floor: Codes | None, plan: RecordPlan
) -> Counts:
    """Strategy of each population tuple that is worth most at the prices of a plan, −1 where it is suppressed."""
    prices = {spent.name: spent.price for spent in plan.spent}
    if budget.utility_floor:
        options = strategies(problem, population, budget, rule, floor)
        worth = np.round(options.payoffs - plan.allocation.prices @ options.usage, _DECIMALS)
        chosen: Counts = options.label[options.chosen(worth)]
        return chosen
    follower = PricedFollower(
        problem.payoffs, prices.get(REIDENTIFICATIONS, 0.0), prices.get(ATTACKED, 0.0), budget.least_people or 0
    )
    nodes, payoffs = solve(
        Problem(problem.hierarchies, problem.loss, follower, problem.people), population.codes, rule, floor
    )
    if budget.suppression is not None:
        nodes = np.where(payoffs < -prices.get(SUPPRESSED, 0.0) - TIE, SUPPRESS, nodes)
    elif (nodes < 0).any():
        raise StageFailed(
            "some people of the population have no strategy that the policy allows",
            where="policy.generalization.budget",
            expected="for everybody a strategy within the rule",
            got=f"none for {int(population.counts[nodes < 0].sum()):,} people",
            fix="use a larger population, allow suppression, or change the terms",
        )
    return nodes.astype(np.int64)


def _outcome(plan: RecordPlan | PartitionPlan, n_records: int, weight: int) -> BudgetOutcome:
    return BudgetOutcome(
        limits=plan.spent,
        kept=tuple(one.kept_share(n_records) for one in plan.spent),
        payoff=plan.payoff / weight,
        bound=plan.bound / weight,
        without_budget=plan.without_budget / weight if np.isfinite(plan.without_budget) else None,
    )
