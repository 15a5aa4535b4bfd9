"""The suite of checks that a request asks for, derived from the request alone; nothing here looks at data.

A check names a Great Expectations type, what it is given, and the table and field it looks at. Whatever depends only
on a cell's value is checked on the *distinct values* of its column; only what depends on records (uniqueness,
presence, coverage, repeated identifiers) is checked on records.
"""

import dataclasses
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any

from tasks.decision.record import SkippedCheck
from tasks.request.model import Attribute, PatternName, ReleaseRequest, Role, SafeHarborRule, ValueType
from tasks.validation.patterns import (
    DATE_AND_TIME,
    NUMBER,
    NUMBER_PATTERNS,
    PATTERN_TITLES,
    TEXT_PATTERNS,
    WHOLE_NUMBER,
)

OLDEST_AGE = 89
"""Ages above it may not be released as they are: 45 CFR 164.514(b)(2)(i)(C)."""

COPY_SHARE = 0.9
"""A column that equals a direct identifier in more than this share of records is taken for a copy of it."""

_FORMS = {
    ValueType.INTEGER: ("whole numbers", WHOLE_NUMBER),
    ValueType.NUMBER: ("numbers", NUMBER),
    ValueType.DATE: ("dates written YYYY-MM-DD", DATE_AND_TIME),
}
PRESENCE = "ExpectColumnValuesToNotBeNull"
_BETWEEN = "ExpectColumnValuesToBeBetween"
_OF_VALUES = frozenset({"text", "number", "day", "age"})
"""Fields of the table of distinct values; all others are of records."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


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
        if attribute.role is not Role.DIRECT:
            checks += _outbound_checks(request, column, attribute)
    skipped = tuple(
        SkippedCheck(
            id=f"pattern scan/{column}",
            expectation="no identifier by pattern or repeated in the text",
            column=column,
            reason="the request sets scan: false",
        )
        for column in request.outbound
        if not request.attributes[column].scan and request.attributes[column].type is not ValueType.DATE
    )
    return ValidationPlan(tuple(checks), skipped, tuple(_observations(request)))


def is_age(column: str, attribute: Attribute) -> bool:
    """Whether a column holds ages: declared so for Safe Harbor, or “age” is a word of its name.

    >>> from tasks.request.model import Attribute, Role
    >>> [is_age(name, Attribute(role=Role.SENSITIVE)) for name in ("age", "AgeAtVisit", "age_2", "stage", "page")]
    [True, True, True, False, False]
    """
    words = (word.lower() for word in _WORD.findall(column))
    return attribute.type is not ValueType.DATE and (attribute.safe_harbor is SafeHarborRule.AGE or "age" in words)


def scanned(request: ReleaseRequest, attribute: Attribute, *, labels: bool = False) -> dict[PatternName, str]:
    """Patterns that no cell of an attribute may match, none where the request opts out.

    Those of the values as collected, or of the ``labels`` that stand for them once generalized, which are text.
    """
    patterns = {ValueType.TEXT: TEXT_PATTERNS, ValueType.DATE: {}}.get(
        attribute.type, TEXT_PATTERNS if labels else NUMBER_PATTERNS
    )
    asked = request.policy.validation.patterns if attribute.scan else ()
    return {name: patterns[name] for name in asked if name in patterns}


def _table_checks(request: ReleaseRequest) -> Iterator[Check]:
    yield Check(
        "release columns",
        "no direct identifier among the columns to be released",
        "",
        "",
        "ExpectTableColumnsToMatchSet",
        {"column_set": list(request.outbound), "exact_match": True},
    )
    share = request.policy.validation.minimum_population_coverage
    words = f"quasi-identifiers found in the population, at least {_percent(share)} of records"
    ends = {"min_value": 1, "max_value": 1}
    yield Check("population coverage", words, "", "covered", _BETWEEN, ends, mostly=share, counts_tolerated=True)


def _declared_checks(request: ReleaseRequest, column: str, attribute: Attribute) -> Iterator[Check]:
    """Checks that the request declares of a column, whether it is released or not."""
    rate = attribute.maximum_missing_rate
    if column == request.dataset.record_id:
        yield Check("unique", "unique record id", column, "code", "ExpectColumnValuesToBeUnique")
        yield Check("present", "record id present", column, "code", PRESENCE)
    elif rate < 1:
        words = f"missing in at most {_percent(rate)} of records" if rate else "no missing value"
        yield Check("missing rate", words, column, "code", PRESENCE, mostly=_rest(rate), counts_tolerated=True)
    if attribute.type in _FORMS:
        words, regex = _FORMS[attribute.type]
        yield Check("type", words, column, "text", "ExpectColumnValuesToMatchRegex", {"regex": regex})
    if attribute.type is ValueType.DATE:
        yield Check("calendar", "days that exist", column, "day", PRESENCE)
    if attribute.allowed_values is not None:
        listed = {"value_set": list(attribute.allowed_values)}
        yield Check("domain", "values of the declared list", column, "text", "ExpectColumnValuesToBeInSet", listed)
    if attribute.minimum is not None or attribute.maximum is not None:
        ends = {"min_value": attribute.minimum, "max_value": attribute.maximum}
        yield Check("range", "numbers within the declared range", column, "number", _BETWEEN, ends)


def _outbound_checks(request: ReleaseRequest, column: str, attribute: Attribute) -> Iterator[Check]:
    """Checks on what no released column may hold."""
    policy, is_text = request.policy.validation, attribute.type is ValueType.TEXT
    if is_text:
        words, longest = f"text of at most {policy.maximum_text_length:,} characters", policy.maximum_text_length
        yield Check("text length", words, column, "text", "ExpectColumnValueLengthsToBeBetween", {"max_value": longest})
    for name, regex in scanned(request, attribute).items():
        found = {"regex": regex}
        yield Check(name.value, PATTERN_TITLES[name], column, "text", "ExpectColumnValuesToNotMatchRegex", found)
    if attribute.role is Role.QUASI:  # generalization treats its identifiers and its ages
        return
    none, most = {"min_value": 0, "max_value": 0}, _rest(COPY_SHARE)
    yield Check("identifier copy", "not a copy of a direct identifier", column, "copied", _BETWEEN, none, mostly=most)
    if is_text and attribute.scan:
        words = "no direct identifier of the same record in the text"
        yield Check("identifier in text", words, column, "named", _BETWEEN, none)
    if is_age(column, attribute):
        words, under = f"no age over {OLDEST_AGE}", {"max_value": OLDEST_AGE + 1, "strict_max": True}
        yield Check("age", words, column, "age", _BETWEEN, under)


def _observations(request: ReleaseRequest) -> Iterator[Observation]:
    for column, attribute in request.attributes.items():
        if attribute.role is Role.QUASI and is_age(column, attribute):
            description = f"ages over {OLDEST_AGE} in a quasi-identifier, which generalization treats"
            yield Observation("age", description, column, "age", OLDEST_AGE + 1)
        if attribute.role in (Role.SENSITIVE, Role.INSENSITIVE) and attribute.type is ValueType.DATE:
            yield Observation("full date", "full dates in a column declared as dates", column, "day", None)


def _rest(share: float) -> float:
    """What a share leaves, exact for it as it is written in decimal."""
    return float(1 - Decimal(repr(share)))


def _percent(share: float) -> str:
    return f"{share * 100:.6g} %"
