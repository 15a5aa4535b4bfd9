"""Where a release stands: the ways through the table by entries, and entries that contradict table, people or time."""

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from tasks.core.canonical import digest
from tasks.core.errors import BadInput, StageFailed
from tasks.core.people import WorkflowRole, person_key
from tasks.decision import bodies
from tasks.decision.record import DecisionRecord, Verdict
from tasks.decision.standing import Standing, officer_of, reviewer_of, revoking_roles, standing
from tasks.decision.states import State
from tasks.decision.votes import Ballot, new_nonce
from tasks.ledger.entry import Entry, Event
from tests.support import records

NOON = datetime(2026, 3, 9, 12, 0, tzinfo=UTC)
TODAY = NOON.date()
FIRST, SECOND, OFFICER = "M. Okafor", "J. Brandt", "P. Officer"
RECORD = records.changed(
    records.awaiting_review(), reviews=(), reviews_required=2, reviewers=(FIRST, SECOND), officers=(OFFICER,)
)
SHA256 = digest(RECORD)
Step = tuple[Event, Mapping[str, object]]


def told(*steps: Step, record: DecisionRecord = RECORD, day: date = TODAY, at: datetime = NOON) -> Standing:
    entries = [
        Entry(number, at, event, record.release_id, record.recipient.id, "gate", body, "0" * 64, "0" * 64)
        for number, (event, body) in enumerate(steps, start=1)
    ]
    return standing(entries, record, digest(record), day)


def ballot(reviewer: str, vote: Any = "approve") -> Ballot:
    return Ballot(
        release_id=RECORD.release_id,
        recipient=RECORD.recipient.id,
        record_sha256=SHA256,
        reviewer=reviewer,
        vote=vote,
        reason="because",
        nonce=new_nonce(),
    )


def voted(one: Ballot) -> Step:
    return Event.VOTED, bodies.voted(one)


def opened(one: Ballot) -> Step:
    return Event.REVIEWED, bodies.reviewed(one)


ONE, TWO, AGAINST = ballot(FIRST), ballot(SECOND), ballot(SECOND, "reject")
DECIDED: Step = (Event.DECIDED, bodies.decided(RECORD))
APPROVED: Step = (Event.APPROVED, bodies.outcome(SHA256))
REJECTED: Step = (Event.REJECTED, bodies.outcome(SHA256))
RELEASED: Step = (Event.RELEASED, bodies.released(str(RECORD.dataset.output_sha256)))
REVOKED: Step = (Event.REVOKED, bodies.revoked(OFFICER, WorkflowRole.OFFICER, "lost"))
OVERRIDDEN: Step = (Event.OVERRIDDEN, bodies.overridden(OFFICER, "amended"))
SUPERSEDED: Step = (Event.SUPERSEDED, {"by_release": "f" * 64})
IN = (DECIDED, voted(ONE), voted(TWO), opened(ONE), opened(TWO))
OUT = (DECIDED, voted(ONE), voted(AGAINST), opened(ONE), opened(AGAINST), REJECTED)


@pytest.mark.parametrize(
    ("steps", "state"),
    [
        ((DECIDED,), State.AWAITING_REVIEW),
        ((DECIDED, voted(ONE)), State.AWAITING_REVIEW),
        ((*IN, APPROVED), State.APPROVED),
        ((*IN, APPROVED, RELEASED), State.RELEASED),
        ((*IN, APPROVED, RELEASED, REVOKED), State.REVOKED),
        ((*IN, APPROVED, RELEASED, SUPERSEDED), State.SUPERSEDED),
        ((*IN, APPROVED, RELEASED, SUPERSEDED, REVOKED), State.REVOKED),
        (OUT, State.BLOCKED),
        ((*OUT, OVERRIDDEN), State.AWAITING_REVIEW),
        ((*OUT, OVERRIDDEN, *IN[1:], APPROVED), State.APPROVED),
        ((DECIDED, REVOKED), State.REVOKED),
        ((DECIDED, SUPERSEDED), State.SUPERSEDED),
        ((Event.ASSESSED, {}), State.AWAITING_REVIEW),
    ],
)
def test_states_follow_from_entries(steps: tuple[Any, ...], state: State) -> None:
    every = (DECIDED, steps) if steps[0] is Event.ASSESSED else steps
    assert told(*every).state is state


