"""Requests are taken in once, whichever way they come, and refused with a reason that the ledger keeps."""

import json
import os
import threading
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from flows.library.enrolment import first_enrolment
from flows.queue.queue import Queue, QueuedRequest, RequestState
from flows.releases.identity import release_id
from flows.releases.program import code_fact
from flows.service.config import service_of
from flows.service.intake import Arrival, Received, check_inputs, receive, record_end
from flows.workspace.folders import open_workspace
from flows.workspace.ledger import open_ledger
from tasks.core.errors import BadInput, WorkspaceError
from tasks.core.people import WorkflowRole, other_submitters
from tasks.ledger.enrolment import EnrolledPerson
from tasks.ledger.entry import Event
from tasks.request.inputs import read_inputs
from tasks.request.load import load_request
from tests.support.world import ID_MARK, NOW, World


def take_in(
    world: World, *, content: bytes | None = None, most_queued: int = 1000, at: datetime = NOW, **given: object
) -> Received:
    service = service_of(world.workspace.root)
    limits = service.settings.limits.model_copy(update={"queued": most_queued})
    service = replace(service, settings=service.settings.model_copy(update={"limits": limits}))
    terms = {"source": "inbox", "name": "request.yaml", "folders": (world.folder,)} | given
    arrival = Arrival(world.request.read_bytes() if content is None else content, **terms)  # type: ignore[arg-type]
    return receive(service, arrival, clock=lambda: at)


def refusals(world: World) -> list[dict[str, object]]:
    with open_ledger(world.workspace) as ledger:
        ledger.verify()
        return [dict(entry.body) for entry in ledger.entries(event=Event.REFUSED)]


def test_an_accepted_request_is_named_by_its_release_id(world: World) -> None:
    received = take_in(world)
    loaded = load_request(world.request)
    assert received.entry.id == release_id(loaded, read_inputs(loaded), code_fact())
    assert received.entry.state is RequestState.ACCEPTED
    assert not received.folded
    assert Queue(world.workspace).document(received.entry.request_sha256).read_bytes() == world.request.read_bytes()
    assert Queue(world.workspace).open_entries() == (received.entry,)


def test_the_same_request_is_folded_whichever_way_it_comes(world: World) -> None:
    first = take_in(world)
    for source in ("inbox", "http", "event"):
        again = take_in(world, source=source, name=f"{source}.yaml")
        assert again.folded
        assert again.entry == first.entry
    assert len(Queue(world.workspace).open_entries()) == 1


def test_a_login_that_is_not_the_requesters_is_refused_at_once_with_those_that_may(world: World) -> None:
    person = EnrolledPerson(
        id="a.steward", name="A. Steward", roles=(WorkflowRole.REQUESTER, WorkflowRole.OFFICER), logins=("steward",)
    )
    place = open_workspace(world.workspace.root)
    with open_ledger(place, create=True, clock=lambda: NOW) as ledger:
        first_enrolment(place, ledger, [person], lambda: NOW)
    refused = take_in(world, handed_in_by="clerk (token)").entry
    assert (refused.state, refused.title, refused.requested_by) == (RequestState.REFUSED, "Visits", "a.steward")
    assert refused.reason["expected"] == "a login of a.steward: steward"
    assert refused.reason["got"] == "the login clerk"
    assert [one["expected"] for one in refusals(world)] == ["a login of a.steward: steward"]
    own = take_in(world, handed_in_by="steward (token)").entry
    assert own.state is RequestState.ACCEPTED
    too = take_in(world, handed_in_by="clerk (token)")
    assert (too.folded, too.entry.id) == (True, own.id), "it is run in the requester's name, and names both"


def test_the_same_request_by_others_names_all_who_hand_it_in(world: World) -> None:
    """In the entry, each once with its time; a run names them, so that none of them reviews what they asked for."""
    first = take_in(world, handed_in_by="ruiz (token)")
    later = NOW + timedelta(minutes=3)
    for by in ("berg (token 12ab34cd, made by lead)", "ruiz (token)", "berg (token 12ab34cd, made by lead)"):
        again = take_in(world, handed_in_by=by, at=later)
        assert again.folded
        assert again.entry.token == first.entry.token
    (entry,) = Queue(world.workspace).open_entries()
    assert [(one.by, one.at) for one in entry.submissions] == [
        ("ruiz (token)", NOW),
        ("berg (token 12ab34cd, made by lead)", later),
    ]
    assert entry.actor == "ruiz (token, submitted again by berg, submitted again by lead)"
    assert other_submitters(entry.actor) == {"berg", "lead"}


