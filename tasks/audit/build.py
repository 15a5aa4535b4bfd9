"""The audit of a period from the ledger's rows: which part of the report comes from where.

Pure: rows, the result of their verification, days and a time in; the report out.
"""

from datetime import date, datetime

from tasks.audit import cells, current, exposure, figures, people, reassessments, requests, traces, validity
from tasks.audit.cases import audit_cases
from tasks.audit.history import History, Period, read_history
from tasks.audit.report import AuditInterval, AuditReport, ChainProblem, ChainResult, Contradiction
from tasks.core.errors import BadInput
from tasks.ledger.chain import Examination
from tasks.ledger.entry import Event


def checked_period(first: date, last: date, today: date) -> Period:
    """The period of an audit; BadInput where the last day is before the first, or has not begun."""
    if first > last:
        raise BadInput(
            "the period ends before it begins",
            where="--from, --to",
            expected="a first day that is not after the last one",
            got=f"{first} to {last}",
            fix=f"give days up to today, {today} in UTC, the earlier one first"
            if first > today
            else "swap the two days",
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
    ledger: Examination, period: Period, *, noted_outside: int, made_at: datetime, program: str
) -> AuditReport:
    """The report on a period, from all rows of the ledger that can be read, whether or not they can be relied on.

    `noted_outside` is the number of checkpoints that it was compared with, `made_at` in UTC, `program` a version.
    """
    history = read_history(ledger.rows, period.last)
    cases = audit_cases(history, period.last)
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
        outcomes=requests.made_in(asked, period),
        chain=_chain(ledger, noted_outside, history, tuple(case.contradiction for case in cases if case.contradiction)),
        intervals=tuple(
            AuditInterval(
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
        reassessments=sum(entry.event is Event.REASSESSED for entry in history.entries),
        reassessed=reassessments.reassessment_rows(cases, period),
        overdue=reassessments.overdue_rows(cases, period.last),
        blocked_today=current.blocked_today_rows(cases, period.last),
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


def _chain(
    ledger: Examination, noted_outside: int, history: History, contradictions: tuple[Contradiction, ...]
) -> ChainResult:
    error = ledger.problem
    return ChainResult(
        intact=error is None,
        entries=len(ledger.rows),
        verified=ledger.head.sequence,
        head=ledger.head.sequence,
        head_sha256=ledger.head.sha256,
        signatures=ledger.signatures,
        keys=ledger.keys,
        noted_outside=noted_outside,
        problem=error and ChainProblem(entry=ledger.broken_at, what=error.what, expected=error.expected, got=error.got),
        unreadable=history.unreadable,
        contradictions=contradictions,
        other_events=dict(history.others),
    )
