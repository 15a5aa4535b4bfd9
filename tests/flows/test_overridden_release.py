"""Gates that an officer overrides: a release of its own, shown as failed, voted on, delivered and verified."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import flows.gate.publishing
import flows.gate.release
import flows.workspace.actor
from flows.actions.overruling import revoke
from flows.actions.reviewing import overview
from flows.gate.outcome import Outcome
from flows.people.signing import PASSPHRASE, create_key
from flows.reassessment.run import reassess
from flows.releases.cases import ReleaseAction
from flows.releases.identity import check_unused, identify
from flows.workspace.ledger import VARIABLE, open_ledger
from tasks.core.errors import BadInput, ReleasegateError, StageFailed, TamperingFound
from tasks.core.people import WorkflowRole
from tasks.decision.record import DecisionRecord, Verdict
from tasks.decision.states import State
from tasks.delivery.verification import verify_bundle
from tasks.ledger.entry import Entry, Event
from tasks.reassessment.record import TodaysVerdict
from tasks.request.load import load_request
from tests.support.acting import cast_vote, override_gates, reopen
from tests.support.postgres import Server, running_server
from tests.support.search import files_holding
from tests.support.world import BROKER, NOW, SENSITIVE_MARK, UNIVERSITY, World, make_world

REVIEWER, OFFICER, SECOND = "M. Okafor", "P. Officer", "Q. Deputy"
LATER = NOW + timedelta(days=1)
REASON = "Zwölfreason: the registry closes"
LISTED = [
    "transparent.maximum_risk",
    "transparent.attacked_share",
    "sequential.maximum_risk",
    "combined.expected_share",
]
POLICY = {
    "review": {
        "required": 1,
        "reviewers": [REVIEWER, OFFICER],
        "officers": [OFFICER, SECOND, "A. Steward"],
        "overridable": LISTED,
    }
}


@dataclass(frozen=True)
class Case:
    """A release that awaits review for one recipient and is blocked by gates for the other."""

    world: World
    blocked: str

    def again(self, engine: Any, at: datetime = LATER) -> Outcome:
        return self.world.run(engine, clock=lambda: at)

    def record(self, release: str, who: str = "broker") -> DecisionRecord:
        path = self.world.workspace.bundle(release) / "decision" / f"{who}.json"
        return DecisionRecord.model_validate_json(path.read_bytes())

    @property
    def closed(self) -> list[str]:
        return [gate.id for gate in self.record(self.blocked).gates if not gate.passed]

    def override(self, at: datetime = LATER, **changes: Any) -> Any:
        terms = {"by": OFFICER, "reason": REASON, "gates": self.closed, "recipient": "broker"} | changes
        release, gates = terms.pop("release", self.blocked), terms.pop("gates")
        return override_gates(ReleaseAction(release, self.world.workspace, clock=lambda: at, **terms), gates)

    def vote(self, release: str, reviewer: str = REVIEWER, vote: Any = "approve") -> Any:
        place = self.world.workspace
        return cast_vote(
            ReleaseAction(release, place, by=reviewer, reason="seen", recipient="broker", clock=lambda: LATER), vote
        )

    def entries(self) -> tuple[Entry, ...]:
        with open_ledger(self.world.workspace) as ledger:
            ledger.verify()
            return ledger.entries()

    def events(self, release: str) -> list[str]:
        return [entry.event.value for entry in self.entries() if entry.release_id == release]

    def identify(self, at: datetime = LATER) -> Any:
        with open_ledger(self.world.workspace) as ledger:
            return identify(ledger, self.blocked, load_request(self.world.request).request, at.date())

    def verified(self, release: str) -> Any:
        with open_ledger(self.world.workspace) as ledger:
            return verify_bundle(self.world.workspace.bundle(release), ledger)


def decide(world: World, engine: Any) -> Case:
    world.ask(recipients=[UNIVERSITY, BROKER], policy=POLICY)
    return Case(world, world.run(engine).release_id)


@pytest.fixture(scope="module")
def decided(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """Decided once; each test works on a copy."""
    return decide(make_world(tmp_path_factory.mktemp("blocked") / "world"), engine)


@pytest.fixture
def case(decided: Case, tmp_path: Path) -> Case:
    shutil.copytree(decided.world.folder.parent, tmp_path / "copy")
    return Case(World(tmp_path / "copy" / "world"), decided.blocked)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_server() as running:
        yield running


@pytest.mark.slow
def test_an_override_makes_a_release_of_its_own(
    engine: Any, tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the ledger in PostgreSQL."""
    monkeypatch.setenv(VARIABLE, server.new_database())
    case = decide(make_world(tmp_path / "world"), engine)
    assert len(case.closed) > 1
    sealed = {path: path.read_bytes() for path in case.world.workspace.bundle(case.blocked).rglob("*.*")}
    given = case.override()
    assert given.valid_until == LATER.date() + timedelta(days=30)
    assert given.standing.state is State.BLOCKED
    assert case.world.workspace.releases.joinpath(case.blocked, "delivery").exists()
    assert files_holding(case.world.workspace.root, SENSITIVE_MARK) == [], "no file is made by an override"

    outcome = case.again(engine)
    assert not outcome.repeated
    made = outcome.release_id
    assert made != case.blocked
    assert {who: one.state for who, one in outcome.standings.items()} == {
        "university": State.AWAITING_REVIEW,
        "broker": State.AWAITING_REVIEW,
    }
    assert [record.release_id for record in outcome.records] == [case.blocked, made]
    assert [path.name for path in (outcome.bundle / "decision").iterdir()] == ["broker.json"]

    record, before = case.record(made), case.record(case.blocked)
    (entry,) = (one for one in case.entries() if one.event is Event.OVERRIDDEN)
    assert (record.inputs_id, record.overrides) == (case.blocked, (entry.sha256,))
    assert record.reasons[0].endswith(f"{len(case.closed)} overridden; 1 review is still needed.")
    for gate in record.gates:
        if gate.id not in case.closed:
            assert gate.passed
            continue
        assert not gate.passed
        assert gate.overridden is not None
        assert (gate.overridden.officer, gate.overridden.reason) == (OFFICER, REASON)
        seen = next(one for one in before.gates if one.id == gate.id)
        assert (gate.measured, gate.threshold) == (seen.measured, seen.threshold), "measured anew, and the same"
        assert gate.overridden.measured == seen.measured
        assert gate.overridden.record_sha256 == entry.body["blocked_record_sha256"]
    assert record.risk == before.risk
    with pytest.raises(BadInput, match="may not review"):
        case.vote(made, OFFICER)
    assert case.vote(made).standing.state is State.RELEASED
    assert case.verified(made).delivered == ("broker",)
    assert case.verified(case.blocked).decisions["broker"] is Verdict.BLOCKED
    assert {path: path.read_bytes() for path in sealed} == sealed, "what was blocked stays as it was sealed"
    again = case.again(engine)
    assert again.repeated
    assert again.release_id == made
    assert again.standings["broker"].state is State.RELEASED
    assert case.identify().overrides == (), "used once"
    assert_held_when_assessed_again(case, made)


