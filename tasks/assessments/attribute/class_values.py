"""Values of one sensitive column that the classes of a file disclose of their records.

A class discloses a value if whoever guesses it of the class's records is wrong at most half as often as by the file's
share, its share in the class is at least 20 percentage points above the file's, and chance does not explain it. So what
more than four fifths of a file have is never disclosed, nor what small classes share by accident.
Numbers and dates near each other count as one value, as in (ε, m)-anonymity (Li, Tao & Xiao 2008).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc

from tasks.generalization.kanonymity.classes import ascending
from tasks.microdata.coded import CodedColumn
from tasks.request.model import MissingReading

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ranks = NDArray[np.int64]

LEAST_RISE = 0.2
"""Least rise of a value's probability, from the file's share to the class's, by which a class discloses it."""
CHANCE = 0.01
"""Largest probability that some class of a file whose values are independent of the classes discloses anything."""
NARROW = 0.1
"""Width of the intervals that count as one value, as a share of the range of the middle nine tenths of the records."""
LEAST_WEIGHT = 0.5
"""Least sensitivity of a value that is judged."""
_MIDDLE = (0.05, 0.95)
_ROUNDING = 1e-12


@dataclass(frozen=True)
class OrderedValues:
    """Values of the records of a file as ranks, and where the interval that begins at each rank ends."""

    ranks: Ranks
    """Rank of each record's value, from 0; −1 for a missing one; shape (n_records,)."""
    ends: Ranks
    """First rank beyond the interval of each rank; shape (n_values,), of the values that these records have."""
    judged: Bools
    """Whether the value of each rank is sensitive enough; shape (n_values,)."""
    width: float | None
    """Width of the intervals; None where each value stands for itself."""
    missing: MissingReading = MissingReading.ANY_VALUE
    """Reading of missing values."""

    @classmethod
    def of(
        cls, column: CodedColumn, rows: NDArray[np.intp], missing: MissingReading = MissingReading.ANY_VALUE
    ) -> "OrderedValues":
        """Values of some records of a column."""
        used, codes, _ = ascending(column.codes[rows], len(column.weights))
        if len(used) and used[-1] == len(column.weights) - 1:
            used, codes = used[:-1], np.where(codes == len(used) - 1, -1, codes)
        weights = column.weights[used]
        if column.places is None:
            return cls(codes.astype(np.int64), np.arange(1, len(used) + 1), weights >= LEAST_WEIGHT, None, missing)
        order = np.argsort(column.places[used], kind="stable")
        ranks, places = np.append(np.argsort(order), -1)[codes], column.places[used][order]
        held = places[ranks[ranks >= 0]]
        held = held[np.isfinite(held)]
        low, high = np.quantile(held, _MIDDLE, method="inverted_cdf") if len(held) else (0.0, 0.0)
        width = NARROW * float(high - low)
        ends = np.searchsorted(places, places + width + np.abs(places) * _ROUNDING, side="right")
        ends = np.where(np.isfinite(places), ends, np.arange(1, len(places) + 1))
        return cls(ranks, ends, weights[order] >= LEAST_WEIGHT, width, missing)


@dataclass(frozen=True)
class DisclosedValues:
    """Disclosure of one sensitive column by the classes of a file."""

    disclosed: Bools
    """Whether the class of each record discloses its value; shape (n_records,)."""
    homogeneous: Bools
    """Whether each record is in a class of one value, which at most 4/5 of the file have; shape (n_records,)."""
    largest_share: float
    """Largest share of one value in a class."""
    rises: Floats
    """Largest rise of the probability of a value, of each class; shape (n_classes,)."""
    by_chance: float
    """Records in classes of one value to be expected if values were independent of the classes."""


