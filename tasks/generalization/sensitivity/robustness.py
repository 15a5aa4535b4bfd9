"""Range of one stake within which the release, or the best strategy, does not change.

A file is made for declared stakes. Had they been others, the same file would be attacked elsewhere, and another file
would have paid more: the difference is the *regret* of having solved for the declared ones. Stakes are moved one at a
time, outward from the declared, until a figure leaves its tolerance; no conclusion is drawn about values further out.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from tasks.core.errors import ParameterError
from tasks.generalization.game import Floats, Payoffs
from tasks.generalization.sensitivity.made import Made
from tasks.generalization.sensitivity.sweep import Means
from tasks.generalization.sensitivity.terms import Stakes, around, joined

ORDER_OF_MAGNITUDE = 10.0
_EVEN = 1e-9


class Stake(StrEnum):
    """Stake that is varied; the recipient's gain moves with the loss."""

    BENEFIT = "benefit"
    LOSS = "loss"
    COST = "cost"


class Figure(StrEnum):
    """Figures that may change."""

    ATTACKED = "attacked_share"
    """Share of the records of the file as made that are worth attacking."""
    REGRET = "regret"
    """Publisher's loss from the file as made, against the best file for the moved stakes, over V."""
    INTENSITY = "mean_generalization"
    """Mean generalization intensity GI of the best file for the moved stakes."""
    BEST_ATTACKED = "best_attacked_share"
    """Share of the records of that file that are worth attacking."""


@dataclass(frozen=True)
class Tolerances:
    """Tolerance of each figure against its value under the declared stakes; all shares."""

    attacked: float = 0.01
    regret: float = 0.01
    """Largest regret, as a share of V."""
    intensity: float = 0.01


@dataclass(frozen=True)
class Reach:
    """The factors around 1 by which one stake may be multiplied while a figure stays within its tolerance."""

    stake: Stake
    figure: Figure
    tolerance: float
    declared: float
    """The figure under the declared stakes."""
    low: float
    """Smallest factor up to which it holds at every factor looked at."""
    high: float
    """Largest such factor."""
    breaks_low: float | None
    """Next factor looked at, where it no longer holds; None where the range that was looked at ends."""
    breaks_high: float | None

    @property
    def order_of_magnitude(self) -> bool:
        """Whether it holds from a tenth of the declared stake to ten times it."""
        within = 1 + _EVEN
        return self.low <= within / ORDER_OF_MAGNITUDE and self.high * within >= ORDER_OF_MAGNITUDE


def default_factors(decades: float = 1.5, steps_a_decade: int = 40) -> Floats:
    """Factors around 1, evenly spaced in the logarithm, 1 among them."""
    number = round(decades * steps_a_decade)
    factors: Floats = 10.0 ** (np.arange(-number, number + 1) / steps_a_decade)
    return factors


def robustness(
    file: Made,
    best: Callable[[Stakes], Means] | None,
    payoffs: Payoffs,
    tolerances: Tolerances | None = None,
    factors: ArrayLike | None = None,
    *,
    informed: Made | None = None,
) -> tuple[Reach, ...]:
    """Range within which each stake may move, for each figure.

    Parameters
    ----------
    file : Made
        With the group sizes that ``best`` goes by.
    best : callable or None
        Outcome of the game that made the file, solved again at some stakes; without one, attacks on the file alone are
        looked at.
    payoffs : Payoffs
        The declared stakes.
    tolerances : Tolerances, optional
    factors : array-like, optional
        Ascending factors, 1 among them, at which ``best`` is asked; ``default_factors``, which serve the attacks on the
        file in any case, if not given.
    informed : Made, optional
        The same file by the groups that a recipient who knows the rule finds; by them it is attacked.

    Raises
    ------
    ParameterError
        If 1 is not among the factors, or they do not ascend.
    """
    allowed = tolerances or Tolerances()
    fine = default_factors()
    tried = fine if factors is None else np.asarray(factors, dtype=np.float64)
    if tried.ndim != 1 or not (np.diff(tried) > 0).all() or not (tried == 1).any():
        raise ParameterError(
            "the factors are not a range around the declared stakes",
            where="factors",
            expected="ascending factors with 1 among them",
            got="others",
            fix="correct the call",
        )
    reaches = _reaches(
        Figure.ATTACKED, allowed.attacked, fine, (informed or file).means(_moved(payoffs, fine)).attacked
    )
    if best is not None:
        every = _moved(payoffs, tried)
        played = best(every)
        regret = (played.publisher(every) - file.means(every).publisher(every)) / every.benefit
        for figure, values, tolerance in (
            (Figure.REGRET, regret, allowed.regret),
            (Figure.INTENSITY, played.intensity, allowed.intensity),
            (Figure.BEST_ATTACKED, played.attacked, allowed.attacked),
        ):
            reaches += _reaches(figure, tolerance, tried, values)
    return tuple(reaches)


def _moved(payoffs: Payoffs, factors: Floats) -> Stakes:
    """Each stake at all factors, one stake after the other."""
    return joined([around(payoffs, **{stake.value: factors}) for stake in Stake])


def _reaches(figure: Figure, tolerance: float, factors: Floats, values: Floats) -> list[Reach]:
    """Reach of each stake; values of shape (n_stakes · n_factors,)."""
    rows = values.reshape(len(Stake), -1)
    return [_reach((stake, figure), tolerance, factors, row) for stake, row in zip(Stake, rows, strict=True)]


def _reach(what: tuple[Stake, Figure], tolerance: float, factors: Floats, values: Floats) -> Reach:
    stake, figure = what
    own = int(np.flatnonzero(factors == 1)[0])
    declared = float(values[own])
    change = values if figure is Figure.REGRET else np.abs(values - declared)
    broken = np.flatnonzero(~(change <= tolerance + _EVEN))
    below, above = broken[broken < own], broken[broken > own]
    if own in broken:
        below = above = np.array([own])
    return Reach(
        stake=stake,
        figure=figure,
        tolerance=tolerance,
        declared=declared,
        low=float(factors[min(int(below[-1]) + 1, own)] if len(below) else factors[0]),
        high=float(factors[max(int(above[0]) - 1, own)] if len(above) else factors[-1]),
        breaks_low=float(factors[below[-1]]) if len(below) else None,
        breaks_high=float(factors[above[0]]) if len(above) else None,
    )
