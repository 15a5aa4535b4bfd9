"""Distinct rows of a numeric file: equal records are compared once."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.assessments.linkage.figure import Floats

_KEY_LIMIT = 2**62


@dataclass(frozen=True)
class DistinctRows:
    """The distinct rows of a file, in order of first appearance."""

    rows: Floats
    """Shape (n_distinct, n_attributes)."""
    first: NDArray[np.intp]
    """Position in the file where each first appears, shape (n_distinct,)."""
    of: NDArray[np.intp]
    """Distinct row of each record, shape (n_records,)."""
    counts: NDArray[np.int64]
    """Records of each distinct row, shape (n_distinct,)."""


def distinct_rows(values: Floats) -> DistinctRows:
    """Fold equal rows of an array of shape (n_records, n_attributes)."""
    keys, size = np.zeros(len(values), dtype=np.int64), 1
    for column in values.T:
        codes, found = pd.factorize(column)
        if size * len(found) >= _KEY_LIMIT:
            keys, size = _renumbered(keys)
        keys, size = keys * len(found) + codes, size * len(found)
    keys, size = _renumbered(keys)
    first = np.empty(size, dtype=np.intp)
    first[keys[::-1]] = np.arange(len(keys))[::-1]
    return DistinctRows(values[first], first, keys, np.bincount(keys, minlength=size).astype(np.int64))


def _renumbered(keys: NDArray[np.int64]) -> tuple[NDArray[np.intp], int]:
    codes, found = pd.factorize(keys)
    return codes.astype(np.intp), len(found)
