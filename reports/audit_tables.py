"""Tables of an audit in print, each declared once: caption, columns and the text of their cells.

A printed table shows a bounded number of rows; the CSV and JSON files hold all of them. Nothing is computed here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from operator import attrgetter
from typing import Any

from reports import numbers
from reports.document import DASH, Column, Table
from tasks.audit.report import AuditAttackRow, AuditReport, RecordRange
from tasks.decision.bodies import Intruder

MOST_ROWS = 20
"""Rows of a table in print."""
INTRUDERS: Mapping[Intruder, str] = {
    "uninformed": "with the file alone",
    "informed": "with rule and maskings",
    "masked": "by masked numbers",
}
"""Kinds of intruders, in words that follow “linked”."""
_NOT_RECORDED = "not recorded"
_LONGEST = 240

Cell = Callable[[Any, str], str]
"""Text of a cell, from its row and the row's entry number as it is printed."""


@dataclass(frozen=True)
class _Listing:
    """Declaration of a table."""

    rows: str
    """Attribute of the report that holds its rows; its last part names the CSV file."""
    caption: str
    columns: tuple[tuple[Column, Cell], ...]
    latest: bool = False
    """Whether the rows of the latest entries are printed, not the first rows."""
    file: str = ""
    """Name of the CSV file where it is not that of the attribute."""


def listing(report: AuditReport, name: str) -> Table:
    """A table of a report; entries that are not proven are marked."""
    table, broken_at = _TABLES[name], report.chain.problem.entry if report.chain.problem else None
    rows: Sequence[Any] = attrgetter(table.rows)(report)
    rows = _by_file(rows) if name == "attacks" else rows

    def entry(row: Any) -> str:
        number = getattr(row, "entry", 0)
        return f"#{number}{' †' if broken_at is not None and number >= broken_at else ''}"

    shown, which, caption = rows[:MOST_ROWS], "The first", table.caption
    if table.latest and len(rows) > MOST_ROWS:
        latest = set(sorted(range(len(rows)), key=lambda place: rows[place].entry)[-MOST_ROWS:])
        shown, which = [row for place, row in enumerate(rows) if place in latest], "The latest"
    if len(shown) < len(rows):
        file = f"{table.file or table.rows.rpartition('.')[2]}.csv"
        caption += f". {which} {len(shown)} of {numbers.integer(len(rows))} rows; all are in {file} and audit.json."
    columns = [column for column, _ in table.columns]
    return Table(caption, columns, [[cell(row, entry(row)) for _, cell in table.columns] for row in shown])


@dataclass(frozen=True)
class _AttackedFile:
    """One file with the strongest attack of each kind of intruder."""

    entry: int
    first: AuditAttackRow
    by_intruder: Mapping[Intruder, AuditAttackRow]


def _by_file(rows: Sequence[AuditAttackRow]) -> list[_AttackedFile]:
    files: dict[int, dict[Intruder, AuditAttackRow]] = {}
    for row in rows:
        files.setdefault(row.entry, {})[row.intruder] = row
    return [_AttackedFile(entry, next(iter(own.values())), own) for entry, own in files.items()]


def part(used: float) -> str:
    """Part used of what a gate allows, in percent; above 100 % for a figure that failed.

    >>> part(0.5), part(1.25), part(40)
    ('50%', '125%', 'over 1,000%')
    """
    if used > 10:
        return "over 1,000%"
    return numbers.percent(used) if used < 1 else f"{used * 100:,.4g}%"


def written(count: RecordRange | None) -> str:
    """A number of records, or a range that discloses no small count.

    >>> [written(RecordRange(low=low, high=high)) for low, high in ((400, 400), (1, 10), (401, 410))]
    ['400', '<11', '401–410']
    """
    if count is None:
        return _NOT_RECORDED
    if count.low == count.high:
        return numbers.integer(count.low)
    if count.low == 1:
        return f"<{count.high + 1}"
    return f"{numbers.integer(count.low)}–{numbers.integer(count.high)}"


def summed(count: RecordRange, not_recorded: int) -> str:
    """A sum, of which parts may not be recorded.

    >>> summed(RecordRange(low=400, high=400), 1)
    '≥ 400'
    """
    return f"{'≥ ' if not_recorded else ''}{written(count)}"


def _linked(kind: Intruder) -> Cell:
    """The strongest attack of one kind of intruder on a file."""

    def cell(file: _AttackedFile, _: str) -> str:
        row = file.by_intruder.get(kind)
        if row is None:
            return DASH
        share, words = row.share, numbers.percent(row.share.low)
        if share.low != share.high:
            words = f"<{numbers.percent(share.high)}" if share.low == 0 else f">{numbers.percent(share.low)}"
        if row.interval:
            words += f" ({numbers.percent_range(row.interval.low, row.interval.high)})"
        return words if row.proves_something else f"{words}; as guessing"

    return cell


