"""The outcome of validation, and the checklist of Safe Harbor's eighteen kinds of identifier (45 CFR 164.514(b)(2))."""

from collections.abc import Iterator, Mapping
from itertools import chain, groupby

from reports.model import numbers
from reports.model.document import Block, Table, digest_text, failed, kept, lines, named, passed, said, text
from reports.model.methods import treatment_text
from reports.model.record_view import RecordView
from tasks.assessments.identity.facts import FieldFact
from tasks.core.plural import plural
from tasks.decision.record import CheckFact
from tasks.request.model import NUMERIC, Method, PatternName, Role, SafeHarborRule, ValueType

_KINDS: tuple[tuple[str, str, tuple[PatternName, ...]], ...] = (
    ("A", "Names", (PatternName.NAME,)),
    ("B", "Geographic subdivisions smaller than a state", (PatternName.POSTAL_ADDRESS, PatternName.COORDINATES)),
    ("C", "Elements of dates (except year) related to an individual; ages over 89", (PatternName.FULL_DATE,)),
    ("D", "Telephone numbers", (PatternName.PHONE,)),
    ("E", "Fax numbers", (PatternName.PHONE,)),
    ("F", "E-mail addresses", (PatternName.EMAIL,)),
    ("G", "Social security numbers", (PatternName.SSN, PatternName.NATIONAL_ID)),
    ("H", "Medical record numbers", (PatternName.MEDICAL_RECORD_NUMBER,)),
    ("I", "Health plan beneficiary numbers", ()),
    ("J", "Account numbers", (PatternName.ACCOUNT_NUMBER,)),
    ("K", "Certificate and license numbers", ()),
    ("L", "Vehicle identifiers and serial numbers, license plates included", ()),
    ("M", "Device identifiers and serial numbers", ()),
    ("N", "Web Universal Resource Locators (URLs)", (PatternName.URL,)),
    ("O", "Internet Protocol (IP) addresses", (PatternName.IP,)),
    ("P", "Biometric identifiers, finger and voice prints included", ()),
    ("Q", "Full-face photographs and comparable images", ()),
    ("R", "Any other unique identifying number, characteristic or code", ()),
)
_WHOLE = "whole file"
_UNTESTED = "declared absent", "No released column is declared to hold one; not tested."
_NO_BINARY = (
    "cannot occur",
    "The file is a table of text, numbers and dates; it holds no image, sound or other binary content.",
)
_FREE_METHODS = frozenset({Method.SAFE_HARBOR, Method.SH_FRIENDLY})
_WORD, _LISTED = "word of a direct identifier", "listed name"
_OF_TEXT = frozenset({_WORD, _LISTED, PatternName.EMAIL, PatternName.URL, PatternName.IP, PatternName.POSTAL_ADDRESS})
"""Forms of identifiers that no column of numbers can hold."""
Finding = tuple[str, str]
"""State of a kind in one or two words, and the evidence."""


def safe_harbor(view: RecordView) -> Iterator[Block]:
    """The checklist; kinds with one finding share a row."""
    rests, nobody = "is to rest", "" if view.record.expert else ", though the request names no expert"
    if view.blocked:
        rests, nobody = "was to rest", "; it is blocked, and none is made"
    yield (
        "Safe Harbor, 45 CFR 164.514(b)(2), removes eighteen kinds of identifier outright. This release "
        f"{rests} on expert determination instead, so that some kinds may be kept in a coarser form{nobody}. “Declared "
        "absent” means that nobody declared such a column and no automatic test for the kind was made; what a scan "
        "left out is named."
    )
    yield Table(
        "The eighteen kinds of identifier of 45 CFR 164.514(b)(2)(i)",
        "Kind 35 | State 20 | Evidence 45",
        [
            (lines(*(f"{letter} {kind}" for letter, kind, _ in own)), *found)
            for found, own in groupby(_KINDS, lambda kind: finding(view, kind[0]))
        ],
    )
    table = view.record.risk.zip_table if view.record.risk else None
    if table:
        yield text(
            "Table of three-digit ZIP codes: {}; SHA-256 {}. Prefixes whose ZIP codes together hold 20,000 people or "
            "fewer, and prefixes in neither source, are written 000: `{}`.",
            table.census,
            digest_text(table.sha256),
            " ".join(table.restricted_prefixes),
        )
    elif view.record.risk:
        yield "No released column falls under the ZIP code rule: no table of three-digit ZIP codes was applied."


