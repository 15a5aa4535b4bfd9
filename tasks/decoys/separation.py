"""How well decoys are separated from real classes: the area under a score's ROC curve, and a test of class sizes."""

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtri
from scipy.stats import rankdata

from tasks.decoys.classes import Flags, Floats
from tasks.microdata.tuples import Counts

CONFIDENCE = 0.95
"""Level of every interval."""
_PERMUTATIONS = 999


def area(scores: Floats, decoy: Flags) -> tuple[float, float, float]:
    """Area under the ROC curve with DeLong's interval: the probability that a decoy scores above a real class.

    Parameters
    ----------
    scores : array of shape (n_classes,)
        Higher is more suspicious; ties count by half; NaN is not allowed.
    decoy : array of bool, shape (n_classes,)
        At least two of each kind.

    Returns
    -------
    area, low, high : float
        0 to 1; 0.5 is no better than guessing.

    Notes
    -----
    The variance is that of the placements (DeLong, DeLong & Clarke-Pearson 1988, eq. 5), the interval is taken on the
    logit scale so that it stays within 0 and 1. Where the two are separated altogether the placements do not vary and
    the variance would be 0; there the interval is Newcombe's (2006, method 5), which does not vanish.
    """
    positive, negative = scores[decoy], scores[~decoy]
    m, n = len(positive), len(negative)
    ranks = rankdata(scores)
    above = (ranks[decoy] - rankdata(positive)) / n
    below = 1 - (ranks[~decoy] - rankdata(negative)) / m
    value = float(above.mean())
    variance = float(above.var(ddof=1) / m + below.var(ddof=1) / n)
    z = float(ndtri(0.5 + CONFIDENCE / 2))
    if not 0 < value < 1 or variance == 0:
        return (value, *_newcombe(value, m, n, z))
    half = z * np.sqrt(variance) / (value * (1 - value))
    return value, float(expit(logit(value) - half)), float(expit(logit(value) + half))


def _newcombe(value: float, m: int, n: int, z: float) -> tuple[float, float]:
    """Ends θ where |θ − value| = z √V(θ), V the variance of Hanley & McNeil with (m + n)/2 in place of m and n."""

    def excess(theta: float) -> float:
        spread = 1 + ((m + n) / 2 - 1) * ((1 - theta) / (2 - theta) + theta / (1 + theta))
        return (theta - value) ** 2 - z * z * theta * (1 - theta) * spread / (m * n)

    edge = 1e-12
    low = 0.0 if value == 0 else float(brentq(excess, edge, value - edge))
    high = 1.0 if value == 1 else float(brentq(excess, value + edge, 1 - edge))
    return low, high


def size_p_value(decoys: Counts, released: Counts, generator: np.random.Generator) -> float:
    """Permutation test of the Kolmogorov-Smirnov distance between the sizes of decoys and of released classes.

    Parameters
    ----------
    decoys, released : arrays of shape (n_classes,)
        Sizes, from 1; at least one of each.
    generator : numpy.random.Generator
        Gives the divisions. Sizes are whole numbers with many ties, which the usual tables are not made for.

    Returns
    -------
    float
        Share of random divisions of the classes with a distance as large, from 1/1000; a small one separates them.
    """
    values, value = np.unique(np.concatenate([decoys, released]), return_inverse=True)
    counts = np.bincount(value, minlength=len(values))
    own = np.bincount(value[: len(decoys)], minlength=len(values))[None, :]
    divided = generator.multivariate_hypergeometric(counts, len(decoys), size=_PERMUTATIONS, method="marginals")
    drawn = np.vstack([own, divided])
    gaps = np.cumsum(drawn, axis=1) / len(decoys) - np.cumsum(counts - drawn, axis=1) / len(released)
    distances = np.abs(gaps).max(axis=1)
    return float(np.count_nonzero(distances >= distances[0] - 1e-12) / (_PERMUTATIONS + 1))
