"""Rank swapping: each attribute by itself, values change places with others near in rank (Torra 2016, slides 49, 63).

Marginal distributions are kept exactly; correlations are not. In rank swapping p the partner is at most k = ⌊p·n/100⌋
ranks above, which the intersection attack rests on. In p-buckets and p-distribution a value may receive any rank: that
attack's guarantee is gone, not the risk, because near ranks remain the likely ones.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from math import frexp
from typing import Self

import numpy as np
import scipy
from numpy.typing import ArrayLike

from tasks.masking.method import (
    Described,
    Effect,
    Floats,
    Ints,
    Masked,
    MaskedRange,
    MaskingMethod,
    Strengths,
    checked_values,
    random_order,
    rank_range,
    ranks_of_percent,
    refused,
)
from tasks.request.model import Masking, MaskingName

PERCENT = Strengths((1, 2, 4, 6, 8, 10, 14, 20, 30), 0.1, 100.0)
_MOST_DRAWS_AT_ONCE = 1 << 16


class Reading(StrEnum):
    """Rule for the case where the slide's pseudocode draws a rank that is already swapped."""

    PAIR = "pair"
    """It is not drawn: the partner is drawn among the unswapped of the next k ranks; without one, no swap is made."""
    SKIP = "skip"
    """The value is unchanged. Draws beyond the last rank n count as n: ℓ = min(n, i + U{1..k})."""
    LITERAL = "literal"
    """It is swapped again, as the pseudocode says: ℓ is drawn from [i + 1, min(n, i + k)]."""


class Swapping(MaskingMethod):
    """A method by which values change places, each attribute by itself."""

    effect = Effect.EXCHANGED

    def sources(self, n_records: int, generator: np.random.Generator) -> Ints:
        """Rank whose value each rank receives."""
        return exchanged(n_records, self.pairs(n_records, generator))

    @abstractmethod
    def pairs(self, n_records: int, generator: np.random.Generator) -> Iterable[tuple[int, int]]:
        """Ranks that exchange their values; ParameterError if the records are too few for the parameters."""

    @abstractmethod
    def described(self, n_records: int) -> Described:
        """The method and its parameters for a file of so many records."""

    def mask(self, values: ArrayLike, generator: np.random.Generator) -> Masked:
        """Swap at least two records of finite numbers, and enough for the parameters; else ParameterError."""
        original = checked_values(values, fewest=2)
        described, masked = self.described(len(original)), np.empty_like(original)
        for column, swapped in zip(original.T, masked.T, strict=True):
            order = random_order(column, generator)
            swapped[order] = column[order[self.sources(len(original), generator)]]
        return Masked(masked, described)


@dataclass(frozen=True)
class RankSwapping(Swapping):
    """Rank swapping p (Torra 2016, slide 49), in one of its three readings.

    ``p`` percent of the records, above 0 and at most 100, bounds the difference of swapped ranks. In each reading a
    masked value has a rank within ±k of its original's, where a tie has all its ranks: this is what the intersection
    attack rests on. In *literal* a rank that is drawn several times passes on the values of the ranks that drew it, all
    of which lie among the k below it. The slides leave ties open; here the order within a tie is drawn.
    """

    name = MaskingName.RANK_SWAPPING
    title = "Rank swapping"
    plain = "exchanged between records of about the same rank"
    derived = (
        "each value stays within k ranks of its own, so that the masked records that may be a person's are those "
        "within k ranks on every swapped attribute at once"
    )
    strengths = PERCENT
    parameter_words = (("k", "k {} ranks"), ("p", "p {} % of the ranks"), ("reading", "reading “{}”"))

    p: float
    reading: Reading = Reading.PAIR

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reading not in tuple(Reading):
            raise refused("the reading is not known", "reading", ", ".join(Reading), str(self.reading))

    @classmethod
    def of(cls, masking: Masking) -> Self:
        """The method with the parameters that a request gives it."""
        return cls(masking.strength, Reading(masking.reading or "pair"))

    def ranks(self, n_records: int) -> int:
        """The most ranks a value moves, k = ⌊p·n/100⌋; ParameterError if p percent of the records are less than one."""
        return int(ranks_of_percent(self.p, n_records))

    def described(self, n_records: int) -> Described:
        """The method, its parameters and k."""
        return {"method": "rank swapping", "reading": str(self.reading), "p": self.p, "k": self.ranks(n_records)}

    def sources(self, n_records: int, generator: np.random.Generator) -> Ints:
        """Rank whose value each rank receives, by the reading."""
        if self.reading == Reading.LITERAL:
            return literal_sources(n_records, self.ranks(n_records), generator)
        return super().sources(n_records, generator)

    def pairs(self, n_records: int, generator: np.random.Generator) -> Iterable[tuple[int, int]]:
        """Ranks that exchange values, where no rank is swapped again."""
        draw = skip_pairs if self.reading == Reading.SKIP else window_pairs
        return draw(n_records, self.ranks(n_records), generator)

    def bounds(self, original: Floats, masked: Floats, *, complete: bool) -> MaskedRange:  # noqa: ARG002
        """Values within k ranks of the original's (intersection attack, Torra 2016, slides 52 to 60)."""
        return window_bounds(original, masked, self.ranks(len(masked)))


