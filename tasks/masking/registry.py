"""All masking methods."""

from collections.abc import Mapping
from types import MappingProxyType

from tasks.masking.method import MaskingMethod
from tasks.masking.microaggregation import IndividualRanking, Mdav
from tasks.masking.noise import AdditiveNoise, CorrelatedNoise
from tasks.masking.rank_swapping import BucketSwapping, DistributionSwapping, RankSwapping
from tasks.request.model import MaskingName

METHODS: Mapping[MaskingName, type[MaskingMethod]] = MappingProxyType(
    {
        method.name: method
        for method in (
            RankSwapping,
            BucketSwapping,
            DistributionSwapping,
            IndividualRanking,
            Mdav,
            AdditiveNoise,
            CorrelatedNoise,
        )
    }
)
"""By the name that requests give them."""
