"""What is dropped into the inbox is taken in once it has settled, and moved aside."""

import os
import pwd
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from flows.queue.queue import Queue, RequestState
from flows.service.config import Service, service_of
from flows.service.intake import InboxWatcher, receive
from flows.workspace.ledger import open_ledger
from tasks.core.errors import WorkspaceError
from tasks.core.people import login_of
from tasks.ledger.entry import Event
from tests.support.world import NOW, World


@dataclass
class Seconds:
    """A clock that the tests move."""

    now: float = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Seconds:
    return Seconds()


@pytest.fixture
def service(world: World) -> Service:
    folder = world.folder.parent / "inbox"
    folder.mkdir()
    return service_of(world.workspace.root, (world.folder,), folder)


@pytest.fixture
def inbox(service: Service, clock: Seconds) -> InboxWatcher:
    assert service.inbox is not None
    made = InboxWatcher(service, service.inbox, monotonic=clock)
    made.prepare()
    return made


def drop(world: World, service: Service, name: str = "visits.yaml") -> Path:
    assert service.inbox is not None
    path = service.inbox / name
    path.write_bytes(world.request.read_bytes())
    return path


def test_a_file_is_read_once_its_size_has_been_the_same_for_a_while(
    world: World, service: Service, inbox: InboxWatcher, clock: Seconds
) -> None:
    path = drop(world, service)
    whole = path.read_bytes()
    path.write_bytes(whole[:100])
    assert inbox.tick() == []
    clock.now += 1.9
    path.write_bytes(whole)
    assert inbox.tick() == []
    clock.now += 1.9
    assert inbox.tick() == []
    clock.now += 0.2
    (received,) = inbox.tick()
    assert received.entry.state is RequestState.ACCEPTED
    assert not path.exists()
    (moved,) = (path.parent / "accepted").glob("*.yaml")
    assert moved.read_bytes() == whole
    assert moved.name == f"visits.{received.entry.token[:8]}.yaml"
    clock.now += 10
    assert inbox.tick() == []


def test_what_cannot_be_used_is_moved_aside_with_its_reason(
    world: World, service: Service, inbox: InboxWatcher, clock: Seconds
) -> None:
    path = drop(world, service, "wrong.yml")
    path.write_text("title: [\n")
    inbox.tick()
    clock.now += 3
    (received,) = inbox.tick()
    assert received.entry.state is RequestState.REFUSED
    moved = sorted(one.name for one in (path.parent / "refused").iterdir())
    stem = f"wrong.{received.entry.token[:8]}.yml"
    assert moved == [stem, f"{stem}.receipt.txt"]
    receipt = (path.parent / "refused" / moved[1]).read_text()
    assert receipt.startswith(f"id: {received.entry.id}\nstate: refused\n{received.entry.reason['what']}\n")
    assert "wrong.yml:2" in receipt


def test_a_refusal_lists_all_mistakes_in_receipt_and_ledger(
    world: World, service: Service, inbox: InboxWatcher, clock: Seconds
) -> None:
    path = drop(world, service, "wrong.yml")
    path.write_text("title: [QJXVALUE]\nrequested_by: QJXVALUE QJXVALUE\n")
    inbox.tick()
    clock.now += 3
    (received,) = inbox.tick()
    receipt = (path.parent / "refused" / f"wrong.{received.entry.token[:8]}.yml.receipt.txt").read_text()
    with open_ledger(service.workspace) as ledger:
        (refused,) = ledger.entries(event=Event.REFUSED)
    numbers = re.findall(r"^(\d+)\. ", receipt, re.MULTILINE)
    assert numbers == [str(one) for one in range(1, len(numbers) + 1)]
    assert len(numbers) > 2
    assert re.findall(r"^(\d+)\. ", str(refused.body["problems"]), re.MULTILINE) == numbers
    assert "QJXVALUE" not in receipt + str(refused.body)


def test_a_receipt_has_the_id_at_once_and_what_came_of_it_later(
    world: World, service: Service, inbox: InboxWatcher, clock: Seconds
) -> None:
    path, queue = drop(world, service), Queue(service.workspace)
    inbox.tick()
    clock.now += 3
    (received,) = inbox.tick()
    entry = received.entry
    receipt = path.parent / "accepted" / f"visits.{entry.token[:8]}.yaml.receipt.txt"
    assert receipt.read_text().startswith(f"id: {entry.id}\nstate: accepted\ntitle: Visits")
    later = InboxWatcher(service, path.parent, monotonic=clock)  # after a restart
    later.prepare()
    waiting = queue.update(entry, state=RequestState.AWAITING_REVIEW, verdicts={"university": "awaiting review"})
    later.tick()
    assert receipt.read_text().startswith(f"id: {entry.id}\nstate: awaiting review\nuniversity: awaiting review\n")
    assert waiting is not None
    queue.update(waiting, state=RequestState.DECIDED, verdicts={"university": "released"}, finished_at=NOW)
    later.tick()
    text = receipt.read_text()
    assert text.startswith(f"id: {entry.id}\nstate: decided\nuniversity: released\n")
    assert "finished: 2026-03-02 09:30 UTC\n" in text
    receipt.write_text("")
    later.tick()
    assert receipt.read_text() == "", "a receipt with a verdict is not written again"


