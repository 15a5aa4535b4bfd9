"""The suite of checks that a request asks for, derived from the request alone; nothing here looks at data.

A check names a Great Expectations type, what it is given, and the table and field it looks at. Whatever depends only
on a cell's value is checked on the *distinct values* of its column; only what depends on records (uniqueness,
presence, coverage, repeated identifiers) is checked on records.
"""

import dataclasses
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Any

from tasks.decision.record import SAME_PERSON, CheckFact, SkippedCheck
from tasks.request.column_names import event_word, names_people
from tasks.request.model import Attribute, PatternName, ReleaseRequest, Role, SafeHarborRule, ValueType
from tasks.validation.columns import OLDEST_AGE, named_age
from tasks.validation.patterns import (
    DATE_AND_TIME,
    NUMBER,
    NUMBER_PATTERNS,
    PATTERN_TITLES,
    TEXT_PATTERNS,
    WHOLE_NUMBER,
)

COPY_SHARE = 0.9
"""A column that equals a direct identifier in more than this share of records is taken for a copy of it."""

_FORMS = {
    ValueType.INTEGER: ("whole numbers", WHOLE_NUMBER),
    ValueType.NUMBER: ("numbers", NUMBER),
    ValueType.DATE: ("dates written YYYY-MM-DD", DATE_AND_TIME),
}
PRESENCE = "ExpectColumnValuesToNotBeNull"
_BETWEEN = "ExpectColumnValuesToBeBetween"
_LISTED = {
    PatternName.PHONE: "no phone number of a numbering plan",
    PatternName.ACCOUNT_NUMBER: PATTERN_TITLES[PatternName.ACCOUNT_NUMBER],
    PatternName.NATIONAL_ID: PATTERN_TITLES[PatternName.NATIONAL_ID],
    PatternName.NAME: "no name by lists of names",
}
"""Kinds that numbering plans, check digits or lists of names find, with the check in plain words."""
_OF_VALUES = frozenset({"text", "readable", "number", "day", "age", *(kind.value for kind in _LISTED)})
"""Fields of the table of distinct values; all others are of records."""
_NONE = {"min_value": 0, "max_value": 0}


class CheckedTable(StrEnum):
    """Table that a check looks at."""

    RELEASE = "release"
    RECORDS = "records"
    VALUES = "values"


@dataclass(frozen=True)
class Check:
    """One expectation on one table."""

    kind: str
    """Short name of what is checked; with type and column it identifies the check."""
    expectation: str
    """The same in plain words, for reports."""
    column: str
    """Column of the microdata, empty for a check of the whole table."""
    field: str
    """Column of the prepared table, see ``tasks.validation.tables``; empty for a check of which columns there are."""
    type: str
    """Class of the expectation in Great Expectations."""
    arguments: dict[str, Any] = dataclasses.field(default_factory=dict)
    """Arguments of the expectation besides the column and ``mostly``."""
    mostly: float = 1.0
    """Least share of cells that must meet the expectation."""
    counts_tolerated: bool = False
    """Whether the cells that do not meet it are counted also where it passed."""
    of_people: bool = False
    """Whether it is of people, who can have several rows; its field has a value in one row of each at most."""

    @property
    def table(self) -> CheckedTable:
        """The table that has the field."""
        if not self.field:
            return CheckedTable.RELEASE
        return CheckedTable.VALUES if self.field in _OF_VALUES else CheckedTable.RECORDS

    @property
    def id(self) -> str:
        """Kind, Great Expectations type and column."""
        snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", self.type).lower()
        return "/".join(filter(None, (self.kind, snake, self.column)))


@dataclass(frozen=True)
class Observation:
    """Records to count for the reader, without a verdict."""

    kind: str
    description: str
    column: str
    field: str
    least: float | None
    """Count cells of at least this number; None counts every cell that could be read."""


@dataclass(frozen=True)
class ValidationPlan:
    """Everything that validation does for a request."""

    checks: tuple[Check, ...]
    skipped: tuple[SkippedCheck, ...]
    observations: tuple[Observation, ...]


