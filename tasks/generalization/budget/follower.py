"""A follower whose risk costs the publisher its prices: the publisher's opponent under a budget.

At the prices of the relaxation everybody's own strategy maximises payoff − Σ price · use. For limits on risk alone that
is the game against this follower, which every solver of the game takes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.generalization.game import Floats, Follower
from tasks.microdata.tuples import Counts


@dataclass(frozen=True)
class PricedFollower:
    """Another follower, with prices on its actions (``tasks.generalization.game.Follower``)."""

    follower: Follower
    per_reidentification: float
    per_attack: float
    least_people: int
    """A smaller group may not be released: it pays minus infinity."""

    @property
    def benefit(self) -> float:
        """Publisher's benefit of sharing in full detail, V."""
        return self.follower.benefit

    @property
    def safe_group(self) -> float:
        """Group size from which no record is attacked, whatever its size; infinite if there is none."""
        return self.follower.safe_group

    def attacked(self, people: Counts) -> NDArray[np.bool_]:
        """Whether a record that ``people`` match is attacked."""
        return self.follower.attacked(people)

    def reidentified(self, people: Counts) -> Floats:
        """Expected re-identifications of a record."""
        return self.follower.reidentified(people)

    def publisher(self, value: Floats, people: Counts) -> Floats:
        """Publisher's payoff less the prices of a record's risk."""
        risk = self.per_reidentification * self.reidentified(people) + self.per_attack * self.attacked(people)
        payoff = self.follower.publisher(value, people) - risk
        return np.where(people < self.least_people, -np.inf, payoff)

    def adversary(self, people: Counts) -> Floats:
        """Recipient's payoff."""
        return self.follower.adversary(people)

    def scaled(self, benefit: float, loss: float) -> "PricedFollower":
        """The follower with V multiplied by one factor, L and the recipient's gain by another; prices as they are."""
        return PricedFollower(
            self.follower.scaled(benefit, loss), self.per_reidentification, self.per_attack, self.least_people
        )
