"""How often each code occurs, by counting where codes are few and by sorting where they are not."""

import numpy as np
from numpy.typing import NDArray

from tasks.decoys.sensitive_values import Column

_SPREAD = 2**22
"""Range of codes up to which an array of counts is small."""


def counted_codes(codes: Column) -> tuple[Column, NDArray[np.int64]]:
    """The codes that occur, growing, and the records of each; as ``numpy.unique`` gives them.

    >>> counted_codes(np.array([3, 0, 3]))
    (array([0, 3]), array([1, 2]))
    """
    few = codes.dtype.kind in "iu" and len(codes) > 0 and codes.min() >= 0 and codes.max() < _SPREAD
    if not few:
        distinct, counts = np.unique(codes, return_counts=True)
        return distinct, counts.astype(np.int64)
    records = np.bincount(codes)
    present = np.flatnonzero(records)
    return present.astype(codes.dtype), records[present].astype(np.int64)
