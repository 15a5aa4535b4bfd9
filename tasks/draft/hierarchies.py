"""A first generalization hierarchy for a column that is suggested as a quasi-identifier.

Bounds of intervals and dates are rounded outward, so that the smallest and the largest value, which may be one
person's, cannot be read from them. Only a hierarchy that goes to a file of its own names values.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import ROUND_FLOOR, Decimal

import numpy as np

from tasks.draft.icd10 import icd10_levels, is_icd10
from tasks.draft.roles import PLAIN_INTEGER, Suggestion, Theme
from tasks.microdata.build import TOP, from_groups
from tasks.microdata.hierarchy import Hierarchy, hierarchy_from_rows
from tasks.request.model import (
    DEFAULT_GATES,
    NUMERIC,
    DateLevels,
    DatePeriod,
    GroupLevels,
    HierarchySource,
    IntervalLevels,
    PrefixLevels,
    SafeHarborRule,
    ValueType,
    records_for,
)

_WIDEST_DOMAIN = 1_000_000
_FEWEST_FOR_INTERVALS = 10
"""Different whole numbers below which they are taken for codes, of which neighbours need not be alike."""
_RARE, _POOL = 0.01, "other"
_BANDS, _JOINED = 30, 3
"""Bands of numbers at first, and how often two of them are joined."""
_MOST_FITTED = 40
"""Most different whole numbers, but ages and years, whose groups follow how many records have them."""
_SHARES, _APART = (1 / 8, 1 / 4, 1 / 2), 1 / 10
_ZIP3 = 3
_ZIP_KEPT = {5: (4, 3, 2, 1), 10: (5, 4, 3, 2, 1)}
_LONGEST_POSTCODE = 10
_DAY_LENGTH = 10
_A_LIFE = 20
"""Years from which dates are taken to span lives, so that years are grouped too."""


@dataclass(frozen=True)
class DraftedHierarchy:
    """Source of a hierarchy, its table if it has a file of its own, and what does not follow from the source."""

    source: HierarchySource
    type: ValueType
    safe_harbor: SafeHarborRule = SafeHarborRule.NONE
    table: Hierarchy | None = None
    note: str = ""


def draft_hierarchy(suggestion: Suggestion, domain: Mapping[str, int], file_name: str) -> DraftedHierarchy:
    """Build a hierarchy over a column's domain: its values in the data and, where there is one, in the population.

    ``domain`` has the records of the data with each value. ``file_name`` is of the file that a table of values would go
    to.
    """
    column = suggestion.profile
    if suggestion.groups is not None:
        return _of_codes(column.name, suggestion.groups, domain, file_name)
    lengths = set(map(len, domain))
    if suggestion.theme is Theme.ZIP and len(lengths) == 1 and 1 < min(lengths) <= _LONGEST_POSTCODE:
        (length,) = lengths
        us = length in _ZIP_KEPT
        keep = _telling(domain, _ZIP_KEPT[length], _ZIP3) if us else _telling(domain, range(1, length))
        source = HierarchySource(prefixes=PrefixLevels(keep=keep))
        return DraftedHierarchy(source, ValueType.TEXT, SafeHarborRule.ZIP if us else SafeHarborRule.NONE)
    if column.type is ValueType.DATE and (dates := date_levels(domain)) is not None:
        return DraftedHierarchy(HierarchySource(dates=dates), ValueType.DATE)
    codes = len(domain) < _FEWEST_FOR_INTERVALS and suggestion.theme not in (Theme.AGE, Theme.DATE)
    whole = column.type is ValueType.INTEGER and not codes
    source = HierarchySource(file=file_name)
    if whole and all(re.fullmatch(PLAIN_INTEGER, value) for value in domain):
        made = _of_whole_numbers(suggestion, {int(value): records for value, records in domain.items()}, source)
        if made is not None:
            return made
    if suggestion.theme is Theme.PRIVATE and all(map(is_icd10, domain)):
        table = hierarchy_from_rows(column.name, [icd10_levels(value) for value in sorted(domain)], file_name)
        return DraftedHierarchy(source, column.type, table=table)
    if column.type in NUMERIC and not codes and len(domain) >= _FEWEST_FOR_INTERVALS:
        rows, note = _banded(domain), ""
    else:
        rows, pool = _of_values(domain, column.records)
        note = f"rare: “{pool}”, or your word" if pool else ""
    return DraftedHierarchy(source, column.type, table=hierarchy_from_rows(column.name, rows, file_name), note=note)


def _of_whole_numbers(
    suggestion: Suggestion, domain: Mapping[int, int], source: HierarchySource
) -> DraftedHierarchy | None:
    """Groups of a few whole numbers, or intervals; None where these are too many to list. Ages have intervals."""
    if len(domain) <= _MOST_FITTED and suggestion.theme not in (Theme.AGE, Theme.DATE):
        table = hierarchy_from_rows(suggestion.profile.name, _fitted(domain), source.file or "")
        return DraftedHierarchy(source, ValueType.INTEGER, table=table)
    levels = interval_levels(min(domain), max(domain))
    if levels is None:
        return None
    rule = SafeHarborRule.AGE if suggestion.theme is Theme.AGE else SafeHarborRule.NONE
    return DraftedHierarchy(HierarchySource(intervals=levels), ValueType.INTEGER, rule)


def _of_values(domain: Mapping[str, int], records: int) -> tuple[list[list[str]], str]:
    """Rows of a table by which a value is itself, or pooled with the others that are rare, or nothing; and their label.

    Values are rare that fewer records have than the smallest class of the default gates has, or one in a hundred. None
    are pooled where fewer than two are rare, or fewer than two are not.
    """
    values, top = sorted(domain), TOP
    while top in domain:
        top += TOP
    least = max(records_for(DEFAULT_GATES[0].threshold), records * _RARE)
    rare = {value for value in values if domain[value] < least}
    if not 2 <= len(rare) <= len(values) - 2:
        return [[value, top] for value in values], ""
    pool = _POOL
    while pool in domain:
        pool += TOP
    return [[value, pool if value in rare else value, top] for value in values], pool


def _banded(domain: Mapping[str, int]) -> list[list[str]]:
    """Rows of a table by which a number is itself, or in bands each of which is two of the level below, or nothing.

    Bands have a width of 1, 2 or 5 times a power of ten, of which some thirty hold all but the smallest and the largest
    hundredth of the records; these are below and above them.
    """
    values = sorted(domain, key=Decimal)
    shares = np.cumsum([domain[value] for value in values]) / max(1, sum(domain.values()))
    low, high = (Decimal(values[min(int((shares < one).sum()), len(values) - 1)]) for one in (_RARE, 1 - _RARE))
    power = Decimal(1).scaleb(((high - low) / _BANDS or Decimal(1)).adjusted())
    width = next(step * power for step in (1, 2, 5, 10) if high - low <= _BANDS * step * power)
    widths = [width * 2**level for level in range(_JOINED + 1)]
    first, end = _below(low, widths[-1]), _below(high, widths[-1]) + widths[-1]
    levels = zip(*(_bands(Decimal(value), widths, first, end) for value in values), strict=True)
    kept = [level for level in levels if len(set(level)) > 1]  # one band for all says the same as the top
    return [[*labels, TOP] for labels in zip(values, *kept, strict=True)]


def _fitted(domain: Mapping[int, int]) -> list[list[str]]:
    """Rows of a table by which a whole number is itself, or with its neighbours, or nothing.

    Groups of a level are the narrowest that an eighth, a quarter or half of the records have; nothing (0) stays apart
    where a tenth has it, and the groups are of the others.
    """
    total, levels, before = sum(domain.values()), list[dict[int, str]](), list[list[int]]()
    zero = [0] if min(domain) == 0 and domain[0] >= _APART * total else []
    numbers = sorted(domain.keys() - zero)
    groups, others = [[number] for number in numbers], total - sum(domain[number] for number in zero)
    for share in _SHARES:
        groups = _joined(groups, domain, share * others)
        if groups != before and len(groups) + len(zero) > 1:
            levels.append(dict.fromkeys(zero, "0") | _named(groups, 1 if zero else None))
        before = groups
    return [[str(number), *(level[number] for level in levels), TOP] for number in (*zero, *numbers)]


def _joined(groups: Sequence[list[int]], domain: Mapping[int, int], least: float) -> list[list[int]]:
    """Neighbouring groups together until they have enough records; what is left over joins the last."""
    joined, held = [list[int]()], 0
    for group in groups:
        if held >= least:
            joined, held = [*joined, []], 0
        joined[-1] += group
        held += sum(domain[number] for number in group)
    if len(joined) > 1 and held < least:
        rest = joined.pop()
        joined[-1] += rest
    return joined


def _named(groups: Sequence[Sequence[int]], first: int | None) -> dict[int, str]:
    """Name of the group of each number; the extremes show in none. ``first`` is the least number that there can be."""
    names, low = dict[int, str](), first
    for group in groups:
        high = group[-1]
        if group is groups[-1]:
            name = f"{group[0] if low is None else low} or more"
        elif low is None:
            name = f"under {high + 1}"
        else:
            name = f"{low}" if low == high else f"{low}-{high}"
        names |= dict.fromkeys(group, name)
        low = high + 1
    return names


def _bands(number: Decimal, widths: Sequence[Decimal], first: Decimal, end: Decimal) -> Iterator[str]:
    """The band of each width that a number lies in."""
    for width in widths:
        low = _below(number, width)
        if number < first:
            yield f"below {_plain(first)}"
        elif number >= end:
            yield f"{_plain(end)} or more"
        else:
            yield f"{_plain(low)} to under {_plain(low + width)}"


def _below(number: Decimal, width: Decimal) -> Decimal:
    """The multiple of a width that a number is at or next above."""
    return (number / width).to_integral_value(ROUND_FLOOR) * width


def _plain(number: Decimal) -> str:
    return f"{number.normalize() + 0:f}"


def _of_codes(name: str, groups: GroupLevels, domain: Iterable[str], file_name: str) -> DraftedHierarchy:
    """Groups of a public list; where the domain has other codes, these are in the last group."""
    first, *above = groups.levels
    *_, last = first
    others = sorted(set(domain).difference(*first.values()))
    completed = GroupLevels(levels=({**first, last: (*first[last], *others)}, *above))
    note = f"{len(others)} codes that are not standard are among “{last}”" if others else ""
    source = HierarchySource(file=file_name, public=not others)
    return DraftedHierarchy(source, ValueType.TEXT, table=from_groups(name, completed), note=note)


def _telling(domain: Iterable[str], lengths: Iterable[int], always: int = 0) -> tuple[int, ...]:
    """Prefixes that group codes otherwise than the values, the next shorter prefix and the top do; one always stays.

    >>> _telling(["79098", "79110", "77652"], (4, 3, 2, 1), 3), _telling(["LE1 2", "LE1 7", "NG1 4"], range(1, 5))
    ((3, 2), (1,))
    """
    values = set(domain)
    groups = {length: len({value[:length] for value in values}) for length in lengths}
    kept, above = list[int](), 1
    for length in sorted(lengths):
        if length == always or above < groups[length] < len(values):
            kept.insert(0, length)
            above = groups[length]
    return tuple(kept)


def date_levels(domain: Mapping[str, int]) -> DateLevels | None:
    """Periods over the years that days lie in, None where some value is no day.

    ``domain`` has the records with each value. A first or last year that fewer records have than the smallest class of
    the default gates has is rounded outward to its decade.

    >>> levels = date_levels({"1987-03-02": 1, "2024-12-31": 40})
    >>> str(levels.minimum), str(levels.maximum), [period.value for period in levels.levels]
    ('1980-01-01', '2024-12-31', ['month', 'year', 'five-years', 'decade'])
    """
    years = Counter[int]()
    try:
        for value, records in domain.items():
            if len(value) != _DAY_LENGTH:
                return None
            years[datetime.strptime(value, "%Y-%m-%d").year] += records
        first, last, least = min(years), max(years), records_for(DEFAULT_GATES[0].threshold)
        long, many = last - first >= _A_LIFE, first < last
        periods = (DatePeriod.MONTH, DatePeriod.YEAR, DatePeriod.FIVE_YEARS, DatePeriod.DECADE)
        return DateLevels(
            minimum=date(first if years[first] >= least else first // 10 * 10, 1, 1),
            maximum=date(last if years[last] >= least else last // 10 * 10 + 9, 12, 31),
            levels=periods if long else (DatePeriod.MONTH, DatePeriod.QUARTER, *[DatePeriod.YEAR] * many),
        )
    except ValueError:
        return None


def interval_levels(low: int, high: int) -> IntervalLevels | None:
    """Nested intervals over a range of whole numbers, None where the range is too wide to list.

    >>> levels = interval_levels(17, 90)
    >>> levels.minimum, levels.maximum, levels.widths
    (0, 99, (5, 10, 20))
    """
    span = high - low + 1
    first, factor = (2, 2) if span <= 20 else (5, 2) if span <= 200 else (10, 10)
    widths = [first]
    while widths[-1] * factor * 2 <= span + 1:
        widths.append(widths[-1] * factor)
    widest = widths[-1]
    minimum, maximum = low // widest * widest, (high // widest + 1) * widest - 1
    if maximum - minimum >= _WIDEST_DOMAIN:
        return None
    return IntervalLevels(minimum=minimum, maximum=maximum, widths=tuple(widths))
