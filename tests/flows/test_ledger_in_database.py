"""A workspace whose ledger is in PostgreSQL: the same gate, one ledger, and no password anywhere."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.workspace.folders import open_workspace
from flows.workspace.ledger import VARIABLE, has_ledger, open_ledger
from tasks.core.errors import WorkspaceError
from tests.support.enrolled import but_enrolments
from tests.support.postgres import PASSWORD, Server, running_server
from tests.support.world import LAPSED, UNIVERSITY, make_world

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_server() as running:
        yield running


@pytest.fixture
def address(server: Server, monkeypatch: pytest.MonkeyPatch) -> str:
    address = server.new_database()
    monkeypatch.setenv(VARIABLE, address)
    return address


def passwords_in(folder: Path) -> list[Path]:
    marks = (PASSWORD.encode(), "".join(f"%{byte:02X}" for byte in PASSWORD.encode()).encode())
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if any(mark in path.read_bytes() for mark in marks)]


@pytest.mark.usefixtures("address")
def test_a_release_is_recorded_in_the_database_alone(
    engine: Any, tmp_path: Path, releasegate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(tmp_path / "world")
    world.ask(recipients=[UNIVERSITY, LAPSED])
    outcome = world.run(engine)
    root = world.workspace.root
    assert not world.workspace.ledger.exists()
    with open_ledger(world.workspace) as ledger:
        assert [entry.event.value for entry in but_enrolments(ledger)] == [
            "requested", "decided", "decided", "released", "published",
        ]  # fmt: skip
    for arguments in (("verify", "ledger"), ("verify", outcome.bundle)):
        told = releasegate(*arguments, "--workspace", root, "--json")
        assert told.code == 0, told.err
        assert told.document["ok"]
        assert PASSWORD not in told.out + told.err
    assert world.run(engine).repeated
    assert passwords_in(world.folder) == []

    monkeypatch.delenv(VARIABLE)
    for arguments in (("verify", "ledger"), ("verify", outcome.bundle), ("explain", outcome.release_id)):
        told = releasegate(*arguments, "--workspace", root)
        assert told.code == 2
        assert f"{VARIABLE} does not name the ledger of the workspace" in told.err
    with pytest.raises(WorkspaceError, match="does not name the ledger"):
        world.run(engine)
    assert not world.workspace.ledger.exists()


def refused(workspace_root: Path, *, create: bool = True) -> str:
    with pytest.raises(WorkspaceError) as caught:
        open_ledger(open_workspace(workspace_root), create=create)
    assert PASSWORD not in str(caught.value)
    return str(caught.value)


def test_a_workspace_keeps_the_ledger_it_began_with(
    address: str, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_file = open_workspace(tmp_path / "file")
    monkeypatch.delenv(VARIABLE)
    open_ledger(in_file, create=True).close()
    monkeypatch.setenv(VARIABLE, address)
    assert "unset RELEASEGATE_LEDGER" in refused(in_file.root)

    in_database = open_workspace(tmp_path / "database")
    assert "there is no ledger" in refused(in_database.root, create=False)
    assert not has_ledger(in_database)
    open_ledger(in_database, create=True).close()
    assert has_ledger(in_database)
    monkeypatch.setenv(VARIABLE, server.new_database())
    assert "correct RELEASEGATE_LEDGER" in refused(in_database.root)


def test_a_ledger_that_has_gone_is_not_begun_again(address: str, server: Server, tmp_path: Path) -> None:
    workspace = open_workspace(tmp_path / "workspace")
    open_ledger(workspace, create=True).close()
    with server.connect(address.rpartition("@/")[2].partition("?")[0]) as owner:
        owner.execute("DROP SCHEMA releasegate CASCADE")
    assert "there is no ledger" in refused(workspace.root)


def test_an_address_of_another_kind_is_not_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "mysql://u:hidden@db/gate")
    said = refused(tmp_path / "workspace")
    assert "begins with postgresql://" in said
    assert "hidden" not in said


@pytest.mark.usefixtures("address")
def test_a_note_that_cannot_be_read(tmp_path: Path) -> None:
    workspace = open_workspace(tmp_path)
    (workspace.private / "ledger").write_bytes(b"\xff")
    assert "cannot be read" in refused(workspace.root)
