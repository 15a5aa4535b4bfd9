"""Whether cells lie within others, pair by pair."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tasks.decoys.classes import Lineage
from tasks.microdata.hierarchy import Codes


def within(inner: Codes, outer: Codes, axes: Sequence[Lineage]) -> NDArray[np.bool_]:
    """Whether each inner cell lies within the outer cell beside it; both of shape (n_cells, n_attributes)."""
    inside = np.ones(len(inner), dtype=bool)
    for axis, line in enumerate(axes):
        inside &= encloses(line, outer[:, axis], inner[:, axis])
    return inside


def encloses(line: Lineage, outer: Codes, inner: Codes) -> NDArray[np.bool_]:
    """Whether each outer group holds all leaves of the inner one beside it; both of shape (n,)."""
    sought = line.canonical[outer]
    return (line.canonical[inner] == sought) | (line.above[inner] == sought[:, None]).any(axis=1)
