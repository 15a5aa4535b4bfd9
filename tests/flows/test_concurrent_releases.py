"""Releases at once, each a process of its own, on one ledger: no fork, nothing lost, every bundle whole.

Each goes to another recipient: of two that go to one party at once, the second is refused.
"""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from flows.workspace.folders import Workspace
from flows.workspace.ledger import VARIABLE, open_ledger
from tasks.delivery.verification import verify_bundle
from tasks.ledger.entry import Event
from tests.support.enrolled import but_enrolments
from tests.support.forked_commands import Commands, forked_commands, until
from tests.support.postgres import running_server
from tests.support.world import World, make_world, recipient

pytestmark = pytest.mark.slow

AT_ONCE = 3
QUICK = {"id": "standard", "version": "1", "linkage": {"learned": False, "individuals": 100}}
EACH = Counter([Event.REQUESTED, Event.DECIDED, Event.RELEASED, Event.PUBLISHED])


@pytest.fixture(scope="module")
def commands() -> Iterator[Commands]:
    with forked_commands() as started:
        yield started


def asked(folder: Path, number: int) -> World:
    world = make_world(folder / f"world{number}")
    world.ask(title=f"Visits {number}", recipients=[recipient(f"university-{number}")], policy=QUICK)
    return world


def all_are_there(roots: list[Path], at_once: int) -> None:
    """The one ledger has every release whole, in one chain; each bundle is what it records."""
    with open_ledger(Workspace(roots[0])) as ledger:
        assert ledger.verify() == EACH.total() * at_once + 1
        entries = but_enrolments(ledger)
        assert [entry.sequence for entry in ledger.entries()] == list(range(1, len(entries) + 2))
        by_release: dict[str | None, list[Event]] = {}
        for entry in entries:
            by_release.setdefault(entry.release_id, []).append(entry.event)
        assert len(by_release) == at_once
        assert all(Counter(events) == EACH for events in by_release.values())
        bundles = [bundle for root in roots for bundle in Workspace(root).releases.iterdir()]
        assert {bundle.name for bundle in bundles} == by_release.keys()
        for bundle in bundles:
            assert len(verify_bundle(bundle, ledger).delivered) == 1
    for root in roots:
        assert {path.suffix for path in (root / ".releasegate" / "runs").rglob("*")} == {".lock"}


def test_three_at_once_in_one_workspace(commands: Commands, tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    worlds = [asked(tmp_path, number) for number in range(AT_ONCE)]
    running = [commands.start("release", world.request, "--workspace", root) for world in worlds]
    for one in running:
        assert one.wait() == 0, one.said()
    all_are_there([root], AT_ONCE)


def test_two_workspaces_at_once_with_one_ledger_in_a_database(
    commands: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_server() as server:
        environment = {VARIABLE: server.new_database()}
        monkeypatch.setenv(VARIABLE, environment[VARIABLE])
        roots = [tmp_path / f"workspace{number}" for number in range(2)]
        running = [
            commands.start(
                "release",
                asked(tmp_path, number).request,
                "--workspace",
                root,
                environment=environment,
            )
            for number, root in enumerate(roots)
        ]
        for one in running:
            assert one.wait() == 0, one.said()
        all_are_there(roots, len(roots))


def test_the_same_request_twice_at_once_is_decided_once(commands: Commands, tmp_path: Path) -> None:
    """The second waits, says so, and shows what the first has decided."""
    world, root = asked(tmp_path, 0), tmp_path / "workspace"
    first = commands.start("release", world.request, "--workspace", root)
    assert until(lambda: "· starting" in first.said(), first)
    second = commands.start("release", world.request, "--workspace", root)
    assert until(lambda: "· waiting for another process that works on this release" in second.said(), second)
    os.kill(first.pid, 0)
    assert (first.wait(), second.wait()) == (0, 0), first.said() + second.said()
    assert "This request was decided before" in second.said()
    assert "· starting" not in second.said()
    with open_ledger(Workspace(root)) as ledger:
        assert Counter(entry.event for entry in but_enrolments(ledger)) == EACH
