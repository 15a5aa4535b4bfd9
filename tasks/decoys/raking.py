"""Weights that make some cells like others: raking, or iterative proportional fitting, attribute by attribute.

Decoys are drawn to be distributed as released classes (``tasks.decoys.plausibility``). Cells that could have become
decoys are weighed here so that their weighted shares in bins of each attribute are those of released classes, which is
the least change of equal weights that does so (Deming & Stephan 1940; Ireland & Kullback 1968).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.integer]

BINS = 20
LEAST = 20
"""Cells, and reference cells, that a bin has on average at least."""
_ROUNDS = 10
_EXTREME = 10.0


def raked(attributes: Sequence[Integers], reference: Sequence[Integers]) -> Floats:
    """Weights of cells, of mean 1, by which they are distributed as reference cells in each attribute.

    Parameters
    ----------
    attributes : sequence of arrays of shape (n_cells,)
        Ordered values of each attribute; bins are runs of values.
    reference : sequence of arrays of shape (n_reference,)
        The same of the reference cells.

    Returns
    -------
    array of shape (n_cells,)
        From a tenth to ten times the mean; 1 throughout where there are fewer than 40 cells of either kind.
    """
    n_cells = len(attributes[0])
    n_bins = min(BINS, n_cells // LEAST, len(reference[0]) // LEAST)
    weights = np.ones(n_cells)
    if n_bins <= 1:
        return weights
    binned = [_binned(values, like, n_bins) for values, like in zip(attributes, reference, strict=True)]
    for _ in range(_ROUNDS):
        for bins, shares in binned:
            held = np.bincount(bins, weights=weights, minlength=len(shares)) / weights.sum()
            weights = weights * np.divide(shares, held, out=np.zeros_like(shares), where=held > 0)[bins]
        if not weights.any():
            return np.ones(n_cells)
        weights = np.clip(weights / weights.mean(), 1 / _EXTREME, _EXTREME)
    scaled: Floats = weights / weights.mean()
    return scaled


def _binned(values: Integers, like: Integers, n_bins: int) -> tuple[NDArray[np.intp], Floats]:
    """Bin of each value, and the share of the reference in each bin."""
    edges = np.unique(np.quantile(like, np.arange(1, n_bins) / n_bins, method="lower"))
    shares = np.bincount(np.searchsorted(edges, like), minlength=len(edges) + 1) / len(like)
    return np.searchsorted(edges, values), shares
