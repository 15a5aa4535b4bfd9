"""Partition in the decision record: its payoff, and the largest possible distance from the best."""

from pydantic import Field

from tasks.core.fact import Fact


class DivisionFact(Fact):
    """The chosen division of the population, before any demand of k-anonymity.

    Figures are means of a person of the population, or of a record where cells are weighted by the records.
    """

    payoff: float = Field(description="Publisher's payoff by the people who match.")
    bound: float | None = Field(
        description="No division into hierarchical cells, recursive or not, pays more; None where none was needed."
    )
    exact: bool = Field(description="Whether every recursive division was compared.")
    gap: float = Field(ge=0, description="What the best recursive division may pay more at most; 0 where exact.")
