"""Every item of an audit, on a quarter whose answers were worked out by hand."""

from datetime import UTC, date, datetime
from typing import Any

import pytest

from tasks.audit.history import Period
from tasks.audit.report import AuditReport, AuditRow, RecordRange, ShareRange
from tasks.core.people import WorkflowRole, person_key
from tasks.decision import bodies
from tasks.ledger.entry import Event
from tests.support.audited import (
    FIRST,
    OFFICER,
    QUARTER,
    SECOND,
    STEWARD,
    Chronicle,
    busy_quarter,
    policy,
)
from tests.support.records import sha


@pytest.fixture(scope="module")
def report() -> AuditReport:
    return busy_quarter().audit()


def cells(rows: tuple[AuditRow, ...], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(getattr(row, name) for name in names) for row in rows]


def test_every_request_and_its_outcome(report: AuditReport) -> None:
    assert cells(report.requests, "entry", "requested_at", "release_id", "recipient", "outcome", "outcome_at") == [
        (1, at(2025, 3, 20), sha("old"), "clinic", "expired", at(2026, 3, 21, 0)),
        (7, at(2026, 1, 5), sha("first"), "university", "released", at(2026, 1, 5, 9, 2)),
        (10, at(2026, 1, 12), None, None, "refused", at(2026, 1, 12)),
        (11, at(2026, 1, 20), sha("stopped"), None, "failed", at(2026, 1, 20)),
        (13, at(2026, 1, 20, 10), sha("stopped"), "broker", "blocked", at(2026, 1, 20, 10, 3)),
        (15, at(2026, 2, 2), sha("reviewed"), "university", "released", at(2026, 2, 4, 13)),
        (29, at(2026, 2, 16), sha("renewed"), "clinic", "released", at(2026, 2, 16, 9, 2)),
        (32, at(2026, 3, 3), sha("leaked"), "university", "revoked", at(2026, 3, 11, 15)),
        (38, at(2026, 3, 20), sha("waiting"), "broker", "awaiting review", at(2026, 3, 20)),
        (40, at(2026, 3, 30), sha("under way"), None, "none recorded", None),
    ]
    assert report.outcomes == {
        "released": 3, "awaiting review": 1, "blocked": 1, "failed": 1, "none recorded": 1, "refused": 1, "revoked": 1,
    }  # fmt: skip
    why = {row.entry: row.reasons for row in report.requests}
    assert why[10] == ("the request document is not valid", "request.yaml, line 3")
    assert why[11] == ("a stage ran out of memory", "generalization")
    assert why[13] == ("Highest risk of a record: 0.5 measured; at most 0.09 allowed.",)
    assert why[15] == ("2 of 2 reviewers approve.",)
    assert why[32] == ("Revoked by A. Steward (requester): “Agreement broken”",)
    assert "expired on 2026-03-20" in why[1][0]
    assert {row.requested_by for row in report.requests} == {None, STEWARD}


def at(year: int, month: int, day: int, hour: int = 9, minute: int = 0) -> datetime:
    return datetime(year, month, day, hour, minute, tzinfo=UTC)


def test_files_and_what_a_recipient_has_got_in_all(report: AuditReport) -> None:
    assert cells(report.files, "entry", "recipient", "in_period", "number", "copy_of_data", "state") == [
        (3, "clinic", False, 1, 1, "expired"),
        (31, "clinic", True, 2, 2, "released"),
        (6, "registry", False, 1, 1, "released"),
        (9, "university", True, 1, 1, "released"),
        (28, "university", True, 2, 1, "released"),
        (34, "university", True, 3, 2, "revoked"),
    ]
    assert [row.cumulative_records for row in report.files] == [
        exact(400), exact(800), exact(900), exact(400),
        RecordRange(low=401, high=410), RecordRange(low=1601, high=1610),
    ]  # fmt: skip
    assert report.files[4].records == RecordRange(low=1, high=10)
    assert report.files[2].file_sha256 == sha("bareregistry")
    university, registry, clinic = report.recipients
    assert (university.recipient, university.files, university.files_in_period, university.datasets) == (
        "university", 3, 3, 2,
    )  # fmt: skip
    assert (clinic.files, clinic.files_in_period, clinic.records) == (2, 1, exact(800))
    assert (registry.files, registry.files_in_period, registry.records) == (1, 0, exact(900))


def exact(number: int) -> RecordRange:
    return RecordRange(low=number, high=number)


