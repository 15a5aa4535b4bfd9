"""Compliance with a budget, in the figures that are stored and reported."""

from dataclasses import dataclass

from tasks.generalization.budget.records import Spent


@dataclass(frozen=True)
class BudgetOutcome:
    """Payoffs are means over the records, or over the people where a partition is weighed by them."""

    limits: tuple[Spent, ...]
    kept: tuple[float | None, ...]
    """Mean share of information kept of the attribute that each limit is of; None for the other limits."""
    payoff: float
    bound: float
    """No release of the same kind within the budget pays more."""
    without_budget: float | None
    """Payoff of the method without any budget; None where it allows no release."""
