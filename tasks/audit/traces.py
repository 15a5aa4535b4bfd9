"""Decoy sightings: when a sealed manifest was opened, by whom, with which verdict, and how long a response took.

Whom a trace only suspected is left out, and so are the hash and the size of the incident, from which a short list of
people could be found by trying.
"""

from collections.abc import Sequence

from tasks.audit.history import History, Period, ReleaseEntries, text, texts
from tasks.audit.report import TraceRow
from tasks.ledger.entry import Entry, Event

_SECONDS = 3600


def trace_rows(history: History, period: Period) -> tuple[TraceRow, ...]:
    """The traces of the period.

    The response is the first revocation after the trace, before the end of the period: of the release to a recipient
    whom the trace has named, or to any recipient where it has named none.
    """
    rows = [
        _row(release, entry)
        for release in history.releases
        for entry in release.entries
        if entry.event is Event.TRACED and period.holds(entry.at)
    ]
    return tuple(sorted(rows, key=lambda row: row.entry))


def _row(release: ReleaseEntries, entry: Entry) -> TraceRow:
    named = texts(entry, "named")
    response = _response(release.entries, entry, named)
    left = [one.at for one in release.entries if one.event is Event.RELEASED and one.sequence < entry.sequence]
    return TraceRow(
        entry=entry.sequence,
        at=entry.at,
        release_id=release.release_id,
        by=entry.actor,
        incident=text(entry, "kind"),
        verdict=text(entry, "verdict") or "not recorded",
        named=named,
        reason=text(entry, "reason"),
        released_at=left[0] if left else None,
        response=response.event.value if response else None,
        response_entry=response.sequence if response else None,
        response_at=response.at if response else None,
        response_hours=(response.at - entry.at).total_seconds() / _SECONDS if response else None,
    )


def _response(entries: Sequence[Entry], trace: Entry, named: Sequence[str]) -> Entry | None:
    return next(
        (
            one
            for one in entries
            if one.event is Event.REVOKED and one.sequence > trace.sequence and (not named or one.recipient in named)
        ),
        None,
    )
