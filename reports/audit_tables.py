"""Tables of an audit report in print, each declared once: caption, columns and the text of their cells.

A printed table shows a bounded number of rows; the CSV and JSON files hold all of them. Nothing is computed here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from reports import numbers
from reports.audit_cells import (
    DASH,
    INTRUDERS,
    MOST_ROWS,
    NOT_RECORDED,
    UNBROKEN,
    UNPROVEN,
    clipped,
    day_text,
    hours_text,
    part,
    records_text,
    release_text,
    risk_text,
    share_text,
    summed,
    time_text,
    who,
)
from tasks.audit.report import AuditAttackRow, AuditReport
from tasks.decision.kept import Intruder

Cell = Callable[[Any, str], str]
"""Text of a cell, from its row and the row's entry number as it is printed."""


@dataclass(frozen=True)
class AuditColumn:
    """A column of a printed table."""

    heading: str
    width: int
    """In percent."""
    cell: Cell
    is_figure: bool = False


@dataclass(frozen=True)
class AuditTable:
    """Declaration of a table."""

    rows: str
    """Attribute of the report that holds its rows; its last part names the CSV file."""
    caption: str
    columns: tuple[AuditColumn, ...]
    latest: bool = False
    """Whether the rows of the latest entries are printed, not the first rows."""
    file: str = ""
    """Name of the CSV file where it is not that of the attribute."""


@dataclass(frozen=True)
class Listing:
    """A table as it is printed."""

    caption: str
    columns: tuple[AuditColumn, ...]
    rows: tuple[tuple[str, ...], ...]
    total: int
    file: str
    which: str

    @property
    def rest(self) -> str:
        """Note on the rows that are not printed; empty where all are."""
        if len(self.rows) == self.total:
            return ""
        return (
            f"{self.which} {numbers.integer(len(self.rows))} of {numbers.integer(self.total)} rows; "
            f"all are in {self.file} and audit.json."
        )


def listings(report: AuditReport) -> dict[str, Listing]:
    """All tables of a report by name; entries that are not proven are marked."""
    problem = report.chain.problem
    broken_at = problem.entry if problem else None

    def entry(row: Any) -> str:
        number = getattr(row, "entry", None)
        if number is None:
            return ""
        return f"#{number}{UNPROVEN if broken_at is not None and number >= broken_at else ''}"

    found = {}
    for name, table in TABLES.items():
        rows: Sequence[Any] = attrgetter(table.rows)(report)
        if name == "attacks":
            rows = _by_file(rows)
        shown = tuple(
            tuple(column.cell(row, entry(row)) for column in table.columns)
            for row in _printed(rows, latest=table.latest)
        )
        file = f"{table.file or table.rows.rpartition('.')[2]}.csv"
        which = "The latest" if table.latest else "The first"
        found[name] = Listing(table.caption, table.columns, shown, len(rows), file, which)
    return found


@dataclass(frozen=True)
class _AttackedFile:
    """One file with the strongest attack of each kind of intruder."""

    entry: int
    rows: Mapping[Intruder, AuditAttackRow]

    @property
    def first(self) -> AuditAttackRow:
        return next(iter(self.rows.values()))


def _by_file(rows: Sequence[AuditAttackRow]) -> list[_AttackedFile]:
    files: dict[int, dict[Intruder, AuditAttackRow]] = {}
    for row in rows:
        files.setdefault(row.entry, {})[row.intruder] = row
    return [_AttackedFile(entry, own) for entry, own in files.items()]


def _printed(rows: Sequence[Any], *, latest: bool) -> Sequence[Any]:
    """The first rows, or those of the latest entries in the order of the table."""
    if not latest or len(rows) <= MOST_ROWS:
        return rows[:MOST_ROWS]
    kept = set(sorted(range(len(rows)), key=lambda place: rows[place].entry)[-MOST_ROWS:])
    return [row for place, row in enumerate(rows) if place in kept]


def _linked_by(kind: Intruder, words: str) -> AuditColumn:
    def cell(file: _AttackedFile, _: str) -> str:
        row = file.rows.get(kind)
        if row is None:
            return DASH
        around = ""
        if row.interval:
            around = f" ({numbers.percent_range(row.interval.low, row.interval.high).replace('–', UNBROKEN)})"
        return f"{share_text(row.share)}{around}{'' if row.proves_something else '; as guessing'}"

    return AuditColumn(f"Linked {words}", 15, cell, is_figure=True)


