"""Several recipients of one representation, as one follower of the game.

All get the same file, or exactly one of several types will and the publisher does not know which (a Bayesian game):

    U = v − Σ_j w_j·L_j·P_j(n),   P_j(n) the probability that recipient j re-identifies a record among n people

with w_j = 1 for all of them, or w_j the probability of the type. Each recipient knows its own stakes and decides alone:
an attack by one neither helps nor hinders another. With one follower in place of several, all solvers stay exact. What
sharing costs is the sum of the recipients' own optima less the shared optimum.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import ParameterError
from tasks.generalization.game.payoffs import Floats, Follower
from tasks.microdata.tuples import Counts

_SUM = 1e-9


@dataclass(frozen=True)
class SharedFollower:
    """Recipients who share one representation (``tasks.generalization.game.payoffs.Follower``)."""

    benefit: float
    """Publisher's benefit of the representation in full detail, V."""
    members: tuple[Follower, ...]
    weights: tuple[float, ...]
    """Weight of each member's loss and gain, w; greater than 0."""

    def __post_init__(self) -> None:
        if not self.members or len(self.members) != len(self.weights):
            raise _refused("members", "one recipient or more, with a weight each", f"{len(self.members)} recipients")
        if not all(np.isfinite(weight) and weight > 0 for weight in self.weights):
            raise _refused("weights", "finite numbers greater than 0", "another")
        if not (np.isfinite(self.benefit) and self.benefit > 0):
            raise _refused("benefit", "a finite number greater than 0", str(self.benefit))

    @classmethod
    def together(cls, members: Sequence[Follower]) -> "SharedFollower":
        """All of some recipients, where the publisher benefits from each: V is the sum of their benefits."""
        return cls(sum(member.benefit for member in members), tuple(members), (1.0,) * len(members))

    @classmethod
    def types(cls, members: Sequence[Follower], probabilities: Sequence[float]) -> "SharedFollower":
        """One recipient who is of each type with some probability; V is what is expected of theirs.

        Raises ParameterError if the probabilities are not one a type, above 0, with sum 1 to 1e-9.
        """
        if len(members) != len(probabilities) or not abs(sum(probabilities) - 1) <= _SUM:
            raise _refused("probabilities", "one a type, with sum 1", f"sum {sum(probabilities):g}")
        expected = sum(weight * member.benefit for weight, member in zip(probabilities, members, strict=True))
        return cls(expected, tuple(members), tuple(float(weight) for weight in probabilities))

    @cached_property
    def safe_group(self) -> float:
        """Group size from which no member attacks."""
        return max(member.safe_group for member in self.members)

    def attacked(self, people: Counts) -> NDArray[np.bool_]:
        """Whether any member attacks."""
        return np.asarray(np.any([member.attacked(people) for member in self.members], axis=0))

    def reidentified(self, people: Counts) -> Floats:
        """Expected re-identifications of a record, by members; at most the sum of the weights."""
        return self._weighted([member.reidentified(people) for member in self.members])

    def publisher(self, value: Floats, people: Counts) -> Floats:
        """Publisher's payoff: v less each member's weighted expected loss."""
        nothing = np.zeros(np.shape(people))
        return value + self._weighted([member.publisher(nothing, people) for member in self.members])

    def adversary(self, people: Counts) -> Floats:
        """Weighted sum of the members' payoffs."""
        return self._weighted([member.adversary(people) for member in self.members])

    def scaled(self, benefit: float, loss: float) -> "SharedFollower":
        """The follower with V multiplied by one factor, every L and gain by another."""
        members = tuple(member.scaled(benefit, loss) for member in self.members)
        return replace(self, benefit=self.benefit * benefit, members=members)

    def _weighted(self, figures: Sequence[Floats]) -> Floats:
        return sum(
            (weight * figure for weight, figure in zip(self.weights, figures, strict=True)), start=np.zeros(1)
        ).reshape(np.shape(figures[0]))


def _refused(where: str, expected: str, got: str) -> ParameterError:
    return ParameterError(
        "recipients cannot share a representation so", where=where, expected=expected, got=got, fix="correct the call"
    )
