"""Beliefs about the size of a group, by hand."""

from collections.abc import Mapping

import numpy as np

from tasks.adversary.group_sizes import SizeBelief


def belief_of(probabilities: Mapping[int, float]) -> SizeBelief:
    """The belief with these probabilities by group size."""
    held = sorted((size, probability) for size, probability in probabilities.items() if probability)
    sizes, chances = zip(*held, strict=True)
    return SizeBelief(np.array(sizes, dtype=np.int64), np.array(chances, dtype=np.float64))
