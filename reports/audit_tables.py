"""Tables of an audit in print: caption, columns, cells of a row. CSV and JSON hold the rows beyond ``MOST_ROWS``."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from operator import attrgetter
from typing import Any

from reports.model import numbers
from reports.model.document import DASH, Table
from tasks.audit.report import AuditReport, RecordRange
from tasks.decision.bodies import Intruder

MOST_ROWS = 20
"""Rows of a table in print."""
INTRUDERS: Mapping[Intruder, str] = {
    "uninformed": "with the file alone",
    "informed": "with rule and maskings",
    "masked": "by masked numbers",
}
"""Kinds of intruders, in words that follow “linked”."""
_NOT_RECORDED, _NONE = "not recorded", "none recorded"
_LONGEST = 240


_Cell = str | int | date | RecordRange | None


@dataclass(frozen=True)
class _Listing:
    """Declaration of a table."""

    caption: str
    head: str
    cells: Callable[[Any, str], Sequence[_Cell]]
    """Cells of a row, from the row and its entry number as it is printed."""
    latest: bool = False
    """Whether the rows of the latest entries are printed, not the first rows."""
    rows: str = ""
    """Attribute of the report that holds its rows, where it is not the table's name."""


def listing(report: AuditReport, name: str) -> Table:
    """A table of a report; entries that are not proven are marked."""
    table, broken_at = _TABLES[name], report.chain.problem.entry if report.chain.problem else None
    rows: Sequence[Any] = attrgetter(table.rows or name)(report)
    if name == "attacks":
        rows = [[row for row in rows if row.entry == entry] for entry in dict.fromkeys(row.entry for row in rows)]

    def number(row: Any) -> int:
        return int(getattr(row[0] if isinstance(row, list) else row, "entry", 0))

    shown, which, caption = rows[:MOST_ROWS], "The first", table.caption
    if table.latest and len(rows) > MOST_ROWS:
        latest = set(sorted(range(len(rows)), key=lambda place: number(rows[place]))[-MOST_ROWS:])
        shown, which = [row for place, row in enumerate(rows) if place in latest], "The latest"
    if len(shown) < len(rows):
        file = "duty_exceptions" if name == "exceptions" else name
        caption += f". {which} {len(shown)} of {numbers.integer(len(rows))} rows; all are in {file}.csv and audit.json."
    marks = [" †" if broken_at is not None and number(row) >= broken_at else "" for row in shown]
    cells = [table.cells(row, f"#{number(row)}{mark}") for row, mark in zip(shown, marks, strict=True)]
    return Table(caption, table.head, [tuple(map(_text, own)) for own in cells])


def activity(report: AuditReport) -> Table:
    """Requests and results of attacks over the period; days, weeks, months or years without any are left out."""
    kinds = list(INTRUDERS)

    def linked(interval: Any, kind: Intruder) -> str:
        found = next((one for one in interval.attacks if one.intruder == kind), None)
        return f"{numbers.percent(found.highest)} ({numbers.percent(found.median)})" if found else DASH

    return Table(
        "Requests made by outcome at the end of the period, and highest (median) share of people linked by the "
        "strongest attack on each file, blocked files included; an upper bound where a share may not be shown",
        "From 12 | To 12 | Requests, one for each recipient 31 | "
        + " | ".join(f"Linked {INTRUDERS[kind]} 15p" for kind in kinds),
        [
            (
                one.first_day.isoformat(),
                one.last_day.isoformat(),
                ", ".join(f"{numbers.integer(count)} {name}" for name, count in one.outcomes.items()) or DASH,
                *(linked(one, kind) for kind in kinds),
            )
            for one in report.intervals
            if one.outcomes or one.attacks
        ],
    )


def part(used: float | None) -> str:
    """Part used of what a gate allows, in percent; above 100 % for a figure that failed.

    >>> part(0.5), part(1.25), part(40), part(None)
    ('50%', '125%', 'over 1,000%', '–')
    """
    if used is None or used > 10:
        return DASH if used is None else "over 1,000%"
    return numbers.percent(used) if used < 1 else f"{used * 100:,.4g}%"


