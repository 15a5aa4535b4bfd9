"""Many sets of stakes at once, and the two ratios that the game depends on.

A strategy pays V·kept − L/n where c·n < G and V·kept where not. Multiplying all stakes by one number changes no choice,
and c matters only to who attacks: the choice depends on V/L and the smallest safe group, the ceiling of G/c.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tasks.core.errors import ParameterError
from tasks.generalization.game import EXACT, Floats, Payoffs
from tasks.microdata.tuples import Counts

_DIGITS = 13
_LARGEST = 2.0**52


@dataclass(frozen=True, eq=False)
class StakesPoints:
    """Stakes of many points; all arrays of shape (n_points,), greater than 0, in one currency.

    Attributes
    ----------
    benefit
        V.
    loss
        L.
    gain
        G.
    cost
        c.
    """

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