def test_votes_are_told_by_name_until_they_are_open() -> None:
    changed = ballot(FIRST, "reject")
    waiting = told(DECIDED, voted(changed), voted(ONE))
    assert waiting.commitments == {FIRST: ONE.commitment}
    assert waiting.reviews == ()
    done = told(*IN, APPROVED)
    assert [(one.reviewer, one.vote, one.at) for one in done.reviews] == [
        (FIRST, "approve", NOON),
        (SECOND, "approve", NOON),
    ]
    assert told(*OUT).why == f"Rejected in review. {SECOND}: “because”"
    again = told(*OUT, OVERRIDDEN)
    assert (again.commitments, again.reviews) == ({}, ())
    assert [(one.officer, one.reason) for one in again.overrides] == [(OFFICER, "amended")]


OTHER = records.changed(RECORD, reasons=("All 9 gates passed; 2 reviews are still needed.",))
NOBODY = ballot("Nobody")
ASKED = ballot(RECORD.requested_by)
ANOTHER = ballot(FIRST)


@pytest.mark.parametrize(
    "steps",
    [
        (),
        (voted(ONE),),
        ((Event.DECIDED, bodies.decided(OTHER)),),
        ((Event.DECIDED, {**bodies.decided(RECORD), "decision": "approved"}),),
        ((Event.DECIDED, {}),),
        (DECIDED, APPROVED),
        (DECIDED, REJECTED),
        (DECIDED, RELEASED),
        (DECIDED, voted(ONE), opened(ONE)),
        (DECIDED, voted(ONE), opened(ONE), APPROVED),
        (DECIDED, opened(ONE)),
        (DECIDED, voted(NOBODY)),
        (DECIDED, voted(ASKED)),
        (DECIDED, (Event.VOTED, {**bodies.voted(ONE), "record_sha256": "0" * 64})),
        (DECIDED, (Event.VOTED, {**bodies.voted(ONE), "commitment": 7})),
        (DECIDED, voted(ONE), voted(TWO), opened(ANOTHER), opened(TWO), APPROVED),
        (DECIDED, voted(ONE), voted(TWO), opened(ONE), opened(ONE), APPROVED),
        (DECIDED, voted(ONE), voted(TWO), opened(ONE), voted(ANOTHER), opened(TWO), APPROVED),
        (DECIDED, voted(ONE), voted(TWO), (Event.REVIEWED, {**bodies.reviewed(ONE), "vote": "reject"})),
        (DECIDED, voted(ONE), voted(TWO), (Event.REVIEWED, {**bodies.reviewed(ONE), "nonce": "x"})),
        IN,
        (*IN, REJECTED),
        (*OUT[:-1], APPROVED),
        (*OUT, APPROVED),
        (*OUT, REVOKED),
        (*IN, APPROVED, (Event.RELEASED, bodies.released("0" * 64))),
        (*IN, APPROVED, RELEASED, RELEASED),
        (*IN, APPROVED, RELEASED, voted(ONE)),
        (DECIDED, REVOKED, voted(ONE)),
        (DECIDED, REVOKED, REVOKED),
        (DECIDED, (Event.REVOKED, bodies.revoked(FIRST, WorkflowRole.OFFICER, "x"))),
        (DECIDED, (Event.REVOKED, bodies.revoked(OFFICER, WorkflowRole.REQUESTER, "x"))),
        (DECIDED, (Event.REVOKED, bodies.revoked(OFFICER, WorkflowRole.OFFICER, ""))),
        (DECIDED, (Event.REVOKED, {**bodies.revoked(OFFICER, WorkflowRole.OFFICER, "x"), "role": "king"})),
        (DECIDED, OVERRIDDEN),
        (*OUT, (Event.OVERRIDDEN, bodies.overridden(FIRST, "x"))),
        (*OUT, (Event.OVERRIDDEN, bodies.overridden(RECORD.requested_by, "x"))),
        (DECIDED, REVOKED, DECIDED),
        (*OUT, DECIDED),
    ],
)
def test_entries_that_contradict_are_refused(steps: tuple[Step, ...]) -> None:
    with pytest.raises(StageFailed):
        told(*steps)


LAST = RECORD.valid_until
LATE = datetime(LAST.year, LAST.month, LAST.day, tzinfo=UTC) + timedelta(days=1)
EXPIRED: Step = (Event.EXPIRED, bodies.expired(LAST))


def test_an_expiry_that_was_recorded_stays_whatever_the_clock_says() -> None:
    by_calendar = told(DECIDED, day=LATE.date())
    recorded = told(DECIDED, EXPIRED, at=LATE)
    assert (by_calendar.state, by_calendar.expiry_recorded) == (State.EXPIRED, False)
    assert (recorded.state, recorded.expiry_recorded) == (State.EXPIRED, True)
    assert recorded.why == by_calendar.why
    assert told(DECIDED, EXPIRED, at=LATE, day=TODAY).state is State.EXPIRED


