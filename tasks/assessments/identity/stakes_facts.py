"""Other stakes in the decision record, in detail: maps, curves, and how far each stake may move."""

from typing import Literal

from pydantic import Field

from tasks.core.fact import Fact

_FIGURES = "None in place of a figure: a record has no strategy."


class GameFigures(Fact):
    """A game's means over the records that came in, at several stakes, from the group sizes that the game goes by."""

    method: str
    publisher_payoff: tuple[float | None, ...] = Field(description=f"Units a record. {_FIGURES}")
    adversary_payoff: tuple[float | None, ...] = Field(description=f"Units a record. {_FIGURES}")
    attacked_share: tuple[float | None, ...] = Field(description=f"Of the records, those worth attacking. {_FIGURES}")
    mean_generalization: tuple[float | None, ...] = Field(
        description=f"Generalization intensity GI, 0 to 1. {_FIGURES}"
    )


class StakesMap(Fact):
    """Figures over all pairs of V and L; the gain keeps its ratio to L, the cost of an attempt is unchanged."""

    benefits: tuple[float, ...] = Field(description="V of the rows, ascending.")
    losses: tuple[float, ...] = Field(description="L of the columns, ascending.")
    figures: GameFigures = Field(description="Row by row: all losses of the first benefit, and so on.")


class StakesCurve(Fact):
    """Figures as one stake varies and the others are fixed; the gain moves with the loss."""

    stake: Literal["benefit", "loss", "cost"]
    own: float = Field(description="The request's own value.")
    values: tuple[float, ...] = Field(description="Ascending; the request's own among them.")
    games: tuple[GameFigures, ...]


class ReachFact(Fact):
    """The factors around 1 by which one stake may be multiplied while a figure stays within its tolerance."""

    stake: Literal["benefit", "loss", "cost"]
    figure: Literal["attacked_share", "regret", "mean_generalization", "best_attacked_share"] = Field(
        description="Of the file as made: records worth attacking for an informed recipient, and what its publisher "
        "loses against the best file for the moved stakes, over V; of that best file: mean GI and records worth an "
        "attempt."
    )
    tolerance: float
    declared: float = Field(description="The figure under the stakes of the request.")
    low: float = Field(description="Smallest factor up to which it holds at every factor looked at.")
    high: float = Field(description="Largest such factor.")
    breaks_low: float | None = Field(description="Next factor, where it no longer holds; None: the range ends.")
    breaks_high: float | None = Field(description="Next factor, where it no longer holds; None: the range ends.")
    order_of_magnitude: bool = Field(description="Whether it holds from a tenth of the stake to ten times it.")


class StakesFact(Fact):
    """The sensitivity of the recipient's file, and of the per-record games, to the stakes."""

    map: StakesMap
    curves: tuple[StakesCurve, ...]
    reaches: tuple[ReachFact, ...]
