"""A workspace that cannot be written, or whose disk runs full: a clear message, and the same command again goes on."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.workspace.folders import Workspace, open_workspace
from tasks.core.errors import WorkspaceError
from tasks.delivery.verification import verify_bundle
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger
from tasks.request.load import take_snapshot
from tests.support.enrolled import but_enrolments
from tests.support.forked_commands import Commands, forked_commands
from tests.support.world import World

KIBIBYTE = 1024
DISK = 48 * 1024 * KIBIBYTE


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Mount a small disk in memory, where the system lets us."""
    disk = tmp_path / "disk"

    def mounted(options: str) -> Path:
        disk.mkdir(exist_ok=True)
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "none", disk], capture_output=True, text=True, check=False
        )
        if done.returncode:
            pytest.skip("the system does not let us mount a disk in memory")
        return disk

    try:
        yield mounted
    finally:
        if os.path.ismount(disk):
            subprocess.run(["umount", "--lazy", disk], check=True)


@pytest.fixture
def commands() -> Iterator[Commands]:
    with forked_commands(own_workers=True) as started:  # whose temporary files lie on the disk too
        yield started


def no_engine(_home: Path, _results: Path) -> Any:
    pytest.fail("the orchestrator was started in a workspace that cannot be used")


def nothing_leaves(workspace: Workspace) -> None:
    assert list(workspace.releases.glob("*")) == []
    with Ledger.open(workspace.ledger) as ledger:
        ledger.verify()
        assert {entry.event for entry in but_enrolments(ledger)} <= {Event.REQUESTED, Event.REFUSED}


def completes(world: World, root: Path, commands: Commands) -> None:
    told = commands.run("release", world.request, "--workspace", root)
    assert told.code == 0, told.said()
    workspace = Workspace(root)
    (bundle,) = workspace.releases.iterdir()
    with Ledger.open(workspace.ledger) as ledger:
        verify_bundle(bundle, ledger)
        assert len(ledger.entries(event=Event.PUBLISHED)) == 1
    assert [path.suffix for path in (workspace.private / "runs").rglob("*")] == [".lock"]
    assert not list(workspace.orchestrator.glob("prefect.db.*"))


@pytest.mark.slow
def test_a_disk_that_runs_full_stops_the_run_and_the_same_command_goes_on(
    world: World, mount: Callable[..., Path], commands: Commands
) -> None:
    disk = mount(f"size={DISK}")
    filler, root = disk / "filler", disk / "workspace"
    for kibibytes in (600, *range(4750, 8000, 150)):  # more room each time, until a stage had begun
        filler.write_bytes(bytes(DISK - kibibytes * KIBIBYTE))
        told = commands.run("release", world.request, "--workspace", root)
        assert told.code == 2, "no run was stopped in one of its stages"
        steps, message = told.said().split("error: ")
        assert message.startswith("the disk is full")
        assert "to do: free space and run the same command again" in message
        begun = steps.splitlines()
        assert all(line.startswith("· ") for line in begun)
        filler.unlink()
        nothing_leaves(Workspace(root))
        if "· validating" in begun:
            break
    completes(world, root, commands)


@pytest.mark.slow
def test_a_file_that_may_not_grow_stops_the_run_and_the_same_command_goes_on(
    world: World, tmp_path: Path, commands: Commands
) -> None:
    """The same where no disk can be mounted: a limit on the size of files."""
    root = tmp_path / "workspace"
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, {(700 * KIBIBYTE,) * 2})"
    told = commands.start("release", world.request, "--workspace", root, before=limit)
    assert told.wait() == 2
    assert "error: the disk is full" in told.said()
    nothing_leaves(Workspace(root))


@pytest.mark.parametrize("kibibytes", [0, 24, 48])
def test_a_disk_full_from_the_beginning_leaves_no_damaged_key_or_ledger(
    kibibytes: int, world: World, mount: Callable[..., Path]
) -> None:
    disk = mount("size=1m")
    filler, root = disk / "filler", disk / "workspace"
    filler.write_bytes(bytes((1024 - kibibytes) * KIBIBYTE))
    for _ in range(2):
        with pytest.raises(WorkspaceError) as caught:
            world.run(no_engine, root)
        assert caught.value.got in {"No space left on device", "the disk is full", "the disk or the system refused"}
    filler.unlink()
    nothing_leaves(open_workspace(root))


def blocked_by_a_file(world: World) -> Path:
    (world.folder / "file").write_text("")
    return world.folder / "file"


def blocked_below_a_file(world: World) -> Path:
    return blocked_by_a_file(world) / "workspace"


def blocked_inside(world: World) -> Path:
    root = world.folder / "inside"
    root.mkdir()
    (root / "releases").write_text("")
    return root


@pytest.mark.parametrize("place", [blocked_by_a_file, blocked_below_a_file, blocked_inside])
def test_a_workspace_that_cannot_be_made(place: Callable[[World], Path], world: World) -> None:
    root = place(world)
    with pytest.raises(WorkspaceError, match="the workspace cannot be written") as caught:
        world.run(no_engine, root)
    assert caught.value.where == str(root)
    assert caught.value.fields().keys() == {"what", "where", "expected", "got", "fix"}


def test_a_workspace_on_a_disk_that_is_read_only(world: World, mount: Callable[..., Path]) -> None:
    disk = mount("size=1m,ro")
    with pytest.raises(WorkspaceError, match="the workspace cannot be written") as caught:
        world.run(no_engine, disk / "workspace")
    assert caught.value.got == "Read-only file system"


def test_a_file_in_the_place_of_the_runs_folder(world: World, engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def stand_in_the_way(loaded: Any, hashes: Any, folder: Path) -> None:
        folder.parent.write_text("")
        take_snapshot(loaded, hashes, folder)

    monkeypatch.setattr("flows.gate.release.take_snapshot", stand_in_the_way)
    with pytest.raises(WorkspaceError, match="cannot be read or written") as caught:
        world.run(engine)
    assert caught.value.where.startswith("release (")
    nothing_leaves(world.workspace)


def test_a_folder_in_the_place_of_the_ledger(world: World) -> None:
    world.workspace.ledger.mkdir(parents=True)
    with pytest.raises(WorkspaceError, match="ledger") as caught:
        world.run(no_engine)
    assert caught.value.where == str(world.workspace.ledger)