def derive(request: ReleaseRequest) -> ValidationPlan:
    """The suite of a valid request: checks in the order of its columns, the whole table's first; ids are unique."""
    checks = list(_table_checks(request))
    for column, attribute in request.attributes.items():
        checks += _declared_checks(request, column, attribute)
        checks += _of_people(request, column, attribute)
        if attribute.role is Role.TEXT:
            checks += _one_value(request, column, attribute)
        if not attribute.role.withheld:
            checks += _outbound_checks(request, column, attribute)
    skipped = tuple(
        SkippedCheck(
            id=f"pattern scan/{column}",
            expectation="no identifier by pattern, as a date or repeated",
            column=column,
            reason="the request sets scan: false",
        )
        for column in request.released
        if not request.attributes[column].scan
        and not (request.attributes[column].type is ValueType.DATE and request.attributes[column].role is Role.QUASI)
    )
    return ValidationPlan(tuple(checks), skipped, tuple(_observations(request)))


def is_readable(request: ReleaseRequest, failed: Iterable[CheckFact]) -> bool:
    """Whether cells are such as the request declares, where only what no released column may hold was found."""
    outbound = (_outbound_checks(request, name, request.attributes[name]) for name in request.released)
    return {one.id for one in failed} <= {one.id for one in chain.from_iterable(outbound)}


def is_age(column: str, attribute: Attribute) -> bool:
    """Whether a column holds ages: declared so for Safe Harbor, or “age” or “Alter” is in its name.

        >>> from tasks.request.column_names import event_word, names_people
    from tasks.request.model import Attribute, Role
        >>> [is_age(name, Attribute(role=Role.SENSITIVE)) for name in ("age", "AgeAtVisit", "age_2", "stage", "page")]
        [True, True, True, False, False]
    """
    return attribute.type is not ValueType.DATE and (attribute.safe_harbor is SafeHarborRule.AGE or named_age(column))


def scanned(request: ReleaseRequest, attribute: Attribute, *, labels: bool = False) -> dict[PatternName, str]:
    """Patterns that no cell of an attribute may match, none where the request opts out.

    Those of the values as collected, or of the ``labels`` that stand for them once generalized, which are text.
    """
    patterns = {ValueType.TEXT: TEXT_PATTERNS, ValueType.DATE: {}}.get(
        attribute.type, TEXT_PATTERNS if labels else NUMBER_PATTERNS
    )
    return {name: patterns[name] for name in _asked(request, attribute) if name in patterns}


def _asked(request: ReleaseRequest, attribute: Attribute) -> list[PatternName]:
    """Kinds of identifiers that are sought in the values of an attribute."""
    treated = {PatternName.NAME, PatternName.AGE_OVER_89} if attribute.role is Role.QUASI else set()
    return [name for name in request.policy.validation.patterns if attribute.scan and name not in treated]


def _table_checks(request: ReleaseRequest) -> Iterator[Check]:
    yield Check(
        "release columns",
        "no direct identifier among the columns to be released",
        "",
        "",
        "ExpectTableColumnsToMatchSet",
        {"column_set": list(request.released), "exact_match": True},
    )
    share, people = request.policy.validation.minimum_population_coverage, request.dataset.person is not None
    words = f"quasi-identifiers found in the population, at least {_percent(share)} of " + (
        "people" if people else "records"
    )
    ends = {"min_value": 1, "max_value": 1}
    yield Check(
        "population coverage",
        words,
        "",
        "covered",
        _BETWEEN,
        ends,
        mostly=share,
        counts_tolerated=True,
        of_people=people,
    )

    if not people:
        yield Check(
            SAME_PERSON,
            "no person in several rows, unless dataset.person names each row's person",
            "",
            "same person",
            _BETWEEN,
            _NONE,
        )


