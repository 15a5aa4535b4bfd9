"""Rank swapping within p percent of the ranks (Torra 2016, slide 49).

Each attribute by itself: its values are sorted, each is swapped with one at most k = ⌊p·n/100⌋ ranks above, and the
sorting is undone. Marginal distributions are kept exactly; correlations are not.
"""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

import numpy as np
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
    checked_positive,
    checked_values,
    random_order,
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
    """A method by which values change places, each attribute by itself; marginal distributions are kept exactly."""

    effect = Effect.EXCHANGED

    @abstractmethod
    def sources(self, n_records: int, generator: np.random.Generator) -> Ints:
        """Rank whose value each rank receives.

        Raises
        ------
        ParameterError
            If the records are too few for the parameters.
        """

    @abstractmethod
    def described(self, n_records: int) -> Described:
        """The method and its parameters for a file of so many records."""

    def mask(self, values: ArrayLike, generator: np.random.Generator) -> Masked:
        """Swap each attribute of an array of shape (n_records, n_attributes).

        Raises
        ------
        ParameterError
            If the values are not a table of at least two records of finite numbers, or too few for the parameters.
        """
        original = checked_values(values, fewest=2)
        described, masked = self.described(len(original)), np.empty_like(original)
        for column, swapped in zip(original.T, masked.T, strict=True):
            order = random_order(column, generator)
            swapped[order] = column[order[self.sources(len(original), generator)]]
        return Masked(masked, described)


@dataclass(frozen=True)
class RankSwapping(Swapping):
    """Rank swapping p (Torra 2016, slide 49), in one of its three readings.

    Parameters
    ----------
    p : float
        Percent of the records that bounds the difference of swapped ranks; greater than 0, at most 100.
    reading : Reading
        What is done with ranks that are already swapped.

    Raises
    ------
    ParameterError
        If a parameter is outside its range.

    Notes
    -----
    In each reading a masked value has a rank within ±k of its original's, where a tie has all its ranks: this is what
    the intersection attack rests on. In *literal* a rank that is drawn several times passes on the values of the ranks
    that drew it, all of which lie among the k below it.
    The slides leave ties open; here the order within a tie is drawn.
    """

    name = MaskingName.RANK_SWAPPING
    title = "Rank swapping"
    derived = (
        "each value stays within k ranks of its own, so that the masked records that may be a person's are those "
        "within k ranks on every swapped attribute at once"
    )
    strengths = PERCENT
    k_unit = "ranks"

    p: float
    reading: Reading = Reading.PAIR

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", checked_positive("p", self.p, largest=100))
        if self.reading not in tuple(Reading):
            raise refused("the reading is not known", "reading", ", ".join(Reading), str(self.reading))
        object.__setattr__(self, "reading", Reading(self.reading))

    @classmethod
    def of(cls, masking: Masking) -> Self:
        """The method with the parameters that a request gives it."""
        return cls(masking.strength, Reading(masking.reading or "pair"))

    def ranks(self, n_records: int) -> int:
        """The most ranks a value moves, k = ⌊p·n/100⌋.

        Raises
        ------
        ParameterError
            If p percent of the records are less than one.
        """
        return int(ranks_of_percent(self.p, n_records))

    def described(self, n_records: int) -> Described:
        """The method, its parameters and k."""
        return {"method": "rank swapping", "reading": self.reading.value, "p": self.p, "k": self.ranks(n_records)}

    def sources(self, n_records: int, generator: np.random.Generator) -> Ints:
        """Rank whose value each rank receives, by the reading."""
        draw = {Reading.PAIR: pair_sources, Reading.SKIP: skip_sources, Reading.LITERAL: literal_sources}[self.reading]
        return draw(n_records, self.ranks(n_records), generator)

    def bounds(self, original: Floats, masked: Floats, *, complete: bool) -> MaskedRange:  # noqa: ARG002
        """Values within k ranks of the original's (intersection attack, Torra 2016, slides 52 to 60)."""
        return window_bounds(original, masked, self.ranks(len(masked)))


