"""Who asks for a release neither reviews nor overrides it, whatever name is given: the login is remembered."""

import shutil
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import flows.actions.overruling
import flows.actions.reviewing
from flows.library.enrolment import enrol
from flows.people.signing import create_key
from flows.queue.queue import Queue, QueuedRequest, RequestState
from flows.queue.undecided import Submission
from flows.releases.cases import ReleaseAction
from flows.releases.submissions import check_not_submitter, note_late_submissions
from flows.workspace.actor import acting_as, actor
from flows.workspace.ledger import open_ledger
from tasks.core.errors import BadInput, StageFailed, TamperingFound, WorkspaceError
from tasks.core.people import WorkflowRole, other_submitters
from tasks.decision import bodies
from tasks.decision.record import DecisionRecord
from tasks.decision.standing import check_apart
from tasks.decision.states import State
from tasks.decision.votes import Ballot, new_nonce
from tasks.delivery.verification import verify_bundle
from tasks.ledger.enrolment import EnrolledPerson
from tasks.ledger.entry import Event
from tasks.request.gate import DEFAULT_GATES
from tests.support.world import BROKER, NOW, UNIVERSITY, World, make_world

ONE, OTHER, OFFICER = "Mary Okafor", "Jan Brandt", "Paul Ortiz"
DESK = "desk"
PASSPHRASE = "ibex saiga marmot quoll"
REVIEW = {
    "required": 1,
    "reviewers": [ONE, OTHER],
    "officers": [OFFICER],
    "overridable": [gate.measure.value for gate in DEFAULT_GATES],
}


