"""Partition or remainder classes in the decision record: payoff, and the largest possible distance from the best."""

from pydantic import Field

from tasks.core.fact import Fact


class DivisionFact(Fact):
    """The chosen division of the population into classes, before any demand of k-anonymity.

    Figures are means of a person of the population, or of a record where a partition is weighted by the records.
    """

    payoff: float = Field(description="Publisher's payoff by the people in each class.")
    bound: float | None = Field(description="No division into such classes pays more; None where none was needed.")
    exact: bool = Field(description="Whether every recursive division was compared.")
    gap: float = Field(ge=0, description="What the best division may pay more at most; 0 where exact.")