@pytest.mark.parametrize(
    ("steps", "state"), [((EXPIRED, REVOKED), State.REVOKED), ((EXPIRED, SUPERSEDED), State.SUPERSEDED)]
)
def test_what_follows_an_expiry(steps: tuple[Step, ...], state: State) -> None:
    assert told(DECIDED, *steps, at=LATE).state is state
    assert told(DECIDED, *steps[1:], at=LATE).state is state, "by the calendar alone"


@pytest.mark.parametrize(
    "steps",
    [
        (EXPIRED, EXPIRED),
        (EXPIRED, voted(ONE)),
        ((Event.EXPIRED, {"valid_until": "2020-01-01"}),),
        ((Event.EXPIRED, {}),),
        (REVOKED, EXPIRED),
        (SUPERSEDED, EXPIRED),
    ],
)
def test_ends_that_contradict(steps: tuple[Step, ...]) -> None:
    with pytest.raises(StageFailed):
        told(DECIDED, *steps, at=LATE)


def test_no_end_before_its_day_and_no_reopening_after_it() -> None:
    with pytest.raises(StageFailed):
        told(DECIDED, EXPIRED)
    with pytest.raises(StageFailed):
        told(*IN, APPROVED, RELEASED, EXPIRED)
    entries = [
        Entry(number, NOON, event, RECORD.release_id, RECORD.recipient.id, "gate", body, "0" * 64, "0" * 64)
        for number, (event, body) in enumerate(OUT, start=1)
    ]
    late = Entry(
        9, LATE, *OVERRIDDEN[:1], RECORD.release_id, RECORD.recipient.id, "g", OVERRIDDEN[1], "0" * 64, "0" * 64
    )
    with pytest.raises(StageFailed):
        standing([*entries, late], RECORD, SHA256, LATE.date())


def test_who_reopens_a_release_does_not_vote_on_it() -> None:
    both = records.changed(RECORD, reviewers=(FIRST, OFFICER), reviews_required=1)
    sha256 = digest(both)

    def cast(reviewer: str, vote: Any) -> Ballot:
        return ballot(reviewer, vote).model_copy(update={"record_sha256": sha256})

    against = cast(FIRST, "reject")
    rejected = (
        (Event.DECIDED, bodies.decided(both)),
        voted(against),
        opened(against),
        (Event.REJECTED, bodies.outcome(sha256)),
        OVERRIDDEN,
    )
    assert told(*rejected, voted(cast(FIRST, "approve")), record=both).state is State.AWAITING_REVIEW
    with pytest.raises(StageFailed):
        told(*rejected, voted(cast(OFFICER, "approve")), record=both)


def test_a_superseded_release_names_its_successor_and_is_not_decided_again() -> None:
    assert told(*IN, APPROVED, RELEASED, SUPERSEDED).superseded_by == "f" * 64
    for end, at in ((SUPERSEDED, NOON), (EXPIRED, LATE)):
        with pytest.raises(StageFailed, match="not decided again"):
            told(DECIDED, end, DECIDED, at=at)


def test_a_lost_bundle_is_decided_again() -> None:
    """Neither rejected nor revoked; votes on the earlier decision are void."""
    assert told(DECIDED, voted(ONE), DECIDED).commitments == {}
    assert told(*IN, APPROVED, RELEASED, DECIDED).state is State.AWAITING_REVIEW


def test_entries_of_other_recipients_are_passed_over() -> None:
    entry = Entry(1, NOON, Event.REVOKED, RECORD.release_id, "somebody-else", "gate", {}, "0" * 64, "0" * 64)
    own = Entry(2, NOON, Event.DECIDED, RECORD.release_id, RECORD.recipient.id, "gate", DECIDED[1], "0" * 64, "0" * 64)
    assert standing([entry, own], RECORD, SHA256, TODAY).state is State.AWAITING_REVIEW


@pytest.mark.parametrize("steps", [(DECIDED,), (*IN, APPROVED), (*IN, APPROVED, RELEASED)])
def test_what_is_past_its_last_day_has_expired(steps: tuple[Step, ...]) -> None:
    last = RECORD.valid_until
    assert told(*steps, day=last).state is not State.EXPIRED
    after = told(*steps, day=last + timedelta(days=1))
    assert after.state is State.EXPIRED
    assert "was valid until" in after.why or "expired on" in after.why


