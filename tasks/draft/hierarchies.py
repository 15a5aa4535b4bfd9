"""A first generalization hierarchy for a column that is suggested as a quasi-identifier.

Bounds of intervals and dates are rounded outward, so that the smallest and the largest value, which may be one
person's, cannot be read from them. Only a hierarchy that goes to a file of its own names values.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime

from tasks.draft.icd10 import icd10_levels, is_icd10
from tasks.draft.number_groups import of_ages, of_few_whole_numbers, of_numbers
from tasks.draft.roles import PLAIN_INTEGER, Suggestion
from tasks.microdata.build import TOP, from_groups
from tasks.microdata.hierarchy import Hierarchy, hierarchy_from_rows
from tasks.request.column_names import Theme
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
FEWEST_FOR_INTERVALS = 10
"""Different whole numbers below which they are taken for codes, of which neighbours need not be alike."""
_RARE, _POOL = 0.01, "other"
_MOST_FITTED = 40
"""Most different whole numbers, but ages and years, whose groups follow how many records have them."""
_FIRST_YEAR = 1000
"""Whole numbers from here on are years where a name says that they are of a date; others are days, or counts a day."""
_ZIP3 = 3
_ZIP_KEPT = {5: (4, 3, 2, 1), 10: (5, 4, 3, 2, 1)}
_LONGEST_POSTCODE = 10
_DAY_LENGTH, _OF_PERIODS = 10, (10, 7, 4)
"""Characters of a day in ISO 8601, and of a day, a month and a year."""
_A_LIFE = 20
"""Years from which dates are assumed to span lives, so that years are grouped too."""


@dataclass(frozen=True)
class DraftedHierarchy:
    """Source of a hierarchy, its table if it has a file of its own, and what does not follow from the source."""

    source: HierarchySource
    type: ValueType
    safe_harbor: SafeHarborRule = SafeHarborRule.NONE
    table: Hierarchy | None = None
    note: str = ""


def draft_hierarchy(
    suggestion: Suggestion, domain: Mapping[str, int], file_name: str, *, alike: bool = False
) -> DraftedHierarchy:
    """Build a hierarchy over a column's domain: its values in the data and, where there is one, in the population.

    ``domain`` has the records of the data with each value. ``file_name`` is of the file that a table of values would go
    to. ``alike`` says whether all records will have one strategy, for which sparse groups are of no use.
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
    if column.type is ValueType.DATE and (periods := _of_dates(domain)) is not None:
        return DraftedHierarchy(periods, ValueType.DATE)
    codes = len(domain) < FEWEST_FOR_INTERVALS and suggestion.theme not in (Theme.AGE, Theme.DATE)
    whole = column.type is ValueType.INTEGER and not codes
    source = HierarchySource(file=file_name)
    if whole and all(re.fullmatch(PLAIN_INTEGER, value) for value in domain):
        made = _of_whole_numbers(suggestion, domain, source, alike=alike)
        if made is not None:
            return made
    if suggestion.theme is Theme.PRIVATE and all(map(is_icd10, domain)):
        table = hierarchy_from_rows(column.name, [icd10_levels(value) for value in sorted(domain)], file_name)
        return DraftedHierarchy(source, column.type, table=table)
    if column.type in NUMERIC and not codes and len(domain) >= FEWEST_FOR_INTERVALS:
        rows, note = of_numbers(domain), ""
    else:
        rows, pool = _of_values(domain)
        note = f"rare: “{pool}”, or your word" if pool else ""
    return DraftedHierarchy(source, column.type, table=hierarchy_from_rows(column.name, rows, file_name), note=note)


def _of_dates(domain: Mapping[str, int]) -> HierarchySource | None:
    """Periods of days, prefixes of days with times, which no period holds; None where some value is no day."""
    if (dates := date_levels(domain)) is not None:
        return HierarchySource(dates=dates)
    if max(map(len, domain)) == _DAY_LENGTH:
        return None
    keep = _telling(domain, [length for length in _OF_PERIODS if length < min(map(len, domain))])
    return HierarchySource(prefixes=PrefixLevels(keep=keep, mask=""))


def _of_whole_numbers(
    suggestion: Suggestion, domain: Mapping[str, int], source: HierarchySource, *, alike: bool
) -> DraftedHierarchy | None:
    """Groups of a few whole numbers, or intervals; None where these are too many to list.

    Years have intervals; ages and many numbers, too, or where all records are grouped ``alike``, few and even groups.
    """
    theme = suggestion.theme
    rule = SafeHarborRule.AGE if theme is Theme.AGE else SafeHarborRule.NONE
    few = len(domain) <= _MOST_FITTED and theme is not Theme.AGE
    years = theme is Theme.DATE and min(map(int, domain)) >= _FIRST_YEAR
    if not years and (few or alike):
        fitted = of_few_whole_numbers if few else of_ages if theme is Theme.AGE else of_numbers
        table = hierarchy_from_rows(suggestion.profile.name, fitted(domain), source.file or "")
        return DraftedHierarchy(source, ValueType.INTEGER, rule, table)
    levels = interval_levels(min(map(int, domain)), max(map(int, domain)))
    return None if levels is None else DraftedHierarchy(HierarchySource(intervals=levels), ValueType.INTEGER, rule)


def _of_values(domain: Mapping[str, int]) -> tuple[list[list[str]], str]:
    """Rows of a table by which a value is itself, or pooled with the others that are rare, or nothing; and their label.

    Values are rare that fewer records have than the smallest class of the default gates has, or one in a hundred. None
    are pooled where fewer than two are rare, or fewer than two are not.
    """
    values, top = sorted(domain), TOP
    while top in domain:
        top += TOP
    least = max(records_for(DEFAULT_GATES[0].threshold), sum(domain.values()) * _RARE)
    rare = {value for value in values if domain[value] < least}
    if not 2 <= len(rare) <= len(values) - 2:
        return [[value, top] for value in values], ""
    pool = _POOL
    while pool in domain:
        pool += TOP
    return [[value, pool if value in rare else value, top] for value in values], pool


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