def test_expected_reidentifications_add_up_over_files() -> None:
    log = Chronicle()
    for number, expected in enumerate((0.25, 1.5, 2.0)):
        log.after(days=1).publish(f"r{number}", risk={"highest": 0.05 + number / 100, "expected": expected})
    files = log.audit().files
    assert [row.cumulative_expected for row in files] == [0.25, 1.75, 3.75]
    recipient = log.audit().recipients[0]
    assert (recipient.expected, recipient.highest_risk) == (3.75, 0.07)


def test_certificates_in_force_and_when_they_lapse(report: AuditReport) -> None:
    assert cells(report.certificates, "entry", "valid_until", "days_left", "lapses_within") == [
        (9, date(2026, 4, 30), 30, 30),
        (31, date(2026, 5, 15), 45, 60),
        (28, date(2026, 6, 20), 81, 90),
        (6, date(2026, 12, 31), 275, None),
    ]


@pytest.mark.parametrize(("days", "within"), [(0, 30), (30, 30), (31, 60), (60, 60), (61, 90), (90, 90), (91, None)])
def test_both_ends_of_a_lapse_count(days: int, within: int | None) -> None:
    log = Chronicle()
    log.publish("one", valid_until=date.fromordinal(QUARTER.last.toordinal() + days))
    assert [row.lapses_within for row in log.audit().certificates] == [within]


def test_a_certificate_is_none_without_its_file_or_after_its_end() -> None:
    log = Chronicle()
    log.request("waiting")
    log.decide("waiting", verdict="awaiting review", reviews_required=1, reviewers=(FIRST,))
    log.publish("gone", valid_until=date(2026, 3, 30))
    log.publish("taken back")
    log.revoke("taken back")
    assert log.audit().certificates == ()


def reassessed(verdict: str, before: str, due: date, next_due: date, **others: Any) -> dict[str, object]:
    given: dict[str, Any] = {"gates": (), "because": ("Said.",), "repeated": False} | others
    body = bodies.ReassessedBody(
        record_sha256=sha("record"), verdict=verdict, before=before, reassessment_sha256=sha("made"), due=due,
        next_due=next_due, **given,
    )  # fmt: skip
    return bodies.reassessed(body)


def test_reassessments_of_the_period_are_done_changed_and_late() -> None:
    log = Chronicle()
    log.on(2025, 12, 1).publish("one")
    log.on(2025, 12, 20).add(
        Event.REASSESSED, reassessed("holds", "holds", date(2026, 3, 1), date(2026, 1, 20)), "one", "university"
    )
    gates = ("transparent.maximum_risk",)
    log.on(2026, 1, 25).add(
        Event.REASSESSED,
        reassessed("would be blocked", "holds", date(2026, 1, 20), date(2026, 2, 24), gates=gates),
        "one",
        "university",
    )
    log.on(2026, 2, 24).add(
        Event.REASSESSED,
        reassessed("would be blocked", "would be blocked", date(2026, 2, 24), date(2026, 3, 26), repeated=True),
        "one",
        "university",
    )
    report = log.audit()
    assert report.reassessments == 3
    assert cells(report.reassessed, "verdict", "before", "changed", "repeated", "gates", "days_late") == [
        ("would be blocked", "holds", True, False, gates, 5),
        ("would be blocked", "would be blocked", False, True, (), None),
    ]
    assert [(row.due, row.days_late, row.last) for row in report.overdue] == [
        (date(2026, 3, 26), 5, datetime(2026, 2, 24, 9, tzinfo=UTC))
    ]


@pytest.mark.parametrize(("days", "late"), [(30, 60), (89, 1), (90, None), (None, None)])
def test_a_copy_that_was_never_assessed_again_is_overdue_by_its_policy(days: int | None, late: int | None) -> None:
    log = Chronicle()
    log.on(2025, 12, 31).publish("one", policy=policy("1") | {"reassess_days": days})
    assert [row.days_late for row in log.audit().overdue] == ([] if late is None else [late])


def test_reassessments_are_none_recorded_but_what_the_ledger_knows_of_them(report: AuditReport) -> None:
    assert report.reassessments == 0
    assert cells(report.past_due, "entry", "recipient", "valid_until", "days_past", "renewed_by") == [
        (3, "clinic", date(2026, 3, 20), 11, sha("renewed"))
    ]
    assert cells(report.renewals, "entry", "release_id", "earlier_release_id", "changed", "days_late") == [
        (30, sha("renewed"), sha("old"), False, None),
        (33, sha("leaked"), sha("reviewed"), False, None),
        (39, sha("waiting"), sha("stopped"), True, None),
    ]


def test_a_renewal_after_the_last_day_is_late() -> None:
    log = Chronicle()
    log.publish("one", valid_until=date(2026, 1, 31))
    log.on(2026, 2, 4).request("two")
    log.decide("two", verdict="blocked", output_sha256=None)
    row = log.audit().renewals[0]
    assert (row.days_late, row.changed, row.verdict) == (4, True, "blocked")
    assert [one.renewed_by for one in log.audit().past_due] == [None]


