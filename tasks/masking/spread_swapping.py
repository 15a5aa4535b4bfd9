"""Rank swapping whose partners may be anywhere in the file (Torra 2016, slide 63): p-buckets and p-distribution.

A value may receive any rank, so that the sets of the intersection attack are the whole file: its guarantee is gone, not
the risk, because near ranks remain the likely ones. Each attribute by itself, in increasing order of the values, each
value at most once; marginal distributions are kept exactly.
"""

from dataclasses import dataclass
from math import frexp

import numpy as np
import scipy

from tasks.masking.method import (
    Described,
    Ints,
    Strengths,
    checked_positive,
    checked_whole,
    ranks_of_percent,
    refused,
)
from tasks.masking.rank_swapping import PERCENT, Swapping, exchanged, uniform_draws
from tasks.request.model import MaskingName


@dataclass(frozen=True)
class BucketSwapping(Swapping):
    """Rank swapping p-buckets (Torra 2016, slide 63).

    The sorted values are cut into equal buckets. A value of bucket r is swapped with one of bucket s ≥ r, which is
    chosen with probability (1/K)·2^−(s−r+1); the partner is drawn among the unswapped values of that bucket.

    Parameters
    ----------
    buckets : int
        Number of buckets, from 1; their sizes differ by one at most.

    Raises
    ------
    ParameterError
        If the number is not whole or less than 1.

    Notes
    -----
    The slide does not say what happens when a bucket has no unswapped value left. Here K sums over the buckets that
    have one, the value itself left out; where none has, the value stays. The order within a tie is drawn.
    """

    name = MaskingName.BUCKET_SWAPPING
    title = "Rank swapping, p-buckets"
    derived = "how likely a value moves from one bucket of ranks to another; no rank is ruled out"
    strengths = Strengths((2, 5, 10, 20, 50, 100), 1.0, 1e6, whole=True, stronger_below=True)

    buckets: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "buckets", checked_whole("buckets", self.buckets, 1))

    def described(self, n_records: int) -> Described:
        """The method and its buckets.

        Raises
        ------
        ParameterError
            If the records are fewer than the buckets.
        """
        if self.buckets > n_records:
            raise refused("there are more buckets than records", "buckets", f"at most {n_records}", str(self.buckets))
        return {"method": "rank swapping p-buckets", "buckets": self.buckets}

    def sources(self, n_records: int, generator: np.random.Generator) -> Ints:
        """Rank whose value each rank receives."""
        return bucket_sources(n_records, self.buckets, generator)


@dataclass(frozen=True)
class DistributionSwapping(Swapping):
    """Rank swapping p-distribution (Torra 2016, slide 63).

    The value at rank i is swapped with the one at ℓ = i + r, where r has the normal distribution N(k/2, k/2) with
    k = p·n/100.

    Parameters
    ----------
    p : float
        Percent of the records; greater than 0, at most 100.

    Raises
    ------
    ParameterError
        If p is outside its range.

    Notes
    -----
    The slide's second 0.5p is read as the standard deviation. It does not say what happens with a partner that is
    below, beyond the last rank or already swapped. Here r is rounded; one below 1 is drawn again, for the lower ranks
    have had their turn; one beyond the last rank is the last; and the unswapped value nearest to ℓ is taken, of two
    as near the lower. Only where no unswapped value is left does a value stay. The order within a tie is drawn.
    """

    name = MaskingName.DISTRIBUTION_SWAPPING
    title = "Rank swapping, p-distribution"
    derived = "how likely a value moves by how many ranks; no rank is ruled out"
    strengths = PERCENT

    p: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", checked_positive("p", self.p, largest=100))

    def described(self, n_records: int) -> Described:
        """The method, p, and mean and standard deviation of the move in ranks."""
        half = float(ranks_of_percent(self.p, n_records) / 2)
        return {"method": "rank swapping p-distribution", "p": self.p, "mean": half, "standard_deviation": half}

    def sources(self, n_records: int, generator: np.random.Generator) -> Ints:
        """Rank whose value each rank receives."""
        return distant_sources(n_records, float(ranks_of_percent(self.p, n_records) / 2), generator)


def bucket_sources(n_records: int, buckets: int, generator: np.random.Generator) -> Ints:
    """Rank whose value each rank receives under p-buckets; expected linear time.

    A bucket that does not exist, or has no unswapped value, is drawn again, which is to leave it out of K; so is a
    swapped rank of the bucket. The exponent of a uniform number is 0, −1, −2, … with probability 1/2, 1/4, 1/8, …
    """
    starts = -(-np.arange(buckets + 1) * n_records // buckets)
    unswapped_of = np.diff(starts).tolist()
    bucket_of = np.repeat(np.arange(buckets), unswapped_of).tolist()
    first, chances = starts.tolist(), uniform_draws(generator, n_records)
    unswapped, left = bytearray(b"\1") * n_records, n_records
    movers, partners = [], []
    for rank, own in enumerate(bucket_of):
        if not unswapped[rank]:
            continue
        unswapped[rank] = 0
        unswapped_of[own] -= 1
        left -= 1
        while left:
            other = own - frexp(next(chances))[1]
            if other >= buckets or not unswapped_of[other]:
                continue
            begin = max(first[other], rank + 1)
            partner = rank
            while not unswapped[partner]:
                partner = begin + int(next(chances) * (first[other + 1] - begin))
            unswapped[partner] = 0
            unswapped_of[other] -= 1
            left -= 1
            movers.append(rank)
            partners.append(partner)
            break
    return exchanged(n_records, movers, partners)


def distant_sources(n_records: int, half: float, generator: np.random.Generator) -> Ints:
    """Rank whose value each rank receives under p-distribution; ``half`` is mean and standard deviation of r."""
    below_one = scipy.special.ndtr((0.5 - half) / half)
    deviates = scipy.special.ndtri(below_one + (1 - below_one) * generator.random(n_records))
    steps = np.maximum(1, np.rint(half + half * deviates))
    targets = np.minimum(n_records - 1, np.arange(n_records) + steps).astype(np.int64)
    unswapped, top = bytearray(b"\1") * n_records, n_records - 1
    movers, partners = [], []
    for rank, target in enumerate(targets.tolist()):
        if not unswapped[rank]:
            continue
        unswapped[rank] = 0
        top = unswapped.rfind(1, rank, top + 1)
        if top < 0:
            break
        partner = top if target >= top else _nearest(unswapped, target)
        unswapped[partner] = 0
        movers.append(rank)
        partners.append(partner)
    return exchanged(n_records, movers, partners)


def _nearest(marked: bytearray, place: int) -> int:
    """The marked place nearest to one that has a marked place at or above it; of two as near the lower."""
    higher = marked.find(1, place)
    lower = marked.rfind(1, max(0, 2 * place - higher), place)
    return lower if lower >= 0 else higher
