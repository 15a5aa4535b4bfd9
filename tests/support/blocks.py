"""Microaggregation in blocks of consecutive attributes, as the papers mask them."""

from collections.abc import Iterable

import numpy as np

from tasks.masking.microaggregation import Mdav


def masked_in_blocks(values: np.ndarray, sizes_and_ks: Iterable[tuple[int, int]]) -> np.ndarray:
    """MDAV by distances of the values as they are, block by block, given attributes and k of each."""
    parts, start = [], 0
    for size, k in sizes_and_ks:
        block = values[:, start : start + size]
        parts.append(Mdav(k, standardised=False).mask(block, np.random.default_rng(0)).values)
        start += size
    return np.hstack(parts)
