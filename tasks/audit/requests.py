"""Every request of a period and its outcome, also by parts of the period."""

import calendar
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import pairwise

from tasks.audit.cases import AuditCase
from tasks.audit.history import History, Period, ReleaseEntries, text
from tasks.audit.report import RequestRow
from tasks.ledger.entry import Entry, Event

NONE_RECORDED = "none recorded"
_LONGEST_BY_DAY, _LONGEST_BY_WEEK, _LONGEST_BY_MONTH = 31, 185, 5 * 366
_ENDS = frozenset({Event.REFUSED, Event.FAILED})


def request_rows(
    history: History, cases: Mapping[tuple[str, str], AuditCase], period: Period
) -> tuple[RequestRow, ...]:
    """Requests made in the period, or whose outcome is in it, in the order of the ledger.

    A request that was decided is a line for each recipient; one that was refused, failed or left without an end is one
    line.
    """
    rows = [
        _refused(entry)
        for entry in history.entries
        if entry.release_id is None and entry.event in _ENDS and period.holds(entry.at)
    ]
    for release in history.releases:
        for request, following in _runs(release):
            rows += [row for row in _outcomes(release, request, following, cases) if _concerns(row, period)]
    return tuple(sorted(rows, key=lambda row: row.entry))


def _concerns(row: RequestRow, period: Period) -> bool:
    return period.holds(row.requested_at) or (row.outcome_at is not None and period.holds(row.outcome_at))


def made_in(rows: Sequence[RequestRow], period: Period) -> dict[str, int]:
    """Requests made in some days, by outcome, the most frequent one first."""
    counts = Counter(row.outcome for row in rows if period.holds(row.requested_at))
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def intervals(period: Period) -> tuple[Period, ...]:
    """The period in days, weeks from Monday, months or years, whichever leaves few enough to compare."""
    days = (period.last - period.first).days + 1
    found, first = [], period.first
    while first <= period.last:
        if days <= _LONGEST_BY_DAY:
            last = first
        elif days <= _LONGEST_BY_WEEK:
            last = first + timedelta(days=6 - first.weekday())
        elif days <= _LONGEST_BY_MONTH:
            last = first.replace(day=calendar.monthrange(first.year, first.month)[1])
        else:
            last = date(first.year, 12, 31)
        last = min(last, period.last)
        found.append(Period(first, last))
        if last == period.last:
            break
        first = last + timedelta(days=1)
    return tuple(found)


def _runs(release: ReleaseEntries) -> Iterator[tuple[Entry, tuple[Entry, ...]]]:
    """Each request of a release with the entries up to the next one."""
    starts = [place for place, entry in enumerate(release.entries) if entry.event is Event.REQUESTED]
    for start, end in pairwise([*starts, len(release.entries)]):
        yield release.entries[start], release.entries[start + 1 : end]


def _outcomes(
    release: ReleaseEntries, request: Entry, following: Sequence[Entry], cases: Mapping[tuple[str, str], AuditCase]
) -> Iterator[RequestRow]:
    decided = [entry for entry in following if entry.event is Event.DECIDED and entry.recipient is not None]
    for entry in decided:
        case = cases[release.release_id, str(entry.recipient)]
        if case.decided.sequence == entry.sequence:
            outcome = case.outcome
            yield _row(request, case.recipient, outcome.state, outcome.at, outcome.reasons)
    if decided:
        return
    end = next((entry for entry in following if entry.event in _ENDS), None)
    if end is None:
        yield _row(request, None, NONE_RECORDED, None, ())
    else:
        yield _row(request, None, end.event.value, end.at, _problem(end))


def _refused(entry: Entry) -> RequestRow:
    return _row(entry, None, entry.event.value, entry.at, _problem(entry))


def _row(request: Entry, recipient: str | None, outcome: str, at: object, reasons: tuple[str, ...]) -> RequestRow:
    return RequestRow.model_validate(
        {
            "entry": request.sequence,
            "requested_at": request.at,
            "release_id": request.release_id,
            "title": text(request, "title"),
            "requested_by": text(request, "requested_by"),
            "login": request.actor,
            "recipient": recipient,
            "outcome": outcome,
            "outcome_at": at,
            "reasons": reasons,
        }
    )


def _problem(end: Entry) -> tuple[str, ...]:
    """The problem and its place, as the gate reported them."""
    parts = (text(end, "what"), text(end, "where"))
    return tuple(part for part in parts if part)
