"""The area under a ROC curve with its interval: how well a score separates decoys from real classes."""

import math
from dataclasses import dataclass

from scipy.optimize import brentq
from scipy.special import ndtri
from scipy.stats import rankdata

from tasks.core.errors import ParameterError
from tasks.decoys.generalized_release import Flags, Floats

CONFIDENCE = 0.95
"""Level of every interval."""


@dataclass(frozen=True)
class Area:
    """Probability that a decoy scores above a real class, ties by half; 0.5 is no better than guessing."""

    value: float
    """0 to 1."""
    low: float
    """Lower end of the interval."""
    high: float
    decoys: int
    real: int


def area(scores: Floats, decoy: Flags) -> Area:
    """Area under the ROC curve, with DeLong's interval.

    Parameters
    ----------
    scores : array of shape (n_classes,)
        Higher is more suspicious; NaN is not allowed.
    decoy : array of bool, shape (n_classes,)

    Raises
    ------
    ParameterError
        If there are fewer than two decoys or two real classes.

    Notes
    -----
    The variance is that of the placements (DeLong, DeLong & Clarke-Pearson 1988, eq. 5), the interval is taken on the
    logit scale so that it stays within 0 and 1. Where the two are separated altogether the placements do not vary and
    the variance would be 0; there the interval is Newcombe's (2006, method 5), which does not vanish.
    """
    positive, negative = scores[decoy], scores[~decoy]
    m, n = len(positive), len(negative)
    if min(m, n) < 2:
        raise ParameterError(
            "there is too little to measure detection on",
            where="decoy and real classes",
            expected="at least two of each",
            got=f"{m} and {n}",
            fix="draw more decoy classes",
        )
    ranks = rankdata(scores)
    above = (ranks[decoy] - rankdata(positive)) / n
    below = 1 - (ranks[~decoy] - rankdata(negative)) / m
    value = float(above.mean())
    variance = float(above.var(ddof=1) / m + below.var(ddof=1) / n)
    z = float(ndtri(0.5 + CONFIDENCE / 2))
    if not 0 < value < 1 or variance == 0:
        low, high = _newcombe(value, m, n, z)
    else:
        middle, half = math.log(value / (1 - value)), z * math.sqrt(variance) / (value * (1 - value))
        low, high = (_logistic(middle + end) for end in (-half, half))
    return Area(value, low, high, m, n)


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def _newcombe(value: float, m: int, n: int, z: float) -> tuple[float, float]:
    """Ends θ where |θ − value| = z √V(θ), V the variance of Hanley & McNeil with (m + n)/2 in place of m and n."""
    half = (m + n) / 2

    def excess(theta: float) -> float:
        spread = 1 + (half - 1) * ((1 - theta) / (2 - theta) + theta / (1 + theta))
        return (theta - value) ** 2 - z * z * theta * (1 - theta) * spread / (m * n)

    edge = 1e-12
    low = 0.0 if value == 0 else float(brentq(excess, edge, value - edge))
    high = 1.0 if value == 1 else float(brentq(excess, value + edge, 1 - edge))
    return low, high