def assert_held_when_assessed_again(case: Case, made: str) -> None:
    """An officer answers for the same figures later on, also where the bytes are scored without their originals."""
    for verdict in (TodaysVerdict.HOLDS, TodaysVerdict.CANNOT):
        (found,) = reassess(made, case.world.workspace, clock=lambda: LATER + timedelta(days=30))
        assert found.verdict is verdict
        assert found.record is not None
        assert {gate.id for gate in found.record.gates if gate.overridden} == set(case.closed)
        assert not [gate.id for gate in found.record.gates if gate.open is False]
        case.world.data.unlink(missing_ok=True)


@pytest.mark.slow
def test_a_crash_uses_an_override_once_or_not_at_all(case: Case, engine: Any) -> None:
    case.override()
    name = case.identify().release_id
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flows.gate.publishing, "check_unused", killed)
        with pytest.raises(Killed):
            case.again(engine)
    assert case.identify().release_id == name, "nothing was decided, so nothing is used"
    assert "decided" not in case.events(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flows.gate.publishing, "publish", killed)
        with pytest.raises(Killed):
            case.again(engine)
    assert not case.world.workspace.bundle(name).exists()
    outcome = case.again(engine)
    assert outcome.repeated
    assert outcome.release_id == name
    assert case.events(name).count("decided") == 1
    with pytest.raises(StageFailed, match="later release of the same inputs"):
        case.override(by=SECOND)
    with pytest.raises(StageFailed, match="awaiting review cannot be overridden: no gate blocks it"):
        case.override(release=name)
    assert case.vote(name, vote="reject").standing.state is State.BLOCKED
    with pytest.raises(StageFailed, match="its reviewers have rejected it"):
        case.override(release=name)
    reopened = reopen(
        ReleaseAction(name, case.world.workspace, by=SECOND, reason="amended", recipient="broker", clock=lambda: LATER)
    )
    assert reopened.standings["broker"].state is State.AWAITING_REVIEW
    path = case.world.workspace.bundle(name) / "decision" / "broker.json"
    kept = path.read_bytes()
    document = json.loads(kept)
    for gate in document["gates"]:
        if gate["overridden"]:
            gate["overridden"]["reason"] = "another"
    path.write_text(json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n")
    with pytest.raises(TamperingFound, match="overrides that the ledger does not record"):
        case.verified(name)
    path.write_bytes(kept)
    shutil.rmtree(case.world.workspace.bundle(name))
    with pytest.raises(StageFailed, match="is not decided again without its bundle"):
        case.again(engine)


class Killed(BaseException):
    """Stands for the end of the process at this point."""


def killed(*_: object, **__: object) -> None:
    raise Killed


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"by": REVIEWER}, "name you as an officer"),
        ({"by": "a. steward"}, "got: the requester"),
        ({"reason": " "}, "reason cannot be recorded"),
        ({"gates": ["validation.passed"]}, "not closed"),
        ({"gates": ["released.suppressed_share"]}, "not closed"),
        ({"gates": []}, "cannot be overridden"),
        ({"recipient": "university"}, "awaiting review cannot be overridden: no gate blocks it"),
        ({"recipient": None}, "several recipients"),
        ({"release": "f" * 64}, "no such release"),
    ],
)
def test_who_and_what_is_refused(case: Case, changes: dict[str, Any], told: str) -> None:
    with pytest.raises(ReleasegateError) as caught:
        case.override(**changes)
    assert told in str(caught.value)
    assert Event.OVERRIDDEN not in [entry.event for entry in case.entries()]


