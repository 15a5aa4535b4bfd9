"""The eighteen kinds of identifier of 45 CFR 164.514(b)(2)(i), and how a release treats each.

Derived from the record's fields and the outcome of its pattern scans; a kind that nothing tested says so.
"""

from dataclasses import dataclass

from reports import numbers
from reports.smallcell import SmallCellRule
from reports.statements import names
from reports.treatment import treatment_text
from tasks.assessments.identity.facts import FieldFact
from tasks.decision.record import CheckFact, DecisionRecord
from tasks.request.model import Method, PatternName, Role, SafeHarborRule, ValueType


@dataclass(frozen=True)
class IdentifierRow:
    """One row of the checklist: the kind as the rule names it, its state in one or two words, and the evidence."""

    letter: str
    kind: str
    state: str
    evidence: str


_KINDS = (
    ("A", "Names", None),
    ("B", "Geographic subdivisions smaller than a state", None),
    ("C", "Elements of dates (except year) related to an individual; ages over 89", PatternName.FULL_DATE),
    ("D", "Telephone numbers", PatternName.PHONE),
    ("E", "Fax numbers", PatternName.PHONE),
    ("F", "E-mail addresses", PatternName.EMAIL),
    ("G", "Social security numbers", PatternName.SSN),
    ("H", "Medical record numbers", PatternName.MEDICAL_RECORD_NUMBER),
    ("I", "Health plan beneficiary numbers", None),
    ("J", "Account numbers", None),
    ("K", "Certificate and license numbers", None),
    ("L", "Vehicle identifiers and serial numbers, license plates included", None),
    ("M", "Device identifiers and serial numbers", None),
    ("N", "Web Universal Resource Locators (URLs)", PatternName.URL),
    ("O", "Internet Protocol (IP) addresses", PatternName.IP),
    ("P", "Biometric identifiers, finger and voice prints included", None),
    ("Q", "Full-face photographs and comparable images", None),
    ("R", "Any other unique identifying number, characteristic or code", None),
)
_UNTESTED = "No released column is declared to hold one; not tested."
_IN_TEXT = "identifier in text"
_COPY = "identifier copy"
_FREE_METHODS = frozenset({Method.SAFE_HARBOR, Method.SH_FRIENDLY})


def checklist(record: DecisionRecord) -> tuple[IdentifierRow, ...]:
    """The eighteen rows, A to R."""
    own = {"A": _named, "B": _geography, "C": _dates_and_ages, "P": _no_binary, "Q": _no_binary, "R": _other}
    return tuple(
        IdentifierRow(letter, kind, *own.get(letter, _scanned)(record, pattern)) for letter, kind, pattern in _KINDS
    )


def _checks(record: DecisionRecord, kind: str | None) -> list[CheckFact]:
    """Checks of one kind, which the first part of a check's id names."""
    return [check for check in record.validation.checks if check.id.split("/")[0] == kind]


def _scanned(record: DecisionRecord, pattern: PatternName | None) -> tuple[str, str]:
    """State and evidence of a kind that at most a pattern scan tests."""
    scans = _checks(record, pattern)
    if not scans:
        return "declared absent", _UNTESTED
    cells = SmallCellRule(record.policy.small_cell)
    found = [scan for scan in scans if not scan.passed]
    columns = _columns(len(scans))
    if not found:
        return "scanned, none found", f"Pattern scan of {columns}: no match."
    where = "; ".join(f"{scan.column}: {cells.part(scan.failed, scan.checked)} cells" for scan in found)
    return "found", f"Pattern scan of {columns} matched in {where}."


def _columns(number: int) -> str:
    return f"{numbers.integer(number)} column{'' if number == 1 else 's'}"


def _named(record: DecisionRecord, _pattern: PatternName | None) -> tuple[str, str]:
    """Names can be sought only as the record's own direct identifiers, repeated in another column."""
    checks = _checks(record, _IN_TEXT) + _checks(record, _COPY)
    if not checks:
        return "declared absent", _UNTESTED
    bad = [check.column for check in checks if not check.passed]
    if bad:
        return "found", f"Direct identifiers of the same record were found again in {names(sorted(set(bad)))}."
    columns = _columns(len({check.column for check in checks}))
    return (
        "scanned, none found",
        f"No direct identifier of the same record found again in {columns}. Other names are not sought.",
    )


def _ruled(record: DecisionRecord, rule: SafeHarborRule) -> list[FieldFact]:
    return [field for field in record.fields if field.safe_harbor == rule and field.role != Role.DIRECT]


def _treated(fields: list[FieldFact]) -> str:
    return "; ".join(f"{field.name}: {treatment_text(field.treatment)}" for field in fields)


def _geography(record: DecisionRecord, _pattern: PatternName | None) -> tuple[str, str]:
    fields = _ruled(record, SafeHarborRule.ZIP)
    if not fields:
        return "declared absent", "No released column is declared to hold a geographic subdivision."
    if record.risk is None:
        return "not released", f"Declared: {names([field.name for field in fields])}. Nothing was generalized."
    table = "" if record.risk.zip_table is None else " The table of restricted prefixes stands below."
    if record.risk.game.method in _FREE_METHODS:
        return "as Safe Harbor asks", f"{_treated(fields)}. Three digits at most.{table}"
    return (
        "by expert determination",
        f"{_treated(fields)}. Safe Harbor would ask for three digits at most; the measured risk stands in its "
        f"place.{table}",
    )


def _dates_and_ages(record: DecisionRecord, pattern: PatternName | None) -> tuple[str, str]:
    ages = _ruled(record, SafeHarborRule.AGE)
    dates = [field for field in record.fields if field.type == ValueType.DATE and field.role != Role.DIRECT]
    parts = []
    if dates:
        parts.append(f"Date columns: {_treated(dates)}.")
    if ages and record.risk is not None:
        parts.append(f"Ages: {_treated(ages)}.")
    elif ages:
        parts.append(f"Ages declared in {names([field.name for field in ages])}; nothing was generalized.")
    state, scan = _scanned(record, pattern)
    if _checks(record, pattern):
        parts.append(scan)
    if not parts:
        return "declared absent", "No released column is declared to hold a date or an age."
    if state == "found":
        return state, " ".join(parts)
    if not ages and not dates:
        return state, " ".join(parts)
    if record.risk is None:
        return "not released", " ".join(parts)
    if record.risk.game.method in _FREE_METHODS and not dates:
        return "as Safe Harbor asks", " ".join([*parts, "Ages over 89 form one group."])
    return "by expert determination", " ".join(
        [*parts, "The measured risk stands in place of the rule for ages over 89."]
    )


def _no_binary(_record: DecisionRecord, _pattern: PatternName | None) -> tuple[str, str]:
    return (
        "cannot occur",
        "The file is a table of text, numbers and dates; it holds no image, sound or other binary content.",
    )


def _other(record: DecisionRecord, _pattern: PatternName | None) -> tuple[str, str]:
    removed = [field.name for field in record.fields if field.role == Role.DIRECT]
    unique = [
        field.name
        for field in record.fields
        if field.role != Role.DIRECT and field.distinct_values == record.dataset.rows_in
    ]
    text = f"Columns removed as direct identifiers, the record key among them: {names(removed)}."
    if unique:
        return (
            "see evidence",
            f"{text} Columns kept that have as many distinct values as there are records: {names(unique)}.",
        )
    return "removed", f"{text} No released column has a distinct value for every record."