def test_requests_taken_in_at_once_are_one(world: World) -> None:
    got: list[Received] = []
    threads = [threading.Thread(target=lambda: got.append(take_in(world))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.folded for one in got) == [False, True, True, True]
    assert len({one.entry.token for one in got}) == 1


def test_other_data_are_another_request(world: World) -> None:
    first = take_in(world)
    world.spoil(note={3: "another"})
    second = take_in(world)
    assert not second.folded
    assert first.entry.id != second.entry.id
    assert {one.id for one in Queue(world.workspace).open_entries()} == {first.entry.id, second.entry.id}


def test_a_document_that_is_no_request_is_refused_and_not_kept(world: World) -> None:
    received = take_in(world, content=f"{ID_MARK}: [1, 2".encode(), name="wrong.yaml")
    assert received.entry.state is RequestState.REFUSED
    assert received.entry.reason["where"].startswith("wrong.yaml")
    assert refusals(world)[0]["queued"] == received.entry.token
    assert list(Queue(world.workspace)._documents.iterdir()) == []
    for path in world.workspace.root.rglob("*"):
        assert not path.is_file() or ID_MARK.encode() not in path.read_bytes()


def test_a_request_for_files_outside_its_folders_is_refused(world: World, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    world.data.rename(elsewhere / "data.csv")
    for path in (str(elsewhere / "data.csv"), "../elsewhere/data.csv", "../../queue/.lock"):
        world.ask(dataset={"path": path})
        received = take_in(world)
        assert received.entry.state is RequestState.REFUSED
        assert received.entry.reason["what"] == "the file is outside the allowed folders"
    assert take_in(world, folders=(world.folder, elsewhere)).entry.state is RequestState.REFUSED
    world.ask()
    assert take_in(world, folders=(world.folder, elsewhere)).entry.state is RequestState.ACCEPTED


def test_a_link_leads_nowhere_outside(world: World, tmp_path: Path) -> None:
    elsewhere = tmp_path / "data.csv"
    world.data.rename(elsewhere)
    world.data.symlink_to(elsewhere)
    assert take_in(world).entry.reason["what"] == "the file is outside the allowed folders"


def test_one_arrival_is_refused_once_and_the_next_one_anew(world: World) -> None:
    content = world.request.read_bytes()
    rows = world.data.read_bytes()
    world.data.unlink()
    first = take_in(world, content=content, id="1-17")
    assert first.entry.state is RequestState.REFUSED
    assert take_in(world, content=content, id="1-17").folded
    assert len(refusals(world)) == 1
    assert not take_in(world, content=content, id="1-18").folded
    assert len(refusals(world)) == 2
    world.data.write_bytes(rows)
    assert take_in(world, content=content, id="1-19").entry.state is RequestState.ACCEPTED


def test_a_refusal_that_a_crash_kept_from_the_ledger_is_recorded_later_and_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.data.unlink()
    with monkeypatch.context() as patch:
        patch.setattr("flows.service.intake.record_end", lambda *_: None)
        entry = take_in(world).entry
    queue = Queue(world.workspace)
    assert refusals(world) == []
    with open_ledger(world.workspace) as ledger:
        for _ in range(2):
            record_end(queue, ledger, entry)
    assert len(refusals(world)) == 1
    assert [one.recorded for one in queue.done_entries()] == [True]


def test_an_end_is_recorded_after_whatever_was_recorded_since(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.data.unlink()
    with monkeypatch.context() as patch:
        patch.setattr("flows.service.intake.record_end", lambda *_: None)
        entry = take_in(world).entry
    later = NOW + timedelta(hours=1)
    with open_ledger(world.workspace, clock=lambda: later) as ledger:
        ledger.append(Event.TRACED, release_id=None, recipient=None, actor="tests", body={}, at=later)
    with open_ledger(world.workspace, clock=lambda: later) as ledger:
        record_end(Queue(world.workspace), ledger, entry)
        (refused,) = ledger.entries(event=Event.REFUSED)
    assert (refused.at, refused.body["queued"]) == (later, entry.token)
    assert [one.recorded for one in Queue(world.workspace).done_entries()] == [True]


def test_a_full_queue_takes_no_more_and_forgets_nothing(world: World) -> None:
    first = take_in(world, most_queued=1)
    assert take_in(world, most_queued=1).folded
    world.ask(title="Another")
    with pytest.raises(WorkspaceError, match="full"):
        take_in(world, most_queued=1)
    assert Queue(world.workspace).open_entries() == (first.entry,)
    assert refusals(world) == []


def test_a_request_that_is_too_large_is_refused(world: World) -> None:
    received = take_in(world, content=b"#" * 1_000_001)
    assert received.entry.state is RequestState.REFUSED
    assert received.entry.reason["what"] == "the request is too large"


def test_files_that_change_after_acceptance_are_found(world: World) -> None:
    entry = take_in(world).entry
    check_inputs(service_of(world.workspace.root), entry)
    world.spoil(note={3: "another"})
    with pytest.raises(BadInput, match="changed since it was accepted"):
        check_inputs(service_of(world.workspace.root), entry)


def test_an_entry_is_open_or_done_and_never_both(world: World) -> None:
    entry = take_in(world).entry
    queue = Queue(world.workspace)
    done = queue.update(entry, state=RequestState.DECIDED)
    assert done is not None
    assert queue.open_entries() == ()
    assert queue.done_entries() == (done,)
    assert queue.update(entry, lost=1) is None
    open_place = world.workspace.private / "queue" / f"{entry.id}.json"
    open_place.write_text(entry.model_dump_json())  # what a crash between two renames leaves
    queue.tidy()
    assert queue.open_entries() == ()
    assert take_in(world).folded


def test_locks_that_killed_runs_have_left_are_removed_and_no_others(world: World) -> None:
    take_in(world)
    queue = Queue(world.workspace)
    with queue.claimed("run-held"), queue.claimed("run-new"):
        os.utime(world.workspace.private / "queue" / "run-held.lock", (0, 0))
        (world.workspace.private / "queue" / "run-killed.lock").touch()
        os.utime(world.workspace.private / "queue" / "run-killed.lock", (0, 0))
        queue.tidy()
        assert [queue.is_claimed(name) for name in ("run-held", "run-new", "run-killed")] == [True, True, False]
    assert not (world.workspace.private / "queue" / "run-killed.lock").exists()


def test_an_entry_of_another_arrival_is_not_changed(world: World) -> None:
    entry = take_in(world).entry
    assert Queue(world.workspace).update(entry.model_copy(update={"token": "0" * 32}), lost=1) is None


def test_a_damaged_entry_is_named_and_stops_nothing(world: World) -> None:
    entry = take_in(world).entry
    queue = Queue(world.workspace)
    damaged = world.workspace.private / "queue" / f"{'0' * 64}.json"
    damaged.write_text("{}")
    assert queue.open_entries() == (entry,)
    assert queue.damaged() == (damaged,)
    with pytest.raises(WorkspaceError, match="damaged"):
        queue.get("0" * 64)


def test_one_process_at_a_time_works_on_a_request(world: World) -> None:
    entry = take_in(world).entry
    queue = Queue(world.workspace)
    assert not queue.is_claimed(entry.id)
    with queue.claimed(entry.id) as first:
        assert first
        assert queue.is_claimed(entry.id)
        with queue.claimed(entry.id) as second:
            assert not second
    assert not queue.is_claimed(entry.id)


def test_entries_hold_no_data_and_are_the_owners_alone(world: World) -> None:
    take_in(world)
    (path,) = (world.workspace.private / "queue").glob("*.json")
    assert path.stat().st_mode & 0o077 == 0
    assert ID_MARK not in path.read_text()
    assert QueuedRequest.model_validate(json.loads(path.read_text())).accepted_at == NOW
