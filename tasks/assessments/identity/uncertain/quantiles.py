"""Quantiles of an uncertain term's distribution between its ends."""

import numpy as np
from scipy import stats

from tasks.generalization.game import Floats
from tasks.request.model import UncertainTerm


def is_drawn(term: UncertainTerm) -> bool:
    """Whether a term has a distribution; of the others the ends alone are known."""
    return term.kind != "between"


def quantiles(term: UncertainTerm, probabilities: Floats) -> Floats:
    """Quantiles of a drawn term at probabilities from 0 to 1, same shape; rounding never goes past an end."""
    low, high = term.ends
    if term.values is not None and term.weights is not None:
        order = np.argsort(term.values)
        reached = np.cumsum(np.asarray(term.weights, dtype=np.float64)[order])
        place = np.searchsorted(reached / reached[-1], probabilities, side="left")
        return np.asarray(term.values, dtype=np.float64)[order][np.minimum(place, len(order) - 1)]
    if term.mode is not None:
        found = stats.triang.ppf(probabilities, (term.mode - low) / (high - low), low, high - low)
    elif term.mean is not None and term.deviation is not None:
        ends = ((end - term.mean) / term.deviation for end in (low, high))
        found = stats.truncnorm.ppf(probabilities, *ends, term.mean, term.deviation)
    elif term.kind == "log-uniform":
        found = stats.loguniform.ppf(probabilities, low, high)
    else:
        found = stats.uniform.ppf(probabilities, low, high - low)
    return np.clip(np.asarray(found, dtype=np.float64), low, high)