def disclosed_values(classes: Ranks, values: OrderedValues, tests: int) -> DisclosedValues:
    """Disclosure of one column by classes.

    Parameters
    ----------
    classes : array of shape (n_records,)
        Class of each record, numbered from 0 without gaps.
    values : OrderedValues
    tests : int
        Pairs of a class and a value in all columns that are judged, among which chance has its pick.

    Notes
    -----
    Of a class of n records c have a value that a share p of the file has. The class discloses it if c/n − p is at least
    (1 − p)/2 and 1/5, and tests · P(B ≥ c) ≤ 0.01 with B binomial (n, p). Records without a value are left out of n and
    p where it may be any value: what the others share is told of them too. Where a missing value is a group of its own
    they count in n and p, and nothing is told of them.
    """
    n_values, stated, n_classes = len(values.ends), values.ranks >= 0, int(classes.max(initial=-1)) + 1
    counted = stated if values.missing is MissingReading.ANY_VALUE else np.ones(len(classes), dtype=np.bool_)
    sizes, total = np.bincount(classes[counted], minlength=n_classes), max(int(counted.sum()), 1)
    up_to = np.append(0, np.cumsum(np.bincount(values.ranks[stated], minlength=n_values)))
    shares = (up_to[values.ends] - up_to[:-1]) / total
    stride = n_values + 1
    pairs, pair_of, counts = ascending(classes[stated] * stride + values.ranks[stated], n_classes * stride)
    of_class, rank = np.divmod(pairs, stride)
    ends = np.searchsorted(pairs, of_class * stride + values.ends[rank])
    before = np.append(0, np.cumsum(counts))
    within, size, share = before[ends] - before[:-1], sizes[of_class], shares[rank]
    judged = values.judged[rank]
    rise = np.where(judged, within / size - share, 0.0)
    discloses = judged & discloses_value(within, size, share, tests)
    homogeneous = judged & (within == size) & is_rare_enough(share)
    rises = np.zeros(len(sizes))
    np.maximum.at(rises, of_class, rise)
    return DisclosedValues(
        disclosed=_covered(discloses, ends, pair_of, stated) | told(classes, of_class[discloses], ~counted),
        homogeneous=_covered(homogeneous, ends, pair_of, stated) | told(classes, of_class[homogeneous], ~counted),
        largest_share=float((within / size)[judged].max(initial=0.0)),
        rises=rises,
        by_chance=_by_chance(
            sizes, np.bincount(classes), shares, (up_to[values.ends] - up_to[1:]) / total, values.judged
        ),
    )


def discloses_value(within: Ranks, size: Ranks, share: Floats, tests: int) -> Bools:
    """Whether classes of some sizes, so many of whose records have a value of the file's share, disclose it."""
    rise = within / size - share
    found = rise >= np.maximum(LEAST_RISE, (1 - share) / 2) - _ROUNDING
    found[found] = bdtrc(within[found] - 1, size[found], share[found]) * tests <= CHANCE
    return found


def is_rare_enough(share: Floats) -> Bools:
    """Whether a value of some share of the file can be disclosed at all."""
    return share <= 1 - LEAST_RISE + _ROUNDING


def _covered(chosen: Bools, ends: Ranks, pair_of: NDArray[np.intp], stated: Bools) -> Bools:
    """Whether the value of each record lies in an interval that begins at a chosen pair of class and value."""
    reach = np.maximum.accumulate(np.where(chosen, ends, 0)) if len(ends) else ends
    found = np.zeros(len(stated), dtype=np.bool_)
    found[stated] = (reach > np.arange(len(reach)))[pair_of]
    return found


def told(classes: Ranks, telling: Ranks, unstated: Bools) -> Bools:
    """Whether each record without a value is in one of some classes."""
    return unstated & np.isin(classes, telling)


def _by_chance(sizes: Ranks, records: Ranks, shares: Floats, later: Floats, judged: Bools) -> float:
    """Expected records in classes of one value: the least value of a class begins an interval that holds all others.

    ``sizes`` are the records of each class that count, ``records`` all of them.
    """
    begins = judged & is_rare_enough(shares)
    each, of_size = np.unique(sizes, return_inverse=True)
    chances = np.array([(shares[begins] ** n - later[begins] ** n).sum() for n in each.tolist()])
    return float(np.bincount(of_size, weights=records, minlength=len(each)) @ chances)