def test_a_blocked_release_is_not_put_before_its_reviewers(case: Case) -> None:
    with pytest.raises(StageFailed, match="a gate has blocked"):
        reopen(
            ReleaseAction(
                case.blocked, case.world.workspace, by=OFFICER, reason="x", recipient="broker", clock=lambda: LATER
            )
        )


def test_an_override_lapses_and_another_may_follow(case: Case, engine: Any) -> None:
    last = case.override().valid_until
    on_last_day = datetime(last.year, last.month, last.day, 23, 59, tzinfo=UTC)
    waiting = case.identify(on_last_day)
    assert waiting.release_id != case.blocked
    assert {one.recipient for one in waiting.overrides} == {"broker"}
    late = on_last_day + timedelta(minutes=1)
    assert case.identify(late).release_id == case.blocked
    outcome = case.again(engine, late)
    assert outcome.repeated
    assert outcome.standings["broker"].state is State.BLOCKED
    with open_ledger(case.world.workspace) as ledger, pytest.raises(StageFailed, match="no longer in force"):
        check_unused(ledger, waiting.overrides, late)
    case.override(at=late, by=SECOND)
    assert case.identify(late).release_id not in {case.blocked, waiting.release_id}


def test_two_officers_may_answer_for_one_gate_each(case: Case) -> None:
    first, *rest = case.closed
    case.override(gates=[first])
    one = case.identify().release_id
    case.override(gates=rest, by=SECOND)
    both = case.identify()
    assert both.release_id not in {one, case.blocked}
    assert [(override.officer, sorted(override.gates)) for override in both.overrides] == [
        (OFFICER, [first]),
        (SECOND, sorted(rest)),
    ]
    (shown,) = (
        one
        for one in overview(case.blocked, case.world.workspace, clock=lambda: LATER)
        if one.case.recipient == "broker"
    )
    assert shown.case.standing.state is State.BLOCKED
    assert f"{SECOND} (officer) overrode" in shown.case.standing.why


