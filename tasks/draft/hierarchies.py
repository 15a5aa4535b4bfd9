"""A first generalization hierarchy for a column that is suggested as a quasi-identifier.

Bounds of intervals and dates are rounded outward, so that the smallest and the largest value, which may be one
person's, cannot be read from them. Only a hierarchy that goes to a file of its own names values.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from tasks.draft.roles import PLAIN_INTEGER, Suggestion, Theme
from tasks.microdata.build import TOP, from_groups
from tasks.microdata.hierarchy import Hierarchy, hierarchy_from_rows
from tasks.request.model import (
    DateLevels,
    DatePeriod,
    GroupLevels,
    HierarchySource,
    IntervalLevels,
    PrefixLevels,
    SafeHarborRule,
    ValueType,
)

_WIDEST_DOMAIN = 1_000_000
_FEWEST_FOR_INTERVALS = 10
"""Different whole numbers below which they are taken for codes, of which neighbours need not be alike."""
_ZIP_KEPT = {5: (4, 3, 2, 1), 10: (5, 4, 3, 2, 1)}
_DAY_LENGTH = 10
_DRAFTED_PERIODS = (DatePeriod.MONTH, DatePeriod.QUARTER, DatePeriod.YEAR)


@dataclass(frozen=True)
class DraftedHierarchy:
    """Source of a hierarchy, its table if it has a file of its own, and its effect, in words."""

    source: HierarchySource
    explanation: str
    type: ValueType
    safe_harbor: SafeHarborRule = SafeHarborRule.NONE
    table: Hierarchy | None = None


def draft_hierarchy(suggestion: Suggestion, domain: Sequence[str], file_name: str) -> DraftedHierarchy:
    """Build a hierarchy over a column's domain: its values in the data and, where there is one, in the population.

    ``file_name`` is of the file that a table of values would go to.
    """
    if suggestion.groups is not None:
        return _of_codes(suggestion.profile.name, suggestion.groups, domain, file_name)
    lengths = {len(value) for value in domain}
    if suggestion.theme is Theme.ZIP and len(lengths) == 1 and lengths <= _ZIP_KEPT.keys():
        source = HierarchySource(prefixes=PrefixLevels(keep=_ZIP_KEPT[min(lengths)]))
        return DraftedHierarchy(source, "fewer and fewer leading digits", ValueType.TEXT, SafeHarborRule.ZIP)
    if suggestion.profile.type is ValueType.DATE and (dates := date_levels(domain)) is not None:
        words = "the month, the quarter, then the year; [iso-week, iso-year] gives weeks in their place"
        return DraftedHierarchy(HierarchySource(dates=dates), words, ValueType.DATE)
    codes = len(domain) < _FEWEST_FOR_INTERVALS and suggestion.theme not in (Theme.AGE, Theme.DATE)
    whole = suggestion.profile.type is ValueType.INTEGER and not codes
    if whole and all(re.fullmatch(PLAIN_INTEGER, value) for value in domain):
        levels = interval_levels(min(map(int, domain)), max(map(int, domain)))
        if levels is not None:
            widths = ", ".join(f"{width:,}" for width in levels.widths)
            return DraftedHierarchy(
                HierarchySource(intervals=levels),
                f"intervals of {widths}; the bounds are rounded outward and tell nobody's value",
                ValueType.INTEGER,
                SafeHarborRule.AGE if suggestion.theme is Theme.AGE else SafeHarborRule.NONE,
            )
    top = TOP
    while top in domain:
        top += TOP
    table = hierarchy_from_rows(suggestion.profile.name, [[value, top] for value in sorted(domain)], file_name)
    advice = "add columns between the two for groups that keep more"
    if suggestion.theme is Theme.ZIP:
        advice = "its codes differ in length: bring them to one, and it can be cut digit by digit"
    source = HierarchySource(file=file_name)
    return DraftedHierarchy(source, f"the value or nothing; {advice}", suggestion.profile.type, table=table)


def _of_codes(name: str, groups: GroupLevels, domain: Sequence[str], file_name: str) -> DraftedHierarchy:
    """Groups of a public list; where the domain has other codes, these are in the last group, in a file of its own."""
    first, *above = groups.levels
    *_, last = first
    others = sorted(set(domain).difference(*first.values()))
    if not others:
        source = HierarchySource(groups=groups, public=True)
        return DraftedHierarchy(source, "groups of the standard concepts", ValueType.TEXT)
    completed = GroupLevels(levels=({**first, last: (*first[last], *others)}, *above))
    words = f"groups of the standard concepts; {len(others)} further codes are among “{last}”"
    return DraftedHierarchy(HierarchySource(file=file_name), words, ValueType.TEXT, table=from_groups(name, completed))


def date_levels(domain: Sequence[str]) -> DateLevels | None:
    """Periods over the decades that days lie in, None where some value is no day.

    >>> levels = date_levels(["1987-03-02", "2024-12-31"])
    >>> str(levels.minimum), str(levels.maximum), [period.value for period in levels.levels]
    ('1980-01-01', '2029-12-31', ['month', 'quarter', 'year'])
    """
    try:
        days = [datetime.strptime(value, "%Y-%m-%d").date() for value in domain if len(value) == _DAY_LENGTH]
        first, last = min(days).year // 10 * 10, max(days).year // 10 * 10 + 9
        levels = DateLevels(minimum=date(first, 1, 1), maximum=date(last, 12, 31), levels=_DRAFTED_PERIODS)
    except ValueError:
        return None
    return levels if len(days) == len(domain) else None


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
