"""Minimum class size in the released file: records of smaller classes are left out."""

import numpy as np
from numpy.typing import NDArray

from tasks.microdata.tuples import Counts


def class_sizes(cells: Counts, records: Counts) -> Counts:
    """Records in the class of each tuple, from the number of its released cell and its own records; all (n_tuples,)."""
    _, cell = np.unique(cells, return_inverse=True)
    return np.rint(np.bincount(cell, weights=records)).astype(np.int64)[cell]


def suppressed(cells: Counts, records: Counts, minimum: int) -> NDArray[np.bool_]:
    """Whether each tuple's records are left out because their class is smaller than ``minimum``."""
    return class_sizes(cells, records) < minimum
