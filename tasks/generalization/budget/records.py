"""A strategy for each record, under a budget over the whole file.

Records of one distinct tuple may be given different strategies: the unknowns are how many of the tuple's records are
at each strategy. Which records these are is drawn (``place_records``), as the order of a file may tell something that
must not leave.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tasks.errors import ParameterError
from tasks.generalization.budget.allocate import Allocation, allocate, whole_units
from tasks.generalization.budget.options import Options
from tasks.generalization.budget.strategies import strategies
from tasks.generalization.budget.terms import LOST, Budget, Limit, limits_of
from tasks.generalization.exact import Rule, solve
from tasks.generalization.game import Floats
from tasks.generalization.problem import Problem
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts, Tuples

EFFORT = 0.5
"""Deterministic time for closing the gap, about a second each."""


@dataclass(frozen=True)
class Spent:
    """One limit of a budget: what there is of it, what is used, and what more of it would bring."""

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
    """How many records of each distinct tuple are released by each strategy."""

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
    def split(self) -> NDArray[np.intp]:
        """Tuples whose records are given different strategies."""
        taken = self.allocation.units > 0
        return np.flatnonzero(np.bincount(self.options.group[taken], minlength=len(self.options.starts)) > 1)

    @cached_property
    def nodes(self) -> Counts:
        """Strategy of each tuple, −1 where it is suppressed; of a split tuple that of most of its records."""
        most = self.options.chosen(self.allocation.units.astype(np.float64))
        return self.options.label[most]


def plan_records(
    problem: Problem,
    data: Tuples,
    budget: Budget,
    rule: Rule = Rule.BASIC,
    floor: Codes | None = None,
    *,
    split: bool = True,
    effort: float = EFFORT,
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
    split : bool
        Whether records of one tuple may have different strategies.
    effort : float
        Deterministic time that CP-SAT may spend on closing the gap, about a second each.

    Raises
    ------
    ParameterError
        If the budget demands records of a cell, or a floor that no attribute can have.
    StageFailed
        If no release of the file keeps the budget.
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
    allocation = (allocate if split else whole_units)(options, limits, effort)
    _, alone = solve(problem, data.codes, rule, floor)
    return RecordPlan(options, allocation, limits, float(data.counts @ alone))


def place_records(plan: RecordPlan, tuple_of_record: NDArray[np.integer], random: np.random.Generator) -> Counts:
    """Strategy of each record, −1 where it is suppressed.

    Of a split tuple it is drawn which records have which strategy: neither their order in the file nor anything else
    that they say decides it.

    Parameters
    ----------
    plan : RecordPlan
    tuple_of_record : array of shape (n_records,)
    random : numpy.random.Generator

    Returns
    -------
    array of shape (n_records,)
    """
    nodes: Counts = plan.nodes[tuple_of_record]
    ends = np.append(plan.options.starts[1:], len(plan.options.payoffs))
    for tuple_ in plan.split:
        here = slice(plan.options.starts[tuple_], ends[tuple_])
        labels = np.repeat(plan.options.label[here], plan.allocation.units[here])
        nodes[np.flatnonzero(tuple_of_record == tuple_)] = random.permutation(labels)
    return nodes
