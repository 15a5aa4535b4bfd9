"""Many sets of stakes at once: the two ratios that the game depends on, and the outcome of a game or a file at each.

A strategy pays V·kept − L/n where c·n < G and V·kept where not. Multiplying all stakes by one number changes no choice,
and c matters only to who attacks: the choice depends on V/L and the smallest safe group, the ceiling of G/c.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tasks.core.errors import ParameterError
from tasks.generalization.game.payoffs import EXACT, Floats, Payoffs
from tasks.microdata.tuples import Counts

_DIGITS = 13
_LARGEST = 2.0**52


@dataclass(frozen=True, eq=False)
class StakesPoints:
    """Stakes V, L, G and c of many points; all arrays of shape (n_points,), greater than 0, in one currency."""

    benefit: Floats
    loss: Floats
    gain: Floats
    cost: Floats

    def __post_init__(self) -> None:
        """Refuse (ParameterError) stakes at which group sizes cannot be told apart."""
        if (self.gain / self.cost >= _LARGEST).any():
            raise ParameterError(
                "the stakes of a point are not possible",
                where="gain over cost",
                expected="less than 2^52 people",
                got="more",
                fix="correct the stakes",
            )

    def __len__(self) -> int:
        return len(self.benefit)

    @cached_property
    def ratio(self) -> Floats:
        """V/L, to 13 significant digits, so that points whose stakes are multiples of each other are one."""
        exact = self.benefit / self.loss
        scale = 10.0 ** (_DIGITS - 1 - np.floor(np.log10(exact)))
        return np.where(np.isfinite(scale), np.rint(exact * scale) / scale, exact)

    @cached_property
    def safe(self) -> Counts:
        """Smallest group that is not attacked, from 1."""
        enough = self.gain * EXACT
        least = np.ceil(enough / self.cost)
        least = np.where(self.cost * (least - 1) >= enough, least - 1, least)
        least = np.where(self.cost * least < enough, least + 1, least)
        return np.maximum(least, 1).astype(np.int64)

    def select(self, rows: NDArray[np.intp]) -> "StakesPoints":
        """Some of the points."""
        return StakesPoints(self.benefit[rows], self.loss[rows], self.gain[rows], self.cost[rows])

    def payoffs(self, point: int) -> Payoffs:
        """Stakes of one point."""
        return Payoffs(*(float(getattr(self, field.name)[point]) for field in fields(self)))


def around(payoffs: Payoffs, benefit: ArrayLike = 1.0, loss: ArrayLike = 1.0, cost: ArrayLike = 1.0) -> StakesPoints:
    """Declared stakes times factors that broadcast to (n_points,); the recipient's gain keeps its ratio to the loss."""
    of_benefit, of_loss, of_cost = np.broadcast_arrays(*np.atleast_1d(benefit, loss, cost))
    return StakesPoints(
        payoffs.benefit * of_benefit, payoffs.loss * of_loss, payoffs.gain * of_loss, payoffs.cost * of_cost
    )


def joined(parts: Sequence[StakesPoints]) -> StakesPoints:
    """The points of some sets of stakes, one set after the other."""
    names = (field.name for field in fields(StakesPoints))
    return StakesPoints(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


@dataclass(frozen=True, eq=False)
class GameMeans:
    """Means over the records at each point, shape (n_points,); NaN where some record has no strategy."""

    kept: Floats
    """Share of information kept, 0 to 1."""
    reidentified: Floats
    """Probability of re-identification, 0 where a record is not attacked."""
    attacked: Floats
    """Share of the records that are worth attacking."""
    intensity: Floats
    """Generalization intensity GI, 0 to 1."""

    def publisher(self, stakes: StakesPoints) -> Floats:
        """Publisher's payoff, units a record."""
        return stakes.benefit * self.kept - stakes.loss * self.reidentified

    def adversary(self, stakes: StakesPoints) -> Floats:
        """Recipient's payoff, units a record."""
        return stakes.gain * self.reidentified - stakes.cost * self.attacked

    def select(self, points: NDArray[np.intp]) -> "GameMeans":
        """Some points."""
        return GameMeans(*(getattr(self, field.name)[points] for field in fields(self)))


@dataclass(frozen=True, eq=False)
class FixedFile:
    """Records of a file by group size, and what the file keeps; all shares are of the records that came in."""

    sizes: Counts
    """Distinct group sizes of released records, ascending, from 1; shape (n_sizes,)."""
    shares: Floats
    """Share of the records at each size, shape (n_sizes,)."""
    kept: float
    """Mean share of information kept; suppressed records keep nothing."""
    intensity: float
    """Mean generalization intensity GI; that of suppressed records is 1."""

    def means(self, stakes: StakesPoints) -> GameMeans:
        """Figures of the file under some stakes, by which only attacks and payoffs change."""
        upto = np.searchsorted(self.sizes, stakes.safe, side="left")
        attacked = np.concatenate([[0.0], np.cumsum(self.shares)])
        reidentified = np.concatenate([[0.0], np.cumsum(self.shares / self.sizes)])
        same = np.ones(len(stakes))
        return GameMeans(self.kept * same, reidentified[upto], attacked[upto], self.intensity * same)


def fixed_file(people: Counts, kept: Floats, intensity: Floats, records: Counts, total: int) -> FixedFile:
    """A file as it was made, by tuple: ``records`` released out of ``total`` that came in.

    ``people`` are n_p as the game claims it, or n_T as a recipient who knows the rule does; 0 counts as 1. ``kept`` is
    the share of information kept, ``intensity`` the generalization intensity; all of shape (n_tuples,).
    """
    sizes, place = np.unique(np.maximum(people, 1), return_inverse=True)
    return FixedFile(
        sizes=sizes,
        shares=np.bincount(place.ravel(), weights=records, minlength=len(sizes)) / total,
        kept=float(records @ kept / total),
        intensity=float((records @ intensity + (total - records.sum())) / total),
    )
