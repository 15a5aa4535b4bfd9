"""Sources of a hierarchy: a file, or levels of numbers, dates, prefixes or groups."""

from datetime import date
from enum import StrEnum
from itertools import pairwise
from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints

from tasks.core.plural import listed
from tasks.request.part import EachOnce, RelativePath, RequestPart, Rule, Text, given

_SOURCES = ("file", "intervals", "dates", "prefixes", "groups")


class IntervalLevels(RequestPart):
    """Levels made of intervals of growing width over whole numbers.

    Each width must divide the next, so that the intervals of a level are nested in those of the next, unless levels may
    cross.
    """

    minimum: int = Field(description="Smallest value of the domain.")
    maximum: int = Field(description="Largest value of the domain.")
    widths: tuple[Annotated[int, Field(ge=2)], ...] = Field(
        description="Interval width of each level, a multiple of the one before unless levels may cross."
    )

    rules: ClassVar[tuple[Rule["IntervalLevels"], ...]] = (
        Rule(
            "maximum must be greater than minimum",
            lambda one: one.maximum <= one.minimum,
            "maximum",
            got="a smaller or equal number",
            fix="correct the bounds",
        ),
        Rule(
            "the domain must hold at most 1,000,000 values",
            lambda one: one.maximum - one.minimum >= 1_000_000,
            "maximum",
            got=lambda one: f"a domain of {one.maximum - one.minimum + 1:,} values",
            fix="choose narrower bounds, or use a hierarchy file",
        ),
        Rule(
            "each width must be larger than the one before it",
            lambda one: any(later <= earlier for earlier, later in pairwise(one.widths)),
            "widths",
            got=lambda one: _numbers(one.widths),
            fix="choose widths such as 5, 10, 20",
        ),
    )

    @property
    def nested(self) -> bool:
        """Whether the intervals of each level lie inside those of the next."""
        return not any(later % earlier for earlier, later in pairwise(self.widths))


class DatePeriod(StrEnum):
    """A period of the calendar that holds a day, from fine to coarse."""

    ISO_WEEK = "iso-week"
    MONTH = "month"
    QUARTER = "quarter"
    ISO_YEAR = "iso-year"
    YEAR = "year"
    FIVE_YEARS = "five-years"
    DECADE = "decade"


_OF_WEEKS = frozenset({DatePeriod.ISO_WEEK, DatePeriod.ISO_YEAR})


class DateLevels(RequestPart):
    """Levels made of periods of the calendar over the days from the first to the last of the domain.

    Weeks and years of ISO 8601 do not nest in months, quarters and years, so that only levels that may cross have both.
    """

    minimum: date = Field(description="First day of the domain.")
    maximum: date = Field(description="Last day of the domain.")
    levels: Annotated[tuple[DatePeriod, ...], EachOnce] = Field(
        min_length=1, description="Period of each level, growing."
    )

    rules: ClassVar[tuple[Rule["DateLevels"], ...]] = (
        Rule(
            "maximum must be after minimum",
            lambda one: one.maximum <= one.minimum,
            "maximum",
            got="an earlier day, or the same",
            fix="correct the bounds",
        ),
        Rule(
            "the domain must hold at most 1,000,000 days",
            lambda one: (one.maximum - one.minimum).days >= 1_000_000,
            "maximum",
            got=lambda one: f"a domain of {(one.maximum - one.minimum).days + 1:,} days",
            fix="choose narrower bounds",
        ),
        Rule(
            "each period must be longer than the one before it",
            lambda one: sorted(one.levels, key=list(DatePeriod).index) != list(one.levels),
            "levels",
            got=lambda one: listed([period.value for period in one.levels]),
            fix="choose levels such as month, year, decade, or iso-week, iso-year",
        ),
    )

    @property
    def nested(self) -> bool:
        """Whether the periods of each level lie inside those of the next."""
        return _OF_WEEKS.issuperset(self.levels) or _OF_WEEKS.isdisjoint(self.levels)


class PrefixLevels(RequestPart):
    """Levels that keep fewer and fewer leading characters of a code, such as a ZIP code."""

    keep: tuple[Annotated[int, Field(ge=1)], ...] = Field(description="Characters kept at each level, shrinking.")
    mask: Annotated[str, StringConstraints(min_length=0, max_length=1)] = Field(
        default="*", description="Character that stands for each one removed; empty to cut the code."
    )

    rules: ClassVar[tuple[Rule["PrefixLevels"], ...]] = (
        Rule(
            "the kept lengths must shrink from level to level",
            lambda one: any(later >= earlier for earlier, later in pairwise(one.keep)),
            "keep",
            got=lambda one: _numbers(one.keep),
            fix="choose lengths such as 4, 3, 2",
        ),
    )


class GroupLevels(RequestPart):
    """Levels written out: each maps a group to the values (first level) or groups (later levels) in it.

    Where levels may cross, later levels hold values too.
    """

    levels: tuple[dict[Text, tuple[Text, ...]], ...] = Field(
        min_length=1, description="Each level: a group, and the values (first level) or groups in it."
    )


class HierarchySource(RequestPart):
    """Source of an attribute's generalization hierarchy, exactly one of the five, and whether it is a tree."""

    file: RelativePath | None = Field(default=None, description="ARX hierarchy CSV: leaf;level 1;…;top.")
    intervals: IntervalLevels | None = Field(default=None, description="Intervals of whole numbers.")
    dates: DateLevels | None = Field(default=None, description="Periods of the calendar.")
    prefixes: PrefixLevels | None = Field(
        default=None, description="Leading characters of codes; the values are the population's."
    )
    groups: GroupLevels | None = Field(default=None, description="Groups that are written out.")
    levels_may_cross: bool = Field(
        default=False, description="Whether a group may have parts in several groups of the next level."
    )
    public: bool = Field(
        default=False,
        description="Whether a delivery also lists values and groups that do not occur in it; only for public "
        "code lists.",
    )

    rules: ClassVar[tuple[Rule["HierarchySource"], ...]] = (
        Rule(
            "the values of a hierarchy by prefixes are those of the population, which are not public",
            lambda one: one.prefixes is not None and one.public,
            "public",
            got="public: true beside prefixes",
            fix="remove it, or list the public values in a hierarchy file",
        ),
        Rule(
            "give exactly one of file, intervals, dates, prefixes, groups",
            lambda one: len(given(one, _SOURCES)) != 1,
            got=lambda one: listed(given(one, _SOURCES)),
            fix="keep one of them",
        ),
        Rule(
            "levels by prefixes never cross",
            lambda one: one.prefixes is not None and one.levels_may_cross,
            "levels_may_cross",
            got="levels_may_cross: true beside prefixes",
            fix="remove it",
        ),
        Rule(
            "weeks do not nest in months, quarters and years, unless levels may cross",
            lambda one: one.dates is not None and not one.levels_may_cross and not one.dates.nested,
            "dates.levels",
            got=lambda one: listed([period.value for period in one.dates.levels] if one.dates else []),
            fix="choose month, quarter, year, or iso-week, iso-year, or add “levels_may_cross: true” if that is meant",
        ),
        Rule(
            "each width must be a larger multiple of the one before it, unless levels may cross",
            lambda one: one.intervals is not None and not one.levels_may_cross and not one.intervals.nested,
            "intervals.widths",
            got=lambda one: _numbers(one.intervals.widths if one.intervals else ()),
            fix="choose widths such as 5, 10, 20, or add “levels_may_cross: true” if that is meant",
        ),
    )


def _numbers(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers))
