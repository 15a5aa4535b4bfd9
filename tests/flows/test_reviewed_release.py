"""A release that awaits review: votes that nobody sees, what follows when the last is in, and what takes it back."""

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import flows.actions.reviewing
import flows.workspace.actor
from flows.actions.expert_signature import sign_determination
from flows.actions.overruling import revoke
from flows.actions.reviewing import overview
from flows.cli.sign import PASSPHRASE as SIGN_PASSPHRASE
from flows.gate.outcome import Outcome
from flows.people.signing import PASSPHRASE
from flows.queue.queue import Queue
from flows.queue.queue import QueuedRequest as Request
from flows.queue.queue import RequestState as Queued
from flows.releases.cases import ReleaseAction, pending_key
from flows.service.config import service_of
from flows.service.worker import decide
from flows.workspace.folders import Workspace
from tasks.core.canonical import canonical_json
from tasks.core.errors import BadInput, ReleasegateError, StageFailed, TamperingFound
from tasks.core.files import file_sha256
from tasks.decision.states import State
from tasks.delivery.additions import stage_addition
from tasks.delivery.verification import verify_bundle
from tasks.ledger.entry import Entry, Event
from tasks.ledger.store import Ledger
from tests.support.acting import cast_vote, reopen
from tests.support.certificates import SECRET, p12, pki, private
from tests.support.search import files_holding, holds, pdf_parts
from tests.support.world import NOW, RECORDS, SENSITIVE_MARK, UNIVERSITY, World, make_world, recipient

FIRST, SECOND, THIRD = "M. Okafor", "J. Brandt", "L. Sand"
OFFICER = "P. Officer"
REQUESTER = "A. Steward"
REASON = "Zwölfreason: risks are below our bound"
AGAINST = "Qualmreason: purpose is not covered"
LATER = NOW + timedelta(hours=3)
EXPIRED = NOW + timedelta(days=366)
CLINIC = recipient("clinic")


@dataclass(frozen=True)
class Waiting:
    """A release that awaits review by two of three people."""

    world: World
    release_id: str

    @property
    def workspace(self) -> Workspace:
        return self.world.workspace

    @property
    def bundle(self) -> Path:
        return self.workspace.bundle(self.release_id)

    @property
    def pending(self) -> Path:
        return self.workspace.pending(self.release_id, "university")

    def vote(self, reviewer: str, vote: Any = "approve", reason: str = REASON, at: datetime = LATER) -> Any:
        return cast_vote(
            ReleaseAction(
                self.release_id, self.workspace, by=reviewer, reason=reason, recipient="university", clock=lambda: at
            ),
            vote,
        )

    def revoke(self, by: str, at: datetime = LATER, recipient: str | None = "university") -> Any:
        return revoke(
            ReleaseAction(
                self.release_id, self.workspace, by=by, reason="Agreement broken", recipient=recipient, clock=lambda: at
            )
        )

    def override(self, officer: str = OFFICER) -> Any:
        return reopen(
            ReleaseAction(
                self.release_id,
                self.workspace,
                by=officer,
                reason="The purpose was amended",
                recipient="university",
                clock=lambda: LATER,
            )
        )

    def again(self, engine: Any, at: datetime = LATER) -> Outcome:
        return self.world.run(engine, clock=lambda: at)

    def entries(self) -> tuple[Entry, ...]:
        with Ledger.open(self.workspace.ledger, create=False) as ledger:
            ledger.verify()
            return ledger.entries(release_id=self.release_id)

    def events(self) -> list[str]:
        return [entry.event.value for entry in self.entries()]

    def verified(self) -> Any:
        with Ledger.open(self.workspace.ledger, create=False) as ledger:
            verify_bundle(self.bundle, None)
            return verify_bundle(self.bundle, ledger)

    def problems(self, *, alone: bool = False) -> str:
        with Ledger.open(self.workspace.ledger, create=False) as ledger, pytest.raises(TamperingFound) as caught:
            verify_bundle(self.bundle, None if alone else ledger)
        return caught.value.got

    def state(self, at: datetime = LATER) -> State:
        (one,) = (one for one in overview(self.release_id, self.workspace, clock=lambda: at) if is_university(one))
        return one.case.standing.state


def is_university(one: Any) -> bool:
    return bool(one.case.recipient == "university")