def test_a_file_that_was_taken_in_and_not_moved_counts_once(
    world: World, service: Service, inbox: InboxWatcher, clock: Seconds, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = drop(world, service)
    inbox.tick()
    clock.now += 3
    with monkeypatch.context() as patch:

        def fail(*_: object) -> None:
            raise OSError(28, "No space left on device")

        patch.setattr(InboxWatcher, "_move", fail)
        assert inbox.tick() == []
    (entry,) = Queue(service.workspace).open_entries()
    clock.now += 40
    (received,) = InboxWatcher.tick(inbox)
    assert (received.folded, received.entry) == (True, entry)
    assert not path.exists()


def test_a_file_that_takes_the_place_of_one_that_is_taken_in_is_taken_in_too(
    world: World, service: Service, inbox: InboxWatcher, clock: Seconds, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = drop(world, service)
    first = path.read_bytes()
    second = world.ask(title="Corrected").read_bytes()
    taking = InboxWatcher._take

    def replaced_meanwhile(self: InboxWatcher, *given: Any) -> Any:
        def receive_slowly(*arguments: Any, **terms: Any) -> Any:
            received = receive(*arguments, **terms)
            path.write_bytes(second)
            return received

        with monkeypatch.context() as patch:
            patch.setattr("flows.service.intake.receive", receive_slowly)
            return taking(self, *given)

    inbox.tick()
    clock.now += 3
    with monkeypatch.context() as patch:
        patch.setattr(InboxWatcher, "_take", replaced_meanwhile)
        inbox.tick()
    assert path.read_bytes() == second
    inbox.tick()
    clock.now += 3
    inbox.tick()
    assert not path.exists()
    entries = Queue(service.workspace).open_entries()
    assert {Queue(service.workspace).document(one.request_sha256).read_bytes() for one in entries} == {first, second}


def test_links_folders_hidden_files_and_data_are_left_alone(
    world: World, service: Service, inbox: InboxWatcher, clock: Seconds
) -> None:
    path = drop(world, service, ".hidden.yaml")
    folder = path.parent
    (folder / "link.yaml").symlink_to(world.request)
    (folder / "folder.yaml").mkdir()
    os.mkfifo(folder / "pipe.yaml")
    (folder / "data.csv").write_text("a,b\n")
    for _ in range(3):
        clock.now += 3
        assert inbox.tick() == []
    assert len(list(folder.iterdir())) == 5 + 2


def test_what_cannot_be_taken_in_now_is_tried_again_later_and_later(
    world: World, service: Service, inbox: InboxWatcher, clock: Seconds, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = drop(world, service)
    tries: list[float] = []

    def busy(*_: object, **__: object) -> None:
        tries.append(clock.now)
        raise WorkspaceError("the ledger is busy")

    inbox.tick()
    with monkeypatch.context() as patch:
        patch.setattr("flows.service.intake.receive", busy)
        for _ in range(40):
            clock.now += 1
            assert inbox.tick() == []
    pauses = [later - earlier for earlier, later in pairwise(tries)]
    assert pauses == sorted(pauses)
    assert len(tries) < 8
    assert path.exists()
    clock.now += 400
    assert len(inbox.tick()) == 1


def test_folders_that_are_none_are_refused(world: World) -> None:
    with pytest.raises(WorkspaceError, match="no such folder"):
        service_of(world.workspace.root, (world.folder / "none",))
    with pytest.raises(WorkspaceError, match="private folder"):
        service_of(world.workspace.root, (), world.workspace.private)


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files to others")
def test_a_request_belongs_to_the_owner_of_its_file(
    world: World, service: Service, inbox: InboxWatcher, clock: Seconds
) -> None:
    path = drop(world, service)
    owner = pwd.getpwnam("nobody")
    os.chown(path, owner.pw_uid, owner.pw_gid)
    inbox.tick()
    clock.now += 60
    (taken,) = inbox.tick()
    assert login_of(taken.entry.handed_in_by) == "nobody"
