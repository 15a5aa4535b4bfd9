"""Other stakes in the decision record: the publisher's payoff and the attacks on a grid of V and L."""

from pydantic import Field

from tasks.core.fact import Fact


class FrontierPoint(Fact):
    """The recipient's method, solved again under one pair of stakes.

    The figures use n_T, the group sizes of a recipient who knows the rule; suppressed records are worth nothing and are
    not attacked. All None where the method gives no file under these stakes.
    """

    benefit: float = Field(description="V of this point, units a record.")
    loss: float = Field(description="L of this point, units a record.")
    gain: float = Field(description="Recipient's gain G of this point; it keeps its ratio to L.")
    publisher_payoff: float | None = Field(description="Mean over the records that came in, units a record.")
    attacked_share: float | None = Field(
        description="Of the records that came in, those that are released and worth attacking."
    )
    information_kept: float | None = Field(description="Mean over the records that came in, 0 to 1.")


class FrontierFact(Fact):
    """Payoff and attacks over a grid of stakes around those of the request; the cost of an attempt is unchanged."""

    benefit_factors: tuple[float, ...] = Field(description="V of the rows over the request's V, ascending.")
    loss_factors: tuple[float, ...] = Field(description="L and G of the columns over the request's, ascending.")
    games: int = Field(description="Games solved for the grid, the request's own included.")
    points: tuple[FrontierPoint, ...] = Field(description="Row by row: all losses of the first benefit, and so on.")
