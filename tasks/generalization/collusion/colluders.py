"""Recipients with a copy each, and who of them may lay the copies beside each other.

A *hand* is a set of recipients whose copies come together; with some probability it does. Of a record, a hand sees the
least general level of each attribute among its copies, so that the group is the intersection of the released cells.
Each member then decides for himself whether to attack that group. The publisher's payoff of a record is

    U(g_1 … g_m) = Σ_j w_j·v_j(g_j) − Σ_H p_H Σ_{j ∈ H} w_j·L_j·P_j(n(∧_{i ∈ H} g_i))

where every recipient is in exactly one hand at a time: the p_H of the hands that hold him sum to 1.

Where all certainly collude, separate copies bring nothing: the losses depend on the intersection alone, and each copy
is worth most as the intersection itself, so one shared representation is optimal. The same holds where nobody is to be
attacked and all may collude, however improbable that is. Elsewhere separate copies bring something; where nobody
colludes each recipient's own game is optimal.

Not modelled: what an intruder learns of one copy from the rule that made another.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tasks.errors import ParameterError
from tasks.generalization.exact import Rule
from tasks.generalization.game import Floats, Follower
from tasks.generalization.shared_follower import SharedFollower
from tasks.microdata.tuples import Counts

_SUM = 1e-9
MOST_RECIPIENTS = 6


@dataclass(frozen=True)
class Colluders:
    """Recipients with a copy each; made by ``all_or_none``, ``one_pair`` or of hands with their probabilities."""

    members: tuple[Follower, ...]
    weights: tuple[float, ...]
    """What each member's payoff counts, w; greater than 0."""
    hands: tuple[tuple[tuple[int, ...], float], ...]
    """Members of each hand, ascending, and its probability, greater than 0; those of every member sum to 1."""

    def __post_init__(self) -> None:
        number = len(self.members)
        if not 1 <= number <= MOST_RECIPIENTS or len(self.weights) != number:
            raise _refused("members", f"1 to {MOST_RECIPIENTS} recipients, with a weight each", f"{number} recipients")
        if not all(np.isfinite(weight) and weight > 0 for weight in self.weights):
            raise _refused("weights", "finite numbers greater than 0", "another")
        sums = np.zeros(number)
        for hand, probability in self.hands:
            if not hand or list(hand) != sorted(set(hand)) or hand[0] < 0 or hand[-1] >= number or not probability > 0:
                raise _refused("hands", "members by number, each once and ascending, with a probability", "another")
            sums[list(hand)] += probability
        if not (np.abs(sums - 1) <= _SUM).all():
            raise _refused("hands", "probabilities that sum to 1 for every member", "another sum")

    @classmethod
    def all_or_none(cls, members: Sequence[Follower], probability: float) -> "Colluders":
        """All lay their copies together with some probability, else nobody does."""
        return cls._of(members, probability, [tuple(range(len(members)))])

    @classmethod
    def one_pair(cls, members: Sequence[Follower], probability: float) -> "Colluders":
        """With some probability one pair colludes, each pair as likely as the others."""
        return cls._of(members, probability, list(combinations(range(len(members)), 2)))

    @classmethod
    def _of(cls, members: Sequence[Follower], probability: float, hands: list[tuple[int, ...]]) -> "Colluders":
        if not 0 <= probability <= 1:
            raise _refused("probability", "a number from 0 to 1", str(probability))
        each = probability / max(len(hands), 1)
        alone = [1 - each * sum(member in hand for hand in hands if len(hand) > 1) for member in range(len(members))]
        separate = [((member,), left) for member, left in enumerate(alone) if left > _SUM]
        together = [(hand, each) for hand in hands if each > 0 and len(hand) > 1]
        return cls(tuple(members), (1.0,) * len(members), (*separate, *together))

    @cached_property
    def shared(self) -> SharedFollower:
        """The same recipients with one representation for all, which collusion adds nothing to."""
        benefit = sum(weight * member.benefit for weight, member in zip(self.weights, self.members, strict=True))
        return SharedFollower(benefit, self.members, self.weights)

    def as_one(self, rule: Rule) -> bool:
        """Whether one shared representation is optimal anyway: all collude, or may where no attack is allowed."""
        everybody = tuple(range(len(self.members)))
        return any(
            hand == everybody and (rule is Rule.NO_ATTACK or probability >= 1 - _SUM)
            for hand, probability in self.hands
        )

    def lost(self, hand: Iterable[int], people: Counts) -> Floats:
        """Weighted loss, at most 0, by the members of one hand at group sizes of any shape; its probability apart."""
        nothing, total = np.zeros(np.shape(people)), np.zeros(np.shape(people))
        for member in hand:
            total += self.weights[member] * self.members[member].publisher(nothing, people)
        return total

    def attacked(self, hand: Iterable[int], people: Counts) -> NDArray[np.bool_]:
        """Whether any member of a hand attacks."""
        attacked = np.zeros(np.shape(people), dtype=np.bool_)
        for member in hand:
            attacked |= self.members[member].attacked(people)
        return attacked

    def charged(self, hand: tuple[int, ...], probability: float, people: Counts, rule: Rule) -> Floats:
        """What a hand costs at group sizes: its expected loss, or −inf where the rule forbids an attack."""
        cost = probability * self.lost(hand, people)
        if rule is Rule.NO_ATTACK:
            cost = np.where(self.attacked(hand, people), -np.inf, cost)
        return cost


def _refused(where: str, expected: str, got: str) -> ParameterError:
    return ParameterError(
        "recipients cannot collude so", where=where, expected=expected, got=got, fix="correct the call"
    )