def test_overrides_and_who_made_them(report: AuditReport) -> None:
    assert cells(report.interventions, "entry", "what", "by", "role", "reason", "signed", "outcome") == [
        (22, "override of reviewers", OFFICER, "officer", "The purpose was amended", False, "released"),
        (36, "revocation", STEWARD, "requester", "Agreement broken", False, "revoked"),
    ]


def test_overrides_stay_in_every_later_audit_and_revocations_in_their_period() -> None:
    later = busy_quarter().audit(Period(date(2026, 4, 1), date(2026, 4, 9)))
    assert cells(later.interventions, "entry", "in_period") == [(22, False)]


def test_an_override_of_gates_tells_what_the_officer_has_answered_for() -> None:
    log = Chronicle()
    over = {"id": "transparent.maximum_risk", "comparison": "at most", "measured": 0.12, "threshold": 0.09,
            "passed": False}  # fmt: skip
    log.request("stopped")
    log.decide("stopped", verdict="blocked", officers=(OFFICER,), gates=(over,), output_sha256=None)
    body = {
        "by": OFFICER, "reason": "Public interest", "blocked_record_sha256": sha("recordstoppeduniversity"),
        "inputs": sha("inputs"), "valid_until": "2026-02-28", "gates": [{"id": over["id"], "measured": 0.12}],
    }  # fmt: skip
    log.add(Event.OVERRIDDEN, body, "stopped", "university")
    row = log.audit().interventions[0]
    assert (row.what, row.until, row.outcome) == ("override of gates", date(2026, 2, 28), "blocked")
    assert row.figures == (
        "Highest risk of a record from a recipient who knows the method: 0.12 measured, at most 0.09 required",
    )
    log.publish("passed over", gates=(over,), officers=(OFFICER,))
    assert [one.overridden for one in log.audit().files] == [("transparent.maximum_risk",)]


def test_policies_and_who_asked_for_them(report: AuditReport) -> None:
    assert cells(report.policies, "entry", "version", "before_version", "same_version", "requested_by", "login") == [
        (8, "2026.1", "2025.1", False, STEWARD, "steward"),
        (16, "2026.2", "2026.1", False, STEWARD, "steward"),
        (39, "2026.2", "2026.2", True, STEWARD, "steward"),
    ]
    assert report.policies[2].sha256 == policy("2026.2", "edited")["sha256"]


def gate(measured: float | None, threshold: float, comparison: str = "at most", **more: Any) -> dict[str, Any]:
    """A gate on the greatest risk, or, where a figure must be large, on the information kept."""
    name = "transparent.maximum_risk" if comparison == "at most" else "released.information_kept"
    passed = measured is not None and (measured <= threshold if comparison == "at most" else measured >= threshold)
    return {"id": name, "comparison": comparison, "measured": measured, "threshold": threshold, "passed": passed} | more


@pytest.mark.parametrize(
    ("one", "used"),
    [
        (gate(0.081, 0.09), 0.9),
        (gate(0.0809, 0.09), None),
        (gate(0.045, 0.05), 0.9),
        (gate(0.09, 0.09), 1.0),
        (gate(0.0, 0.0), None),
        (gate(0.1, 0.09), None),
        (gate(None, 0.09), None),
        (gate(0.8, 0.76, "at least"), 0.95),
        (gate(0.9, 0.76, "at least"), None),
        (gate(0.0, 0.0, "at least"), None),
        (gate(0.01, 0.01, id="released.suppressed_share"), None),
        (gate(0.05, 0.05, id="released.suppressed_share"), 1.0),
        (gate(5.0, 5.0, "at least", id="released.smallest_class"), None),
        (gate(20.0, 19.0, "at least", id="released.smallest_class"), 0.95),
        (gate(0.5, 0.5, id="of another version"), 1.0),
    ],
)
def test_figures_near_their_threshold(one: dict[str, Any], used: float | None) -> None:
    """Shares are of 400 records, of which fewer than 11 are not told: 1 % are 4, 5 % are 20."""
    log = Chronicle()
    log.publish("one", gates=(one,))
    near = log.audit().near
    assert [row.used for row in near] == ([] if used is None else [pytest.approx(used)])
    assert [row.near for row in log.audit().gates] == [len(near)]


