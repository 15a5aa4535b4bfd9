"""Values of one sensitive column that the classes of a file disclose of their records.

A class discloses a value if whoever guesses it of the class's records is wrong at most half as often as by the file's
share, its share in the class is at least 20 percentage points above the file's, and chance does not explain it. So what
more than four fifths of a file have is never disclosed, nor what small classes share by accident.
Numbers and dates near each other count as one value, as in (ε, m)-anonymity (Li, Tao & Xiao 2008).
It also discloses values together, a set or those of a narrow interval, that nine tenths of its records have, and at
most a tenth of the others: kinds or spellings of one illness, salaries beside which a few extremes are far apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc, gammaln

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
FEW_VALUES, FEW_OF_RECORDS = 5, 0.25
"""Most values that a class may disclose together; or, if more, so many for each of its records."""
NEARLY_ALL, HARDLY_ANY = 0.9, 0.1
"""Least share of the class's records that have values disclosed together, and largest share of the other records."""
RULES = 3
"""A value by either reading of missing ones, and values together: each takes a third of what chance may explain."""
_MIDDLE, _NEARLY_THE_RANGE = (0.05, 0.95), (0.01, 0.99)
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
    farthest: Ranks | None = None
    """First rank beyond the widest interval from each rank that may be disclosed; shape (n_values,). None for text."""

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
        alone = np.arange(1, len(places) + 1)

        def within(span: tuple[float, float]) -> tuple[float, Ranks]:
            """A tenth of what lies between two quantiles, and where intervals so wide end."""
            low, high = np.quantile(held, span, method="inverted_cdf") if len(held) else (0.0, 0.0)
            width = NARROW * float(high - low)
            ends = np.searchsorted(places, places + width + np.abs(places) * _ROUNDING, side="right")
            return width, np.where(np.isfinite(places), ends, alone)

        width, ends = within(_MIDDLE)
        _, farthest = within(_NEARLY_THE_RANGE)
        return cls(ranks, ends, weights[order] >= LEAST_WEIGHT, width, missing, farthest)


@dataclass(frozen=True)
class Disclosed:
    """Disclosure of one sensitive column by the classes of a file, of its records or of the persons of its rows."""

    disclosed: Bools
    """Whether the class of each record discloses its value, by itself or with others; shape (n_records,)."""
    homogeneous: Bools
    """Whether each record is in a class of one value, which at most 4/5 of the file have; shape (n_records,)."""
    largest_share: float
    """Largest share of one value in a class."""
    rises: Floats
    """Largest rise of the probability of a value, of each class; shape (n_classes,)."""


@dataclass(frozen=True)
class DisclosedValues(Disclosed):
    """Disclosure of a column of records, with what a class discloses by itself and what chance does."""

    alone: Bools
    """Whether the class of each record discloses its value by itself; shape (n_records,)."""
    by_chance: float
    """Records in classes of one value to be expected if values were independent of classes."""
    by: tuple[str, ...] = ()
    """Known columns whose values alone disclose what the classes are too small to show."""


