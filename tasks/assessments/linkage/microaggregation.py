"""Attacks on microaggregation: an intruder who knows the method knows which group a record must have been in.

MDAV draws nothing, so whoever holds the original file runs it again and obtains the masked values of every record.
Individual ranking keeps the order of the values: the group of a value follows from its rank, or, for an intruder who
holds a few individuals only, lies between the group means around it (Winkler 2002; Nin, Herranz and Torra 2008).
"""

import numpy as np

from tasks.assessments.linkage.figure import Floats
from tasks.assessments.linkage.within import Bounds


def rank_brackets(original: Floats, masked: Floats) -> Bounds:
    """Group means at the ranks of each value in the intruder's own file, which lists everybody.

    The i-th smallest original value is masked by the i-th smallest masked one; equal values share their ranks.
    """
    low, high = np.empty_like(original), np.empty_like(original)
    for axis, (before, after) in enumerate(zip(original.T, masked.T, strict=True)):
        ordered, means = np.sort(before), np.sort(after)
        low[:, axis] = means[np.searchsorted(ordered, before, "left")]
        high[:, axis] = means[np.searchsorted(ordered, before, "right") - 1]
    return Bounds(low, high)
