"""Budget over the whole file in the decision record: its limits, their use, and its cost."""

from pydantic import Field

from tasks.core.fact import Fact


class LimitFact(Fact):
    """One limit of the file."""

    name: str
    limit: float = Field(description="In expected re-identifications, records, or records' worth of an attribute.")
    used: float
    price: float = Field(description="Payoff, in sum over all weighed, that one more of it is worth.")
    kept: float | None = Field(default=None, description="Mean share kept of the attribute that the limit is of.")


class BudgetFact(Fact):
    """The payoff within the limits, with a proven bound and the payoff without limits; means."""

    limits: tuple[LimitFact, ...]
    least_people: int | None = Field(default=None, description="Least people who match a released cell.")
    least_records: int | None = Field(default=None, description="Least records of a released cell.")
    payoff: float = Field(
        description="By the group that matches, over the records; over the people where a partition is weighed by them."
    )
    bound: float = Field(description="No release of the same kind within the limits pays more.")
    without_budget: float | None = Field(description="What the method pays without; None where it allows no release.")
    suppressed_records: int
