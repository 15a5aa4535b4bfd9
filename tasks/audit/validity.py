"""Validity: determinations in force and past their last day, agreements, and copies to be destroyed."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date
from itertools import pairwise
from typing import get_args

from tasks.audit.cases import AuditCase
from tasks.audit.history import Period, text
from tasks.audit.report import AgreementRow, CertificateRow, DestructionRow, Lapse, PastDueRow, RenewalRow
from tasks.decision.record import Verdict
from tasks.decision.states import State
from tasks.decision.verdict import is_over

LAPSES: tuple[Lapse, ...] = get_args(Lapse)


def certificate_rows(cases: Sequence[AuditCase], day: date) -> tuple[CertificateRow, ...]:
    """Determinations in force on a day under which a file was delivered, the first to expire first."""
    rows = [
        CertificateRow(
            entry=case.released.sequence,
            release_id=case.release_id,
            recipient=case.recipient,
            organisation=case.kept.organisation,
            valid_from=case.kept.valid_from,
            valid_until=case.kept.valid_until,
            days_left=(case.kept.valid_until - day).days,
            lapses_within=_within((case.kept.valid_until - day).days),
        )
        for case in cases
        if case.is_out and case.released
    ]
    return tuple(sorted(rows, key=lambda row: (row.valid_until, row.entry)))


def renewal_rows(cases: Sequence[AuditCase], period: Period) -> tuple[RenewalRow, ...]:
    """Decisions of the period on data of which the same recipient had a decision before."""
    rows = []
    pairs = [pair for own in _by_data(cases).values() for pair in pairwise(own)]
    for before, case in sorted(pairs, key=lambda pair: pair[1].decided.sequence):
        if not period.holds(case.decided.at):
            continue
        until, day = before.kept.valid_until, case.decided.at.date()
        rows.append(
            RenewalRow(
                entry=case.decided.sequence,
                decided_at=case.decided.at,
                recipient=case.recipient,
                release_id=case.release_id,
                verdict=case.verdict,
                earlier_release_id=before.release_id,
                earlier_verdict=before.verdict,
                earlier_valid_until=until,
                changed=_blocked(case) != _blocked(before),
                days_late=(day - until).days if is_over(until, day) else None,
            )
        )
    return tuple(rows)


def past_due_rows(cases: Sequence[AuditCase], day: date) -> tuple[PastDueRow, ...]:
    """Determinations that have ended while their file may still be in use, the longest first."""
    by_data = _by_data(cases)
    rows = []
    for case in cases:
        if case.outcome.state != State.EXPIRED.value or case.released is None:
            continue
        later = [
            other.release_id
            for other in by_data[case.recipient, case.kept.source_sha256]
            if other.released is not None and other.decided.sequence > case.decided.sequence
        ]
        rows.append(
            PastDueRow(
                entry=case.released.sequence,
                release_id=case.release_id,
                recipient=case.recipient,
                organisation=case.kept.organisation,
                valid_until=case.kept.valid_until,
                days_past=(day - case.kept.valid_until).days,
                renewed_by=later[-1] if later else None,
            )
        )
    return tuple(sorted(rows, key=lambda row: (-row.days_past, row.entry)))


def agreement_rows(cases: Sequence[AuditCase], day: date) -> tuple[AgreementRow, ...]:
    """Agreements under which files were delivered that have ended or end within 90 days; the first to end first."""
    under: dict[tuple[str, str], list[AuditCase]] = defaultdict(list)
    for case in cases:
        under[_agreement(case)].append(case)
    rows = []
    for (recipient, agreement), own in under.items():
        files = [case for case in own if case.released is not None]
        last = own[-1]
        expires = last.kept.agreement.expires
        left = (expires - day).days
        if files and left <= LAPSES[-1]:
            rows.append(
                AgreementRow(
                    entry=last.decided.sequence,
                    agreement=agreement,
                    recipient=recipient,
                    organisation=last.kept.organisation,
                    expires=expires,
                    days_left=left,
                    lapses_within=_within(left) if left >= 0 else None,
                    files=len(files),
                )
            )
    return tuple(sorted(rows, key=lambda row: (row.expires, row.entry)))


def destruction_rows(cases: Sequence[AuditCase], day: date) -> tuple[DestructionRow, ...]:
    """Delivered files that are to be destroyed, since their agreement has ended or they were revoked."""
    ends = {_agreement(case): case.kept.agreement.expires for case in cases}
    rows = []
    for case in cases:
        if case.released is None:
            continue
        if case.outcome.state == State.REVOKED.value:
            because, due = "release revoked", case.outcome.at.date()
        elif is_over(ends[_agreement(case)], day):
            because, due = "agreement ended", ends[_agreement(case)]
        else:
            continue
        rows.append(
            DestructionRow(
                entry=case.released.sequence,
                release_id=case.release_id,
                recipient=case.recipient,
                file_sha256=text(case.released, "output_sha256") or "not recorded",
                because=because,
                due=due,
                days_past=(day - due).days,
            )
        )
    return tuple(sorted(rows, key=lambda row: (row.due, row.entry)))


def _blocked(case: AuditCase) -> bool:
    return case.verdict == Verdict.BLOCKED.value


def _within(days: int) -> Lapse | None:
    return next((limit for limit in LAPSES if days <= limit), None)


def _by_data(cases: Sequence[AuditCase]) -> Mapping[tuple[str, str], list[AuditCase]]:
    grouped: dict[tuple[str, str], list[AuditCase]] = defaultdict(list)
    for case in cases:
        grouped[case.recipient, case.kept.source_sha256].append(case)
    return grouped


def _agreement(case: AuditCase) -> tuple[str, str]:
    return case.recipient, case.kept.agreement.id