def _declared_checks(request: ReleaseRequest, column: str, attribute: Attribute) -> Iterator[Check]:
    """Checks that the request declares of a column, whether it is released or not."""
    rate = attribute.maximum_missing_rate
    if column == request.dataset.person:
        yield Check("present", "person named", column, "code", PRESENCE)
    elif column == request.dataset.record_id:
        yield from _rows_of_events(request, column, attribute)
        yield Check("unique", "unique record id", column, "code", "ExpectColumnValuesToBeUnique")
        yield Check("present", "record id present", column, "code", PRESENCE)
    elif attribute.role is Role.PSEUDONYM:
        yield Check("present", "identifier present", column, "code", PRESENCE)
    elif rate < 1:
        words = f"missing in at most {_percent(rate)} of records" if rate else "no missing value"
        yield Check("missing rate", words, column, "code", PRESENCE, mostly=_rest(rate), counts_tolerated=True)
    if attribute.type in _FORMS:
        words, regex = _FORMS[attribute.type]
        yield Check("type", words, column, "text", "ExpectColumnValuesToMatchRegex", {"regex": regex})
    if attribute.type is ValueType.DATE:
        yield Check("calendar", "days that exist", column, "day", PRESENCE)
        yield from _date_checks(request, column, attribute)
    if attribute.allowed_values is not None:
        listed = {"value_set": list(attribute.allowed_values)}
        yield Check("domain", "values of the declared list", column, "text", "ExpectColumnValuesToBeInSet", listed)
    if attribute.minimum is not None or attribute.maximum is not None:
        ends = {"min_value": attribute.minimum, "max_value": attribute.maximum}
        yield Check("range", "numbers within the declared range", column, "number", _BETWEEN, ends)


def _date_checks(request: ReleaseRequest, column: str, attribute: Attribute) -> Iterator[Check]:
    """Checks on dates that are moved, and on the order of dates and their agreement with birth, death and age."""
    counted = {one.date.relative_to for one in request.attributes.values() if one.date}
    if attribute.dated or column in counted:
        yield Check("one form", "days in one form, without times of their own", column, "timed", _BETWEEN, _NONE)
    birth, death = request.life_event("birth"), request.life_event("death")
    if birth not in (None, column):
        yield Check("order", f"no date before {birth}", column, "before birth", _BETWEEN, _NONE)
    if death not in (None, column, birth) and column != birth:
        yield Check("order after", f"no date after {death}", column, "after death", _BETWEEN, _NONE)
    if attribute.date is not None and attribute.date.age is not None:
        words = f"the age in {attribute.date.age} on this day"
        yield Check("age on the day", words, column, "other age", _BETWEEN, _NONE)


def _of_people(request: ReleaseRequest, column: str, attribute: Attribute) -> Iterator[Check]:
    """The check that an identifier names nobody in several rows, where each row is taken for a person."""
    rows = request.dataset.person is None and column != request.dataset.record_id
    number = attribute.type in (ValueType.TEXT, ValueType.INTEGER) and not is_age(column, attribute)
    if rows and attribute.role is Role.DIRECT and number and attribute.safe_harbor is not SafeHarborRule.ZIP:
        ways = f"state “dataset.person: {column}”, or “role: withheld” if nobody is named"
        yield Check("one row a person", f"no person in several rows; else {ways}", column, "again", _BETWEEN, _NONE)


def _rows_of_events(request: ReleaseRequest, column: str, attribute: Attribute) -> Iterator[Check]:
    """The check that fails where rows are named as visits or the like and nothing says that each is of another person.

    A number of people among the direct identifiers says so: validation fails where it repeats.
    """
    data = request.dataset
    numbered = any(one != column and names_people(one) for one in request.with_role(Role.DIRECT))
    if data.person is None and attribute.excused is None and not numbered:
        word = event_word(column, attribute.description or "", data.title, Path(data.path).name)
        if word:
            words = (
                f"each row of another person, although “{word}” names the rows; else name each row's person "
                f"(dataset.person), or, if it is so, write under {column}: “excused: {{by: NAME, because: each person "
                "has one row}”"
            )
            # No code is below 0: each row fails, since nothing in the file shows whose it is.
            yield Check(SAME_PERSON, words, column, "code", _BETWEEN, {"max_value": -1})


