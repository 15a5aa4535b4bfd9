"""A strategy for each distinct tuple, under a budget over the whole file."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tasks.core.errors import ParameterError
from tasks.generalization.budget.allocate import Allocation, whole_units
from tasks.generalization.budget.options import Options
from tasks.generalization.budget.strategies import strategies
from tasks.generalization.budget.terms import LOST, Budget, Limit, limits_of
from tasks.generalization.exact import Rule, solve
from tasks.generalization.game import Floats
from tasks.generalization.problem import Problem
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts, Tuples


@dataclass(frozen=True)
class Spent:
    """One limit of a budget: its size, its use, and the value of raising it."""

    name: str
    limit: float
    used: float
    price: float
    """Payoff, in sum over the file, that one more of the limit is worth."""

    def kept_share(self, n_records: int) -> float | None:
        """Mean share of information kept, where the limit is on an attribute's loss; else None."""
        return 1.0 - self.used / n_records if self.name.startswith(LOST) else None


def spent_of(limits: tuple[Limit, ...], used: Floats, prices: Floats) -> tuple[Spent, ...]:
    """Each limit with its use and its price."""
    return tuple(
        Spent(limit.name, limit.capacity, float(use), float(price))
        for limit, use, price in zip(limits, used, prices, strict=True)
    )


@dataclass(frozen=True, eq=False)
class RecordPlan:
    """The strategy by which the records of each distinct tuple are released."""

    options: Options
    """One group a tuple; labels are lattice nodes, −1 for suppression."""
    allocation: Allocation
    limits: tuple[Limit, ...]
    without_budget: float
    """Sum of the payoffs that the rule alone, without any budget, gives the file."""

    @property
    def payoff(self) -> float:
        """Sum of the publisher's payoffs over the file."""
        return self.allocation.payoff

    @property
    def bound(self) -> float:
        """No release of this file within the budget pays more."""
        return self.allocation.bound

    @property
    def spent(self) -> tuple[Spent, ...]:
        """Each limit with its use and its price."""
        return spent_of(self.limits, self.allocation.used, self.allocation.prices)

    @cached_property
    def nodes(self) -> Counts:
        """Strategy of each tuple, −1 where it is suppressed."""
        most = self.options.chosen(self.allocation.units.astype(np.float64))
        return self.options.label[most]


def plan_records(
    problem: Problem,
    data: Tuples,
    budget: Budget,
    rule: Rule = Rule.BASIC,
    floor: Codes | None = None,
) -> RecordPlan:
    """Give the records of a file the strategies that pay most in sum within a budget.

    Parameters
    ----------
    problem : Problem
    data : Tuples
        The file.
    budget : Budget
        Without ``least_records``: how many records share a cell depends on all others' strategies.
    rule : Rule
        ``NO_ATTACK`` allows only strategies nobody attacks.
    floor : array of shape (n_tuples, n_attributes), optional
        Least level of each attribute (SH-Friendly).

    Raises
    ------
    ParameterError
        If the budget demands records of a cell, or a floor that no attribute can have.
    StageFailed
        If no release of the file keeps the budget, or none was found that does.
    """
    if budget.least_records is not None:
        raise ParameterError(
            "the records of a cell depend on the strategies of all others",
            where="least_records",
            expected="a partition, or no such limit",
            got="a strategy for each record",
            fix="play a partition, or demand k-anonymity of what the method makes",
        )
    limits = limits_of(budget, problem.hierarchies, data.total)
    options = strategies(problem, data, budget, rule, floor)
    allocation = whole_units(options, limits)
    _, alone = solve(problem, data.codes, rule, floor)
    return RecordPlan(options, allocation, limits, float(data.counts @ alone))