def window_bounds(original: Floats, masked: Floats, window: int) -> MaskedRange:
    """Masked values whose rank is within a window of the rank of each original value.

    Parameters
    ----------
    original : array of shape (n_known_records, n_attributes)
    masked : array of shape (n_records, n_attributes)
        Its values are the whole original file's, so that one known record has a rank.
    window : int
        k, in ranks, from 1; both directions, clipped at the ends.

    Returns
    -------
    MaskedRange
        From the value k ranks below the lowest to the value k ranks above the highest rank that x's value has; equal
        values have a lowest and a highest rank. The value itself is within.
    """
    low, high = np.empty_like(original), np.empty_like(original)
    for axis, column in enumerate(masked.T):
        ordered = np.sort(column)
        lowest = np.searchsorted(ordered, original[:, axis], "left")
        highest = np.searchsorted(ordered, original[:, axis], "right") - 1
        low[:, axis] = ordered[np.maximum(lowest - window, 0)]
        high[:, axis] = ordered[np.minimum(highest + window, len(ordered) - 1)]
    return MaskedRange(low, high)


def exchanged(n_records: int, movers: ArrayLike, partners: ArrayLike) -> Ints:
    """Rank whose value each rank receives when each mover and its partner exchange theirs."""
    movers, partners = np.asarray(movers, dtype=np.int64), np.asarray(partners, dtype=np.int64)
    sources = np.arange(n_records)
    sources[movers], sources[partners] = partners, movers
    return sources


def uniform_draws(generator: np.random.Generator, n_records: int) -> Iterator[float]:
    """Uniform numbers from 0 to below 1 without end, drawn many at a time."""
    at_once = min(2 * n_records, _MOST_DRAWS_AT_ONCE)
    while True:
        yield from generator.random(at_once).tolist()


def pair_sources(n_records: int, k: int, generator: np.random.Generator) -> Ints:
    """Rank whose value each rank receives, where partners are drawn among the unswapped; expected linear time.

    A rank is drawn in the window (i, i + k] until it is unswapped, which at least half of the window is but near the
    last rank; the unswapped of the window are counted, so that nothing is drawn where there is none.
    """
    chances = uniform_draws(generator, n_records)
    unswapped = bytearray(b"\1") * n_records
    last = n_records - 1
    in_window = min(k, n_records)
    movers, partners = [], []
    for rank in range(n_records):
        reach = rank + k
        if reach <= last:
            in_window += 1
        else:
            reach = last
        if not unswapped[rank]:
            continue
        in_window -= 1
        while in_window:
            partner = rank + 1 + int(next(chances) * (reach - rank))
            if unswapped[partner]:
                unswapped[partner] = 0
                in_window -= 1
                movers.append(rank)
                partners.append(partner)
                break
    return exchanged(n_records, movers, partners)


def skip_sources(n_records: int, k: int, generator: np.random.Generator) -> Ints:
    """Rank whose value each rank receives; a value is unchanged if the rank drawn is already swapped. Linear time."""
    targets = np.minimum(n_records - 1, np.arange(n_records) + generator.integers(1, k, size=n_records, endpoint=True))
    unswapped = bytearray(b"\1") * n_records
    movers = []
    for rank, target in enumerate(targets.tolist()):
        if unswapped[rank] and unswapped[target]:
            unswapped[target] = 0
            movers.append(rank)
    return exchanged(n_records, movers, targets[movers])


def literal_sources(n_records: int, k: int, generator: np.random.Generator) -> Ints:
    """Rank whose value each rank receives, where a rank may be swapped again from below; linear time but for a sort.

    The ranks i₁ < … < i_r that swap with one ℓ form a cycle: i₁ receives ℓ's value, i₂ that of i₁, …, ℓ that of i_r.
    """
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
