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

from tasks.core.errors import RequestError
from tasks.request.model import Attribute, ReleaseRequest, Role, SafeHarborRule, ValueType
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

_NUMERIC = (ValueType.INTEGER, ValueType.NUMBER)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


class Table(StrEnum):
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
    table: Table
    column: str
    """Column of the microdata, empty for a check of the whole table."""
    field: str
    """Column of the prepared table, see ``tasks.validation.tables``."""
    type: str
    """Class of the expectation in Great Expectations."""
    arguments: dict[str, object] = dataclasses.field(default_factory=dict)
    """Arguments of the expectation besides the column and ``mostly``."""
    mostly: float = 1.0
    """Least share of cells that must meet the expectation."""
    counts_tolerated: bool = False
    """Whether the cells that do not meet it are counted also where it passed."""

    @property
    def id(self) -> str:
        """Kind, Great Expectations type and column."""
        snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", self.type).lower()
        return "/".join(part for part in (self.kind, snake, self.column) if part)


@dataclass(frozen=True)
class Skip:
    """A check that the request opts out of, and why it was not made."""

    kind: str
    expectation: str
    column: str
    reason: str


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
class Plan:
    """Everything that validation does for a request."""

    checks: tuple[Check, ...]
    skipped: tuple[Skip, ...]
    observations: tuple[Observation, ...]


def derive(request: ReleaseRequest) -> Plan:
    """Derive the suite of a request.

    Parameters
    ----------
    request : ReleaseRequest
        A request that is valid in itself.

    Returns
    -------
    Plan
        Checks in the order of the request's columns, the whole table's first; ids are unique.

    Raises
    ------
    RequestError
        If a column that does not hold numbers has a minimum or a maximum, or ZIP codes are to be released as collected.
    """
    _check_ranges(request)
    _check_zip_codes(request)
    checks = list(_table_checks(request))
    skipped: list[Skip] = []
    for column, attribute in request.attributes.items():
        checks += _declared_checks(request, column, attribute)
        if attribute.role is not Role.DIRECT:
            checks += _outbound_checks(request, column, attribute)
            if not attribute.scan and attribute.type is not ValueType.DATE:
                skipped.append(_opted_out(column))
    return Plan(tuple(checks), tuple(skipped), tuple(_observations(request)))


def is_age(column: str, attribute: Attribute) -> bool:
    """Whether a column holds ages: declared so for Safe Harbor, or “age” is a word of its name.

    >>> from tasks.request.model import Attribute, Role
    >>> [is_age(name, Attribute(role=Role.SENSITIVE)) for name in ("age", "AgeAtVisit", "age_2", "stage", "page")]
    [True, True, True, False, False]
    """
    words = (word.lower() for word in _WORD.findall(column))
    return attribute.type is not ValueType.DATE and (attribute.safe_harbor is SafeHarborRule.AGE or "age" in words)


def _check_ranges(request: ReleaseRequest) -> None:
    for column, attribute in request.attributes.items():
        bounded = attribute.minimum is not None or attribute.maximum is not None
        if bounded and attribute.type not in _NUMERIC:
            raise RequestError(
                "a minimum or maximum needs a column of numbers",
                where=f"attributes.{column}",
                expected="type: integer or type: number",
                got=f"type: {attribute.type.value}",
                fix="set the type, or remove minimum and maximum",
            )


def _check_zip_codes(request: ReleaseRequest) -> None:
    """Only generalization shortens ZIP codes, so the rule would be silently without effect on any other column."""
    for column in request.outbound:
        attribute = request.attributes[column]
        if attribute.safe_harbor is SafeHarborRule.ZIP and attribute.role is not Role.QUASI:
            raise RequestError(
                "ZIP codes would leave as they were collected",
                where=f"attributes.{column}",
                expected="the role quasi-identifier where safe_harbor is zip",
                got=f"the role {attribute.role.value}",
                fix="make it a quasi-identifier with a hierarchy, or a direct identifier, which never leaves",
            )


def _table_checks(request: ReleaseRequest) -> Iterator[Check]:
    yield Check(
        "release columns",
        "no direct identifier among the columns to be released",
        Table.RELEASE,
        "",
        "",
        "ExpectTableColumnsToMatchSet",
        {"column_set": list(request.outbound), "exact_match": True},
    )
    share = request.policy.validation.minimum_population_coverage
    yield Check(
        "population coverage",
        f"quasi-identifiers found in the population, at least {_percent(share)} of records",
        Table.RECORDS,
        "",
        "covered",
        "ExpectColumnValuesToBeBetween",
        {"min_value": 1, "max_value": 1},
        mostly=share,
        counts_tolerated=True,
    )


