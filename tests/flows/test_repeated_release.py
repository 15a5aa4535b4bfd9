"""The same request asked again, in every state that its release can be in: nothing is done, and that is said."""

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from flows.actions.overruling import revoke
from flows.gate.release import run_release
from flows.releases.cases import ReleaseAction
from flows.workspace.folders import Workspace
from tasks.core.errors import StageCrashed
from tasks.decision import bodies
from tasks.decision.states import State
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger
from tests.support.acting import cast_vote
from tests.support.world import LAPSED, NOW, UNIVERSITY, World, drawn_rows, make_world

REVIEWER, OFFICER = "M. Okafor", "P. Officer"
REVIEW = {"required": 1, "reviewers": [REVIEWER], "officers": [OFFICER]}
LATER = NOW + timedelta(hours=1)
EXPIRED = NOW + timedelta(days=400)
BY = "5" * 64
Snapshot = dict[str, tuple[str, int]]


def no_engine(_home: Path, _results: Path) -> AbstractContextManager[object]:
    raise AssertionError("nothing is to be run again")


@dataclass(frozen=True)
class Decided:
    """A release that was decided."""

    world: World
    release_id: str

    @property
    def workspace(self) -> Workspace:
        return self.world.workspace

    def vote(self, vote: Any) -> None:
        cast_vote(
            ReleaseAction(self.release_id, self.workspace, by=REVIEWER, reason="Seen.", clock=lambda: LATER), vote
        )

    def approve(self) -> None:
        self.vote("approve")

    def reject(self) -> None:
        self.vote("reject")

    def revoke(self) -> None:
        revoke(
            ReleaseAction(self.release_id, self.workspace, by=OFFICER, reason="Agreement broken", clock=lambda: LATER)
        )

    def supersede(self) -> None:
        self.approve()
        with ReleaseAction(self.release_id, self.workspace, clock=lambda: LATER).opened("test") as release:
            release.append(release.case("university"), [(Event.SUPERSEDED, bodies.superseded(BY))])

    def nothing(self) -> None:
        pass

    def ledger(self) -> tuple[int, str]:
        with Ledger.open(self.workspace.ledger, create=False) as ledger:
            ledger.verify()
            return len(ledger.entries()), ledger.head().sha256

    def files(self) -> Snapshot:
        """Every file of the workspace but the ledger and locks: its bytes, and when they were written."""
        found = {}
        for path in sorted(self.workspace.root.rglob("*")):
            if path.is_file() and path.suffix != ".lock" and not path.name.startswith("ledger.sqlite"):
                digest = sha256(path.read_bytes()).hexdigest()
                found[str(path.relative_to(self.workspace.root))] = (digest, path.stat().st_mtime_ns)
        return found


def decided(folder: Path, engine: Any, **changes: Any) -> Decided:
    world = make_world(folder / "world")
    world.ask(**changes)
    return Decided(world, world.run(engine).release_id)


@pytest.fixture(scope="module")
def waiting(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Decided:
    return decided(tmp_path_factory.mktemp("waiting"), engine, policy={"review": REVIEW}, recipients=[UNIVERSITY])


@pytest.fixture(scope="module")
def blocked(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Decided:
    return decided(tmp_path_factory.mktemp("blocked"), engine, recipients=[LAPSED])


@pytest.fixture
def command(releasegate: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """The command at a time, with an orchestrator that must not be started."""

    def run(release: Decided, at: datetime, *options: str) -> Any:
        monkeypatch.setattr("flows.gate.release.run_release", partial(run_release, engine=no_engine, clock=lambda: at))
        return releasegate("release", release.world.request, "--workspace", release.workspace.root, *options)

    return run


STATES = [
    pytest.param(Decided.nothing, LATER, State.AWAITING_REVIEW, 4, "AWAITING REVIEW", id="awaiting review"),
    pytest.param(Decided.approve, LATER, State.RELEASED, 0, "RELEASED", id="approved in review"),
    pytest.param(Decided.reject, LATER, State.BLOCKED, 3, "BLOCKED", id="rejected in review"),
    pytest.param(Decided.revoke, LATER, State.REVOKED, 3, "REVOKED", id="revoked while it waits"),
    pytest.param(Decided.supersede, LATER, State.SUPERSEDED, 3, "SUPERSEDED", id="superseded"),
    pytest.param(Decided.nothing, EXPIRED, State.EXPIRED, 3, "LAPSED", id="expired while it waits"),
    pytest.param(Decided.approve, EXPIRED, State.EXPIRED, 3, "LAPSED", id="expired after its release"),
]


@pytest.mark.parametrize(("act", "at", "state", "code", "word"), STATES)
def test_asked_again_nothing_is_done_and_the_state_is_told(
    waiting: Decided,
    tmp_path: Path,
    command: Any,
    *,
    act: Callable[[Decided], None],
    at: datetime,
    state: State,
    code: int,
    word: str,
) -> None:
    """An expiry is noted once, by whichever command meets it first; after that, as in all other states, nothing is."""
    shutil.copytree(waiting.world.folder.parent, tmp_path / "copy")
    release = Decided(World(tmp_path / "copy" / "world"), waiting.release_id)
    act(release)
    before = release.ledger()
    if state is State.EXPIRED:
        assert command(release, at).code == code
        assert release.ledger()[0] == before[0] + 1
        before = release.ledger()
    files = release.files()
    told = command(release, at)
    document = command(release, at, "--json").document
    assert (told.code, document["exit_code"], document["repeated"]) == (code, code, True)
    assert document["recipients"][0]["state"] == state.value
    assert document["decided_at"] == NOW.isoformat()
    assert "decided before, on 2026-03-02 at 09:30 UTC" in told.out
    assert "neither decided nor delivered again" in told.out
    assert f"{word}  university" in told.out
    assert release.ledger() == before
    assert release.files() == files


def test_a_release_that_gates_have_blocked_is_not_decided_again(blocked: Decided, command: Any) -> None:
    before, files = blocked.ledger(), blocked.files()
    for at in (LATER, EXPIRED):
        told = command(blocked, at)
        assert told.code == 3
        assert "BLOCKED  lapsed" in told.out
        assert "decided before, on 2026-03-02 at 09:30 UTC" in told.out
        assert command(blocked, at, "--json").document["repeated"] is True
    assert blocked.ledger() == before
    assert blocked.files() == files


def test_another_request_is_not_taken_for_the_same(waiting: Decided, tmp_path: Path) -> None:
    """Not by a changed word, nor by changed data: the engine is asked for."""
    shutil.copytree(waiting.world.folder.parent, tmp_path / "copy")
    release = Decided(World(tmp_path / "copy" / "world"), waiting.release_id)
    run = partial(run_release, release.world.request, release.workspace.root, engine=no_engine, clock=lambda: LATER)
    assert run().repeated
    release.world.spoil(note={3: "another"})
    with pytest.raises(StageCrashed):
        run()
    release.world.write_rows(drawn_rows())
    assert run().repeated
    release.world.ask(title="Another", policy={"review": REVIEW}, recipients=[UNIVERSITY])
    with pytest.raises(StageCrashed):
        run()