def test_figures_of_blocked_releases_are_counted_and_not_near() -> None:
    log = Chronicle()
    log.request("one")
    log.decide("one", verdict="blocked", gates=(gate(0.089, 0.09), gate(0.5, 0.6, "at least")), output_sha256=None)
    log.publish("two", gates=(gate(0.045, 0.09),))
    report = log.audit()
    assert report.near == ()
    assert [(row.gate, row.judged, row.failed, row.compared) for row in report.gates] == [
        ("transparent.maximum_risk", 2, 0, 2),
        ("released.information_kept", 1, 1, 1),
    ]
    first = report.gates[0]
    assert (first.lowest, first.median, first.highest) == pytest.approx((0.5, 0.7444444, 0.9888888))


def attack(share: float, people: int = 400, intruder: str = "informed") -> dict[str, Any]:
    return {"intruder": intruder, "title": "nearest", "share": share, "low": share / 2, "high": min(1, share * 2),
            "baseline": 1 / people, "people": people, "proves_something": True}  # fmt: skip


def test_results_of_attacks_over_time() -> None:
    log = Chronicle()
    for month, share in ((1, 0.25), (1, 0.75), (3, 0.5)):
        log.on(2026, month, 7).after(hours=len(log.rows)).publish(f"r{len(log.rows)}", attacks=(attack(share),))
    report = log.audit(Period(date(2026, 1, 1), date(2026, 12, 31)), at(2027, 1, 3))
    assert [row.share.low for row in report.attacks] == [0.25, 0.75, 0.5]
    months = [(part.first_day.month, [(one.attacks, one.median, one.highest) for one in part.attacks])
              for part in report.intervals]  # fmt: skip
    assert months == [(1, [(2, 0.5, 0.75)]), (2, []), (3, [(1, 0.5, 0.5)]), *((month, []) for month in range(4, 13))]


@pytest.mark.parametrize(
    ("share", "told"),
    [(0.0, (0.0, 0.0)), (0.01, (0.0, 0.0275)), (0.0275, (0.0275, 0.0275)), (0.99, (0.9725, 1.0)), (1.0, (1.0, 1.0))],
)
def test_a_share_of_few_people_is_a_bound_and_has_no_interval(share: float, told: tuple[float, float]) -> None:
    log = Chronicle()
    log.publish("one", attacks=(attack(share),))
    row = log.audit().attacks[0]
    assert row.share == ShareRange(low=told[0], high=told[1])
    assert (row.interval is None) is (told[0] != told[1])


def test_traces_name_whom_the_ledger_names_and_nobody_else(report: AuditReport) -> None:
    assert cells(
        report.traces, "entry", "by", "verdict", "named", "released_at", "response_entry", "response_hours"
    ) == [
        (35, "responder", "decoys", ("university",), at(2026, 3, 3, 9, 2), 36, 30.0),
        (37, "responder", "refused", (), at(2025, 3, 20, 9, 2), None, None),
    ]
    text = "".join(row.model_dump_json() for row in report.traces)
    assert "broker" not in text
    assert sha("incident") not in text


def test_the_response_is_to_who_was_named_and_after_the_trace() -> None:
    log = Chronicle()
    log.request("one")
    log.decide("one", "clinic")
    log.decide("one", "broker")
    log.deliver("one", "clinic")
    log.deliver("one", "broker")
    log.after(hours=1).revoke("one", recipient="clinic")
    log.after(hours=1).trace("one", "decoys", ["broker"])
    assert log.audit().traces[0].response is None
    log.after(hours=36).revoke("one", recipient="broker")
    assert log.audit().traces[0].response_hours == 36
    log.on(2026, 4, 2)
    assert log.audit(Period(date(2026, 1, 1), date(2026, 1, 5))).traces[0].response is None


def test_agreements_that_end_and_copies_to_destroy(report: AuditReport) -> None:
    assert cells(report.agreements, "agreement", "expires", "days_left", "lapses_within", "files") == [
        ("DUA-clinic", date(2026, 3, 20), -11, None, 1),
        ("DUA-clinic-2", date(2026, 5, 20), 50, 60, 1),
    ]
    assert cells(report.destructions, "entry", "because", "due", "days_past") == [
        (34, "release revoked", date(2026, 3, 11), 20),
        (3, "agreement ended", date(2026, 3, 20), 11),
    ]


def test_an_agreement_that_was_prolonged_has_not_ended() -> None:
    log = Chronicle()
    log.publish("one", agreement={"id": "A", "expires": date(2026, 2, 1)}, valid_until=date(2026, 2, 1))
    assert len(log.audit().destructions) == 1
    log.on(2026, 2, 2).publish("two", agreement={"id": "A", "expires": date(2029, 2, 1)})
    assert log.audit().destructions == ()
    assert log.audit().agreements == ()