def finding(view: RecordView, letter: str) -> Finding:
    """State of one of the eighteen kinds, and the evidence."""
    patterns = next(patterns for own, _, patterns in _KINDS if own == letter)
    if letter == "A":
        return _names(view)
    if letter == "B":
        return _geography(view)
    if letter == "C":
        return _dates_and_ages(view)
    if letter == "R":
        return _other(view)
    return _NO_BINARY if letter in "PQ" else _scanned(view, *patterns)


def _checks(view: RecordView, *kinds: str | None) -> list[CheckFact]:
    """Checks of some kinds, which the first part of a check's id names."""
    return [check for kind in kinds for check in view.record.validation.checks if check.id.split("/")[0] == kind]


def _scanned(view: RecordView, *patterns: PatternName) -> Finding:
    """State and evidence of a kind that at most a scan tests."""
    return _sought(view, {pattern.value: _checks(view, pattern) for pattern in patterns})


def _names(view: RecordView) -> Finding:
    """Names are sought as words of the file's direct identifiers, by titles and labels, and by lists of names."""
    scans = {_WORD: _checks(view, "identifier in text"), _LISTED: _checks(view, PatternName.NAME)}
    checks = [*_checks(view, "identifier copy"), *chain.from_iterable(scans.values())]
    bad = sorted({check.column for check in checks if not check.passed})
    if bad:
        return "found", f"Names, or words of the direct identifiers, were found in {', '.join(bad)}."
    return _sought(view, scans)


def _sought(view: RecordView, scans: Mapping[str, list[CheckFact]]) -> Finding:
    """State and evidence by the scans for each form that a kind takes; what no scan covers is named."""
    made = [scan for own in scans.values() for scan in own]
    off = {check.column for check in view.record.validation.skipped if check.id.startswith("pattern scan/")}
    if not made:
        off = off if scans else set()
        return ("not scanned", f"The request sets scan: false for {', '.join(sorted(off))}.") if off else _UNTESTED
    found = [f"{scan.column}: {view.cells.part(scan.failed, scan.checked)} cells" for scan in made if not scan.passed]
    columns = {scan.column for scan in made}
    if found:
        return "found", f"Scan of {plural(len(columns), 'column')} matched in {'; '.join(found)}."
    of_people = (Role.DIRECT, Role.PSEUDONYM)
    left = [field for field in view.record.fields if field.role not in of_people and field.name not in columns]
    kinds = {ValueType.TEXT} if scans.keys() <= _OF_TEXT else {ValueType.TEXT, *NUMERIC}
    able = [field.name for field in left if field.type in kinds or field.name in off]
    gaps = kept(
        f"column {named(able)}" if able else None,
        *(f"{form} in any column" for form, own in scans.items() if not own),
    )
    evidence = said(
        f"Scan of {plural(len(columns), 'column')} for {', '.join(form for form, own in scans.items() if own)}: no "
        "match.",
        f"Not scanned: {'; '.join(gaps)}." if gaps else None,
        f"Not scanned, as their types are checked: {plural(len(left) - len(able), 'column')} of numbers or dates."
        if len(left) > len(able)
        else None,
    )
    return "scanned in part, none found" if gaps else "scanned, none found", evidence


def _released(view: RecordView, rule: SafeHarborRule) -> list[FieldFact]:
    return [field for field in view.record.fields if field.safe_harbor == rule and field.released]


def _treated(fields: list[FieldFact]) -> str:
    return "; ".join(f"{field.name}: {treatment_text(field.treatment)}" for field in fields)


def _geography(view: RecordView) -> Finding:
    fields, risk = _released(view, SafeHarborRule.ZIP), view.record.risk
    scan = _scanned(view, PatternName.POSTAL_ADDRESS, PatternName.COORDINATES)
    if scan[0] == "found":
        return scan
    if not fields:
        return "declared absent", "No released column is declared to hold a geographic subdivision."
    if risk is None:
        return "not released", f"Declared: {', '.join(field.name for field in fields)}. Nothing was generalized."
    table = "" if risk.zip_table is None else " The table of restricted prefixes is below."
    if risk.game.method in _FREE_METHODS:
        return "as Safe Harbor requires", f"{_treated(fields)}. Three digits at most.{table}"
    return (
        "left to expert determination",
        f"{_treated(fields)}. Safe Harbor would require three digits at most; the measured risk stands in its "
        f"place.{table}",
    )


