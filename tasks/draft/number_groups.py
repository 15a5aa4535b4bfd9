"""Groups of numbers for a hierarchy: bands with round limits, then neighbours together in few and even groups."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from itertools import groupby, pairwise

import numpy as np

from tasks.microdata.build import TOP

_GROUPS = (8, 4, 2)
"""Groups of a level at most, once bands are joined."""
_APART = 1 / 10
"""Share of the records from which nothing (0) is a group by itself."""
_RARE, _BANDS, _YEARS = 0.01, 30, 5


@dataclass(frozen=True)
class _Band:
    """Neighbouring numbers, as they are written, with the limits of their band."""

    values: tuple[str, ...]
    low: Decimal | None
    """None of the lowest, whose label does not show it."""
    end: Decimal | None
    """The next number above, None of the highest."""
    records: int


def of_few_whole_numbers(domain: Mapping[str, int]) -> list[list[str]]:
    """Rows of a table by which a whole number is itself, or with its neighbours, or nothing.

    A level has up to eight, four or two groups, as even as the numbers allow; nothing (0) stays apart where a tenth of
    the records has it, and the groups are of the others. ``domain`` has the records of each number.
    """
    zero, values = _zero_apart(domain)
    lows = [None if zero is None else Decimal(1), *(Decimal(value) + 1 for value in values[:-1])]
    bands = [_Band((value,), low, Decimal(value) + 1, domain[value]) for value, low in zip(values, lows, strict=True)]
    return _rows(bands, zero, domain, own=False, whole=True)


def of_ages(domain: Mapping[str, int]) -> list[list[str]]:
    """Rows of a table by which an age is itself, in five years, or in one of few groups as above, or nothing.

    Those under the bands of the youngest and the oldest hundredth of the records are together, as are those above.
    """
    low, high = _all_but_the_rare(domain)
    return _rows(_bands(domain, low, high, Decimal(_YEARS)), None, domain, own=True, whole=True)


def of_numbers(domain: Mapping[str, int]) -> list[list[str]]:
    """Rows of a table by which a number is itself, in a band, or in one of few groups as above, or nothing.

    Bands have a width of 1, 2 or 5 times a power of ten, of which some thirty hold all but the smallest and the largest
    hundredth of the records; these are below and above them. Nothing (0) stays apart as of whole numbers.
    """
    zero, values = _zero_apart(domain)
    others = {value: domain[value] for value in values}
    low, high = _all_but_the_rare(others)
    power = Decimal(1).scaleb(((high - low) / _BANDS or Decimal(1)).adjusted())
    width = next(step * power for step in (1, 2, 5, 10) if high - low <= _BANDS * step * power)
    return _rows(_bands(others, low, high, width), zero, domain, own=True, whole=False)


def _zero_apart(domain: Mapping[str, int]) -> tuple[str | None, list[str]]:
    """The way that 0 is written where it is the least number and many have it, and the other values in order."""
    values = sorted(domain, key=Decimal)
    total = sum(domain.values())
    apart = Decimal(values[0]) == 0 and len(values) > 1 and domain[values[0]] >= _APART * total
    return (values[0], values[1:]) if apart else (None, values)


def _all_but_the_rare(domain: Mapping[str, int]) -> tuple[Decimal, Decimal]:
    """Limits of what is left of the numbers without the smallest and the largest hundredth of the records."""
    values = sorted(domain, key=Decimal)
    shares = np.cumsum([domain[value] for value in values]) / max(1, sum(domain.values()))
    low, high = (values[min(int((shares < one).sum()), len(values) - 1)] for one in (_RARE, 1 - _RARE))
    return Decimal(low), Decimal(high)


def _bands(domain: Mapping[str, int], low: Decimal, high: Decimal, width: Decimal) -> list[_Band]:
    """Numbers by the band of a width that they lie in, from one low number's to one high number's; and the others."""
    first, end = _below(low, width), _below(high, width) + width

    def band(value: str) -> tuple[Decimal | None, Decimal | None]:
        number = Decimal(value)
        if number < first:
            return None, first
        if number >= end:
            return end, None
        return _below(number, width), _below(number, width) + width

    together = groupby(sorted(domain, key=Decimal), key=band)
    return [_Band(values := tuple(held), *limits, sum(domain[value] for value in values)) for limits, held in together]


def _below(number: Decimal, width: Decimal) -> Decimal:
    """The multiple of a width that a number is at or next above."""
    return (number / width).to_integral_value(ROUND_FLOOR) * width


def _rows(
    bands: Sequence[_Band], zero: str | None, domain: Iterable[str], *, own: bool, whole: bool
) -> list[list[str]]:
    """Rows of all values, lowest first; ``own`` where bands are a level of their own, before any is joined."""
    levels, before, groups = list[dict[str, str]](), [] if own else list(bands), list(bands)
    for most in (len(bands), *_GROUPS) if own else _GROUPS:
        groups = _joined(groups, most)
        if groups != before and len(groups) + (zero is not None) > 1:
            levels.append(_labels(groups, zero, whole=whole))
        before = groups
    ordered = sorted(domain, key=Decimal)
    return [[value, *(level[value] for level in levels), TOP] for value in ordered]


def _joined(bands: Sequence[_Band], most: int) -> list[_Band]:
    """Neighbouring bands together in as many groups at most, cut where each share of the records is nearest.

    A group of less than half of its share is joined to the smaller of its neighbours.
    """
    if len(bands) <= most:
        return list(bands)
    upto = np.cumsum([one.records for one in bands])
    shares = upto[:-1] / max(1, upto[-1])
    cuts = sorted({int(np.abs(shares - part / most).argmin()) + 1 for part in range(1, most)})
    groups = [list(bands[start:end]) for start, end in pairwise((0, *cuts, len(bands)))]
    while len(groups) > 1:
        held = [sum(one.records for one in group) for group in groups]
        smallest = int(np.argmin(held))
        if held[smallest] >= upto[-1] / most / 2:
            break
        above = smallest == 0 or (smallest + 1 < len(groups) and held[smallest + 1] < held[smallest - 1])
        at = smallest if above else smallest - 1
        groups[at : at + 2] = [groups[at] + groups[at + 1]]
    return [
        _Band(
            tuple(value for one in group for value in one.values),
            group[0].low,
            group[-1].end,
            sum(one.records for one in group),
        )
        for group in groups
    ]


def _labels(groups: Sequence[_Band], zero: str | None, *, whole: bool) -> dict[str, str]:
    """Label of the group of each value; the least and the greatest number show in none."""
    labels = {} if zero is None else {zero: "0"}
    for group in groups:
        label = _label(group, zero, first=group is groups[0], last=group is groups[-1], whole=whole)
        labels |= dict.fromkeys(group.values, label)
    return labels


def _label(group: _Band, zero: str | None, *, first: bool, last: bool, whole: bool) -> str:
    if first and not whole and zero is not None:
        return "over 0" if last else f"over 0 to under {_plain(group.end)}"
    if last:
        return f"{_plain(group.low)} or more"
    if first and zero is None:
        return f"under {_plain(group.end)}"
    if not whole:
        return f"{_plain(group.low)} to under {_plain(group.end)}"
    low, high = _plain(group.low), _plain(None if group.end is None else group.end - 1)
    return low if low == high else f"{low}-{high}"


def _plain(number: Decimal | None) -> str:
    return f"{(number or Decimal()).normalize() + 0:f}"
