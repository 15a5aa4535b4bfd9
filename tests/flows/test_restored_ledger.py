"""A ledger that is put back to an older state is found by the head that its workspace has noted."""

import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from flows.workspace.folders import Workspace, open_workspace
from flows.workspace.ledger import open_ledger
from tasks.core.errors import TamperingFound, WorkspaceError
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger
from tests.support.processes import forked

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


def record(workspace: Workspace, number: int, event: Event = Event.REQUESTED) -> None:
    with open_ledger(workspace, create=True) as ledger:
        at = NOON + timedelta(seconds=number)
        ledger.append(event, release_id="r", recipient=None, actor="steward", body={"n": number}, at=at)


def copied(source: Path, target: Path) -> None:
    """As a backup would, whatever is in the write-ahead log."""
    target.unlink(missing_ok=True)
    with closing(sqlite3.connect(source)) as own, closing(sqlite3.connect(target)) as copy:
        own.backup(copy)


def put_back(workspace: Workspace, backup: Path) -> None:
    for path in workspace.root.glob("ledger.sqlite*"):
        path.unlink()
    shutil.copyfile(backup, workspace.ledger)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = open_workspace(tmp_path / "workspace")
    for number in range(3):
        record(made, number)
    return made


@pytest.fixture
def rolled_back(workspace: Workspace, tmp_path: Path) -> Workspace:
    """A revocation is undone by yesterday's file."""
    copied(workspace.ledger, tmp_path / "yesterday.sqlite")
    record(workspace, 3, Event.REVOKED)
    put_back(workspace, tmp_path / "yesterday.sqlite")
    return workspace


def test_a_revocation_is_not_undone_by_yesterdays_ledger(rolled_back: Workspace, releasegate: Any) -> None:
    with pytest.raises(TamperingFound, match="older than this workspace") as caught:
        open_ledger(rolled_back)
    assert caught.value.expected.startswith("entry 4")
    told = releasegate("verify", "ledger", "--workspace", rolled_back.root)
    assert told.code == 3
    assert "--accept-restored" in told.err
    with pytest.raises(TamperingFound):
        record(rolled_back, 5)


def test_nor_by_another_that_has_grown_since(rolled_back: Workspace, tmp_path: Path) -> None:
    (rolled_back.private / "ledger-head" / "noted").rename(tmp_path / "noted")
    for number in range(4, 7):
        record(rolled_back, number)
    (tmp_path / "noted").replace(rolled_back.private / "ledger-head" / "noted")
    with pytest.raises(TamperingFound, match="another one") as caught:
        open_ledger(rolled_back)
    assert caught.value.got == "a different entry"


def test_nor_by_beginning_anew(workspace: Workspace) -> None:
    for path in workspace.root.glob("ledger.sqlite*"):
        path.unlink()
    with pytest.raises(WorkspaceError, match="there is no ledger"):
        record(workspace, 4)
    assert not workspace.ledger.exists()


def test_a_note_that_was_not_made_with_the_key_is_found(workspace: Workspace) -> None:
    note = workspace.private / "ledger-head" / "noted"
    note.write_text(note.read_text().replace('"sequence":3', '"sequence":1'))
    with pytest.raises(TamperingFound, match="note of the ledger's head"):
        open_ledger(workspace)


def test_a_backup_is_accepted_for_a_reason_that_is_recorded(rolled_back: Workspace, releasegate: Any) -> None:
    place = ("--workspace", rolled_back.root)
    assert releasegate("verify", "ledger", *place, "--accept-restored", " ").code == 2
    told = releasegate("verify", "ledger", *place, "--accept-restored", "The disk failed on Monday", "--json")
    assert told.code == 0
    assert told.document["entries"] == 3
    assert releasegate("verify", "ledger", *place).code == 0
    with open_ledger(rolled_back) as ledger:
        (entry,) = ledger.entries(event=Event.RESTORED)
        assert (entry.sequence, entry.body["reason"], entry.body["noted"]) == (4, "The disk failed on Monday", 4)


def test_a_crash_before_the_note_locks_nobody_out(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("flows.workspace.ledger_head.write_whole", lambda *_: (_ for _ in ()).throw(OSError))
        record(workspace, 3)
    record(workspace, 4)
    with open_ledger(workspace) as ledger:
        assert ledger.verify() == 5


def test_what_is_rolled_back_was_never_noted(workspace: Workspace) -> None:
    with open_ledger(workspace) as ledger, pytest.raises(ValueError, match="actor"):
        append_twice(ledger, "somebody", " ")
    with open_ledger(workspace) as ledger:
        assert ledger.head().sequence == 3


def append_twice(ledger: Ledger, *actors: str) -> None:
    """In one transaction, which fails if an actor has no name."""
    at = NOON + timedelta(hours=1)
    with ledger.transaction():
        for actor in actors:
            ledger.append(Event.REVOKED, release_id="r", recipient=None, actor=actor, body={}, at=at)


def record_many(root: Path) -> None:
    for _ in range(20):
        record(Workspace(root), 60)


def test_several_processes_note_what_is_in_the_ledger(workspace: Workspace) -> None:
    writers = [forked(record_many, workspace.root) for _ in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    with open_ledger(workspace) as ledger:
        assert ledger.verify() == 63
