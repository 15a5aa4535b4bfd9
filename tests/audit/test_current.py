"""A case as it stands today: what a re-assessment, the calendar and the ledger's state say together."""

from datetime import date
from typing import Any

from tasks.audit.cases import audit_cases
from tasks.audit.current import BLOCKED_TODAY, LAPSING, OVERDUE, CurrentCase, blocked_today_rows
from tasks.audit.history import read_history
from tasks.audit.reassessments import WOULD_BE_BLOCKED
from tasks.ledger.entry import Event
from tasks.reassessment.record import TodaysVerdict
from tests.support.audited import OFFICER, STEWARD, Chronicle, policy
from tests.support.records import sha

UNTIL = date(2026, 12, 31)


def delivered(**changes: Any) -> Chronicle:
    """A copy that left on 5 January 2026 and is valid until the end of the year."""
    log = Chronicle()
    log.publish("r1", valid_until=UNTIL, **changes)
    return log


def reassessed(log: Chronicle, verdict: str, next_due: str = "2027-06-01") -> int:
    body = {"verdict": verdict, "before": "holds", "because": ["A gate has closed."], "next_due": next_due}
    return log.after(days=20).add(Event.REASSESSED, body, "r1", "university")


def today(log: Chronicle, day: date) -> CurrentCase:
    (case,) = audit_cases(read_history(log.rows, day), day)
    return CurrentCase(case, day)


def test_the_word_in_the_ledger_is_that_of_reassessments() -> None:
    assert TodaysVerdict.BLOCKED.value == WOULD_BE_BLOCKED


def test_a_released_copy_that_would_be_blocked_is_an_alarm_until_it_would_not_be() -> None:
    log = delivered()
    assert (today(log, date(2026, 2, 1)).state, today(log, date(2026, 2, 1)).alarms) == ("released", ())
    number = reassessed(log, WOULD_BE_BLOCKED)
    found = today(log, date(2026, 2, 1))
    assert (found.state, found.alarms) == (BLOCKED_TODAY, ())
    (row,) = blocked_today_rows([found.case], date(2026, 2, 1))
    assert (row.entry, row.release_id, row.state, row.because, row.next_due) == (
        number, sha("r1"), "released", ("A gate has closed.",), date(2027, 6, 1)
    )  # fmt: skip
    reassessed(log, "holds")
    assert today(log, date(2026, 3, 1)).state == "released"
    assert blocked_today_rows([today(log, date(2026, 3, 1)).case], date(2026, 3, 1)) == ()


def test_an_expired_copy_that_would_be_blocked_is_expired_with_an_alarm() -> None:
    log = delivered()
    reassessed(log, WOULD_BE_BLOCKED)
    found = today(log, date(2027, 1, 1))
    assert (found.state, found.alarms) == ("expired", (BLOCKED_TODAY,))


def test_a_revoked_copy_is_no_alarm_any_more() -> None:
    log = delivered()
    reassessed(log, WOULD_BE_BLOCKED)
    log.revoke("r1")
    found = today(log, date(2026, 3, 1))
    assert (found.state, found.alarms, found.days_left) == ("revoked", (), None)


def test_days_late_and_days_left() -> None:
    """Due 30 days after 5 January, so on 4 February; the last day is 31 December."""
    log = delivered(policy=policy("2026.1") | {"reassess_days": 30})
    assert today(log, date(2026, 2, 4)).days_late == 0
    late = today(log, date(2026, 2, 6))
    assert (late.days_late, late.alarms, late.days_left) == (2, (OVERDUE,), 328)
    reassessed(log, "holds", "2027-06-01")
    assert [today(log, day).alarms for day in (date(2026, 11, 30), date(2026, 12, 1))] == [(), (LAPSING,)]


def test_a_blocked_release_has_nothing_out() -> None:
    log = Chronicle()
    log.request("r1")
    log.decide("r1", verdict="blocked", output_sha256=None, policy=policy("2026.1") | {"reassess_days": 30})
    found = today(log, date(2026, 12, 31))
    assert (found.state, found.alarms, found.days_left, found.days_late) == ("blocked", (), None, 0)


def test_the_audit_names_copies_that_would_be_blocked_and_counts_self_reviews() -> None:
    """Self-reviews: a vote by the requester (two exceptions, one entry), and an override from the request's login."""
    log = delivered()
    reassessed(log, WOULD_BE_BLOCKED)
    asked: dict[str, Any] = {"reviews_required": 1, "reviewers": (STEWARD,), "officers": (OFFICER,)}
    log.request("r2")
    log.decide("r2", "clinic", "awaiting review", ("1 review is still needed.",), **asked)
    log.vote("r2", STEWARD, recipient="clinic", actor="steward")
    report = log.audit()
    assert [row.recipient for row in report.blocked_today] == ["university"]
    assert report.duties.self_reviews == 1
    assert len(report.duties.exceptions) > 1