def _text(cell: _Cell) -> str:
    if cell is None or isinstance(cell, RecordRange):
        return written(cell)
    if isinstance(cell, datetime):
        return _time(cell)
    if isinstance(cell, date):
        return cell.isoformat()
    return cell if isinstance(cell, str) else numbers.integer(cell)


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


def _linked(row: Any) -> str:
    if row is None:
        return DASH
    share, words = row.share, numbers.percent(row.share.low)
    if share.low != share.high:
        words = f"<{numbers.percent(share.high)}" if share.low == 0 else f">{numbers.percent(share.low)}"
    if row.interval:
        words += f" ({numbers.percent_range(row.interval.low, row.interval.high)})"
    return words if row.proves_something else f"{words}; as guessing"


def _id(release_id: str | None) -> str:
    return numbers.short(release_id) if release_id else "no release"


def _time(moment: datetime) -> str:
    return f"{numbers.utc(moment):%Y-%m-%d %H:%M}"


def _at(entry: str, moment: datetime) -> str:
    return f"{entry} {_time(moment)}"


def _clipped(*parts: str) -> str:
    words = "; ".join(part for part in parts if part).replace(".; ", ". ")
    if len(words) > _LONGEST:
        whole = words[:_LONGEST].rpartition(" ")[0] or words[: _LONGEST - 2]
        words = f"{whole} …"
    return words or DASH


def _copy(row: Any) -> str:
    return f"{_id(row.release_id)}, {row.recipient or 'all'}"


def _recipient(row: Any) -> str:
    return f"{row.organisation} ({row.recipient})"


def _risk(value: float | None) -> str:
    return _NOT_RECORDED if value is None else numbers.risk(value)


def _response(row: Any) -> str:
    if row.response_at is None or row.response_hours is None:
        return _NONE
    hours = row.response_hours
    after = f"{hours:,.1f} h" if hours < 72 else f"{hours / 24:,.1f} days"
    return f"{row.response} {_time(row.response_at)}, after {after}"


def _file(row: Any, entry: str) -> Sequence[_Cell]:
    copy = f" (copy {numbers.integer(row.copy_of_data)} of these data)" if row.copy_of_data > 1 else ""
    overridden = f"; {numbers.integer(len(row.overridden))} overridden" if row.overridden else ""
    return (
        row.recipient,
        row.number,
        _at(entry, row.released_at),
        f"{_id(row.release_id)}, {row.dataset}{copy}",
        row.records,
        row.cumulative_records,
        _risk(row.highest_risk),
        f"{row.state}{overridden}",
    )


def _policy(row: Any, entry: str) -> Sequence[_Cell]:
    same = "; same version, different contents" if row.same_version else ""
    before = DASH if row.before_version is None else f"{row.before_version}, {_id(row.before_sha256)}{same}"
    return (
        _at(entry, row.at),
        f"{row.policy}, {row.version}",
        numbers.short(row.sha256),
        before,
        _id(row.release_id),
        f"{row.requested_by} ({row.login})",
    )