def _declared_checks(request: ReleaseRequest, column: str, attribute: Attribute) -> Iterator[Check]:
    """Checks that the request declares of a column, whether it is released or not."""
    if column == request.dataset.record_id:
        yield Check("unique", "unique record id", Table.RECORDS, column, "code", "ExpectColumnValuesToBeUnique")
        yield Check("present", "record id present", Table.RECORDS, column, "code", "ExpectColumnValuesToNotBeNull")
    elif attribute.maximum_missing_rate < 1:
        rate = attribute.maximum_missing_rate
        yield Check(
            "missing rate",
            f"missing in at most {_percent(rate)} of records" if rate else "no missing value",
            Table.RECORDS,
            column,
            "code",
            "ExpectColumnValuesToNotBeNull",
            mostly=float(1 - Decimal(repr(rate))),
            counts_tolerated=True,
        )
    yield from _type_checks(column, attribute.type)
    if attribute.allowed_values is not None:
        yield _on_values(
            "domain",
            "values of the declared list",
            column,
            "text",
            "ExpectColumnValuesToBeInSet",
            value_set=list(attribute.allowed_values),
        )
    if attribute.minimum is not None or attribute.maximum is not None:
        yield _on_values(
            "range",
            "numbers within the declared range",
            column,
            "number",
            "ExpectColumnValuesToBeBetween",
            min_value=attribute.minimum,
            max_value=attribute.maximum,
        )


def _type_checks(column: str, kind: ValueType) -> Iterator[Check]:
    match kind:
        case ValueType.INTEGER:
            yield _matches("type", "whole numbers", column, WHOLE_NUMBER)
        case ValueType.NUMBER:
            yield _matches("type", "numbers", column, NUMBER)
        case ValueType.DATE:
            yield _matches("type", "dates written YYYY-MM-DD", column, DATE_AND_TIME)
            yield _on_values("calendar", "days that exist", column, "day", "ExpectColumnValuesToNotBeNull")
        case ValueType.TEXT:
            pass


def _outbound_checks(request: ReleaseRequest, column: str, attribute: Attribute) -> Iterator[Check]:
    """Checks on what no released column may hold."""
    policy = request.policy.validation
    text = attribute.type is ValueType.TEXT
    if text:
        yield _on_values(
            "text length",
            f"text of at most {policy.maximum_text_length:,} characters",
            column,
            "text",
            "ExpectColumnValueLengthsToBeBetween",
            max_value=policy.maximum_text_length,
        )
    if attribute.scan:
        patterns = {ValueType.TEXT: TEXT_PATTERNS, ValueType.DATE: {}}.get(attribute.type, NUMBER_PATTERNS)
        for pattern in policy.patterns:
            if pattern in patterns:
                yield _on_values(
                    pattern.value,
                    PATTERN_TITLES[pattern],
                    column,
                    "text",
                    "ExpectColumnValuesToNotMatchRegex",
                    regex=patterns[pattern],
                )
    if attribute.role is not Role.QUASI:
        yield from _identifier_checks(column, attribute)
        if is_age(column, attribute):
            yield _on_values(
                "age",
                f"no age over {OLDEST_AGE}",
                column,
                "age",
                "ExpectColumnValuesToBeBetween",
                max_value=OLDEST_AGE + 1,
                strict_max=True,
            )


def _identifier_checks(column: str, attribute: Attribute) -> Iterator[Check]:
    """No direct identifier under another name; quasi-identifiers are left out, for generalization treats them."""
    yield Check(
        "identifier copy",
        "not a copy of a direct identifier",
        Table.RECORDS,
        column,
        "copied",
        "ExpectColumnValuesToBeBetween",
        {"min_value": 0, "max_value": 0},
        mostly=float(1 - Decimal(repr(COPY_SHARE))),
    )
    if attribute.type is ValueType.TEXT and attribute.scan:
        yield Check(
            "identifier in text",
            "no direct identifier of the same record in the text",
            Table.RECORDS,
            column,
            "named",
            "ExpectColumnValuesToBeBetween",
            {"min_value": 0, "max_value": 0},
        )


def _observations(request: ReleaseRequest) -> Iterator[Observation]:
    for column, attribute in request.attributes.items():
        if attribute.role is Role.QUASI and is_age(column, attribute):
            description = f"ages over {OLDEST_AGE} in a quasi-identifier, which generalization treats"
            yield Observation("age", description, column, "age", OLDEST_AGE + 1)
        if attribute.role in (Role.SENSITIVE, Role.INSENSITIVE) and attribute.type is ValueType.DATE:
            yield Observation("full date", "full dates in a column declared as dates", column, "day", None)


def _opted_out(column: str) -> Skip:
    return Skip(
        "pattern scan", "no identifier by pattern or repeated in the text", column, "the request sets scan: false"
    )


def _on_values(kind: str, words: str, column: str, on: str, expectation: str, **arguments: object) -> Check:
    return Check(kind, words, Table.VALUES, column, on, expectation, arguments)


def _matches(kind: str, words: str, column: str, regex: str) -> Check:
    return _on_values(kind, words, column, "text", "ExpectColumnValuesToMatchRegex", regex=regex)


def _percent(share: float) -> str:
    return f"{share * 100:.6g} %"
