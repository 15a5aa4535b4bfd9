"""SIGKILL along a release, again and again: each run goes on where the last one ended."""

import csv
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from flows.workspace.folders import Workspace
from tasks.decoys.vault import Vault
from tasks.delivery.verification import verify_bundle
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger
from tests.support.enrolled import but_enrolments
from tests.support.forked_commands import Commands, forked_commands, until
from tests.support.world import World, make_world

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")]

KILLED_AT = """
import os, signal
import flows.cli.release, flows.gate.publishing

point = {point!r}

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def stopping(show):
    def step(name):
        show(name)
        if name.startswith(point):
            die()
    return step

listening, seal = flows.cli.release.listening, flows.gate.publishing.seal
flows.cli.release.listening = lambda show: listening(stopping(show))
if point == "after sealing":
    flows.gate.publishing.seal = lambda folder: (seal(folder), die())
if point == "after the ledger":
    flows.gate.publishing.publish = die
"""
"""Lets a command kill itself at a point: the beginning of a step, or one of two moments between steps."""

RENDERED = (("decision", "json"), ("report", "pdf"), ("evidence", "pdf"), ("certificate", "pdf"))
STEPS = {
    "generalizing": {"prepared.npz", "masked.npz"},
    "writing": {f"{stage}-university.json" for stage in ("identity", "sequential", "combined", "linkage", "utility")}
    | {"collected.json", "generalization-university.npz", "validation-fact.json", "validation-positions.json"},
    "deciding": {"released-university.csv"},
    "sealing": {f"{kind}-university.{form}" for kind, form in RENDERED},
    "after sealing": set(),
    "after the ledger": set(),
}
"""Points to be killed at, and the files of the run that the steps before must have finished."""
ALL_EVENTS = [Event.REQUESTED, Event.DECIDED, Event.RELEASED, Event.PUBLISHED]
MADE_ANEW = STEPS["sealing"]
"""A decision bears its own date, so it is made again, and what renders it too."""


def line(world: World) -> list[str]:
    return ["release", str(world.request), "--workspace", str(world.workspace.root)]


def killed_at(point: str, world: World, commands: Commands) -> None:
    """Run the command until it kills itself."""
    running = commands.start(*line(world), before=KILLED_AT.format(point=point))
    assert running.wait() == -signal.SIGKILL, running.said()


def killed_from_outside(step: str, seconds: float, world: World, commands: Commands) -> None:
    """Run the command and kill it some time after it says that a step has begun."""
    running = commands.start(*line(world))
    assert until(lambda: f"· {step}" in running.said(), running), running.said()
    time.sleep(seconds)
    assert running.kill(), running.said()


def servers(workspace: Workspace) -> list[int]:
    """Processes that work in the orchestrator's folder."""
    found = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if link.resolve() == workspace.orchestrator.resolve():
                found.append(int(link.parent.name))
        except OSError:
            continue
    return found


def no_server_is_left(workspace: Workspace) -> None:
    deadline = time.monotonic() + 300
    while servers(workspace):
        assert time.monotonic() < deadline, "an orchestration server outlived the command"
        time.sleep(0.05)


def files_of_the_run(workspace: Workspace) -> dict[str, tuple[int, int]]:
    """What identifies each file of the run as it was written, results of the orchestrator left out."""
    found = [path for path in (workspace.private / "runs").glob("*/*") if path.is_file()]
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in found}


def events(workspace: Workspace) -> list[Event]:
    with Ledger.open(workspace.ledger, create=False) as ledger:
        ledger.verify()
        return [entry.event for entry in but_enrolments(ledger)]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    made = make_world(tmp_path_factory.mktemp("killed") / "world")
    made.ask(attributes={"record_id": {"role": "pseudonym"}})
    return made


def test_a_release_killed_along_its_way_is_finished_by_the_same_command(world: World) -> None:
    with forked_commands() as commands:
        killed_along_its_way(world, commands)
        told = commands.run(*line(world))
        assert told.code == 0, told.said()
        assert "APPROVED" in told.said()

    workspace = world.workspace
    (bundle,) = workspace.releases.iterdir()
    with Ledger.open(workspace.ledger, create=False) as ledger:
        report = verify_bundle(bundle, ledger)
    assert list(report.decisions) == list(report.delivered) == ["university"]
    sealed = report.records["university"].pseudonyms
    assert sealed is not None
    crosswalk = Vault.beside(workspace.key_file).open_crosswalk(bundle.name, "university", str(sealed.crosswalk_sha256))
    with (bundle / "delivery" / "university" / "data.csv").open(newline="") as lines:
        assert {row["record_id"] for row in csv.DictReader(lines)} == crosswalk.identifiers("record_id").keys()
    assert events(workspace) == ALL_EVENTS
    assert [path.suffix for path in (workspace.private / "runs").rglob("*")] == [".lock"]
    assert list(workspace.staging.iterdir()) == []
    no_server_is_left(workspace)
    assert not [path for path in workspace.root.rglob("*") if "partial" in path.name or path.name.startswith(".ledger")]


def killed_along_its_way(world: World, commands: Commands) -> None:
    """Stages that were finished are not repeated, and nothing leaves."""
    workspace = world.workspace
    killed_from_outside("starting", 1.0, world, commands)
    no_server_is_left(workspace)
    finished: dict[str, tuple[int, int]] = {}
    for point, files in STEPS.items():
        killed_at(point, world, commands)
        no_server_is_left(workspace)
        now = files_of_the_run(workspace)
        assert finished.keys() | files <= now.keys(), point
        assert {name: now[name] for name in finished.keys() - MADE_ANEW} == {
            name: told for name, told in finished.items() if name not in MADE_ANEW
        }, f"killed at {point}, a finished stage was repeated"
        assert list(workspace.releases.iterdir()) == []
        assert events(workspace) == (ALL_EVENTS if point == "after the ledger" else ALL_EVENTS[:1])
        # Of a stage that was under way at the kill, the file may be there, and its result not: it is made again.
        finished = {name: now[name] for name in finished.keys() | files}
        if point == "deciding":
            killed_from_outside("deciding", 0.1, world, commands)
            no_server_is_left(workspace)
    (staged,) = workspace.staging.iterdir()
    assert (staged / "manifest.json").is_file()


def test_the_files_of_the_private_folder_are_the_owners_alone(world: World) -> None:
    """After a kill the files of the run stay; nobody else may read them."""
    assert os.stat(world.workspace.private).st_mode & 0o077 == 0
    assert os.stat(world.workspace.ledger).st_mode & 0o077 == 0
