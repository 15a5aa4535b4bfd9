"""Workspaces that earlier versions have written are opened and go on; those of later formats are refused."""

import sqlite3
import tarfile
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from flows.actions.audit import run_audit
from flows.people.accounts import Accounts
from flows.pipeline.sequence import in_process
from flows.queue.queue import Queue, RequestState
from flows.reassessment.copy_reassessment import TodaysFiles
from flows.reassessment.run import reassess_all
from flows.releases.cases import ReleaseAction
from flows.workspace.ledger import open_ledger
from tasks.core.errors import WorkspaceError
from tasks.ledger.entry import Event
from tests.migrations.make import PASSWORD
from tests.support.acting import cast_vote
from tests.support.world import NOW, QUICK_LINKAGE, World

pytestmark = pytest.mark.slow

ARCHIVES = sorted((Path(__file__).parents[1] / "migrations").glob("workspace-*.tar.gz"))
LATER = NOW + timedelta(days=3)


@pytest.fixture(params=ARCHIVES, ids=lambda path: path.name.removesuffix(".tar.gz"))
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    with tarfile.open(request.param) as archive:
        archive.extractall(tmp_path, filter="tar")
    return World(tmp_path / "world")


def events(world: World) -> list[Any]:
    with open_ledger(world.workspace) as ledger:
        return list(ledger.entries())


def test_everything_verifies(world: World, releasegate: Any) -> None:
    place = ("--workspace", world.workspace.root)
    assert releasegate("verify", "ledger", *place).code == 0
    for release in sorted(one.release_id for one in events(world) if one.event is Event.PUBLISHED):
        assert releasegate("verify", release, *place).code == 0


def test_work_goes_on_where_it_was_left(world: World) -> None:
    (waiting,) = {one.release_id for one in events(world) if one.event is Event.VOTED}
    vote = ReleaseAction(waiting, world.workspace, by="Second Reviewer", reason="Read.", clock=lambda: LATER)
    cast_vote(vote, "approve")
    world.ask(title="New", policy={"linkage": QUICK_LINKAGE})
    made = world.run(in_process, clock=lambda: LATER)
    assert [one.event for one in events(world) if one.release_id == waiting][-1] is Event.RELEASED
    assert [one.decision.value for one in made.records] == ["approved"]
    found = reassess_all(
        world.workspace, options=TodaysFiles(roots=(world.folder,)), clock=lambda: LATER + timedelta(days=1)
    )
    assert len(found) == 3
    account = Accounts(world.workspace).check("first", PASSWORD)
    assert account is not None
    assert account.name == "First Reviewer"
    (queued,) = Queue(world.workspace).open_entries()
    assert (queued.state, queued.name) == (RequestState.ACCEPTED, "queued.yaml")
    audited = run_audit(world.workspace, "2026-03-01", "2026-03-05", world.folder.parent, clock=lambda: LATER)
    assert audited.report.chain.intact


def test_a_later_format_is_refused_and_nothing_is_changed(world: World, releasegate: Any) -> None:
    with closing(sqlite3.connect(world.workspace.ledger)) as ledger:
        (known,) = ledger.execute("PRAGMA user_version").fetchone()
        ledger.execute(f"PRAGMA user_version={known + 1}")
    before = world.workspace.ledger.read_bytes()
    with pytest.raises(WorkspaceError, match=f"got: format {known + 1}") as refused, open_ledger(world.workspace):
        pass
    assert "use the version of releasegate that wrote it" in str(refused.value)
    assert releasegate("doctor", "--workspace", world.workspace.root).code == 1
    assert world.workspace.ledger.read_bytes() == before
