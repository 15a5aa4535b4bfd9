"""The same request asked again after copies held by the same party were revoked or released: decided again, once."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import flows.actions.reviewing
import flows.gate.publishing
from flows.actions.overruling import revoke
from flows.actions.reviewing import overview
from flows.gate.outcome import Outcome
from flows.reassessment.run import reassess
from flows.releases.cases import ReleaseAction
from flows.service.config import service_of
from flows.service.intake import Arrival, receive
from flows.workspace.actor import acting_as
from flows.workspace.ledger import open_ledger
from tasks.core.errors import BadInput, StageFailed
from tasks.decision.record import DecisionRecord, Verdict
from tasks.decision.states import State
from tasks.delivery.verification import verify_bundle
from tasks.ledger.entry import Entry, Event
from tasks.reassessment.record import TodaysVerdict
from tests.flows.test_overridden_release import Killed, killed
from tests.flows.test_same_party import AGES, AREAS, record_of
from tests.support.acting import cast_vote
from tests.support.world import NOW, UNIVERSITY, World, recipient

pytestmark = pytest.mark.slow

OFFICER, REVIEWER = "P. Officer", "R. Reviewer"
TERMS = {"review": {"officers": [OFFICER]}}
REVIEWED = {"review": {"required": 1, "reviewers": [REVIEWER], "officers": [OFFICER]}}
CLINIC = recipient("clinic")


class Office:
    """A workspace in which several requests are released, one a day."""

    def __init__(self, world: World, engine: Any) -> None:
        self.world, self.engine, self.day = world, engine, 0

    def at(self) -> Any:
        """A clock that shows the present day."""
        now = NOW + timedelta(days=self.day)
        return lambda: now

    def again(self, engine: Any = None) -> Outcome:
        """The request that is there, a day later."""
        self.day += 1
        return self.world.run(engine or self.engine, clock=self.at())

    def release(self, title: str, engine: Any = None, **changes: Any) -> Outcome:
        self.world.ask(title=title, **{"policy": TERMS} | changes)
        return self.again(engine)

    def action(self, release: str, by: str, who: str | None = None) -> ReleaseAction:
        return ReleaseAction(release, self.world.workspace, by, "Never delivered.", who, clock=self.at())

    def revoke(self, release: str, who: str | None = None) -> None:
        revoke(self.action(release, OFFICER, who))

    def approve(self, release: str) -> Any:
        return cast_vote(self.action(release, REVIEWER, "university"), "approve")

    def queued(self) -> str:
        """The id under which the service takes the request in."""
        arrival = Arrival(self.world.request.read_bytes(), "inbox", "request.yaml", (self.world.folder,))
        return receive(service_of(self.world.workspace.root), arrival, clock=self.at()).entry.id

    def entries(self, event: Event | None = None) -> tuple[Entry, ...]:
        with open_ledger(self.world.workspace) as ledger:
            ledger.verify()
            return ledger.entries(event=event)

    def record(self, release: str, who: str = "university") -> DecisionRecord:
        """Of a bundle that is verified."""
        with open_ledger(self.world.workspace) as ledger:
            return verify_bundle(self.world.workspace.bundle(release), ledger).records[who]

    def state(self, release: str) -> State:
        (shown,) = overview(release, self.world.workspace, clock=self.at())
        return shown.case.standing.state


@pytest.fixture
def office(world: World, engine: Any) -> Office:
    return Office(world, engine)


def test_a_request_that_an_earlier_copy_blocked_is_decided_anew_once_that_is_revoked(office: Office) -> None:
    first = office.release("first", **AGES).release_id
    blocked = office.release("second", **AREAS)
    assert record_of(blocked).decision is Verdict.BLOCKED
    assert office.again().repeated, "nothing has changed"
    (released,) = office.entries(Event.RELEASED)
    office.revoke(first)
    (revoked,) = office.entries(Event.REVOKED)

    made = office.again()
    assert not made.repeated
    assert record_of(made).decision is Verdict.APPROVED
    record, decided = office.record(made.release_id), office.entries(Event.DECIDED)
    assert decided[1].body["beside"] == [released.sequence]
    assert "beside" not in decided[2].body
    assert (record.inputs_id, record.earlier and record.earlier.copies) == (blocked.release_id, ())
    before = record.decided_before
    assert before is not None
    assert (before.release_id, before.decision, before.entry_sha256) == (
        blocked.release_id,
        "blocked",
        decided[1].sha256,
    )
    assert [(one.release_id, one.recipient, one.change, one.entry_sha256) for one in before.changes] == [
        (first, "university", "revoked", revoked.sha256)
    ]
    assert before.entries == tuple(sorted([decided[1].sha256, revoked.sha256]))
    assert decided[2].body["decided_before"] == before.model_dump(mode="json")
    assert record.seed_commitment_sha256 == office.record(blocked.release_id).seed_commitment_sha256
    assert office.state(blocked.release_id) is State.BLOCKED

    known = office.entries()
    again = office.again()
    assert (again.repeated, again.release_id) == (True, made.release_id)
    assert office.entries() == known
    (found,) = reassess(made.release_id, office.world.workspace, clock=office.at())
    assert found.verdict is TodaysVerdict.HOLDS


def test_a_copy_that_is_superseded_or_expired_stays_in_the_hand(office: Office) -> None:
    first = office.release("first", **AGES).release_id
    office.release("third", **AGES, supersedes=first)
    assert office.state(first) is State.SUPERSEDED
    blocked = office.release("second", **AREAS)
    assert record_of(blocked).earlier is not None
    office.day = 400
    assert office.state(first) is State.SUPERSEDED
    known = len(office.entries())
    assert office.again().repeated
    assert len(office.entries()) == known


def test_a_request_that_awaits_review_is_decided_anew_beside_a_copy_that_it_did_not_see(office: Office) -> None:
    with acting_as("clerk"):
        waiting = office.release("second", **AREAS, policy=REVIEWED).release_id
    assert office.state(waiting) is State.AWAITING_REVIEW
    copy = office.release("first", **AGES).release_id
    asked = office.world.request
    with pytest.raises(StageFailed, match="another copy was delivered to the same party") as caught:
        office.approve(waiting)
    assert caught.value.fix.endswith(f": releasegate release {asked}")
    assert office.state(waiting) is State.AWAITING_REVIEW

    beside = office.release("second", **AREAS, policy=REVIEWED)
    assert (beside.repeated, record_of(beside).decision) == (False, Verdict.BLOCKED)
    before = office.record(beside.release_id).decided_before
    assert before is not None
    assert (before.release_id, before.decision) == (waiting, "awaiting review")
    assert [(one.release_id, one.change) for one in before.changes] == [(copy, "released")]
    assert office.state(waiting) is State.SUPERSEDED
    assert not office.world.workspace.pending(waiting, "university").exists()
    with pytest.raises(StageFailed, match="superseded and takes no votes"):
        office.approve(waiting)
    assert office.again().repeated

    office.revoke(copy)
    alone = office.again().release_id
    assert len({waiting, beside.release_id, alone}) == 3
    assert office.record(alone).inputs_id == waiting
    assert office.state(alone) is State.AWAITING_REVIEW
    with acting_as("clerk"), pytest.raises(BadInput, match="may neither review nor override"):
        flows.actions.reviewing.cast_vote(office.action(alone, REVIEWER), "approve")
    assert office.approve(alone).standing.state is State.RELEASED
    assert office.again().repeated
    assert [str(one.release_id) for one in office.entries(Event.RELEASED)] == [copy, alone]


def test_recipients_whose_decision_stands_keep_it(office: Office) -> None:
    first = office.release("first", **AGES).release_id
    both = office.release("second", **AREAS, recipients=[UNIVERSITY, CLINIC])
    assert [record.decision for record in both.records] == [Verdict.BLOCKED, Verdict.APPROVED]
    assert office.queued() == both.release_id
    office.revoke(first)
    queued = office.queued()
    made = office.again()
    assert queued == made.release_id == office.queued()
    assert [record.release_id for record in made.records] == [made.release_id, both.release_id]
    assert [record.decision for record in made.records] == [Verdict.APPROVED] * 2
    assert [path.name for path in (made.bundle / "decision").iterdir()] == ["university.json"]
    assert len(office.entries(Event.RELEASED)) == 3
    assert office.again().repeated


def test_a_crash_decides_anew_once_or_not_at_all(office: Office) -> None:
    first = office.release("first", **AGES).release_id
    office.release("second", **AREAS)
    office.revoke(first)
    for point, decided in (("replace_undecided", 2), ("check_hand", 2), ("publish", 3)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(flows.gate.publishing, point, killed)
            with pytest.raises(Killed):
                office.again()
        assert len(office.entries(Event.DECIDED)) == decided
    made = office.again()
    assert (made.repeated, record_of(made).decision) == (True, Verdict.APPROVED)
    assert len({one.release_id for one in office.entries(Event.DECIDED)}) == len(office.entries(Event.DECIDED)) == 3
    assert office.record(made.release_id).decision is Verdict.APPROVED
    shutil.rmtree(made.bundle)
    with pytest.raises(StageFailed, match="is not decided again without its bundle"):
        office.again()


def while_made(office: Office, act: Callable[[], object]) -> Any:
    """An engine in whose first run something else happens before its result is published."""
    acts = iter([act])

    @contextmanager
    def slow(home: Path, results: Path) -> Iterator[Any]:
        with office.engine(home, results) as take:
            yield take
            for one in acts:
                one()

    return slow


def test_nothing_is_decided_anew_for_a_reason_that_has_gone_meanwhile(office: Office) -> None:
    waiting = office.release("second", **AREAS, policy=REVIEWED).release_id
    copy = office.release("first", **AGES).release_id
    slow = while_made(office, lambda: office.revoke(copy))
    with pytest.raises(StageFailed, match="the reason to decide this request anew no longer holds"):
        office.release("second", slow, **AREAS, policy=REVIEWED)
    assert len(office.entries(Event.DECIDED)) == 2
    again = office.again()
    assert (again.repeated, again.release_id) == (True, waiting)
    assert office.approve(waiting).standing.state is State.RELEASED


@pytest.mark.parametrize("reviewed", [False, True])
def test_of_two_at_once_to_recipients_who_share_neither_is_approved_unseen(office: Office, reviewed: bool) -> None:
    """Neither of them had a copy before, so that nothing was compared."""
    together = {"reassessment": {"together": [["institute", "university"]]}}
    institute = {"recipients": [recipient("institute")], "policy": TERMS | together}

    def other() -> Outcome:
        return office.release("other", **AREAS, **institute)

    if reviewed:
        waiting = office.release("one", **AGES, policy=REVIEWED | together).release_id
        other()
        with pytest.raises(StageFailed, match="another copy was delivered to the same party"):
            office.approve(waiting)
    record = record_of(
        office.release(
            "one",
            None if reviewed else while_made(office, other),
            **AGES,
            policy=REVIEWED | together if reviewed else TERMS | together,
        )
    )
    assert record.decision is Verdict.BLOCKED
    assert record.earlier is not None
    assert [one.recipient for one in record.earlier.copies] == ["institute"]
