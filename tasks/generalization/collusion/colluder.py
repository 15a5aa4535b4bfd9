"""One of several recipients who may lay their copies beside each other, as the follower of his own copy.

At a group size he does what he does by himself (``tasks.generalization.game.Follower``). What collusion changes is
which cells his copy has: ``copies`` solves the game of all of them at once.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tasks.generalization.collusion.colluders import Colluders
from tasks.generalization.game import Floats, Follower
from tasks.microdata.tuples import Counts


@dataclass(frozen=True)
class Colluder:
    """A member of ``colluders``; figures at group sizes are his own, unweighted."""

    colluders: Colluders
    member: int
    """His place among the members."""

    @property
    def own(self) -> Follower:
        """The member by himself."""
        return self.colluders.members[self.member]

    @property
    def benefit(self) -> float:
        """Publisher's benefit of his copy in full detail, V."""
        return self.own.benefit

    @property
    def safe_group(self) -> float:
        """Group size from which he attacks no record."""
        return self.own.safe_group

    def attacked(self, people: Counts) -> NDArray[np.bool_]:
        """Whether he attacks."""
        return self.own.attacked(people)

    def reidentified(self, people: Counts) -> Floats:
        """Probability that he re-identifies a record."""
        return self.own.reidentified(people)

    def publisher(self, value: Floats, people: Counts) -> Floats:
        """Publisher's payoff from him."""
        return self.own.publisher(value, people)

    def adversary(self, people: Counts) -> Floats:
        """His payoff."""
        return self.own.adversary(people)

    def scaled(self, benefit: float, loss: float) -> "Colluder":
        """The same member, all members with V multiplied by one factor, every L and gain by another."""
        members = tuple(member.scaled(benefit, loss) for member in self.colluders.members)
        return replace(self, colluders=replace(self.colluders, members=members))