def test_duties_were_kept_apart(report: AuditReport) -> None:
    duties = report.duties
    assert (duties.votes, duties.overrides, duties.deliveries, duties.exceptions) == (4, 1, 4, ())
    assert (duties.unsigned_votes, duties.votes_from_requesters_login) == (4, 0)


REVIEWED = {"verdict": "awaiting review", "reviews_required": 1, "reviewers": (FIRST,), "officers": (OFFICER,)}


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        (lambda log: log.vote("one", "a. STEWARD"), ["vote by the requester", "vote by a person whom the policy"]),
        (lambda log: log.vote("one", FIRST, actor="Steward (inbox)"), ["vote from the login that the request came"]),
        (lambda log: log.vote("one", SECOND), ["vote by a person whom the policy does not name"]),
        (lambda log: log.override("one", STEWARD), ["override by the requester", "override by a person"]),
        (lambda log: (log.override("one"), log.vote("one", OFFICER)), ["vote by a person", "vote by an officer who"]),
        (
            lambda log: (log.vote("one", FIRST, actor="shared"), log.vote("one", SECOND, actor="Shared (page)")),
            ["vote by a person whom the policy does not name", "votes under different names from one login"],
        ),
        (lambda log: (log.vote("one", FIRST, actor="shared"), log.vote("one", FIRST, actor="shared")), []),
        (lambda log: log.deliver("one"), ["delivery without the approvals"]),
        (lambda log: (log.open_votes("one", Event.APPROVED), log.deliver("one")), ["delivery without the approvals"]),
        (lambda log: (log.vote("one", FIRST), log.open_votes("one", Event.APPROVED), log.deliver("one")), []),
    ],
)
def test_duties_that_were_not_kept_apart_are_computed(steps: Any, told: list[str]) -> None:
    log = Chronicle()
    log.request("one")
    log.decide("one", **REVIEWED)
    steps(log.after(hours=1))
    found = log.audit().duties.exceptions
    assert len(found) == len(told)
    assert all(row.what.startswith(what) for row, what in zip(found, told, strict=True))
    assert all(person_key(row.who) for row in found)


@pytest.mark.parametrize(
    ("people", "actor", "told"),
    [
        ([(FIRST, "reviewer", "okafor")], "okafor", []),
        ([(FIRST, "reviewer", "okafor")], "Okafor (reviewer's page)", []),
        ([(FIRST, "reviewer", "okafor")], "brandt", ["vote from a login that is not this person's, not signed"]),
        ([(FIRST, "requester", "okafor")], "okafor", ["vote by a person who was not enrolled as reviewer"]),
        ([(SECOND, "reviewer", "brandt")], "okafor", ["vote by a person who was not enrolled as reviewer"]),
    ],
)
def test_people_who_were_not_enrolled_are_exceptions(people: Any, actor: str, told: list[str]) -> None:
    log = Chronicle()
    items = [
        {"kind": "person", "id": f"p{number}", "name": name, "roles": [role], "logins": [login]}
        for number, (name, role, login) in enumerate(people)
    ]
    log.add(Event.ENROLLED, {"items": items, "by": None, "first": True})
    log.request("one")
    log.decide("one", **REVIEWED)
    log.after(hours=1).vote("one", FIRST, actor=actor)
    assert [row.what for row in log.audit().duties.exceptions] == told


def test_a_file_that_left_although_it_was_blocked_is_an_exception() -> None:
    log = Chronicle()
    log.request("one")
    log.decide("one", verdict="blocked")
    log.deliver("one")
    report = log.audit()
    assert [row.what for row in report.duties.exceptions] == [
        "delivery without the approvals that the decision required"
    ]
    assert report.requests[0].outcome == "contradictory"
    assert [(one.release_id, one.where) for one in report.chain.contradictions] == [(sha("one"), "ledger entry 3")]


def test_entries_after_the_period_do_not_show() -> None:
    before = busy_quarter()
    after = busy_quarter()
    after.on(2026, 4, 5).revoke("first", OFFICER, WorkflowRole.OFFICER)
    told = [log.audit().model_dump(exclude={"chain"}) for log in (before, after)]
    assert told[0] == told[1]


def test_a_day_ends_at_midnight_in_utc() -> None:
    log = Chronicle(datetime(2026, 3, 31, 23, 59, 59, tzinfo=UTC))
    log.request("last")
    log.after(seconds=1).request("next")
    assert [row.release_id for row in log.audit().requests] == [sha("last")]


def test_an_empty_ledger_has_an_audit() -> None:
    report = Chronicle().audit()
    assert (report.requests, report.files, report.outcomes, report.chain.entries) == ((), (), {}, 0)