_TABLES: Mapping[str, _Listing] = {
    "requests": _Listing(
        "Requests and their outcomes",
        "Entry, requested 18 | Release, title 21 | Requested by (login) 13 | Recipient 12 | Outcome 18 | Reason 18",
        lambda row, entry: (
            _at(entry, row.requested_at),
            f"{_id(row.release_id)}{f', {row.title}' if row.title else ''}",
            f"{row.requested_by or _NOT_RECORDED} ({row.login})",
            row.recipient or "all",
            f"{row.outcome}{f' {_time(row.outcome_at)}' if row.outcome_at else ''}",
            _clipped(*row.reasons),
        ),
        latest=True,
    ),
    "recipients": _Listing(
        "Cumulative exposure by recipient, since the ledger began",
        "Recipient 26 | Files 9p | in the period 11p | Data sets 9p | Records 15p | Expected re-identifications 16p | "
        "Highest risk 14p",
        lambda row, _: (
            _recipient(row),
            row.files,
            row.files_in_period,
            row.datasets,
            row.records,
            numbers.risk(row.expected),
            _risk(row.highest_risk),
        ),
    ),
    "files": _Listing(
        "Delivered files, by recipient",
        "Recipient 14 | No. 5p | Entry, released 18 | Release, data 19 | Records 10p | so far 11p | Highest risk 12p "
        "| State 11",
        _file,
        latest=True,
    ),
    "certificates": _Listing(
        "Determinations in force, the first to expire first",
        "Entry 10 | Release 17 | Recipient 43 | Valid until 16 | Days left 14p",
        lambda row, entry: (entry, _id(row.release_id), _recipient(row), row.valid_until, row.days_left),
    ),
    "past_due": _Listing(
        "Past their last day, with the file still in use",
        "Entry 10 | Release 17 | Recipient 33 | Valid until 14 | Days past 10p | Renewed by 16",
        lambda row, entry: (
            entry,
            _id(row.release_id),
            _recipient(row),
            row.valid_until,
            row.days_past,
            _id(row.renewed_by) if row.renewed_by else _NONE,
        ),
    ),
    "reassessed": _Listing(
        "Re-assessments",
        "Entry, time 17 | Release 16 | Recipient 14 | Verdict 15 | Before 14 | Gates changed 14 | Days late 10p",
        lambda row, entry: (
            _at(entry, row.at),
            _id(row.release_id),
            row.recipient,
            f"{row.verdict}{', unchanged' if row.repeated else ''}",
            row.before,
            ", ".join(row.gates) or "none",
            "in time" if row.days_late is None else row.days_late,
        ),
        latest=True,
    ),
    "blocked_today": _Listing(
        "Copies that would be blocked today",
        "Entry, time 17 | Release 16 | Recipient 25 | State 12 | Because 30",
        lambda row, entry: (
            _at(entry, row.at),
            _id(row.release_id),
            _recipient(row),
            row.state,
            _clipped(*row.because),
        ),
        latest=True,
    ),
    "overdue": _Listing(
        "Overdue for re-assessment",
        "Entry 10 | Release 17 | Recipient 35 | Last re-assessed 16 | Due 12 | Days late 10p",
        lambda row, entry: (entry, _id(row.release_id), _recipient(row), row.last or "never", row.due, row.days_late),
    ),
    "renewals": _Listing(
        "Renewed determinations of the same data",
        "Entry, decided 18 | Recipient 15 | Release, verdict 20 | Earlier one, verdict 20 | Verdict changed 12 | Days "
        "late 15p",
        lambda row, entry: (
            _at(entry, row.decided_at),
            row.recipient,
            f"{_id(row.release_id)}, {row.verdict}",
            f"{_id(row.earlier_release_id)}, {row.earlier_verdict}",
            "yes" if row.changed else "no",
            "in time" if row.days_late is None else row.days_late,
        ),
        latest=True,
    ),
    "interventions": _Listing(
        "Overrides, since the ledger began, and revocations in the period",
        "Entry, time 18 | What 11 | Release, recipient 17 | By (login) 18 | Reason 24 | State now 12",
        lambda row, entry: (
            _at(entry, row.at),
            row.what if row.in_period else f"{row.what}, before the period",
            _copy(row),
            f"{row.by}, {row.role} ({row.login}; {'signed' if row.signed else 'not signed'})",
            _clipped(row.reason, *row.figures, f"until {row.until.isoformat()}" if row.until else ""),
            row.outcome,
        ),
        latest=True,
    ),
    "policies": _Listing(
        "Policies taken into use",
        "Entry, time 18 | Policy, version 19 | SHA-256 14 | Before 17 | First release 15 | Requested by (login) 17",
        _policy,
        latest=True,
    ),
    "gates": _Listing(
        "Figures of the period by gate, and the part that they use of what the gate allows",
        "Gate 40 | Applied 10p | Failed 10p | Near 8p | Least used 10p | Median 10p | Most used 12p",
        lambda row, _: (row.title, row.judged, row.failed, row.near, *map(part, (row.lowest, row.median, row.highest))),
    ),
    "near": _Listing(
        "Figures near their threshold, the nearest first",
        "Entry, decided 18 | Release, recipient 17 | Gate 24 | Measured 11p | Allowed 12 | Part used 8p | State 10",
        lambda row, entry: (
            _at(entry, row.decided_at),
            _copy(row),
            row.title,
            row.measured,
            row.asked,
            numbers.percent(row.used),
            row.outcome,
        ),
    ),
    "attacks": _Listing(
        "Share of people linked by the strongest attack, with its 95 % interval",
        "Entry, decided 18 | Release, recipient 16 | Linked with the file alone 14p | Linked with rule and maskings "
        "14p | Linked by masked numbers 14p | Guessing 12p | Verdict 12",
        lambda rows, entry: (
            _at(entry, rows[0].decided_at),
            _copy(rows[0]),
            *(_linked(next((row for row in rows if row.intruder == kind), None)) for kind in INTRUDERS),
            numbers.percent(max(row.baseline for row in rows)),
            rows[0].verdict,
        ),
        latest=True,
    ),
    "traces": _Listing(
        "Traces and responses",
        "Entry, traced 18 | Release, first delivered 18 | By (login); of 14 | Verdict 19 | Named 13 | Response 18",
        lambda row, entry: (
            _at(entry, row.at),
            f"{_id(row.release_id)} {_time(row.released_at) if row.released_at else 'not delivered'}",
            f"{row.by}; {row.incident or _NOT_RECORDED}",
            f"{row.verdict}{f': {_clipped(row.reason)}' if row.reason else ''}",
            ", ".join(row.named) or "no one",
            _response(row),
        ),
        latest=True,
    ),
    "agreements": _Listing(
        "Agreements that have ended or end within 90 days",
        "Entry 10 | Agreement 22 | Recipient 32 | Last day 14 | Days left 12p | Files in use 10p",
        lambda row, entry: (
            entry,
            row.agreement,
            _recipient(row),
            row.expires,
            row.days_left if row.days_left >= 0 else "ended",
            row.files,
        ),
    ),
    "destructions": _Listing(
        "Copies to be destroyed, the longest due first",
        "Entry 10 | Release 16 | Recipient 18 | File, SHA-256 16 | Because 16 | Since 13 | Days 11p",
        lambda row, entry: (
            entry,
            _id(row.release_id),
            row.recipient,
            numbers.short(row.file_sha256),
            row.because,
            row.due,
            row.days_past,
        ),
    ),
    "exceptions": _Listing(
        "Exceptions",
        "Entry, time 18 | Release, recipient 22 | What 40 | Who 20",
        lambda row, entry: (_at(entry, row.at), _copy(row), row.what, row.who),
        latest=True,
        rows="duties.exceptions",
    ),
    "keys": _Listing(
        "Keys of the period",
        "Entry, time 20 | What 22 | Holder 25 | Roles 18 | Login 15",
        lambda row, entry: (_at(entry, row.at), row.what, row.name or DASH, ", ".join(row.roles) or DASH, row.login),
        latest=True,
    ),
    "signed": _Listing(
        "Determinations signed in the period",
        "Entry, time 18 | Release, recipient 22 | Certificate of 26 | Submitted by (login) 20 | Signed PDF 14",
        lambda row, entry: (
            _at(entry, row.at),
            _copy(row),
            _clipped(row.subject),
            f"{row.by or DASH} ({row.login})",
            numbers.short(row.signed_sha256),
        ),
        latest=True,
    ),
    "contradictions": _Listing(
        "Entries that contradict each other",
        "Release, recipient 30 | Where 25 | What 45",
        lambda row, _: (_copy(row), row.where, _clipped(row.what)),
        rows="chain.contradictions",
    ),
}
"""Tables by name."""