def _dataset(row: Any, _: str) -> str:
    copy = row.copy_of_data or 1
    again = f" (copy {numbers.integer(copy)} of these data)" if copy > 1 else ""
    return f"{release_text(row.release_id)}, {row.dataset or 'data ' + NOT_RECORDED}{again}"


def _policy_before(row: Any, _: str) -> str:
    if row.before_version is None:
        return DASH
    same = "; same version, different contents" if row.same_version else ""
    return f"{row.before_version}, {numbers.short(row.before_sha256 or '')}{same}"


def _response(row: Any, _: str) -> str:
    if row.response_at is None or row.response_hours is None:
        return "none recorded"
    return f"{row.response} {time_text(row.response_at)}, after {hours_text(row.response_hours)}"


def _entry(width: int = 10) -> AuditColumn:
    return AuditColumn("Entry", width, lambda _, entry: entry)


def _moment(heading: str, moment: str = "at", width: int = 18) -> AuditColumn:
    """Entry with the time that an attribute of the row has."""
    return AuditColumn(heading, width, lambda row, entry: f"{entry} {time_text(getattr(row, moment))}")


def _release(width: int) -> AuditColumn:
    return AuditColumn("Release", width, lambda row, _: release_text(row.release_id))


def _recipient(width: int) -> AuditColumn:
    return AuditColumn("Recipient", width, lambda row, _: row.recipient)


def _organisation(width: int) -> AuditColumn:
    return AuditColumn("Recipient", width, lambda row, _: who(row.recipient, row.organisation))


def _copy(width: int) -> AuditColumn:
    return AuditColumn(
        "Release, recipient", width, lambda row, _: f"{release_text(row.release_id)}, {row.recipient or 'all'}"
    )


def _text(heading: str, width: int, name: str, absent: str = DASH) -> AuditColumn:
    """An attribute as text."""
    return AuditColumn(heading, width, lambda row, _: getattr(row, name) or absent)


def _day(heading: str, width: int, name: str) -> AuditColumn:
    return AuditColumn(heading, width, lambda row, _: day_text(getattr(row, name)))


def _number(heading: str, width: int, name: str, absent: str = NOT_RECORDED) -> AuditColumn:
    def cell(row: Any, _: str) -> str:
        value = getattr(row, name)
        return absent if value is None else numbers.integer(value)

    return AuditColumn(heading, width, cell, is_figure=True)


def _digest(heading: str, width: int, name: str) -> AuditColumn:
    return AuditColumn(heading, width, lambda row, _: numbers.short(getattr(row, name)))


def _risk(heading: str, width: int) -> AuditColumn:
    return AuditColumn(heading, width, lambda row, _: risk_text(row.highest_risk), is_figure=True)


def _used(heading: str, name: str) -> AuditColumn:
    def cell(row: Any, _: str) -> str:
        value = getattr(row, name)
        return DASH if value is None else part(value)

    return AuditColumn(heading, 14, cell, is_figure=True)


def _login(heading: str, width: int, name: str, absent: str = DASH) -> AuditColumn:
    return AuditColumn(heading, width, lambda row, _: f"{getattr(row, name) or absent} ({row.login})")