def _one_value(request: ReleaseRequest, column: str, attribute: Attribute) -> Iterator[Check]:
    """The check of what leaves of people who can have several rows."""
    if request.dataset.person is not None and attribute.of == "person":
        words = "one value in all rows of a person"
        yield Check("one value a person", words, column, "differs", _BETWEEN, _NONE, of_people=True)


def _outbound_checks(request: ReleaseRequest, column: str, attribute: Attribute) -> Iterator[Check]:
    """Checks on what no released column may hold."""
    policy, is_text = request.policy.validation, attribute.type is ValueType.TEXT
    yield from _one_value(request, column, attribute)
    if is_text:
        words, longest = f"text of at most {policy.maximum_text_length:,} characters", policy.maximum_text_length
        yield Check("text length", words, column, "text", "ExpectColumnValueLengthsToBeBetween", {"max_value": longest})
    yield from _scans(request, column, attribute)
    if attribute.role is Role.QUASI:  # generalization treats its identifiers, dates and ages
        return
    most = _rest(COPY_SHARE)
    yield Check("identifier copy", "not a copy of a direct identifier", column, "copied", _BETWEEN, _NONE, mostly=most)
    if is_age(column, attribute):
        words, under = f"no age over {OLDEST_AGE}", {"max_value": OLDEST_AGE + 1, "strict_max": True}
        yield Check("age", words, column, "age", _BETWEEN, under)
    if attribute.scan:
        yield from _scans_beside_others(request, column, attribute)


def _scans(request: ReleaseRequest, column: str, attribute: Attribute) -> Iterator[Check]:
    """Checks that look for identifiers in the values of a column."""
    is_text, patterns = attribute.type is ValueType.TEXT, scanned(request, attribute)
    for name in _asked(request, attribute):
        if name in patterns:
            field, found = "readable" if is_text else "text", {"regex": patterns[name]}
            yield Check(name.value, PATTERN_TITLES[name], column, field, "ExpectColumnValuesToNotMatchRegex", found)
        if is_text and name in _LISTED:
            yield Check(name.value, _LISTED[name], column, name.value, _BETWEEN, _NONE)


def _scans_beside_others(request: ReleaseRequest, column: str, attribute: Attribute) -> Iterator[Check]:
    """Checks that look for identifiers in a column together with the others of the file."""
    patterns, is_date = request.policy.validation.patterns, attribute.type is ValueType.DATE
    if not is_date:
        yield Check("identifier in text", "no word of a direct identifier", column, "named", _BETWEEN, _NONE)
    if PatternName.FULL_DATE in patterns and not attribute.dated:  # other dates leave, and are judged as such
        words = "no full date" if is_date else "no date as day number, in digits, or split into day and month"
        yield Check(PatternName.FULL_DATE.value, words, column, "dated", _BETWEEN, _NONE)
    if PatternName.COORDINATES in patterns and not is_date:
        words = "no column of coordinates or postcodes"
        yield Check(PatternName.COORDINATES.value, words, column, "located", _BETWEEN, _NONE)
    if PatternName.AGE_OVER_89 in patterns and not is_date and not is_age(column, attribute):
        yield Check("age", f"no age over {OLDEST_AGE} under a different name", column, "aged", _BETWEEN, _NONE)


def _observations(request: ReleaseRequest) -> Iterator[Observation]:
    for column, attribute in request.attributes.items():
        if attribute.role is Role.QUASI and is_age(column, attribute):
            description = f"ages over {OLDEST_AGE} in a quasi-identifier, which generalization treats"
            yield Observation("age", description, column, "age", OLDEST_AGE + 1)
        as_collected = attribute.role in (Role.SENSITIVE, Role.INSENSITIVE) and not attribute.dated
        if as_collected and attribute.type is ValueType.DATE:
            yield Observation("full date", "full dates in a column declared as dates", column, "day", None)


def _rest(share: float) -> float:
    """Complement of a share, 1 − share, exact for it as it is written in decimal."""
    return float(1 - Decimal(repr(share)))


def _percent(share: float) -> str:
    return f"{share * 100:.6g} %"