def _dates_and_ages(view: RecordView) -> Finding:
    ages, risk = _released(view, SafeHarborRule.AGE), view.record.risk
    dates = [field for field in view.record.fields if field.type == ValueType.DATE and field.released]
    parts = [f"Date columns: {_treated(dates)}."] if dates else []
    if ages and risk is not None:
        parts.append(f"Ages: {_treated(ages)}.")
    elif ages:
        parts.append(f"Ages declared in {', '.join(field.name for field in ages)}; nothing was generalized.")
    state, scan = _scanned(view, PatternName.FULL_DATE)
    if _checks(view, PatternName.FULL_DATE):
        parts.append(scan)
    if not parts:
        return "declared absent", "No released column is declared to hold a date or an age."
    if state != "found" and (ages or dates):
        if risk is None:
            state = "not released"
        elif risk.game.method in _FREE_METHODS and not dates:
            state = "as Safe Harbor requires"
            parts.append("Ages over 89 form one group.")
        else:
            state = "left to expert determination"
            parts.append("The measured risk stands in place of the rule for ages over 89.")
    return state, " ".join(parts)


def _other(view: RecordView) -> Finding:
    key = "" if view.record.pseudonyms else ", the record key among them"
    removed = f"Columns removed as direct identifiers{key}: {view.names(Role.DIRECT)}."
    if view.fields(Role.WITHHELD):
        removed += f" Withheld: {view.names(Role.WITHHELD)}."
    if view.fields(Role.UNREVIEWED):
        removed += f" Withheld because nobody has reviewed them: {view.names(Role.UNREVIEWED)}."
    if view.record.pseudonyms:
        removed += (
            f" Codes made with a secret key replace {view.names(Role.PSEUDONYM)}. They are derived from "
            "these identifiers, so that their release is left to expert determination: 45 CFR 164.514(c) does not "
            "cover them."
        )
    unique = [
        field.name
        for field in view.record.fields
        if field.released and field.role != Role.PSEUDONYM and field.distinct_values == view.rows_in
    ]
    if unique:
        return (
            "see evidence",
            f"{removed} Columns kept that have as many distinct values as there are records: {', '.join(unique)}.",
        )
    return "removed", f"{removed} No released column has a distinct value for every record."


def validation(view: RecordView) -> Iterator[Block]:
    """Findings of validation; counts only."""
    fact, cells = view.record.validation, view.cells
    failures = [check for check in fact.checks if not check.passed]
    outcome = f"All {numbers.integer(len(fact.checks))} passed."
    if not fact.passed:
        outcome = (
            f"{numbers.integer(len(failures))} of {numbers.integer(len(fact.checks))} did not pass, so that the "
            "release is blocked."
        )
    yield text(
        "The file was compared with a suite of expectations derived from the request: types, domains, unique record "
        "keys, missing rates, direct identifiers in outbound columns, patterns of identifiers in text, coverage by the "
        f"population. {outcome} Only counts are kept: no value of the data is stored or shown. SHA-256 of the result: "
        "{}.",
        digest_text(fact.evidence_sha256),
    )
    if failures:
        yield Table(
            "Expectations that did not pass",
            "Expectation 46 | Column 26 | Checked 14r | Failed 14r",
            [
                (
                    one.expectation,
                    one.column or _WHOLE,
                    cells.count(one.checked),
                    failed(cells.part(one.failed, one.checked)),
                )
                for one in failures
            ],
        )
    kinds: dict[tuple[str, bool], list[str]] = {}
    for kind in sorted({check.expectation for check in fact.checks}):
        own = [check for check in fact.checks if check.expectation == kind]
        key = _columns(view, [check.column for check in own]), all(check.passed for check in own)
        kinds.setdefault(key, []).append(kind)
    yield Table(
        "Expectations by column",
        "Columns 40 | Expectations 46 | Outcome 14",
        [(columns, "; ".join(own), passed(yes=ok)) for (columns, ok), own in kinds.items()],
    )
    if fact.skipped:
        yield Table(
            "Checks that were not made",
            "Expectation 36 | Column 20 | Reason 44",
            [(one.expectation, one.column or _WHOLE, one.reason) for one in fact.skipped],
        )
    if fact.observed:
        yield Table(
            "For information only, without an expectation",
            "Count of 56 | Column 24 | Records 20r",
            [(one.description, one.column or _WHOLE, cells.part(one.records, view.rows_in)) for one in fact.observed],
        )


def _columns(view: RecordView, names: list[str]) -> str:
    """Names of columns; in a word where they are all of the file, or all that may be released."""
    checked = {name for name in names if name}
    replaced = (Role.PSEUDONYM, Role.TEXT)
    released = {field.name for field in view.record.fields if field.released and field.role not in replaced}
    if checked == {field.name for field in view.record.fields} or checked == released:
        return "all columns" if checked != released else "all columns that may be released"
    return named(dict.fromkeys(name for name in names if name)) or _WHOLE
