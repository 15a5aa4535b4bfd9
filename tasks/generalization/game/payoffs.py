"""The re-identification game for one record: information loss, payoffs and who attacks.

Source: Wan et al., *A Game Theoretic Framework for Analyzing Re-Identification Risk*, PLoS ONE 2015, eqs. 1-5 and
Table 3. The publisher leads with a strategy; the recipient attacks iff that pays.

Departures: attributes have weights in the information loss (the paper's Table 7 needs sex to be free), and the
recipient's gain may differ from the publisher's loss.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import RequestError
from tasks.core.plural import listed
from tasks.microdata.hierarchy import Codes, Hierarchy
from tasks.microdata.tuples import Counts

Floats = NDArray[np.float64]

TIE = 1e-9
"""Payoffs nearer than this are equal; of equal strategies the first in lexicographic order is chosen."""

EXACT = 1 - 1e-12
"""Stakes are decimals and their products are rounded: a gain this near to the cost of the attempts equals it."""

_SEX_NAMES = frozenset({"sex", "gender"})


class Follower(Protocol):
    """The recipient's side of the game: its action at a group size, and the payoffs of both sides.

    Implementations are immutable and hashable. All methods work elementwise on group sizes of any one shape; a size of
    0 counts as 1. Payoffs are per record, in one currency.
    """

    @property
    def benefit(self) -> float:
        """Publisher's benefit of sharing in full detail, V."""

    @property
    def safe_group(self) -> float:
        """Group size from which no record is attacked, whatever its size; infinite if there is none."""

    def attacked(self, people: Counts) -> NDArray[np.bool_]:
        """Whether a record that ``people`` match is attacked; a tie is no attack."""

    def reidentified(self, people: Counts) -> Floats:
        """Expected re-identifications of a record: 0 where it is not attacked, else at most 1 for each attacker."""

    def publisher(self, value: Floats, people: Counts) -> Floats:
        """Publisher's payoff U_p for released value v and group size n; at most v, and v where nobody attacks."""

    def adversary(self, people: Counts) -> Floats:
        """Recipient's payoff U_a at group size n, at least 0."""

    def scaled(self, benefit: float, loss: float) -> Self:
        """The follower with V multiplied by one factor, L and the recipient's gain by another."""


@dataclass(frozen=True)
class Payoffs:
    """Stakes of one record, all in one currency (Wan et al. 2015, Table 2)."""

    benefit: float
    """Publisher's benefit of sharing in full detail, V."""
    loss: float
    """Publisher's loss on re-identification, L."""
    gain: float
    """Recipient's gain on re-identification; the paper takes L."""
    cost: float
    """Recipient's cost of an attempt, c."""

    @property
    def safe_group(self) -> float:
        """Group size from which an attempt no longer pays."""
        return self.gain / self.cost

    def attacked(self, people: Counts) -> NDArray[np.bool_]:
        """Whether an attempt pays on a record that ``people`` match; a tie is no attack, and n = 0 counts as 1."""
        return self.cost * np.maximum(people, 1) < self.gain * EXACT

    def reidentified(self, people: Counts) -> Floats:
        """Probability of re-identification at group size n, 1/n where an attempt pays; n = 0 counts as 1."""
        return np.where(self.attacked(people), 1.0 / np.maximum(people, 1), 0.0)

    def publisher(self, value: Floats, people: Counts) -> Floats:
        """Publisher's payoff U_p for released value v and group size n; n = 0 counts as 1."""
        return value - np.where(self.attacked(people), self.loss / np.maximum(people, 1), 0.0)

    def adversary(self, people: Counts) -> Floats:
        """Recipient's payoff U_a at group size n; n = 0 counts as 1."""
        return np.where(self.attacked(people), self.gain / np.maximum(people, 1) - self.cost, 0.0)

    def scaled(self, benefit: float, loss: float) -> "Payoffs":
        """The stakes with V multiplied by one factor, L and G by another."""
        return Payoffs(self.benefit * benefit, self.loss * loss, self.gain * loss, self.cost)


def information_loss_weights(
    preset: Literal["declared", "printed", "table7"], names: Sequence[str], declared: Sequence[float]
) -> Floats:
    """Weight of each attribute, by name and declared weight, in the information loss.

    ``declared`` takes the attributes' own; ``printed`` all ones, as eq. 1 is printed; ``table7`` all ones but sex,
    which the paper's Table 7 and its worked example leave out (RequestError without an attribute named sex or gender).
    """
    if preset == "declared":
        return np.asarray(declared, dtype=np.float64)
    weights = np.ones(len(names))
    if preset == "table7":
        free = [name.lower() in _SEX_NAMES for name in names]
        if not any(free):
            raise RequestError(
                "the information-loss preset table7 leaves sex out, and there is no such attribute",
                where="policy.generalization.information_loss",
                expected="a quasi-identifier named sex or gender",
                fix="use declared and give each attribute its weight",
            )
        weights[free] = 0.0
    return weights


@dataclass(frozen=True)
class InformationLoss:
    """Entropy lost by releasing a group in place of a value (Wan et al. 2015, eqs. 1-3), over hierarchy axes."""

    hierarchies: tuple[Hierarchy, ...]
    weights: Floats

    @cached_property
    def by_axis(self) -> tuple[Floats, ...]:
        """Weighted loss w·ln(size) at each axis position, one array an attribute."""
        return tuple(
            weight * np.log(hierarchy.sizes) for hierarchy, weight in zip(self.hierarchies, self.weights, strict=True)
        )

    @cached_property
    def maximum(self) -> float:
        """Loss of releasing nothing, IL_max; RequestError if no attribute with a weight has more than one value."""
        maximum = float(sum(losses[-1] for losses in self.by_axis))
        if all(hierarchy.n_leaves < 2 for hierarchy in self.hierarchies):
            names = listed([hierarchy.name for hierarchy in self.hierarchies])
            raise RequestError(
                "every quasi-identifier has a single value, which distinguishes nobody",
                where="attributes",
                expected="a quasi-identifier with two values or more",
                got=f"one value in {names}",
                fix="state role: withheld for it, and make a column that varies a quasi-identifier",
            )
        if not maximum > 0:
            raise RequestError(
                "no quasi-identifier counts in the information loss",
                where="attributes.*.weight",
                expected="a positive weight on at least one quasi-identifier with two values or more",
                fix="raise a weight",
            )
        return maximum

    def kept(self, cells: Codes) -> Floats:
        """Share of information kept by cells, 1 − IL/IL_max; cells in axis positions, shape (n, n_attributes)."""
        lost = np.zeros(len(cells))
        for axis, losses in enumerate(self.by_axis):
            lost += losses[cells[:, axis]]
        return 1.0 - lost / self.maximum
