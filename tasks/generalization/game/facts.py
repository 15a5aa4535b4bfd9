"""Outcomes of generalization methods for the record: k-anonymity, divisions of the domain, budgets."""

from enum import StrEnum

from pydantic import Field

from tasks.core.fact import Fact


class BoundBy(StrEnum):
    """Proof that no remainder classes pay more than a bound."""

    BEST_CELLS = "best-cells"
    """Everybody in the best cell that holds enough people."""
    PRICES = "prices"
    """Prices of people, which no cell exceeds."""


class KAnonymityOutcome(Fact):
    """The node that loses least of all within the demands, and what the file loses, by it or recoded locally."""

    metric: str
    levels: dict[str, int] = Field(description="Least level of each attribute at the node; local recoding has others.")
    value: float = Field(description="Loss of the file by the metric, suppressed records included.")
    value_before_lifting: float = Field(description="Loss of the node, without local recoding.")
    suppressed_records: int = Field(description="By these demands; a minimum class size may suppress more.")
    lifted_records: int = Field(description="Released by local recoding though the node suppresses them.")
    nodes_evaluated: int
    nodes_total: int


class DivisionOutcome(Fact):
    """Quality of the partition, over all that its cells are weighted by."""

    payoff: float = Field(description="Σ weight · publisher's payoff of the released cells.")
    upper_bound: float | None = Field(
        description="No partition into cells pays more; None where the recursion is exact."
    )
    exact: bool = Field(description="Whether no recursive partition pays more.")
    bound_by: BoundBy | None = Field(default=None, description="Proof of the bound of remainder classes.")


class LimitFact(Fact):
    """One limit of the file."""

    name: str
    limit: float = Field(description="In expected re-identifications, records, or records' worth of an attribute.")
    used: float
    price: float = Field(description="Payoff, in sum over all weighed, that one more of it is worth.")
    kept: float | None = Field(default=None, description="Mean share kept of the attribute that the limit is of.")


class BudgetOutcome(Fact):
    """The payoff within the limits, with a proven bound and the payoff without limits; means."""

    limits: tuple[LimitFact, ...]
    payoff: float = Field(
        description="By the group that matches, over the records; over the people where a partition is weighed by them."
    )
    bound: float = Field(description="No release of the same kind within the limits pays more.")
    without_budget: float | None = Field(description="Payoff without the budget; None if no release is allowed.")