def test_an_officer_with_a_key_signs(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSPHRASE, "ibex saiga marmot quoll")
    key = tmp_path / "officer.pem"
    create_key(case.world.workspace, OFFICER, [WorkflowRole.OFFICER], key, lambda: "", clock=lambda: NOW)
    with pytest.raises(BadInput):
        case.override(key=tmp_path / "none.pem")
    case.override(key=key)
    (entry,) = (one for one in case.entries() if one.event is Event.OVERRIDDEN)
    assert entry.signer == OFFICER


class Noon(datetime):
    """A day on which the decision holds, whatever the day of the test."""

    @classmethod
    def now(cls, tz: Any = None) -> datetime:
        return LATER.astimezone(tz or UTC)


def test_the_command(case: Case, releasegate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flows.workspace.actor, "datetime", Noon)
    line = ("override", case.blocked[:12], "--workspace", case.world.workspace.root, "--reason", REASON, "--as")
    whose = ("--recipient", "broker")
    assert releasegate(*line, OFFICER, *whose).code == 3, "a gate has blocked it, and none is named"
    assert releasegate(*line, OFFICER, *whose, "--gate", "validation.passed").code == 3
    assert releasegate(*line, REVIEWER, *whose, "--gate", case.closed[0]).code == 2
    one, *rest = case.closed
    told = releasegate(*line, OFFICER, *whose, "--gate", one)
    assert told.code == 0
    assert "OVERRIDDEN  broker" in told.out
    assert "can be used until 2026-04-02" in told.out
    document = releasegate(
        *line, SECOND, *whose, *(part for name in rest for part in ("--gate", name)), "--json"
    ).document
    assert [gate["id"] for gate in document["gates"]] == rest
    assert (document["state"], document["valid_until"]) == ("blocked", "2026-04-02")


def test_an_override_made_while_another_is_used_holds_for_nothing_afterwards(case: Case, engine: Any) -> None:
    case.override()
    decoys = flows.gate.release.decoys_to_continue

    calls = []

    def meanwhile(*given: Any) -> Any:
        calls.append(given)
        if len(calls) == 1:  # after the pipeline
            case.override(by=SECOND)
        return decoys(*given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flows.gate.release, "decoys_to_continue", meanwhile)
        made = case.again(engine).release_id
    assert case.events(case.blocked).count("overridden") == 2
    revoke(ReleaseAction(made, case.world.workspace, by=SECOND, reason="no longer needed", clock=lambda: LATER))
    assert case.identify().overrides == ()
    again = case.again(engine)
    assert again.repeated
    assert again.standings["broker"].state is State.REVOKED


def test_every_officer_who_answers_for_a_release_is_kept_from_reviewing_it(case: Case, engine: Any) -> None:
    case.override()
    case.override(by=SECOND)
    made = case.again(engine).release_id
    assert case.record(made).answering == (SECOND,), "the record shows the last"
    with pytest.raises(BadInput, match="may not review"):
        case.vote(made, OFFICER)
    assert case.vote(made).standing.state is State.RELEASED


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"by": "Nobody Listed"}, "contradict"),
        ({"by": "a. steward"}, "contradict"),
        ({"blocked_record_sha256": "0" * 64}, "contradict"),
        ({"valid_until": "2027-12-31"}, "not what an officer"),
        ({"gates": [{"id": "transparent.maximum_risk", "measured": 1.0}]}, "not what an officer"),
    ],
)
def test_an_override_that_no_officer_made_opens_nothing(
    case: Case, engine: Any, change: dict[str, Any], told: str
) -> None:
    """Whoever can write entries without the checks of the commands."""
    shutil.copytree(case.world.workspace.root, case.world.folder / "aside")
    case.override()
    (made,) = (one for one in case.entries() if one.event is Event.OVERRIDDEN)
    shutil.rmtree(case.world.workspace.root)
    shutil.move(case.world.folder / "aside", case.world.workspace.root)
    with open_ledger(case.world.workspace) as ledger:
        ledger.append(
            Event.OVERRIDDEN, release_id=case.blocked, recipient="broker", actor="x", body={**made.body, **change},
            at=LATER,
        )  # fmt: skip
    name = case.identify().release_id
    assert name != case.blocked
    with pytest.raises(ReleasegateError) as caught:
        case.again(engine)
    assert told in str(caught.value)
    assert "decided" not in case.events(name)
    assert not case.world.workspace.bundle(name).exists()
