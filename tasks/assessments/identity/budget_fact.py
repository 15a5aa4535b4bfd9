"""Budget over the whole file in the decision record: its limits, their use, and its cost."""

from pydantic import Field

from tasks.generalization.budget.limits import BudgetOutcome, LimitFact

__all__ = ["BudgetFact", "LimitFact"]


class BudgetFact(BudgetOutcome):
    """The payoff within the limits, with a proven bound and the payoff without limits; means."""

    least_people: int | None = Field(default=None, description="Least people who match a released cell.")
    least_records: int | None = Field(default=None, description="Least records of a released cell.")
    suppressed_records: int
