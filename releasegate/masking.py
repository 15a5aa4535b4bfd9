"""Masking of numeric attributes: rank swapping, microaggregation and noise.

>>> import numpy as np
>>> from releasegate.masking import IndividualRanking
>>> IndividualRanking(k=2).mask([[1.0], [7.0], [3.0], [9.0]], np.random.default_rng(0)).values.ravel().tolist()
[2.0, 8.0, 2.0, 8.0]
"""

from tasks.masking.method import Masked, MaskingMethod
from tasks.masking.microaggregation import IndividualRanking, Mdav
from tasks.masking.noise import AdditiveNoise, CorrelatedNoise
from tasks.masking.rank_swapping import BucketSwapping, DistributionSwapping, RankSwapping, Reading

__all__ = [
    "AdditiveNoise",
    "BucketSwapping",
    "CorrelatedNoise",
    "DistributionSwapping",
    "IndividualRanking",
    "Masked",
    "MaskingMethod",
    "Mdav",
    "RankSwapping",
    "Reading",
]
