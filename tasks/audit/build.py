"""The audit of a period from the ledger's rows: which part of the report comes from where.

Pure: rows, the result of their verification, days and a time in; the report out.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime

from tasks.audit import cells, exposure, figures, people, reassessments, requests, traces, validity
from tasks.audit.cases import all_cases
from tasks.audit.history import History, Period, read_history
from tasks.audit.report import AuditReport, Chain, Contradiction, Interval, Problem
from tasks.errors import BadInput
from tasks.ledger.entry import Event, Head, Row


@dataclass(frozen=True)
class Verified:
    """What the check of the whole ledger found."""

    entries: int
    """Rows in the ledger."""
    head: Head
    """The last entry found right."""
    signatures: int
    keys: int
    noted_outside: int
    problem: Problem | None


def checked_period(first: date, last: date, today: date) -> Period:
    """The days that an audit is about.

    Raises
    ------
    BadInput
        If the last day is before the first, or has not begun.
    """
    if first > last:
        raise BadInput(
            "the period ends before it begins",
            where="--from, --to",
            expected="a first day that is not after the last one",
            got=f"{first} to {last}",
            fix="exchange the two days",
        )
    if last > today:
        raise BadInput(
            "the period has not ended",
            where="--to",
            expected=f"a day up to today, {today} in UTC",
            got=str(last),
            fix="give today or an earlier day",
        )
    return Period(first, last)


def audit_report(
    rows: Iterable[Row], verified: Verified, period: Period, *, made_at: datetime, program: str
) -> AuditReport:
    """The report on a period.

    Parameters
    ----------
    rows : iterable of Row
        All that can be read of the ledger, in order, whether or not it can be relied on.
    verified : Verified
        Result of its verification.
    period : Period
    made_at : datetime
        Time of the report, in UTC.
    program : str
        Version of the program.
    """
    history = read_history(rows, period.last)
    cases = all_cases(history, period.last)
    by_key = {(case.release_id, case.recipient): case for case in cases}
    asked = requests.request_rows(history, by_key, period)
    files = exposure.file_rows(cases, period)
    attacks = figures.attack_rows(cases, period)
    return AuditReport(
        program=program,
        first_day=period.first,
        last_day=period.last,
        made_at=made_at,
        near_from=figures.NEAR_FROM,
        small_cell=cells.LIMIT,
        not_recorded=sum(case.kept is None for case in cases),
        outcomes=requests.made_in(asked, period),
        chain=_chain(verified, history, tuple(case.contradiction for case in cases if case.contradiction)),
        intervals=tuple(
            Interval(
                first_day=part.first,
                last_day=part.last,
                outcomes=requests.made_in(asked, part),
                attacks=figures.attack_counts(attacks, part),
            )
            for part in requests.intervals(period)
        ),
        requests=asked,
        recipients=exposure.recipient_rows(files),
        files=files,
        certificates=validity.certificate_rows(cases, period.last),
        reassessments=history.count_of(Event.REASSESSED.value),
        reassessed=reassessments.reassessment_rows(cases, period),
        overdue=reassessments.overdue_rows(cases, period.last),
        renewals=validity.renewal_rows(cases, period),
        past_due=validity.past_due_rows(cases, period.last),
        interventions=people.intervention_rows(history, by_key, period),
        policies=people.policy_rows(cases, period),
        keys=people.key_rows(history, period),
        signed=people.signed_rows(history, period),
        gates=figures.gate_rows(cases, period),
        near=figures.near_rows(cases, period),
        attacks=attacks,
        traces=traces.trace_rows(history, period),
        agreements=validity.agreement_rows(cases, period.last),
        destructions=validity.destruction_rows(cases, period.last),
        duties=people.duties(history, cases, period),
    )


def _chain(verified: Verified, history: History, contradictions: tuple[Contradiction, ...]) -> Chain:
    return Chain(
        intact=verified.problem is None,
        entries=verified.entries,
        verified=verified.head.sequence,
        head=verified.head.sequence,
        head_sha256=verified.head.sha256,
        signatures=verified.signatures,
        keys=verified.keys,
        noted_outside=verified.noted_outside,
        problem=verified.problem,
        unreadable=history.unreadable,
        contradictions=contradictions,
        other_events=dict(history.others),
    )
