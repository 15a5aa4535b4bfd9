"""Every request of a period and its outcome, also by parts of the period."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise

from tasks.audit.cases import AuditCase
from tasks.audit.history import History, Period, ReleaseEntries, text
from tasks.audit.report import RequestRow
from tasks.ledger.entry import Entry, Event

NONE_RECORDED = "none recorded"
_PARTS = (("D", 31), ("W", 185), ("M", 5 * 366), ("Y", math.inf))
"""Parts of a period, and the most days of it for which they are used."""
_ENDS = frozenset({Event.REFUSED, Event.FAILED})


def request_rows(
    history: History, cases: Mapping[tuple[str, str], AuditCase], period: Period
) -> tuple[RequestRow, ...]:
    """Requests made in the period, or whose outcome is in it, in the order of the ledger.

    A decided one is a line for each recipient; one that was refused, failed or left without an end is one line.
    """
    rows = [_ended(entry, entry) for entry in history.entries if entry.release_id is None and entry.event in _ENDS]
    for release in history.releases:
        for request, following in _runs(release):
            rows += _outcomes(release, request, following, cases)
    of_period = (row for row in rows if any(period.holds(at) for at in (row.requested_at, row.outcome_at) if at))
    return tuple(sorted(of_period, key=lambda row: row.entry))


def made_in(rows: Sequence[RequestRow], period: Period) -> dict[str, int]:
    """Requests made in some days, by outcome, the most frequent one first."""
    counts = Counter(row.outcome for row in rows if period.holds(row.requested_at))
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def intervals(period: Period) -> tuple[Period, ...]:
    """The period in days, weeks from Monday, months or years, whichever leaves few enough to compare."""
    from pandas import period_range  # noqa: PLC0415 - the service imports this module, and does without pandas

    days = (period.last - period.first).days + 1
    parts = period_range(period.first, period.last, freq=next(freq for freq, most in _PARTS if days <= most))
    return tuple(
        Period(max(part.start_time.date(), period.first), min(part.end_time.date(), period.last)) for part in parts
    )


def _runs(release: ReleaseEntries) -> Iterator[tuple[Entry, tuple[Entry, ...]]]:
    """Each request of a release with the entries up to the next one."""
    starts = [place for place, entry in enumerate(release.entries) if entry.event is Event.REQUESTED]
    for start, end in pairwise([*starts, len(release.entries)]):
        yield release.entries[start], release.entries[start + 1 : end]


def _outcomes(
    release: ReleaseEntries, request: Entry, following: Sequence[Entry], cases: Mapping[tuple[str, str], AuditCase]
) -> Iterator[RequestRow]:
    decided = [entry for entry in following if entry.event is Event.DECIDED]
    for entry in decided:
        case = cases[release.release_id, str(entry.recipient)]
        if case.decided.sequence == entry.sequence:
            outcome = case.outcome
            yield _row(request, case.recipient, outcome.state, outcome.at, outcome.reasons)
    if decided:
        return
    end = next((entry for entry in following if entry.event in _ENDS), None)
    yield _row(request, None, NONE_RECORDED, None, ()) if end is None else _ended(request, end)


def _ended(request: Entry, end: Entry) -> RequestRow:
    """A request that was refused, or failed."""
    problem = (text(end, "what"), text(end, "where"))
    return _row(request, None, end.event.value, end.at, tuple(part for part in problem if part))


def _row(
    request: Entry, recipient: str | None, outcome: str, at: datetime | None, reasons: tuple[str, ...]
) -> RequestRow:
    return RequestRow(
        entry=request.sequence,
        requested_at=request.at,
        release_id=request.release_id,
        title=text(request, "title"),
        requested_by=text(request, "requested_by"),
        login=request.actor,
        recipient=recipient,
        outcome=outcome,
        outcome_at=at,
        reasons=reasons,
    )