@dataclass(frozen=True)
class BucketSwapping(Swapping):
    """Rank swapping p-buckets (Torra 2016, slide 63).

    The sorted values are cut into ``buckets``, whose sizes differ by one at most. A value of bucket r is swapped with
    one of bucket s ≥ r, which is chosen with probability (1/K)·2^−(s−r+1); the partner is drawn among its unswapped
    values.

    The slide does not say what happens when a bucket has no unswapped value left. Here K sums over the buckets that
    have one, the value itself left out; where none has, the value stays. The order within a tie is drawn.
    """

    name = MaskingName.BUCKET_SWAPPING
    title = "Rank swapping, p-buckets"
    plain = "exchanged between records of about the same rank"
    derived = "how likely a value moves from one bucket of ranks to another; no rank is ruled out"
    strengths = Strengths((2, 5, 10, 20, 50, 100), 1.0, 1e6, whole=True, stronger_below=True)
    parameter_words = (("buckets", "{} buckets"),)

    buckets: int

    def described(self, n_records: int) -> Described:
        """The method and its buckets; ParameterError if the records are fewer."""
        if self.buckets > n_records:
            raise refused("there are more buckets than records", "buckets", f"at most {n_records}", str(self.buckets))
        return {"method": "rank swapping p-buckets", "buckets": self.buckets}

    def pairs(self, n_records: int, generator: np.random.Generator) -> Iterator[tuple[int, int]]:
        """Ranks that exchange values; expected linear time.

        A bucket that does not exist, or has no unswapped value, is drawn again, which leaves it out of K; so is a
        swapped rank. The exponent of a uniform number is 0, −1, −2, … with probability 1/2, 1/4, 1/8, …
        """
        starts = -(-np.arange(self.buckets + 1) * n_records // self.buckets)
        unswapped_of = np.diff(starts).tolist()
        bucket_of = np.repeat(np.arange(self.buckets), unswapped_of).tolist()
        first, chances = starts.tolist(), uniform_draws(generator, n_records)
        unswapped, left = bytearray(b"\1") * n_records, n_records
        for rank, own in enumerate(bucket_of):
            if not unswapped[rank]:
                continue
            unswapped[rank] = 0
            unswapped_of[own] -= 1
            left -= 1
            while left:
                other = own - frexp(next(chances))[1]
                if other >= self.buckets or not unswapped_of[other]:
                    continue
                begin = max(first[other], rank + 1)
                partner = rank
                while not unswapped[partner]:
                    partner = begin + int(next(chances) * (first[other + 1] - begin))
                unswapped[partner] = 0
                unswapped_of[other] -= 1
                left -= 1
                yield rank, partner
                break


@dataclass(frozen=True)
class DistributionSwapping(Swapping):
    """Rank swapping p-distribution (Torra 2016, slide 63).

    The value at rank i is swapped with the one at ℓ = i + r, where r has the normal distribution N(k/2, k/2) with k =
    p·n/100 and p percent of the records, greater than 0, at most 100.

    The slide's second 0.5p is read as the standard deviation. It does not say what happens with a partner that is
    below, beyond the last rank or already swapped. Here r is rounded; one below 1 is drawn again, for the lower ranks
    have had their turn; one beyond the last rank is the last; and the unswapped value nearest to ℓ is taken, of two as
    near the lower. Only where none is left does a value stay. The order within a tie is drawn.
    """

    name = MaskingName.DISTRIBUTION_SWAPPING
    title = "Rank swapping, p-distribution"
    plain = "exchanged between records of about the same rank"
    derived = "how likely a value moves by how many ranks; no rank is ruled out"
    strengths = PERCENT
    parameter_words = (
        ("p", "p {} % of the ranks"),
        ("mean", "moves by {} ranks on average"),
        ("standard_deviation", "standard deviation {} ranks"),
    )

    p: float

    def described(self, n_records: int) -> Described:
        """The method, p, and mean and standard deviation of the move in ranks."""
        half = float(ranks_of_percent(self.p, n_records) / 2)
        return {"method": "rank swapping p-distribution", "p": self.p, "mean": half, "standard_deviation": half}

    def pairs(self, n_records: int, generator: np.random.Generator) -> Iterator[tuple[int, int]]:
        """Ranks that exchange values."""
        half = float(ranks_of_percent(self.p, n_records) / 2)
        below_one = scipy.special.ndtr((0.5 - half) / half)
        deviates = scipy.special.ndtri(below_one + (1 - below_one) * generator.random(n_records))
        steps = np.maximum(1, np.rint(half + half * deviates))
        targets = np.minimum(n_records - 1, np.arange(n_records) + steps).astype(np.int64)
        unswapped, top = bytearray(b"\1") * n_records, n_records - 1
        for rank, target in enumerate(targets.tolist()):
            if not unswapped[rank]:
                continue
            unswapped[rank] = 0
            top = unswapped.rfind(1, rank, top + 1)
            if top < 0:
                break
            partner = top if target >= top else _nearest(unswapped, target)
            unswapped[partner] = 0
            yield rank, partner


def window_bounds(original: Floats, masked: Floats, window: int) -> MaskedRange:
    """Masked values within ``window`` ranks, clipped at the ends, of the ranks that each original value has.

    ``masked`` holds the whole file's values, so that one known record has a rank.
    """
    ordered = np.sort(masked, axis=0)
    lowest, highest = rank_range(original, ordered)
    low, high = np.maximum(lowest - window, 0), np.minimum(highest + window, len(ordered) - 1)
    return MaskedRange(np.take_along_axis(ordered, low, axis=0), np.take_along_axis(ordered, high, axis=0))


def exchanged(n_records: int, pairs: Iterable[tuple[int, int]]) -> Ints:
    """Rank whose value each rank receives when the ranks of each pair exchange theirs."""
    sources = np.arange(n_records)
    movers, partners = np.array(list(pairs), dtype=np.int64).reshape(-1, 2).T
    sources[movers], sources[partners] = partners, movers
    return sources


def uniform_draws(generator: np.random.Generator, n_records: int) -> Iterator[float]:
    """Uniform numbers from 0 to below 1 without end, drawn many at a time."""
    at_once = min(2 * n_records, _MOST_DRAWS_AT_ONCE)
    while True:
        yield from generator.random(at_once).tolist()


def window_pairs(n_records: int, k: int, generator: np.random.Generator) -> Iterator[tuple[int, int]]:
    """Ranks that exchange values; a partner is drawn in (i, i + k] until it is unswapped, if any is; linear time."""
    chances = uniform_draws(generator, n_records)
    unswapped = bytearray(b"\1") * n_records
    last = n_records - 1
    in_window = min(k, n_records)
    for rank in range(n_records):
        reach = min(rank + k, last)
        in_window += rank + k <= last
        if not unswapped[rank]:
            continue
        in_window -= 1
        while in_window:
            partner = rank + 1 + int(next(chances) * (reach - rank))
            if unswapped[partner]:
                unswapped[partner] = 0
                in_window -= 1
                yield rank, partner
                break


def skip_pairs(n_records: int, k: int, generator: np.random.Generator) -> Iterator[tuple[int, int]]:
    """Ranks that exchange values; a value is unchanged if the rank drawn is already swapped. Linear time."""
    targets = np.minimum(n_records - 1, np.arange(n_records) + generator.integers(1, k, size=n_records, endpoint=True))
    unswapped = bytearray(b"\1") * n_records
    for rank, target in enumerate(targets.tolist()):
        if unswapped[rank] and unswapped[target]:
            unswapped[target] = 0
            yield rank, target


def literal_sources(n_records: int, k: int, generator: np.random.Generator) -> Ints:
    """Rank whose value each receives: of i₁ < … < i_r that swap with ℓ, i₁ takes ℓ's, i₂ that of i₁, ℓ that of i_r."""
    ranks = np.arange(n_records)
    targets = ranks.copy()
    highest = np.minimum(k, n_records - 1 - ranks[:-1])
    targets[:-1] += generator.integers(1, highest, endpoint=True)
    unswapped = bytearray(b"\1") * n_records
    movers = []
    for rank, target in enumerate(targets.tolist()):
        if unswapped[rank]:
            unswapped[target] = 0
            movers.append(rank)
    mover = np.array(movers, dtype=np.int64)
    mover = mover[np.argsort(targets[mover], kind="stable")]
    shared = targets[mover]
    begins = np.append(True, shared[1:] != shared[:-1])
    ends = np.append(begins[1:], True)
    sources = ranks.copy()
    sources[mover] = np.where(begins, shared, np.roll(mover, 1))
    sources[shared[ends]] = mover[ends]
    return sources


def _nearest(marked: bytearray, place: int) -> int:
    """The marked place nearest to one that has a marked place at or above it; of two as near the lower."""
    higher = marked.find(1, place)
    lower = marked.rfind(1, max(0, 2 * place - higher), place)
    return lower if lower >= 0 else higher
