"""Many sets of stakes at once, and the two ratios that the game depends on.

A strategy pays V·kept − L/n where c·n < G and V·kept where not. Multiplying all stakes by one number changes no choice,
and c matters only to who attacks. The chosen strategy depends on V/L and the smallest safe group, the ceiling of G/c.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tasks.core.errors import ParameterError
from tasks.generalization.game import Floats, Payoffs
from tasks.microdata.tuples import Counts

_EXACT = 1 - 1e-12
"""As in ``tasks.generalization.game``: a gain this near to the cost of the attempts equals it."""
_LARGEST = 2.0**52
_DIGITS = 13


@dataclass(frozen=True, eq=False)
class Stakes:
    """Stakes of many points; all arrays of shape (n_points,), greater than 0, in one currency.

    Raises
    ------
    ParameterError
        If shapes differ or are not one-dimensional, or a stake is not a finite number greater than 0.
    """

    benefit: Floats
    """V."""
    loss: Floats
    """L."""
    gain: Floats
    """G."""
    cost: Floats
    """c."""

    def __post_init__(self) -> None:
        for name in ("benefit", "loss", "gain", "cost"):
            values = getattr(self, name)
            if values.ndim != 1 or values.shape != self.benefit.shape:
                raise _refused(name, f"shape {self.benefit.shape}", f"shape {values.shape}")
            if not (np.isfinite(values) & (values > 0)).all():
                raise _refused(name, "finite numbers greater than 0", "others")
        if (self.gain / self.cost >= _LARGEST).any():
            raise _refused("gain over cost", "less than 2^52 people", "more")

    def __len__(self) -> int:
        return len(self.benefit)

    @cached_property
    def ratio(self) -> Floats:
        """V/L, to 13 significant digits, so that points whose stakes are multiples of each other are one."""
        exact = self.benefit / self.loss
        scale = 10.0 ** (_DIGITS - 1 - np.floor(np.log10(exact)))
        rounded: Floats = np.where(np.isfinite(scale), np.rint(exact * scale) / scale, exact)
        return rounded

    @cached_property
    def safe(self) -> Counts:
        """Smallest group that is not attacked, from 1."""
        enough = self.gain * _EXACT
        least = np.ceil(enough / self.cost)
        least = np.where(self.cost * (least - 1) >= enough, least - 1, least)
        least = np.where(self.cost * least < enough, least + 1, least)
        return np.maximum(least, 1).astype(np.int64)

    def select(self, rows: NDArray[np.intp] | slice) -> "Stakes":
        """Some of the points."""
        return Stakes(self.benefit[rows], self.loss[rows], self.gain[rows], self.cost[rows])


def around(payoffs: Payoffs, benefit: ArrayLike = 1.0, loss: ArrayLike = 1.0, cost: ArrayLike = 1.0) -> Stakes:
    """Declared stakes times some factors; the recipient's gain keeps its ratio to the loss.

    Parameters
    ----------
    payoffs : Payoffs
        Declared stakes.
    benefit, loss, cost : array-like
        Factors, of shapes that broadcast to (n_points,).
    """
    factors = np.broadcast_arrays(*(np.atleast_1d(np.asarray(one, dtype=np.float64)) for one in (benefit, loss, cost)))
    return Stakes(
        payoffs.benefit * factors[0], payoffs.loss * factors[1], payoffs.gain * factors[1], payoffs.cost * factors[2]
    )


def joined(parts: Sequence[Stakes]) -> Stakes:
    """The points of some sets of stakes, one set after the other."""
    names = ("benefit", "loss", "gain", "cost")
    return Stakes(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def _refused(name: str, expected: str, got: str) -> ParameterError:
    return ParameterError(
        "the stakes of a point are not possible", where=name, expected=expected, got=got, fix="correct the stakes"
    )
