"""Re-assessments of delivered copies: done, late, with a changed verdict, and overdue."""

from collections.abc import Sequence
from datetime import date, timedelta

from tasks.audit.cases import AuditCase
from tasks.audit.history import Period, day, text, texts
from tasks.audit.report import OverdueRow, ReassessmentRow
from tasks.ledger.entry import Entry, Event

WOULD_BE_BLOCKED = "would be blocked"
"""Verdict of a re-assessment on a copy that would not be released today, as entries name it."""


def reassessment_rows(cases: Sequence[AuditCase], period: Period) -> tuple[ReassessmentRow, ...]:
    """Re-assessments of a period, in the order of the ledger."""
    rows = [
        _row(case, entry)
        for case in cases
        for entry in case.entries
        if entry.event is Event.REASSESSED and period.holds(entry.at)
    ]
    return tuple(sorted(rows, key=lambda row: row.entry))


def overdue_rows(cases: Sequence[AuditCase], today: date) -> tuple[OverdueRow, ...]:
    """Delivered copies whose next re-assessment was due before a day, the longest overdue first.

    Copies that have expired, or were revoked or superseded, may still be in use; they are included.
    """
    rows = []
    for case in cases:
        if case.released is None:
            continue
        last = next((entry for entry in reversed(case.entries) if entry.event is Event.REASSESSED), None)
        days = case.kept.policy.reassess_days
        first_due = None if days is None else case.released.at.date() + timedelta(days=days)
        due = first_due if last is None else day(last, "next_due")
        if due is None or due >= today:
            continue
        rows.append(
            OverdueRow(
                entry=(last or case.released).sequence,
                release_id=case.release_id,
                recipient=case.recipient,
                organisation=case.kept.organisation,
                last=last.at if last else None,
                due=due,
                days_late=(today - due).days,
            )
        )
    return tuple(sorted(rows, key=lambda row: (-row.days_late, row.entry)))


def _row(case: AuditCase, entry: Entry) -> ReassessmentRow:
    due, verdict, before = day(entry, "due"), text(entry, "verdict"), text(entry, "before")
    late = (entry.at.date() - due).days if due is not None else 0
    return ReassessmentRow(
        entry=entry.sequence,
        at=entry.at,
        release_id=case.release_id,
        recipient=case.recipient,
        verdict=verdict or "not recorded",
        before=before or "not recorded",
        changed=verdict != before,
        repeated=entry.body.get("repeated") is True,
        gates=texts(entry, "gates"),
        days_late=late if late > 0 else None,
    )