def _release_id(release_id: str | None) -> str:
    """A release by the first digits of its id."""
    return numbers.short(release_id) if release_id else "no release"


def _time(moment: datetime) -> str:
    return f"{numbers.utc(moment):%Y-%m-%d %H:%M}"


def _clipped(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"


def _dataset(row: Any, _: str) -> str:
    copy = row.copy_of_data or 1
    again = f" (copy {numbers.integer(copy)} of these data)" if copy > 1 else ""
    return f"{_release_id(row.release_id)}, {row.dataset or 'data ' + _NOT_RECORDED}{again}"


def _policy_before(row: Any, _: str) -> str:
    if row.before_version is None:
        return DASH
    same = "; same version, different contents" if row.same_version else ""
    return f"{row.before_version}, {numbers.short(row.before_sha256 or '')}{same}"


def _response(row: Any, _: str) -> str:
    if row.response_at is None or row.response_hours is None:
        return "none recorded"
    hours = row.response_hours
    after = f"{hours:,.1f} h" if hours < 72 else f"{hours / 24:,.1f} days"
    return f"{row.response} {_time(row.response_at)}, after {after}"


def _column(heading: str, width: int, cell: Cell, *, pair: bool = False) -> tuple[Column, Cell]:
    return Column(heading, width, "pair" if pair else "words"), cell


def _moment(heading: str, moment: str = "at", width: int = 18) -> tuple[Column, Cell]:
    """Entry with the time that an attribute of the row has."""
    return _column(heading, width, lambda row, entry: f"{entry} {_time(getattr(row, moment))}")


def _text(heading: str, width: int, name: str, absent: str = DASH) -> tuple[Column, Cell]:
    """An attribute as text."""
    return _column(heading, width, lambda row, _: getattr(row, name) or absent)


def _day(heading: str, width: int, name: str) -> tuple[Column, Cell]:
    def cell(row: Any, _: str) -> str:
        day: date | None = getattr(row, name)
        return _NOT_RECORDED if day is None else day.isoformat()

    return _column(heading, width, cell)


def _figure(
    heading: str, width: int, name: str, absent: str = _NOT_RECORDED, *, write: Callable[[Any], str] = numbers.integer
) -> tuple[Column, Cell]:
    """An attribute as a figure."""

    def cell(row: Any, _: str) -> str:
        value = getattr(row, name)
        return absent if value is None else write(value)

    return _column(heading, width, cell, pair=True)


def _login(heading: str, width: int, name: str, absent: str = DASH) -> tuple[Column, Cell]:
    return _column(heading, width, lambda row, _: f"{getattr(row, name) or absent} ({row.login})")


def _copy(width: int) -> tuple[Column, Cell]:
    return _column(
        "Release, recipient", width, lambda row, _: f"{_release_id(row.release_id)}, {row.recipient or 'all'}"
    )


def _recipient(width: int) -> tuple[Column, Cell]:
    """A recipient with its organisation, where that is recorded."""
    return _column(
        "Recipient",
        width,
        lambda row, _: f"{row.organisation} ({row.recipient})" if row.organisation else row.recipient,
    )


_TABLES: Mapping[str, _Listing] = {
    "requests": _Listing(
        "requests",
        "Requests and their outcomes",
        (
            _moment("Entry, requested", "requested_at"),
            _column(
                "Release, title",
                21,
                lambda row, _: f"{_release_id(row.release_id)}{', ' + row.title if row.title else ''}",
            ),
            _login("Requested by (login)", 13, "requested_by", _NOT_RECORDED),
            _text("Recipient", 12, "recipient", "all"),
            _column(
                "Outcome",
                18,
                lambda row, _: f"{row.outcome}{' ' + _time(row.outcome_at) if row.outcome_at else ''}",
            ),
            _column("Reason", 18, lambda row, _: _clipped("; ".join(row.reasons)) or DASH),
        ),
        latest=True,
    ),
    "recipients": _Listing(
        "recipients",
        "Cumulative exposure by recipient, since the ledger began",
        (
            _recipient(26),
            _figure("Files", 9, "files"),
            _figure("in the period", 11, "files_in_period"),
            _figure("Data sets", 9, "datasets"),
            _column("Records", 15, lambda row, _: summed(row.records, row.not_recorded), pair=True),
            _column(
                "Expected re-identifications",
                16,
                lambda row, _: f"{'≥ ' if row.not_recorded else ''}{numbers.risk(row.expected)}",
                pair=True,
            ),
            _figure("Highest risk", 14, "highest_risk", write=numbers.risk),
        ),
    ),
    "files": _Listing(
        "files",
        "Delivered files, by recipient",
        (
            _text("Recipient", 14, "recipient"),
            _figure("No.", 5, "number"),
            _moment("Entry, released", "released_at"),
            _column("Release, data", 19, _dataset),
            _column("Records", 10, lambda row, _: written(row.records), pair=True),
            _column("so far", 11, lambda row, _: summed(row.cumulative_records, row.not_recorded), pair=True),
            _figure("Highest risk", 12, "highest_risk", write=numbers.risk),
            _column(
                "State",
                11,
                lambda row, _: (
                    row.state + (f"; {numbers.integer(len(row.overridden))} overridden" if row.overridden else "")
                ),
            ),
        ),
        latest=True,
    ),
    "certificates": _Listing(
        "certificates",
        "Determinations in force, the first to expire first",
        (
            _column("Entry", 10, lambda _, entry: entry),
            _column("Release", 17, lambda row, _: _release_id(row.release_id)),
            _recipient(33),
            _day("Valid until", 16, "valid_until"),
            _figure("Days left", 11, "days_left"),
            _column("Expires within", 13, lambda row, _: f"{row.lapses_within} days" if row.lapses_within else DASH),
        ),
    ),
    "past_due": _Listing(
        "past_due",
        "Past their last day, with the file still in use",
        (
            _column("Entry", 10, lambda _, entry: entry),
            _column("Release", 17, lambda row, _: _release_id(row.release_id)),
            _recipient(33),
            _day("Valid until", 14, "valid_until"),
            _figure("Days past", 10, "days_past"),
            _column(
                "Renewed by",
                16,
                lambda row, _: _release_id(row.renewed_by) if row.renewed_by else "none recorded",
            ),
        ),
    ),
    "reassessed": _Listing(
        "reassessed",
        "Re-assessments",
        (
            _moment("Entry, time"),
            _column("Release", 15, lambda row, _: _release_id(row.release_id)),
            _text("Recipient", 15, "recipient"),
            _column("Verdict", 17, lambda row, _: f"{row.verdict}{', unchanged' if row.repeated else ''}"),
            _text("Before", 17, "before"),
            _column("Gates changed", 18, lambda row, _: ", ".join(row.gates) or "none"),
            _figure("Days late", 10, "days_late", "in time"),
        ),
        latest=True,
    ),
    "overdue": _Listing(
        "overdue",
        "Overdue for re-assessment",
        (
            _column("Entry", 10, lambda _, entry: entry),
            _column("Release", 17, lambda row, _: _release_id(row.release_id)),
            _recipient(35),
            _column("Last re-assessed", 16, lambda row, _: _time(row.last) if row.last else "never"),
            _day("Due", 12, "due"),
            _figure("Days late", 10, "days_late"),
        ),
    ),
    "renewals": _Listing(
        "renewals",
        "Renewed determinations of the same data",
        (
            _moment("Entry, decided", "decided_at"),
            _text("Recipient", 15, "recipient"),
            _column("Release, verdict", 20, lambda row, _: f"{_release_id(row.release_id)}, {row.verdict}"),
            _column(
                "Earlier one, verdict",
                20,
                lambda row, _: f"{_release_id(row.earlier_release_id)}, {row.earlier_verdict}",
            ),
            _column("Verdict changed", 12, lambda row, _: "yes" if row.changed else "no"),
            _column(
                "Days late",
                15,
                lambda row, _: (
                    _NOT_RECORDED
                    if row.earlier_valid_until is None
                    else "in time"
                    if row.days_late is None
                    else numbers.integer(row.days_late)
                ),
                pair=True,
            ),
        ),
        latest=True,
    ),
    "interventions": _Listing(
        "interventions",
        "Overrides, since the ledger began, and revocations in the period",
        (
            _moment("Entry, time"),
            _column("What", 11, lambda row, _: row.what if row.in_period else f"{row.what}, before the period"),
            _copy(17),
            _column(
                "By (login)",
                18,
                lambda row, _: f"{row.by}, {row.role} ({row.login}; {'signed' if row.signed else 'not signed'})",
            ),
            _column(
                "Reason",
                24,
                lambda row, _: _clipped(
                    "; ".join((row.reason, *row.figures, *([f"until {row.until.isoformat()}"] if row.until else [])))
                ),
            ),
            _text("State now", 12, "outcome"),
        ),
        latest=True,
    ),
    "policies": _Listing(
        "policies",
        "Policies taken into use",
        (
            _moment("Entry, time"),
            _column("Policy, version", 19, lambda row, _: f"{row.policy}, {row.version}"),
            _column("SHA-256", 14, lambda row, _: numbers.short(row.sha256)),
            _column("Before", 17, _policy_before),
            _column("First release", 15, lambda row, _: _release_id(row.release_id)),
            _login("Requested by (login)", 17, "requested_by"),
        ),
        latest=True,
    ),
    "gates": _Listing(
        "gates",
        "Figures of the period by gate",
        (
            _text("Gate", 42, "title"),
            _figure("Applied", 10, "judged"),
            _figure("Failed", 10, "failed"),
            _figure("Near", 10, "near"),
            _figure("Part used, median", 14, "median", DASH, write=part),
            _figure("highest", 14, "highest", DASH, write=part),
        ),
    ),
    "near": _Listing(
        "near",
        "Figures near their threshold, the nearest first",
        (
            _moment("Entry, decided", "decided_at"),
            _copy(17),
            _text("Gate", 24, "title"),
            _column("Measured", 11, lambda row, _: row.measured, pair=True),
            _text("Allowed", 12, "asked"),
            _column("Part used", 8, lambda row, _: numbers.percent(row.used), pair=True),
            _text("State", 10, "outcome"),
        ),
    ),
    "attacks": _Listing(
        "attacks",
        "Share of people linked by the strongest attack, with its 95 % interval",
        (
            _column("Entry, decided", 18, lambda row, entry: f"{entry} {_time(row.first.decided_at)}"),
            _column(
                "Release, recipient",
                16,
                lambda row, _: f"{_release_id(row.first.release_id)}, {row.first.recipient}",
            ),
            *(_column(f"Linked {words}", 15, _linked(kind), pair=True) for kind, words in INTRUDERS.items()),
            _column(
                "Guessing",
                10,
                lambda row, _: numbers.percent(max(one.baseline for one in row.by_intruder.values())),
                pair=True,
            ),
            _column("Verdict", 11, lambda row, _: row.first.verdict),
        ),
        latest=True,
    ),
    "traces": _Listing(
        "traces",
        "Traces and responses",
        (
            _moment("Entry, traced"),
            _column(
                "Release, first delivered",
                18,
                lambda row, _: (
                    f"{_release_id(row.release_id)} {_time(row.released_at) if row.released_at else 'not delivered'}"
                ),
            ),
            _column("By (login); of", 14, lambda row, _: f"{row.by}; {row.incident or _NOT_RECORDED}"),
            _column("Verdict", 19, lambda row, _: f"{row.verdict}{': ' + _clipped(row.reason) if row.reason else ''}"),
            _column("Named", 13, lambda row, _: ", ".join(row.named) or "no one"),
            _column("Response", 18, _response),
        ),
        latest=True,
    ),
    "agreements": _Listing(
        "agreements",
        "Agreements that have ended or end within 90 days",
        (
            _column("Entry", 10, lambda _, entry: entry),
            _text("Agreement", 22, "agreement"),
            _recipient(32),
            _day("Last day", 14, "expires"),
            _column(
                "Days left",
                12,
                lambda row, _: numbers.integer(row.days_left) if row.days_left >= 0 else "ended",
                pair=True,
            ),
            _figure("Files in use", 10, "files"),
        ),
    ),
    "destructions": _Listing(
        "destructions",
        "Copies to be destroyed, the longest due first",
        (
            _column("Entry", 10, lambda _, entry: entry),
            _column("Release", 16, lambda row, _: _release_id(row.release_id)),
            _text("Recipient", 18, "recipient"),
            _column("File, SHA-256", 16, lambda row, _: numbers.short(row.file_sha256)),
            _text("Because", 16, "because"),
            _day("Since", 13, "due"),
            _figure("Days", 11, "days_past"),
        ),
    ),
    "exceptions": _Listing(
        "duties.exceptions",
        "Exceptions",
        (_moment("Entry, time"), _copy(22), _text("What", 40, "what"), _text("Who", 20, "who")),
        latest=True,
        file="duty_exceptions",
    ),
    "keys": _Listing(
        "keys",
        "Keys of the period",
        (
            _moment("Entry, time", width=20),
            _text("What", 22, "what"),
            _text("Holder", 25, "name"),
            _column("Roles", 18, lambda row, _: ", ".join(row.roles) or DASH),
            _text("Login", 15, "login"),
        ),
        latest=True,
    ),
    "signed": _Listing(
        "signed",
        "Determinations signed in the period",
        (
            _moment("Entry, time"),
            _copy(22),
            _column("Certificate of", 26, lambda row, _: _clipped(row.subject)),
            _login("Submitted by (login)", 20, "by"),
            _column("Signed PDF", 14, lambda row, _: numbers.short(row.signed_sha256)),
        ),
        latest=True,
    ),
    "contradictions": _Listing(
        "chain.contradictions",
        "Entries that contradict each other",
        (
            _copy(30),
            _text("Where", 25, "where"),
            _column("What", 45, lambda row, _: _clipped(row.what)),
        ),
    ),
}
"""Tables by name."""