TABLES: Mapping[str, AuditTable] = {
    "requests": AuditTable(
        "requests",
        "Requests and their outcomes",
        (
            _moment("Entry, requested", "requested_at"),
            AuditColumn(
                "Release, title",
                21,
                lambda row, _: f"{release_text(row.release_id)}{', ' + row.title if row.title else ''}",
            ),
            _login("Requested by (login)", 13, "requested_by", NOT_RECORDED),
            _text("Recipient", 12, "recipient", "all"),
            AuditColumn(
                "Outcome",
                18,
                lambda row, _: f"{row.outcome}{' ' + time_text(row.outcome_at) if row.outcome_at else ''}",
            ),
            AuditColumn("Reason", 18, lambda row, _: clipped("; ".join(row.reasons)) or DASH),
        ),
        latest=True,
    ),
    "recipients": AuditTable(
        "recipients",
        "Cumulative exposure by recipient, since the ledger began",
        (
            _organisation(26),
            _number("Files", 9, "files"),
            _number("in the period", 11, "files_in_period"),
            _number("Data sets", 9, "datasets"),
            AuditColumn("Records", 15, lambda row, _: summed(row.records, row.not_recorded), is_figure=True),
            AuditColumn(
                "Expected re-identifications",
                16,
                lambda row, _: f"{'≥ ' if row.not_recorded else ''}{numbers.risk(row.expected)}",
                is_figure=True,
            ),
            _risk("Highest risk", 14),
        ),
    ),
    "files": AuditTable(
        "files",
        "Delivered files, by recipient",
        (
            _recipient(14),
            _number("No.", 5, "number"),
            _moment("Entry, released", "released_at"),
            AuditColumn("Release, data", 19, _dataset),
            AuditColumn("Records", 10, lambda row, _: records_text(row.records), is_figure=True),
            AuditColumn("so far", 11, lambda row, _: summed(row.cumulative_records, row.not_recorded), is_figure=True),
            _risk("Highest risk", 12),
            AuditColumn(
                "State",
                11,
                lambda row, _: (
                    row.state + (f"; {numbers.integer(len(row.overridden))} overridden" if row.overridden else "")
                ),
            ),
        ),
        latest=True,
    ),
    "certificates": AuditTable(
        "certificates",
        "Determinations in force, the first to expire first",
        (
            _entry(),
            _release(17),
            _organisation(33),
            _day("Valid until", 16, "valid_until"),
            _number("Days left", 11, "days_left"),
            AuditColumn(
                "Expires within", 13, lambda row, _: f"{row.lapses_within} days" if row.lapses_within else DASH
            ),
        ),
    ),
    "past_due": AuditTable(
        "past_due",
        "Past their last day, with the file still in use",
        (
            _entry(),
            _release(17),
            _organisation(33),
            _day("Valid until", 14, "valid_until"),
            _number("Days past", 10, "days_past"),
            AuditColumn(
                "Renewed by",
                16,
                lambda row, _: release_text(row.renewed_by) if row.renewed_by else "none recorded",
            ),
        ),
    ),
    "reassessed": AuditTable(
        "reassessed",
        "Re-assessments",
        (
            _moment("Entry, time"),
            _release(15),
            _recipient(15),
            AuditColumn("Verdict", 17, lambda row, _: f"{row.verdict}{', unchanged' if row.repeated else ''}"),
            _text("Before", 17, "before"),
            AuditColumn("Gates changed", 18, lambda row, _: ", ".join(row.gates) or "none"),
            _number("Days late", 10, "days_late", "in time"),
        ),
        latest=True,
    ),
    "overdue": AuditTable(
        "overdue",
        "Overdue for re-assessment",
        (
            _entry(),
            _release(17),
            _organisation(35),
            AuditColumn("Last re-assessed", 16, lambda row, _: time_text(row.last) if row.last else "never"),
            _day("Due", 12, "due"),
            _number("Days late", 10, "days_late"),
        ),
    ),
    "renewals": AuditTable(
        "renewals",
        "Renewed determinations of the same data",
        (
            _moment("Entry, decided", "decided_at"),
            _recipient(15),
            AuditColumn("Release, verdict", 20, lambda row, _: f"{release_text(row.release_id)}, {row.verdict}"),
            AuditColumn(
                "Earlier one, verdict",
                20,
                lambda row, _: f"{release_text(row.earlier_release_id)}, {row.earlier_verdict}",
            ),
            AuditColumn("Verdict changed", 12, lambda row, _: "yes" if row.changed else "no"),
            AuditColumn(
                "Days late",
                15,
                lambda row, _: (
                    NOT_RECORDED
                    if row.earlier_valid_until is None
                    else "in time"
                    if row.days_late is None
                    else numbers.integer(row.days_late)
                ),
                is_figure=True,
            ),
        ),
        latest=True,
    ),
    "interventions": AuditTable(
        "interventions",
        "Overrides, since the ledger began, and revocations in the period",
        (
            _moment("Entry, time"),
            AuditColumn("What", 11, lambda row, _: row.what if row.in_period else f"{row.what}, before the period"),
            _copy(17),
            AuditColumn(
                "By (login)",
                18,
                lambda row, _: f"{row.by}, {row.role} ({row.login}; {'signed' if row.signed else 'not signed'})",
            ),
            AuditColumn(
                "Reason",
                24,
                lambda row, _: clipped(
                    "; ".join((row.reason, *row.figures, *([f"until {day_text(row.until)}"] if row.until else [])))
                ),
            ),
            _text("State now", 12, "outcome"),
        ),
        latest=True,
    ),
    "policies": AuditTable(
        "policies",
        "Policies taken into use",
        (
            _moment("Entry, time"),
            AuditColumn("Policy, version", 19, lambda row, _: f"{row.policy}, {row.version}"),
            _digest("SHA-256", 14, "sha256"),
            AuditColumn("Before", 17, _policy_before),
            AuditColumn("First release", 15, lambda row, _: release_text(row.release_id)),
            _login("Requested by (login)", 17, "requested_by"),
        ),
        latest=True,
    ),
    "gates": AuditTable(
        "gates",
        "Figures of the period by gate",
        (
            _text("Gate", 42, "title"),
            _number("Applied", 10, "judged"),
            _number("Failed", 10, "failed"),
            _number("Near", 10, "near"),
            _used("Part used, median", "median"),
            _used("highest", "highest"),
        ),
    ),
    "near": AuditTable(
        "near",
        "Figures near their threshold, the nearest first",
        (
            _moment("Entry, decided", "decided_at"),
            _copy(17),
            _text("Gate", 24, "title"),
            AuditColumn("Measured", 11, lambda row, _: row.measured, is_figure=True),
            _text("Allowed", 12, "asked"),
            AuditColumn("Part used", 8, lambda row, _: numbers.percent(row.used), is_figure=True),
            _text("State", 10, "outcome"),
        ),
    ),
    "attacks": AuditTable(
        "attacks",
        "Share of people linked by the strongest attack, with its 95 % interval",
        (
            AuditColumn("Entry, decided", 18, lambda row, entry: f"{entry} {time_text(row.first.decided_at)}"),
            AuditColumn(
                "Release, recipient",
                16,
                lambda row, _: f"{release_text(row.first.release_id)}, {row.first.recipient}",
            ),
            *(_linked_by(kind, words) for kind, words in INTRUDERS.items()),
            AuditColumn(
                "Guessing",
                10,
                lambda row, _: numbers.percent(max(one.baseline for one in row.rows.values())),
                is_figure=True,
            ),
            AuditColumn("Verdict", 11, lambda row, _: row.first.verdict),
        ),
        latest=True,
    ),
    "traces": AuditTable(
        "traces",
        "Traces and responses",
        (
            _moment("Entry, traced"),
            AuditColumn(
                "Release, first delivered",
                18,
                lambda row, _: (
                    f"{release_text(row.release_id)} "
                    f"{time_text(row.released_at) if row.released_at else 'not delivered'}"
                ),
            ),
            AuditColumn("By (login); of", 14, lambda row, _: f"{row.by}; {row.incident or NOT_RECORDED}"),
            AuditColumn(
                "Verdict", 19, lambda row, _: f"{row.verdict}{': ' + clipped(row.reason) if row.reason else ''}"
            ),
            AuditColumn("Named", 13, lambda row, _: ", ".join(row.named) or "no one"),
            AuditColumn("Response", 18, _response),
        ),
        latest=True,
    ),
    "agreements": AuditTable(
        "agreements",
        "Agreements that have ended or end within 90 days",
        (
            _entry(),
            _text("Agreement", 22, "agreement"),
            _organisation(32),
            _day("Last day", 14, "expires"),
            AuditColumn(
                "Days left",
                12,
                lambda row, _: numbers.integer(row.days_left) if row.days_left >= 0 else "ended",
                is_figure=True,
            ),
            _number("Files in use", 10, "files"),
        ),
    ),
    "destructions": AuditTable(
        "destructions",
        "Copies to be destroyed, the longest due first",
        (
            _entry(),
            _release(16),
            _recipient(18),
            _digest("File, SHA-256", 16, "file_sha256"),
            _text("Because", 16, "because"),
            _day("Since", 13, "due"),
            _number("Days", 11, "days_past"),
        ),
    ),
    "exceptions": AuditTable(
        "duties.exceptions",
        "Exceptions",
        (_moment("Entry, time"), _copy(22), _text("What", 40, "what"), _text("Who", 20, "who")),
        latest=True,
        file="duty_exceptions",
    ),
    "keys": AuditTable(
        "keys",
        "Keys of the period",
        (
            _moment("Entry, time", width=20),
            _text("What", 22, "what"),
            _text("Holder", 25, "name"),
            AuditColumn("Roles", 18, lambda row, _: ", ".join(row.roles) or DASH),
            _text("Login", 15, "login"),
        ),
        latest=True,
    ),
    "signed": AuditTable(
        "signed",
        "Determinations signed in the period",
        (
            _moment("Entry, time"),
            _copy(22),
            AuditColumn("Certificate of", 26, lambda row, _: clipped(row.subject)),
            _login("Submitted by (login)", 20, "by"),
            _digest("Signed PDF", 14, "signed_sha256"),
        ),
        latest=True,
    ),
    "contradictions": AuditTable(
        "chain.contradictions",
        "Entries that contradict each other",
        (
            _copy(30),
            _text("Where", 25, "where"),
            AuditColumn("What", 45, lambda row, _: clipped(row.what)),
        ),
    ),
}
"""Tables by name, as the templates refer to them."""