@pytest.fixture(scope="module")
def decided(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[World, str]:
    """A release that the desk has handed in: it awaits review for one recipient, and is blocked for the other."""
    world = make_world(tmp_path_factory.mktemp("waiting") / "world")
    world.ask(policy={"review": REVIEW}, recipients=[UNIVERSITY, BROKER])
    with acting_as(DESK):
        return world, world.run(engine).release_id


@pytest.fixture
def asked(decided: tuple[World, str], tmp_path: Path) -> Callable[..., ReleaseAction]:
    """An action on a copy of the release."""
    world, name = decided
    shutil.copytree(world.folder.parent, tmp_path / "copy")
    place = World(tmp_path / "copy" / "world").workspace

    def action(by: str, recipient: str = "university", **terms: Any) -> ReleaseAction:
        return ReleaseAction(
            name, place, by=by, reason="Figures recounted.", recipient=recipient, clock=lambda: NOW, **terms
        )

    return action


def record(action: ReleaseAction) -> DecisionRecord:
    path = action.workspace.bundle(action.reference) / f"decision/{action.recipient}.json"
    return DecisionRecord.model_validate_json(path.read_bytes())


def events(action: ReleaseAction) -> list[Event]:
    with open_ledger(action.workspace) as ledger:
        return [entry.event for entry in ledger.entries(release_id=action.reference)]


@pytest.mark.parametrize("login", [DESK, "Desk", "desk (inbox)", "desk (reviewer's page)"])
def test_the_login_that_a_request_came_from_has_no_vote(asked: Callable[..., ReleaseAction], login: str) -> None:
    assert record(asked(ONE)).handed_in_by == DESK
    with acting_as(login), pytest.raises(BadInput, match="login that a request came from"):
        flows.actions.reviewing.cast_vote(asked(ONE), "approve")
    assert Event.VOTED not in events(asked(ONE))
    with acting_as("okafor"):
        assert flows.actions.reviewing.cast_vote(asked(ONE), "approve").standing.state is State.RELEASED


def test_whoever_signs_shows_who_they_are(asked: Callable[..., ReleaseAction], tmp_path: Path) -> None:
    action = asked(ONE)
    place, roles = tmp_path / "key.pem", (WorkflowRole.REVIEWER,)
    create_key(action.workspace, ONE, roles, place, lambda: PASSPHRASE, clock=lambda: NOW)
    with acting_as(DESK), pytest.raises(BadInput, match="login that a request came from"):
        flows.actions.reviewing.cast_vote(asked(OTHER), "approve")
    signed = asked(ONE, key=place, ask=lambda: PASSPHRASE)
    with acting_as(DESK):
        assert flows.actions.reviewing.cast_vote(signed, "approve").standing.state is State.RELEASED
    with open_ledger(action.workspace) as ledger:
        verify_bundle(action.workspace.bundle(action.reference), ledger)


@pytest.mark.parametrize(
    ("handed_in_by", "barred"),
    [
        ("desk (token 0a1b2c3d, made by Ortiz)", True),
        ("desk (submitted again by ortiz)", True),
        ("desk (token 0a1b2c3d, made by desk, submitted again by ortiz)", True),
        ("desk (token 0a1b2c3d, made by brandt)", False),
        ("desk (token 0a1b2c3d)", False),
        ("desk (inbox)", False),
    ],
)
@pytest.mark.parametrize("signed", [False, True])
def test_another_hand_in_a_request_neither_votes_nor_overrides(
    asked: Callable[..., ReleaseAction], handed_in_by: str, barred: bool, signed: bool
) -> None:
    shown = record(asked(ONE)).model_copy(update={"handed_in_by": handed_in_by})
    refused = pytest.raises(BadInput, match="made the token of a request") if barred else nullcontext()
    with refused:
        check_apart(shown, "ortiz (reviewer's page)", "paul.ortiz", signed=signed)


@pytest.mark.slow
@pytest.mark.parametrize("now", [("okafor", "m.okafor"), ("m.okafor",)])
def test_a_person_has_no_vote_at_another_login_than_the_one_that_had_a_hand(
    decided: tuple[World, str], engine: Any, tmp_path: Path, now: tuple[str, ...]
) -> None:
    """Mary Okafor has made the token at one login, which may be hers no more, and votes at another."""
    shutil.copytree(decided[0].folder.parent, tmp_path / "copy")
    world = World(tmp_path / "copy" / "world")
    person = EnrolledPerson(id="mary.okafor", name=ONE, roles=(WorkflowRole.REVIEWER,), logins=("okafor",))
    for logins in (("okafor",), now):
        enrol(world.workspace, [person.model_copy(update={"logins": logins})], OFFICER, clock=lambda: NOW)
    world.ask(title="Handed in with a token", policy={"review": REVIEW}, recipients=[UNIVERSITY])
    with acting_as("desk (token 0a1b2c3d, made by okafor)"):
        name = world.run(engine).release_id
    action = ReleaseAction(
        name, world.workspace, by=ONE, reason="Figures recounted.", recipient="university", clock=lambda: NOW
    )
    with acting_as("m.okafor"), pytest.raises(BadInput, match="made the token of a request"):
        flows.actions.reviewing.cast_vote(action, "approve")


@pytest.mark.parametrize("by", ["okafor (token)", "clerk (token 12ab34cd, made by okafor)"])
def test_who_hands_the_same_request_in_after_its_run_has_begun_neither_votes_nor_overrides(
    asked: Callable[..., ReleaseAction], by: str
) -> None:
    """The record names the first login alone."""
    action = asked(ONE)
    queue = Queue(action.workspace)
    queue.prepare()
    entry = queued(action.reference)
    queue.put(entry)
    with acting_as("okafor"):
        check_not_submitter(action.workspace, record(action), "okafor", "mary.okafor", signed=False)
    queue.put(entry.model_copy(update={"hand_ins": (Submission(by, NOW),)}))
    for signed in (False, True):
        with pytest.raises(BadInput, match="submitted it again"):
            check_not_submitter(action.workspace, record(action), "okafor", "mary.okafor", signed=signed)
        rests = record(action).model_copy(update={"release_id": "f" * 64, "inputs_id": action.reference})
        with pytest.raises(BadInput, match="submitted it again"):
            check_not_submitter(action.workspace, rests, "okafor", "mary.okafor", signed=signed)
    with acting_as("okafor"), pytest.raises(BadInput, match="submitted it again"):
        flows.actions.reviewing.cast_vote(action, "approve")
    with acting_as("okafor"), pytest.raises(BadInput, match="submitted it again"):
        flows.actions.overruling.override_gates(asked_again(action, OFFICER), ["transparent.maximum_risk"])
    (action.workspace.private / "queue/done" / f"{action.reference}.json").write_text("{")
    with acting_as("brandt"), pytest.raises(WorkspaceError):
        flows.actions.reviewing.cast_vote(asked_again(action, OTHER), "approve")


@pytest.fixture(scope="module")
def seconded(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[World, str]:
    """A release that awaits two votes, and whose request the desk has handed in."""
    world = make_world(tmp_path_factory.mktemp("seconded") / "world")
    world.ask(policy={"review": REVIEW | {"required": 2}}, recipients=[UNIVERSITY])
    with acting_as(DESK):
        return world, world.run(engine).release_id


@pytest.fixture
def sealed(seconded: tuple[World, str], tmp_path: Path) -> ReleaseAction:
    """An action of the second reviewer on a copy of it, after the first one's vote."""
    world, name = seconded
    shutil.copytree(world.folder.parent, tmp_path / "copy")
    place = World(tmp_path / "copy" / "world").workspace
    action = ReleaseAction(name, place, by=ONE, reason="Figures recounted.", clock=lambda: NOW)
    with acting_as("okafor"):
        assert flows.actions.reviewing.cast_vote(action, "approve").votes == 1
    return replace(action, by=OTHER)


def handed_in(action: ReleaseAction, by: str) -> None:
    with open_ledger(action.workspace, clock=lambda: NOW) as ledger:
        note_late_submissions(ledger, action.reference, [Submission(DESK, NOW), Submission(by, NOW)], NOW)


def verified(action: ReleaseAction) -> None:
    with open_ledger(action.workspace) as ledger:
        verify_bundle(action.workspace.bundle(action.reference), ledger)


@pytest.mark.parametrize(
    ("by", "votes"),
    [
        ("okafor (token)", 1),
        ("clerk (token 12ab34cd, made by okafor)", 1),
        ("clerk (token 12ab34cd)", 2),
        (f"{DESK} (inbox)", 2),
    ],
)
def test_a_vote_is_void_once_its_reviewer_hands_the_same_request_in(sealed: ReleaseAction, by: str, votes: int) -> None:
    """The release needs two votes of people who took no part in the request; the others' votes stay."""
    handed_in(sealed, by)
    with acting_as("brandt"):
        after = flows.actions.reviewing.cast_vote(sealed, "approve")
    assert after.votes == votes
    assert after.standing.state is (State.RELEASED if votes == 2 else State.AWAITING_REVIEW)
    assert list(after.standing.commitments) == ([ONE, OTHER] if votes == 2 else [OTHER])
    verified(sealed)


def test_a_hand_in_is_recorded_once_for_each_recipient(sealed: ReleaseAction) -> None:
    for _ in range(2):
        handed_in(sealed, "okafor (token)")
    with open_ledger(sealed.workspace) as ledger:
        (entry,) = ledger.entries(event=Event.HANDED_IN)
    assert (entry.recipient, entry.actor, entry.body) == ("university", "okafor (token)", {"people": []})


def test_a_vote_is_void_at_another_login_of_whoever_hands_the_request_in(sealed: ReleaseAction) -> None:
    person = EnrolledPerson(id="mary.okafor", name=ONE, roles=(WorkflowRole.REVIEWER,), logins=("okafor", "m.okafor"))
    enrol(sealed.workspace, [person], OFFICER, clock=lambda: NOW)
    handed_in(sealed, "m.okafor (token)")
    with acting_as("brandt"):
        assert list(flows.actions.reviewing.cast_vote(sealed, "approve").standing.commitments) == [OTHER]


def test_a_vote_is_void_by_the_queue_alone(sealed: ReleaseAction) -> None:
    """The service may have died between queue and ledger."""
    queue = Queue(sealed.workspace)
    queue.prepare()
    queue.put(queued(sealed.reference, Submission("okafor (token)", NOW)))
    with acting_as("brandt"):
        assert list(flows.actions.reviewing.cast_vote(sealed, "approve").standing.commitments) == [OTHER]
    assert events(sealed)[-2:] == [Event.HANDED_IN, Event.VOTED]


def test_votes_that_have_decided_stay(sealed: ReleaseAction) -> None:
    with acting_as("brandt"):
        flows.actions.reviewing.cast_vote(sealed, "approve")
    handed_in(sealed, "okafor (token)")
    with sealed.opened("review") as release:
        assert release.case("university").standing.state is State.RELEASED
    verified(sealed)


@pytest.mark.parametrize(("by", "found"), [("brandt (token)", True), ("clerk (token)", False)])
def test_a_vote_after_a_hand_in_that_was_written_past_the_gate_is_found(
    sealed: ReleaseAction, by: str, found: bool
) -> None:
    handed_in(sealed, by)
    with open_ledger(sealed.workspace) as ledger:
        (first,) = ledger.entries(event=Event.VOTED)
        body = first.body | {"reviewer": OTHER, "person": "jan.brandt"}
        ledger.append(
            Event.VOTED, release_id=sealed.reference, recipient="university", actor="brandt", body=body, at=NOW
        )
    with pytest.raises(TamperingFound, match="contradict each other") if found else nullcontext():
        verified(sealed)


def queued(name: str, *hand_ins: Submission) -> QueuedRequest:
    return QueuedRequest(
        id=name,
        state=RequestState.DECIDED,
        source="http",
        name="request",
        handed_in_by=DESK,
        hand_ins=hand_ins,
        request_sha256="0" * 64,
        arrival="1",
        accepted_at=NOW,
    )


def asked_again(action: ReleaseAction, by: str) -> ReleaseAction:
    return replace(action, by=by, recipient="broker" if by == OFFICER else action.recipient)


def test_the_own_login_is_no_other_hand() -> None:
    assert other_submitters("desk (token 0a1b2c3d, made by desk)") == frozenset()
    assert other_submitters("made by ortiz") == frozenset()
    assert other_submitters("desk (token 0a1b2c3d, made by ortiz) (inbox)") == frozenset()


def test_the_login_that_a_request_came_from_overrides_nothing(asked: Callable[..., ReleaseAction]) -> None:
    action = asked(OFFICER, "broker")
    closed = [gate.id for gate in record(action).gates if not gate.passed]
    with acting_as(DESK), pytest.raises(BadInput, match="login that a request came from"):
        flows.actions.overruling.override_gates(action, closed)
    with acting_as("okafor"):
        flows.actions.reviewing.cast_vote(asked(ONE), "reject")
    with acting_as(DESK), pytest.raises(BadInput, match="login that a request came from"):
        flows.actions.overruling.reopen(asked(OFFICER))
    assert Event.OVERRIDDEN not in events(action)
    with acting_as("ortiz"):
        flows.actions.overruling.reopen(asked(OFFICER))
        flows.actions.overruling.override_gates(action, closed)


def test_a_vote_that_was_written_past_the_gate_is_found(asked: Callable[..., ReleaseAction]) -> None:
    action = asked(ONE)
    with open_ledger(action.workspace) as ledger:
        decision = next(one for one in ledger.entries(event=Event.DECIDED) if one.recipient == "university")
        ballot = Ballot(
            release_id=action.reference, recipient="university", record_sha256=str(decision.body["record_sha256"]),
            reviewer=ONE, vote="approve", reason="because", nonce=new_nonce(),
        )  # fmt: skip
        for event, body in ((Event.VOTED, bodies.voted(ballot)), (Event.REVIEWED, bodies.reviewed(ballot))):
            ledger.append(event, release_id=action.reference, recipient="university", actor=DESK, body=body, at=NOW)
        with pytest.raises(TamperingFound):
            verify_bundle(action.workspace.bundle(action.reference), ledger)
    with acting_as("brandt"), pytest.raises(TamperingFound):
        flows.actions.reviewing.cast_vote(asked(OTHER), "approve")


def test_another_login_in_the_record_than_in_the_ledger_is_found(asked: Callable[..., ReleaseAction]) -> None:
    from tasks.decision.standing import standing

    action = asked(ONE)
    shown = record(action).model_copy(update={"handed_in_by": "somebody"})
    with open_ledger(action.workspace) as ledger:
        entries = ledger.entries(release_id=action.reference)
    decision = next(one for one in entries if one.event is Event.DECIDED and one.recipient == "university")
    with pytest.raises(StageFailed, match="contradict each other"):
        standing(entries, shown, str(decision.body["record_sha256"]), NOW.date())


def test_the_login_is_the_systems_and_no_variable_changes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    before = actor()
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "somebody")
    assert actor() == before != "somebody"