def disclosed_values(classes: Ranks, values: OrderedValues, tests: int) -> DisclosedValues:
    """Disclosure of one column by classes.

    ``classes`` has the class of each record, numbered from 0 without gaps; ``tests`` are the pairs of a class and a
    value in all columns that are judged, among which chance has its pick.

    Notes
    -----
    Of a class of n records c have a value that a share p of the file has. The class discloses it if c/n − p is at least
    (1 − p)/2 and 1/5, and tests · P(B ≥ c) ≤ 0.01 with B binomial (n, p). Records without a value are left out of n and
    p where it may be any value: what the others share is told of them too. They are also counted, as for a box that is
    ticked or empty, and the worse of both readings is taken. Where a missing value is a group of its own they count in
    n and p, and nothing is told of them. Values together are disclosed if 9/10 of the n have them, 1/10 of all others
    at most, and the bound holds for as many sets or intervals as could be chosen. ``tests`` count three times, for the
    three rules.
    """
    n_values, stated, n_classes = len(values.ends), values.ranks >= 0, int(classes.max(initial=-1)) + 1
    any_value = values.missing is MissingReading.ANY_VALUE
    counted = stated if any_value else np.ones(len(classes), dtype=np.bool_)
    up_to = np.append(0, np.cumsum(np.bincount(values.ranks[stated], minlength=n_values)))
    stride = n_values + 1
    pairs, pair_of, counts = ascending(classes[stated] * stride + values.ranks[stated], n_classes * stride)
    of_class, rank = np.divmod(pairs, stride)
    ends = np.searchsorted(pairs, of_class * stride + values.ends[rank])
    before = np.append(0, np.cumsum(counts))
    within, judged = before[ends] - before[:-1], values.judged[rank]
    everybody = np.ones(len(classes), dtype=np.bool_)
    readings = [counted, everybody] if any_value and not stated.all() else [counted]
    holders = up_to[values.ends] - up_to[:-1]
    one = single_values(classes, of_class, (within, holders[rank]), judged, readings=readings, tests=tests)
    by_chance = 0.0
    for whole in readings:
        sizes, total = np.bincount(classes[whole], minlength=n_classes), max(int(whole.sum()), 1)
        later = (up_to[values.ends] - up_to[1:]) / total
        by_chance = max(by_chance, _by_chance(sizes, np.bincount(classes), holders / total, later, values.judged))
    own = np.bincount(classes[counted], minlength=n_classes)[of_class]
    together = _together(_Pairs(of_class, rank, before, up_to, own, int(counted.sum())), values, RULES * tests)

    def covered(chosen: Bools, beyond: Ranks) -> Bools:
        """Whether each value is in an interval that begins at a chosen pair; of a missing one, whether the class is."""
        reach = np.maximum.accumulate(np.where(chosen, beyond, 0)) if len(beyond) else beyond
        found = told(classes, of_class[chosen], ~counted)
        found[stated] |= (reach > np.arange(len(reach)))[pair_of]
        return found

    alone = covered(one.discloses, ends)
    return DisclosedValues(
        disclosed=alone | covered(together > 0, together),
        alone=alone,
        homogeneous=covered(one.homogeneous, ends),
        largest_share=one.largest_share,
        rises=one.rises,
        by_chance=by_chance,
    )


@dataclass(frozen=True)
class SingleValues:
    """Pairs of a class and a value of it, each judged by itself, by the worse of all readings."""

    discloses: Bools
    """Whether the class discloses the value; shape (n_pairs,)."""
    homogeneous: Bools
    """Whether all of the class have it, and at most 4/5 of the file; shape (n_pairs,)."""
    largest_share: float
    rises: Floats
    """Largest rise of a value's probability, of each class; shape (n_classes,)."""


def single_values(
    classes: Ranks,
    of_class: Ranks,
    held: tuple[Ranks, Ranks],
    judged: Bools,
    *,
    readings: Sequence[Bools],
    tests: int,
) -> SingleValues:
    """Judge pairs of a class and a value, ``held`` by so many of the class and so many of the file.

    Each of the ``readings`` says which records count.
    """
    within, of_file = held
    n_classes = int(classes.max(initial=-1)) + 1
    discloses, homogeneous = (np.zeros(len(of_class), dtype=np.bool_) for _ in range(2))
    rises, largest = np.zeros(n_classes), 0.0
    for whole in readings:
        size = np.bincount(classes[whole], minlength=n_classes)[of_class]
        share = of_file / max(int(whole.sum()), 1)
        discloses |= judged & discloses_value(within, size, share, RULES * tests)
        homogeneous |= judged & (within == size) & is_rare_enough(share)
        np.maximum.at(rises, of_class, np.where(judged, within / size - share, 0.0))
        largest = max(largest, float((within / size)[judged].max(initial=0.0)))
    return SingleValues(discloses, homogeneous, largest, rises)


@dataclass(frozen=True)
class _Pairs:
    """Pairs of a class and a value that occurs in it, ascending."""

    of_class: Ranks
    rank: Ranks
    before: Ranks
    """Records of the pairs before each, and at last of all; shape (n_pairs + 1,)."""
    up_to: Ranks
    """Records of the file with a value before each rank, and at last of all; shape (n_values + 1,)."""

    size: Ranks
    """Records of the class of each pair, without those left out for a missing value."""
    total: int
    """Records of all classes, alike."""

    @property
    def needed(self) -> Ranks:
        """Fewest of them that have what is disclosed together."""
        return np.asarray(np.ceil(NEARLY_ALL * self.size - _ROUNDING), dtype=np.int64)