def test_an_entry_after_the_last_day_is_refused_and_only_an_officer_revokes() -> None:
    late = datetime(RECORD.valid_until.year, RECORD.valid_until.month, RECORD.valid_until.day, 12, tzinfo=UTC)
    late += timedelta(days=1)
    with pytest.raises(StageFailed):
        told(DECIDED, voted(ONE), at=late)
    assert told(DECIDED, REVOKED, at=late).state is State.REVOKED
    by_requester = (Event.REVOKED, bodies.revoked(RECORD.requested_by, WorkflowRole.REQUESTER, "x"))
    assert told(DECIDED, by_requester).state is State.REVOKED
    with pytest.raises(StageFailed):
        told(DECIDED, by_requester, at=late)


@pytest.mark.parametrize(
    ("record", "state"), [(records.approved(), State.APPROVED), (records.blocked(), State.BLOCKED)]
)
def test_what_the_gate_decides(record: DecisionRecord, state: State) -> None:
    decided = (Event.DECIDED, bodies.decided(record))
    assert told(decided, record=record).state is state
    with pytest.raises(StageFailed):
        told(decided, OVERRIDDEN, record=records.changed(record, officers=(OFFICER,)))
    if record.decision is Verdict.BLOCKED:
        assert told(decided, record=record, day=record.valid_until + timedelta(days=1)).state is State.BLOCKED


def test_a_record_from_before_reviews_were_taken_can_be_read_and_nobody_reviews_it() -> None:
    document = RECORD.model_dump(mode="json")
    del document["reviewers"], document["officers"]
    old = DecisionRecord.model_validate_json(json.dumps(document))
    decided = (Event.DECIDED, bodies.decided(old))
    assert told(decided, record=old).state is State.AWAITING_REVIEW
    with pytest.raises(BadInput, match="name you as a reviewer"):
        reviewer_of(old, FIRST)


def test_a_person_goes_by_one_name_however_it_is_spelled() -> None:
    assert person_key(" m.  OKAFOR ") == person_key(FIRST)
    assert person_key("Ｍ. Okafor") == person_key(FIRST)
    assert person_key("M. Oka\u200bfor\ufe0f") == person_key(FIRST), "characters that nobody sees"
    assert person_key("M Okafor") == person_key(FIRST)
    assert person_key("J. O'Brien") == person_key("J. O’Brien") == person_key("j. o´brien")
    assert person_key("A. Meier-Lang") == person_key("A. Meier\u2010Lang")
    assert person_key("\u0390") == person_key("\u03aa\u0301"), "cases that fold to different forms"
    assert person_key("N. Okafor") != person_key(FIRST)
    assert person_key("…") != "", "a name of nothing else stands for itself"
    both = records.changed(RECORD, officers=(RECORD.requested_by.upper(),))
    assert revoking_roles(both, RECORD.requested_by) == {WorkflowRole.OFFICER, WorkflowRole.REQUESTER}
    with pytest.raises(BadInput, match="may not override"):
        officer_of(both, RECORD.requested_by)


@pytest.mark.parametrize(
    "spelling",
    [
        "Dana Whitfield",
        "Dr. Dana Whitfield",
        "Whitfield, Dana",
        "D. Whitfield",
        "D\u0430na Whitfield",
        "Dána Whitfield",
        "Dana WhitfieId",
    ],
)
def test_a_requester_neither_reviews_nor_overrides_under_another_spelling(spelling: str) -> None:
    own = records.changed(
        RECORD,
        requested_by="Dana Whitfield, data steward",
        reviewers=(spelling, SECOND),
        officers=(spelling, OFFICER),
    )
    with pytest.raises(BadInput, match="may not review"):
        reviewer_of(own, spelling)
    with pytest.raises(BadInput, match="may not override"):
        officer_of(own, spelling)
    assert reviewer_of(own, SECOND) == SECOND
    vote = ballot(spelling)
    with pytest.raises(StageFailed, match="contradict each other"):
        told((Event.DECIDED, bodies.decided(own)), voted(vote), record=own)


def test_the_requester_is_told_as_who_they_are() -> None:
    own = records.changed(RECORD, requested_by="Dana Whitfield", reviewers=("Dana Whitfield", SECOND))
    for name, got in (("Dana Whitfield", "the requester"), ("D. Whitfield", "a name that may be the requester's")):
        with pytest.raises(BadInput) as refused:
            reviewer_of(own, name)
        assert refused.value.got == got