@pytest.fixture(scope="module")
def decided(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Waiting:
    """Decided once; each test works on a copy."""
    world = make_world(tmp_path_factory.mktemp("waiting") / "world")
    review = {"required": 2, "reviewers": [FIRST, SECOND, THIRD, REQUESTER], "officers": [OFFICER]}
    world.ask(policy={"review": review}, recipients=[UNIVERSITY, CLINIC])
    return Waiting(world, world.run(engine).release_id)


@pytest.fixture
def waiting(decided: Waiting, tmp_path: Path) -> Waiting:
    shutil.copytree(decided.world.folder.parent, tmp_path / "copy")
    return Waiting(World(tmp_path / "copy" / "world"), decided.release_id)


@pytest.fixture
def approved(waiting: Waiting) -> Waiting:
    waiting.vote(FIRST)
    waiting.vote(SECOND, at=LATER + timedelta(hours=1))
    return waiting


def test_a_service_asks_the_ledger_and_never_decides_again_what_awaits_review(waiting: Waiting) -> None:
    """Not even where its data are gone meanwhile, or the program is another: no flow can run here."""
    queue = Queue(waiting.workspace)
    queue.prepare()
    entry = Request(
        id=waiting.release_id, state=Queued.AWAITING_REVIEW, source="http", name="request", request_sha256="0" * 64,
        arrival="a", token="0" * 32, accepted_at=NOW, release_id=waiting.release_id,
    )  # fmt: skip
    queue.put(entry)
    waiting.world.data.unlink()

    def decided_now() -> Request:
        service = service_of(waiting.workspace.root, (waiting.world.folder,))
        return decide(service, entry, lambda *_: pytest.fail("a flow ran"), clock=lambda: LATER)

    assert decided_now().state is Queued.AWAITING_REVIEW
    before = waiting.events().count("decided")
    for recipient_id in ("university", "clinic"):
        for reviewer in (FIRST, SECOND):
            cast_vote(
                ReleaseAction(
                    waiting.release_id,
                    waiting.workspace,
                    by=reviewer,
                    reason=REASON,
                    recipient=recipient_id,
                    clock=lambda: LATER,
                ),
                "approve",
            )
    done = decided_now()
    assert (done.state, done.verdicts) == (Queued.DECIDED, {"university": "released", "clinic": "released"})
    assert waiting.events().count("decided") == before


def test_what_awaits_review_lies_nowhere_in_clear(waiting: Waiting, engine: Any) -> None:
    for folder in (waiting.workspace.root, engine.home):
        assert files_holding(folder, SENSITIVE_MARK) == []
    assert waiting.pending.stat().st_mode & 0o777 == 0o600
    assert list((waiting.bundle / "delivery").iterdir()) == []
    assert waiting.verified().delivered == ()
    outcome = waiting.again(engine)
    assert outcome.repeated
    assert outcome.standings["university"].state is State.AWAITING_REVIEW


def test_two_votes_release(waiting: Waiting, engine: Any) -> None:
    before = {path: path.read_bytes() for path in waiting.bundle.rglob("*") if path.is_file()}
    first = waiting.vote(FIRST)
    assert (first.votes, first.required, first.standing.state) == (1, 2, State.AWAITING_REVIEW)
    second = waiting.vote("  j.  BRANDT", at=LATER + timedelta(hours=1))
    assert second.reviewer == SECOND
    assert second.standing.state is State.RELEASED
    assert waiting.events() == [
        "requested",
        *("decided", "decided", "published"),
        *("voted", "voted", "reviewed", "reviewed", "approved", "released"),
    ]
    added = {path for path in waiting.bundle.rglob("*") if path.is_file()} - before.keys()
    assert {path.relative_to(waiting.bundle).as_posix() for path in added} == {
        "approval/university.json",
        "approval/university.pdf",
        "certificate/university.pdf",
        *(f"delivery/university/{name}" for name in ("data.csv", "dictionary.json", "manifest.json")),
        *(f"delivery/university/hierarchies/{name}.csv" for name in ("age", "sex", "zip")),
    }
    assert {path: path.read_bytes() for path in before} == before
    assert waiting.verified().delivered == ("university",)
    data = (waiting.bundle / "delivery/university/data.csv").read_text()
    assert SENSITIVE_MARK in data
    assert files_holding(waiting.workspace.root, SENSITIVE_MARK) == [
        f"releases/{waiting.release_id}/delivery/university/data.csv"
    ]
    assert not waiting.pending.exists()
    assert waiting.workspace.pending(waiting.release_id, "clinic").exists(), "its own votes are missing still"
    assert not waiting.workspace.additions(waiting.release_id).exists()
    assert list((waiting.workspace.private / "votes").rglob("*.sealed")) == []
    outcome = waiting.again(engine)
    assert outcome.standings["university"].state is State.RELEASED
    assert outcome.standings["clinic"].state is State.AWAITING_REVIEW


def test_the_approval_tells_the_reviews_and_the_certificate_names_the_reviewers(approved: Waiting) -> None:
    approval = json.loads((approved.bundle / "approval/university.json").read_bytes())
    assert [(one["reviewer"], one["vote"], one["reason"], one["at"]) for one in approval["reviews"]] == [
        (FIRST, "approve", REASON, "2026-03-02T12:30:00Z"),
        (SECOND, "approve", REASON, "2026-03-02T13:30:00Z"),
    ]
    assert approval["approved_at"] == "2026-03-02T13:30:00Z"
    assert approval["valid_until"] == "2027-03-02"
    text = b"".join(pdf_parts((approved.bundle / "certificate/university.pdf").read_bytes()))
    for part in ("M.Okafor,on2March2026", "wasapprovedon2March2026,13:30"):
        assert part.encode() in text
    assert not holds(text, "Zwölfreason")


def test_the_determination_after_review_shows_the_votes_and_is_bound_to_the_first(approved: Waiting) -> None:
    made = (approved.bundle / "approval/university.pdf").read_bytes()
    text = b"".join(pdf_parts(made))
    first = approved.bundle / "report/university.pdf"
    for part in (file_sha256(first), file_sha256(approved.bundle / "decision/university.json"), "Zwölfreason"):
        assert holds(text, part), part
    assert holds(text, "M.Okafor")
    assert not holds(text, "Awaitingreview")
    approval = json.loads((approved.bundle / "approval/university.json").read_bytes())
    assert approval["determination_sha256"] == hashlib.sha256(made).hexdigest()
    (approved.bundle / "approval/university.pdf").write_bytes(made + b"%")
    with pytest.raises(TamperingFound, match=r"approval/university\.pdf"):
        approved.verified()
    (approved.bundle / "approval/university.pdf").unlink()
    with pytest.raises(TamperingFound, match=r"approval/university\.pdf"):
        approved.verified()


def test_an_approval_of_an_earlier_version_needs_no_second_determination(
    waiting: Waiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither approval nor ledger names one; one that is laid beside them is a file too many."""

    def without(*arguments: Any, **terms: Any) -> dict[str, str]:
        hashes, staging = stage_addition(*arguments, **terms), arguments[0]
        path = staging / "approval/university.json"
        approval = {name: one for name, one in json.loads(path.read_bytes()).items() if name != "determination_sha256"}
        path.write_bytes(canonical_json(approval))
        (staging / "approval/university.pdf").rename(staging.parent / "after.pdf")
        del hashes["determination_sha256"]
        return hashes | {"approval_sha256": file_sha256(path)}

    monkeypatch.setattr(flows.actions.reviewing, "stage_addition", without)
    waiting.vote(FIRST)
    waiting.vote(SECOND)
    assert not (waiting.bundle / "approval/university.pdf").exists()
    assert waiting.verified().delivered == ("university",)
    (waiting.workspace.private / "additions" / "after.pdf").rename(waiting.bundle / "approval/university.pdf")
    with pytest.raises(TamperingFound, match=r"approval/university\.pdf"):
        waiting.verified()


def test_the_delivered_file_is_what_a_release_without_review_delivers(
    approved: Waiting, engine: Any, tmp_path: Path
) -> None:
    """But for the order of rows, which follows from the release's id."""
    approved.world.ask(recipients=[UNIVERSITY])
    plain = approved.world.run(engine, tmp_path / "plain").bundle / "delivery/university"
    ours = approved.bundle / "delivery/university"
    for name in ("dictionary.json", "hierarchies/age.csv", "hierarchies/sex.csv", "hierarchies/zip.csv"):
        assert (ours / name).read_bytes() == (plain / name).read_bytes()
    for path in (plain, *plain.rglob("*")):
        assert (ours / path.relative_to(plain)).stat().st_mode == path.stat().st_mode, path.name
    assert len((ours / "data.csv").read_bytes()) == len((plain / "data.csv").read_bytes())
    assert (ours / "data.csv").read_text().count("\n") >= RECORDS


def test_no_vote_is_seen_before_all_are_in(waiting: Waiting) -> None:
    def telling(word: str) -> list[str]:
        return files_holding(waiting.workspace.root, word)

    before = {word: telling(word) for word in ("reject", "approve")}
    told = waiting.vote(FIRST, "reject", AGAINST)
    assert telling("Qualmreason") == []
    assert {word: telling(word) for word in before} == before
    assert "reject" not in repr(told)
    assert "Qualm" not in repr(told)
    (entry,) = (entry for entry in waiting.entries() if entry.event is Event.VOTED)
    assert entry.body.keys() == {"reviewer", "person", "record_sha256", "commitment"}
    shown = repr(overview(waiting.release_id, waiting.workspace, clock=lambda: LATER))
    assert FIRST in shown
    assert "Qualm" not in shown
    lengths = {path.stat().st_size for path in (waiting.workspace.private / "votes").rglob("*.sealed")}
    waiting.vote(FIRST, "approve", "Yes.")
    assert {path.stat().st_size for path in (waiting.workspace.private / "votes").rglob("*.sealed")} == lengths


def test_a_vote_may_be_changed_until_all_are_in(waiting: Waiting) -> None:
    waiting.vote(FIRST, "reject", AGAINST)
    changed = waiting.vote(FIRST, "approve")
    assert changed.replaced
    assert changed.votes == 1
    assert len(list((waiting.workspace.private / "votes").rglob("*.sealed"))) == 1
    assert waiting.vote(SECOND).standing.state is State.RELEASED
    assert not any("Qualm" in str(entry.body) for entry in waiting.entries())
    with pytest.raises(StageFailed, match=r"(?s)released and takes no votes.*got: released\. "):
        waiting.vote(THIRD)


@pytest.mark.parametrize(
    ("reviewer", "told"),
    [
        (REQUESTER, "may not review"),
        ("a.  steward", "may not review"),
        ("Nobody", "name you as a reviewer"),
        (OFFICER, "name you as a reviewer"),
    ],
)
def test_who_may_not_review(waiting: Waiting, reviewer: str, told: str) -> None:
    with pytest.raises(BadInput, match=told):
        waiting.vote(reviewer)
    assert Event.VOTED.value not in waiting.events()


@pytest.mark.parametrize("reason", ["", "  \n", "x" * 2001, "a\0b", "bell\a"])
def test_a_reason_is_needed(waiting: Waiting, reason: str) -> None:
    with pytest.raises(BadInput, match="reason cannot be recorded"):
        waiting.vote(FIRST, reason=reason)
    assert Event.VOTED.value not in waiting.events()


def test_one_vote_against_rejects(waiting: Waiting, engine: Any) -> None:
    waiting.vote(FIRST)
    told = waiting.vote(SECOND, "reject", AGAINST)
    assert told.standing.state is State.BLOCKED
    assert AGAINST in told.standing.why
    assert waiting.events()[-4:] == ["voted", "reviewed", "reviewed", "rejected"]
    assert waiting.verified().delivered == ()
    assert files_holding(waiting.workspace.root, SENSITIVE_MARK) == []
    outcome = waiting.again(engine)
    assert outcome.standings["university"].state is State.BLOCKED
    with pytest.raises(StageFailed, match="blocked and takes no votes"):
        waiting.vote(THIRD)
    with pytest.raises(StageFailed, match="blocked cannot be revoked: nothing was delivered"):
        waiting.revoke(OFFICER)


def test_an_officer_puts_a_rejected_release_before_its_reviewers_again(waiting: Waiting) -> None:
    with pytest.raises(StageFailed, match="awaiting review cannot be put before its reviewers again"):
        waiting.override()
    waiting.vote(FIRST)
    waiting.vote(SECOND, "reject", AGAINST)
    with pytest.raises(BadInput, match="may not override"):
        waiting.override(REQUESTER)
    with pytest.raises(BadInput, match="name you as an officer"):
        waiting.override(FIRST)
    told = waiting.override()
    assert told.standings["university"].state is State.AWAITING_REVIEW
    assert waiting.vote(SECOND).votes == 1, "votes of the round before do not count"
    assert waiting.vote(THIRD).standing.state is State.RELEASED
    approval = json.loads((waiting.bundle / "approval/university.json").read_bytes())
    assert [(one["officer"], one["reason"]) for one in approval["overrides"]] == [(OFFICER, "The purpose was amended")]
    assert [one["reviewer"] for one in approval["reviews"]] == [SECOND, THIRD]
    assert waiting.verified().delivered == ("university",)


class Killed(BaseException):
    """Stands for the end of the process at this point."""


def killed(*_: object) -> None:
    raise Killed


def kill_before_finishing(patch: pytest.MonkeyPatch) -> None:
    """Nothing after the ledger's transaction is run, not even what tidies up."""
    patch.setattr(flows.actions.reviewing, "finish_additions", killed)


def kill_between_moves(patch: pytest.MonkeyPatch) -> None:
    rename, moved = Path.rename, []

    def once(path: Path, target: Path) -> Path:
        if "additions" in path.parts:
            if moved:
                raise Killed
            moved.append(path)
        return rename(path, target)

    patch.setattr(Path, "rename", once)


@pytest.mark.parametrize("kill", [kill_before_finishing, kill_between_moves])
@pytest.mark.parametrize("command", ["release", "show"])
def test_a_crash_after_the_ledger_is_finished_by_the_next_command(
    waiting: Waiting, engine: Any, command: str, kill: Callable[[pytest.MonkeyPatch], None]
) -> None:
    waiting.vote(FIRST)
    with pytest.MonkeyPatch.context() as patch:
        kill(patch)
        with pytest.raises(Killed):
            waiting.vote(SECOND)
    assert waiting.events()[-1] == "released"
    assert "data.csv" not in [path.name for path in waiting.bundle.rglob("*")]
    assert "university" in waiting.problems()
    if command == "release":
        assert waiting.again(engine).standings["university"].state is State.RELEASED
    else:
        assert waiting.state() is State.RELEASED
    assert waiting.verified().delivered == ("university",)
    assert not waiting.workspace.additions(waiting.release_id).exists()
    assert not waiting.pending.exists()
    assert waiting.events().count("released") == 1


def test_a_crash_before_the_ledger_leaves_nothing(waiting: Waiting) -> None:
    waiting.vote(FIRST)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flows.actions.reviewing, "stage_addition", killed)
        patch.setattr(flows.actions.reviewing, "finish_additions", killed)
        with pytest.raises(Killed):
            waiting.vote(SECOND)
    assert (waiting.workspace.additions(waiting.release_id) / "delivery/university").exists()
    assert waiting.state() is State.AWAITING_REVIEW
    assert not waiting.workspace.additions(waiting.release_id).exists()
    assert files_holding(waiting.workspace.root, SENSITIVE_MARK) == []
    assert waiting.vote(SECOND).standing.state is State.RELEASED


def test_an_addition_changed_while_it_was_interrupted_is_not_delivered(waiting: Waiting) -> None:
    waiting.vote(FIRST)
    with pytest.MonkeyPatch.context() as patch:
        kill_before_finishing(patch)
        with pytest.raises(Killed):
            waiting.vote(SECOND)
    certificate = waiting.workspace.additions(waiting.release_id) / "certificate/university.pdf"
    certificate.write_bytes(certificate.read_bytes() + b"%")
    with pytest.raises(TamperingFound, match="not what was recorded"):
        waiting.state()
    assert list((waiting.bundle / "delivery").iterdir()) == []


def test_votes_and_file_that_were_changed_are_found(waiting: Waiting) -> None:
    waiting.vote(FIRST)
    (vote,) = (waiting.workspace.private / "votes").rglob("*.sealed")
    kept = vote.read_bytes()
    vote.write_bytes(kept[:-9] + b"AAAAAAAA=")
    with pytest.raises(TamperingFound, match="not the one that was cast"):
        waiting.vote(SECOND)
    vote.unlink()
    with pytest.raises(TamperingFound, match="missing"):
        waiting.vote(SECOND)
    vote.write_bytes(kept)
    sealed = waiting.pending.read_bytes()
    other = b"B" if sealed[-40:-39] == b"A" else b"A"
    for changed in (sealed[: len(sealed) // 2], sealed[:-40] + other + sealed[-39:], b"", sealed + sealed):
        waiting.pending.write_bytes(changed)
        with pytest.raises(TamperingFound, match="not as it was"):
            waiting.vote(SECOND)
    assert waiting.events()[-1] == "voted"
    assert files_holding(waiting.workspace.root, SENSITIVE_MARK) == []
    waiting.pending.write_bytes(sealed)
    assert waiting.vote(SECOND).standing.state is State.RELEASED


def test_another_file_under_the_right_key_is_not_delivered(waiting: Waiting, tmp_path: Path) -> None:
    from tasks.delivery.pending import seal_folder

    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "data.csv").write_text("age\n20\n")
    waiting.vote(FIRST)
    seal_folder(tmp_path / "other", waiting.pending, pending_key(waiting.workspace, waiting.release_id))
    with pytest.raises(StageFailed, match="not the one that was decided on"):
        waiting.vote(SECOND)
    assert waiting.events()[-1] == "voted"
    assert waiting.verified().delivered == ()


def test_what_expired_while_it_waited_takes_no_votes(waiting: Waiting, engine: Any) -> None:
    waiting.vote(FIRST)
    with pytest.raises(StageFailed, match="before the decision"):
        waiting.vote(SECOND, at=NOW - timedelta(days=2))
    for at in (EXPIRED, NOW - timedelta(days=2)):
        with pytest.raises(StageFailed, match="expired and takes no votes"):
            waiting.vote(SECOND, at=at)
    outcome = waiting.again(engine, EXPIRED)
    assert outcome.standings["university"].state is State.EXPIRED
    assert outcome.lapsed["university"] == "The decision was valid until 2027-03-02."
    with pytest.raises(StageFailed, match="this role may not"):
        waiting.revoke(REQUESTER, EXPIRED)
    assert waiting.revoke(OFFICER, EXPIRED).standings["university"].state is State.REVOKED


@pytest.mark.parametrize("by", [OFFICER, REQUESTER])
def test_a_released_copy_can_be_revoked_for_good(approved: Waiting, engine: Any, by: str) -> None:
    then = LATER + timedelta(hours=2)
    assert approved.revoke(by, then).standings["university"].why.endswith("“Agreement broken”")
    outcome = approved.again(engine, then)
    assert outcome.standings["university"].state is State.REVOKED
    assert "Agreement broken" in outcome.lapsed["university"]
    assert approved.verified().delivered == ("university",), "what has left has left"
    with pytest.raises(StageFailed, match="it is revoked already"):
        approved.revoke(by, then)
    with pytest.raises(StageFailed, match="revoked and takes no votes"):
        approved.vote(THIRD)


def test_a_waiting_release_can_be_revoked_for_all_recipients(waiting: Waiting) -> None:
    waiting.vote(FIRST)
    with pytest.raises(BadInput, match="may not revoke"):
        waiting.revoke(FIRST, recipient=None)
    told = waiting.revoke(REQUESTER, recipient=None)
    assert {who: one.state for who, one in told.standings.items()} == {
        "university": State.REVOKED,
        "clinic": State.REVOKED,
    }
    private = waiting.workspace.private
    assert [*private.rglob("pending/**/*.sealed"), *private.rglob("votes/**/*.sealed")] == []
    assert waiting.verified().delivered == ()


def test_a_revoked_request_is_not_decided_again(waiting: Waiting, engine: Any) -> None:
    waiting.revoke(OFFICER)
    shutil.rmtree(waiting.bundle)
    with pytest.raises(StageFailed, match="was revoked, and is not decided again"):
        waiting.again(engine)
    assert not waiting.bundle.exists()
    assert waiting.events().count("decided") == 2


UNDER = "delivery/university/"


def test_every_later_file_is_checked(approved: Waiting) -> None:
    added = [
        path
        for folder in ("approval", "certificate", "delivery")
        for path in (approved.bundle / folder).rglob("*")
        if path.is_file()
    ]
    assert len(added) == 9
    for path in added:
        name, content = path.relative_to(approved.bundle).as_posix().removeprefix(UNDER), path.read_bytes()
        middle = len(content) // 2
        path.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
        for alone in (True, False):
            assert name in approved.problems(alone=alone), name
        path.unlink()
        assert name in approved.problems(), name
        path.write_bytes(content)
        extra = path.with_name("extra")
        extra.write_text("x")
        for alone in (True, False):
            assert "extra" in approved.problems(alone=alone), name
        extra.unlink()
    approved.verified()


def test_an_addition_that_the_ledger_does_not_record_is_found(
    decided: Waiting, approved: Waiting, tmp_path: Path
) -> None:
    """Made in a copy of the workspace, so that it is right in itself."""
    shutil.copytree(decided.world.folder.parent, tmp_path / "second")
    second = Waiting(World(tmp_path / "second" / "world"), decided.release_id)
    for name in ("approval", "certificate", "delivery"):
        shutil.copytree(approved.bundle / name, second.bundle / name, dirs_exist_ok=True)
    verify_bundle(second.bundle, None)
    assert second.problems() == "the ledger records no approval of approval/university.json"
    with Ledger.open(second.workspace.ledger, create=False) as ledger:
        body = {"record_sha256": approved.entries()[-1].body["output_sha256"]}
        ledger.append(
            Event.APPROVED, release_id=second.release_id, recipient="university", actor="x", body=body, at=LATER
        )
    assert "contradict each other (ledger entry 6)" in second.problems()


def test_rewritten_reviews_are_found(approved: Waiting) -> None:
    path = approved.bundle / "approval/university.json"
    approval = json.loads(path.read_bytes())
    approval["reviews"][0]["reason"] = "another"
    path.write_text(json.dumps(approval, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n")
    verify_bundle(approved.bundle, None)
    told = approved.problems()
    assert "approval/university.json is not the one in ledger entry 11" in told
    assert "has other reviews than the ledger" in told
    approval["reviews"] = approval["reviews"][:1]
    path.write_text(json.dumps(approval))
    assert "does not approve the decision beside it" in approved.problems(alone=True)


def test_a_copy_of_a_bundle_is_not_voted_on(waiting: Waiting, tmp_path: Path) -> None:
    shutil.copytree(waiting.bundle, tmp_path / waiting.release_id)
    with pytest.raises(ReleasegateError, match="is a copy"):
        cast_vote(
            ReleaseAction(str(tmp_path / waiting.release_id), waiting.workspace, by=FIRST, reason=REASON), "approve"
        )


def test_who_has_a_key_must_sign(
    waiting: Waiting, releasegate: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(flows.workspace.actor, "datetime", Noon)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv(PASSPHRASE, "ibex saiga marmot quoll")
    place = ("--workspace", waiting.workspace.root)
    assert releasegate("key", "create", FIRST.upper(), "--role", "reviewer", *place).code == 0
    key = Path.home() / ".releasegate" / "m-okafor.pem"
    voting = (
        "review",
        waiting.release_id,
        "--recipient",
        "university",
        *place,
        "--vote",
        "approve",
        "--reason",
        REASON,
    )
    away = key.rename(tmp_path / "away.pem")
    assert releasegate(*voting, "--as", FIRST).code == 2
    assert Event.VOTED.value not in waiting.events()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RELEASEGATE_KEY_FILE", str(away))
        assert releasegate(*voting, "--as", FIRST).code == 4
    assert releasegate(*voting, "--as", SECOND).code == 0, "nobody else needs one"
    assert releasegate("verify", "ledger", *place).code == 0
    signers = {entry.body.get("reviewer"): entry.signer for entry in waiting.entries() if entry.event is Event.VOTED}
    assert signers == {FIRST: FIRST, SECOND: None}
    assert releasegate("key", "create", OFFICER, "--role", "officer", *place).code == 0
    monkeypatch.delenv(PASSPHRASE)
    revoking = ("revoke", waiting.release_id, *place, "--as", OFFICER, "--reason", "x")
    assert "passphrase" in releasegate(*revoking).err
    with pytest.raises(BadInput, match="passphrase"):
        waiting.revoke(OFFICER)
    monkeypatch.setenv(PASSPHRASE, "ibex saiga marmot quoll")
    assert releasegate(*revoking).code == 0
    assert [entry.signer for entry in waiting.entries() if entry.event is Event.REVOKED] == [OFFICER, OFFICER]
    waiting.verified()


class Noon(datetime):
    """A day on which the decision holds, whatever the day of the test."""

    @classmethod
    def now(cls, tz: Any = None) -> datetime:
        return LATER.astimezone(tz or UTC)


def test_a_determination_signed_while_it_waits_stays_with_what_reviews_add(waiting: Waiting, engine: Any) -> None:
    def sign(at: datetime) -> Any:
        return sign_determination(
            ReleaseAction(waiting.release_id, waiting.workspace, recipient="university", clock=lambda: at),
            lambda: pki().credentials(),
        )

    path = sign(LATER).path
    assert path.read_bytes().startswith((waiting.bundle / "report/university.pdf").read_bytes())
    assert waiting.state() is State.AWAITING_REVIEW
    waiting.vote(FIRST)
    assert waiting.vote(SECOND).standing.state is State.RELEASED
    report = waiting.verified()
    assert (report.delivered, report.signed) == (("university",), (path.relative_to(waiting.bundle).as_posix(),))
    assert waiting.again(engine).repeated
    waiting.revoke(OFFICER)
    with pytest.raises(StageFailed, match="revoked"):
        sign(LATER)
    assert waiting.verified().signed == report.signed


class NextDay(datetime):
    """The day after the votes."""

    @classmethod
    def now(cls, tz: Any = None) -> datetime:
        return (LATER + timedelta(days=1)).astimezone(tz or UTC)


def test_a_signature_after_the_votes_says_that_it_does_not_cover_them(
    approved: Waiting, releasegate: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flows.workspace.actor, "datetime", NextDay)
    place = ("--workspace", approved.workspace.root)
    listed = " ".join(releasegate("release", approved.world.request, *place).out.split())
    assert "approval/university.pdf" in listed
    keys = private(tmp_path / "expert.p12", p12(pki().credentials()))
    monkeypatch.setenv(SIGN_PASSPHRASE, SECRET)
    told = releasegate("sign", approved.release_id, "--recipient", "university", "--pkcs12", keys, *place)
    assert "covers: report/university.pdf, the determination as the gate decided; not the votes" in told.out
    assert "approval/university.pdf" in told.out


def test_the_commands(waiting: Waiting, releasegate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flows.workspace.actor, "datetime", Noon)
    place = ("--workspace", waiting.workspace.root)
    line = ("review", waiting.release_id[:12], *place)
    voting = (*line, "--vote", "approve", "--reason", REASON, "--as")
    assert "several recipients" in releasegate(*voting, FIRST).err
    voting = (*voting[:-1], "--recipient", "university", "--as")
    told = releasegate(*voting, FIRST)
    assert told.code == 4
    assert "1 of 2 votes cast" in told.out
    shown = releasegate(*line)
    assert shown.code == 4
    assert f"votes in   1 of 2: {FIRST}" in shown.out
    assert "; 1 review is still needed." in shown.out
    assert "Zwölf" not in shown.out + told.out + told.err
    asked = releasegate("release", waiting.world.request, *place)
    assert asked.code == 4
    assert "1 of 2 votes cast" in asked.out
    command = f"releasegate review {waiting.release_id[:12]} --recipient university --workspace "
    assert f"\nNext: reviewers run `{command}" in asked.out
    assert releasegate(*voting, REQUESTER).code == 2
    assert releasegate(*line, "--vote", "approve").code == 2
    assert releasegate(*line, "--as", FIRST).code == 2
    told = releasegate(*voting, SECOND, "--json").document
    assert (told["state"], told["exit_code"]) == ("released", 0)
    other = (*line, "--recipient", "clinic", "--reason", REASON, "--vote")
    releasegate(*other, "approve", "--as", FIRST)
    assert releasegate(*other, "reject", "--as", SECOND).code == 3
    assert releasegate("release", waiting.world.request, *place).code == 3
    lifting = ("--recipient", "clinic", "--as", OFFICER, "--reason", "amended", "--json")
    lifted = releasegate("override", waiting.release_id, *place, *lifting).document
    assert lifted["recipients"][0]["state"] == "awaiting review"
    assert f"Put before its reviewers again by {OFFICER} (officer): “amended”" in releasegate(*line).out
    releasegate(*other, "approve", "--as", FIRST)
    assert releasegate(*other, "approve", "--as", SECOND).code == 0
    asked = releasegate("release", waiting.world.request, *place)
    assert asked.code == 0
    assert "RELEASED  university" in asked.out
    earlier = releasegate(*line, "--json").document["recipients"]
    assert [one["reviews"][0]["reviewer"] for one in earlier] == [FIRST, FIRST]
    revoking = ("--recipient", "clinic", "--as", OFFICER, "--reason", "lost laptop")
    assert "REVOKED  clinic" in releasegate("revoke", waiting.release_id, *place, *revoking).out
    verified = releasegate("verify", waiting.bundle, *place, "--json").document
    assert verified["states"]["university"] == "released"
    assert "lost laptop" in verified["states"]["clinic"]
    asked = releasegate("release", waiting.world.request, *place, "--json")
    assert asked.code == 3
    assert {one["recipient"]: one["state"] for one in asked.document["recipients"]} == {
        "university": "released",
        "clinic": "revoked",
    }