def _together(pairs: _Pairs, values: OrderedValues, tests: int) -> Ranks:
    """Where the range of pairs ends that, from each pair on, are disclosed together; 0 where none is."""
    if not len(pairs.rank):
        return pairs.rank
    return (_in_a_set if values.farthest is None else _in_an_interval)(pairs, values, tests)


def _in_a_set(pairs: _Pairs, values: OrderedValues, tests: int) -> Ranks:
    """The most frequent values of each class, the fewest that are enough; each of them is a range."""
    counts, held, place = np.diff(pairs.before), np.diff(pairs.up_to), np.arange(len(pairs.rank))
    order = np.lexsort((pairs.rank, -counts, pairs.of_class))
    first = np.searchsorted(pairs.of_class, pairs.of_class)  # of each class, whose pairs stay together
    nth = place - first + 1
    have, others, unjudged = (
        np.cumsum(each[order]) - np.append(0, np.cumsum(each[order]))[first]
        for each in (counts, held[pairs.rank], ~values.judged[pairs.rank])
    )
    sets = gammaln(len(held) + 1) - gammaln(nth + 1) - gammaln(len(held) - nth + 1)
    most = np.maximum(FEW_VALUES, FEW_OF_RECORDS * pairs.size)
    found = (nth <= most) & (have >= pairs.needed) & (unjudged == 0)
    found &= _rarely(have, pairs.size, others, pairs.total, sets + np.log(len(held) * tests))
    fewest = np.zeros(len(place), dtype=np.int64)
    fewest[first[found][::-1]] = nth[found][::-1]  # of several sets of one class the smallest is written last
    chosen = np.zeros(len(place), dtype=np.bool_)
    chosen[order] = nth <= fewest[first]
    return np.where(chosen, place + 1, 0)


def _in_an_interval(pairs: _Pairs, values: OrderedValues, tests: int) -> Ranks:
    """From each value of a class, the shortest interval with enough of its records."""
    rank, n_values = pairs.rank, len(pairs.up_to) - 1
    ends = np.minimum(np.searchsorted(pairs.before, pairs.before[:-1] + pairs.needed), len(rank))
    last = ends - 1
    have, others = pairs.before[ends] - pairs.before[:-1], pairs.up_to[rank[last] + 1] - pairs.up_to[rank]
    unjudged = np.append(0, np.cumsum(~values.judged[rank]))
    found = (pairs.of_class[last] == pairs.of_class) & (have >= pairs.needed) & (unjudged[ends] == unjudged[:-1])
    found &= rank[last] < np.asarray(values.farthest)[rank]
    tried = np.full(len(rank), np.log(n_values * (n_values + 1) / 2 * tests))
    return np.where(found & _rarely(have, pairs.size, others, pairs.total, tried), ends, 0)


def _rarely(within: Ranks, size: Ranks, held: Ranks, total: int, tried: Floats) -> Bools:
    """Whether hardly any other record has what so many of a class have, and chance does not explain it.

    ``held`` of all ``total`` records have it; ``tried`` is the logarithm of the number of sets that could be found.
    """
    share = held / max(total, 1)
    found = (held - within <= HARDLY_ANY * (total - size) + _ROUNDING) & (within / size - share >= LEAST_RISE)
    with np.errstate(divide="ignore"):
        found[found] = np.log(bdtrc(within[found] - 1, size[found], share[found])) + tried[found] <= np.log(CHANCE)
    return found


def discloses_value(within: Ranks, size: Ranks, share: Floats, tests: int) -> Bools:
    """Whether classes of some sizes, so many of whose records have a value of the file's share, disclose it."""
    rise = within / size - share
    found = rise >= np.maximum(LEAST_RISE, (1 - share) / 2) - _ROUNDING
    found[found] = bdtrc(within[found] - 1, size[found], share[found]) * tests <= CHANCE
    return found


def is_rare_enough(share: Floats) -> Bools:
    """Whether a value of some share of the file can be disclosed at all."""
    return share <= 1 - LEAST_RISE + _ROUNDING


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
