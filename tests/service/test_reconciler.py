"""Requests are reconciled by queue and ledger, whatever Prefect's runs claim.

The Prefect server is real, nothing runs the runs: the tests say what became of them.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from flows.pipeline.embedded_prefect import prefect_server
from flows.queue.queue import Queue, QueuedRequest, RequestState, run_name
from flows.service.config import Service, service_of
from flows.service.intake import Arrival, receive
from flows.service.reconciler import RELEASE_FLOW, Reconciler
from flows.workspace.ledger import open_ledger
from tasks.ledger.entry import Event
from tests.support.world import NOW, World

pytestmark = pytest.mark.slow

LONG_AGO = 0.0


@dataclass
class Time:
    now: datetime = NOW

    def __call__(self) -> datetime:
        return self.now


@dataclass
class Moved:
    """A service whose runs are what a test says they are."""

    service: Service
    client: Any
    reconciler: Reconciler
    time: Time
    world: World

    def hand_in(self, title: str = "Visits") -> QueuedRequest:
        self.world.ask(title=title)
        arrival = Arrival(self.world.request.read_bytes(), "http", "request", (self.world.folder,))
        return receive(self.service, arrival, clock=self.time).entry

    def tick(self, runner_since: float = LONG_AGO) -> None:
        self.reconciler._runner_since = runner_since
        self.reconciler.tick(self.client)

    def entry(self, name: str) -> QueuedRequest:
        entry = Queue(self.service.workspace).get(name)
        assert entry is not None
        return entry

    def runs(self, name: str) -> list[Any]:
        from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterTags

        wanted = FlowRunFilter(tags=FlowRunFilterTags(all_=[self.service.name, name[:12]]))
        found = self.client.read_flow_runs(flow_run_filter=wanted)
        return sorted(found, key=lambda run: str(run.idempotency_key))

    def states(self, name: str) -> list[str]:
        return [run.state.name for run in self.runs(name)]

    def say(self, name: str, state: Any) -> None:
        """Set the state of the last run of a request."""
        self.client.set_flow_run_state(self.runs(name)[-1].id, state, force=True)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with prefect_server(tmp_path_factory.mktemp("reconciler")):
        yield


@pytest.fixture
def moved(world: World, server: None) -> Iterator[Moved]:  # noqa: ARG001
    from prefect.client.orchestration import get_client

    from flows.service.deployments import deployments

    service = service_of(world.workspace.root, (world.folder,))
    time_ = Time()
    with get_client(sync_client=True) as client:
        next(one for one in deployments(service) if one.flow_name == RELEASE_FLOW).apply()
        made = Moved(service, client, Reconciler(service, clock=time_), time_, world)
        made.reconciler.prepare(client)
        yield made


def running() -> Any:
    from prefect.states import Running

    return Running()


def test_a_request_gets_one_run(moved: Moved) -> None:
    entry = moved.hand_in()
    for _ in range(3):
        moved.tick()
    (run,) = moved.runs(entry.id)
    assert run.parameters == {"request": entry.id}
    assert run.name == "release · Visits · university"
    assert set(run.tags) == {"releasegate", moved.service.name, entry.id[:12], "university"}
    Reconciler(moved.service).tick(moved.client)
    assert len(moved.runs(entry.id)) == 1


def cancelled() -> Any:
    from prefect.states import Cancelled

    return Cancelled()


def cancelling() -> Any:
    from prefect.states import Cancelling

    return Cancelling()


def test_a_request_whose_run_was_cancelled_ends_and_may_be_submitted_again(moved: Moved) -> None:
    entry = moved.hand_in()
    moved.tick()
    left = moved.world.workspace.run(entry.id)
    left.mkdir(parents=True)
    moved.say(entry.id, cancelled())
    moved.tick()
    ended = moved.entry(entry.id)
    assert (ended.state, ended.recorded, ended.attempt) == (RequestState.CANCELLED, True, 1)
    assert ended.reason["what"] == "the run of a request was cancelled in Prefect"
    assert not left.exists()
    with open_ledger(moved.service.workspace) as ledger:
        assert [(one.event, one.actor) for one in ledger.entries()] == [(Event.FAILED, "prefect (run cancelled there)")]
    again = moved.hand_in()
    assert (again.id, again.state) == (entry.id, RequestState.ACCEPTED)
    moved.tick()
    assert moved.states(entry.id) in (["Cancelled", "Scheduled"], ["Scheduled", "Cancelled"])


def test_a_run_that_was_being_cancelled_as_its_service_ended_is_cancelled(moved: Moved) -> None:
    entry = moved.hand_in()
    moved.tick()
    moved.say(entry.id, cancelling())
    Reconciler(moved.service, clock=moved.time).prepare(moved.client)
    assert moved.states(entry.id) == ["Cancelled"]
    moved.tick()
    assert (moved.entry(entry.id).state, moved.entry(entry.id).attempt) == (RequestState.CANCELLED, 1)


def test_a_decision_outlives_the_cancelling_of_its_run(moved: Moved) -> None:
    entry = moved.hand_in()
    moved.tick()
    with open_ledger(moved.service.workspace, create=True) as ledger:
        ledger.append(Event.DECIDED, release_id=entry.id, recipient="university", actor="gate", body={}, at=NOW)
    moved.say(entry.id, cancelled())
    moved.tick()
    assert (moved.entry(entry.id).state, moved.entry(entry.id).attempt) == (RequestState.ACCEPTED, 2)


def test_a_request_that_cannot_be_read_any_more_has_the_name_of_its_document(moved: Moved) -> None:
    entry = moved.hand_in()
    Queue(moved.service.workspace).document(entry.request_sha256).write_text("no request")
    moved.tick()
    (run,) = moved.runs(entry.id)
    assert run.name == "release · request"


def test_no_more_runs_are_made_than_there_is_room_for(moved: Moved) -> None:
    names = sorted(moved.hand_in(f"Visits {number}").id for number in range(3))
    moved.tick()
    assert [len(moved.runs(name)) for name in names] == [1, 1, 0]
    first = moved.entry(names[0])
    assert Queue(moved.service.workspace).update(first, state=RequestState.DECIDED, recorded=True)
    moved.tick()
    assert [len(moved.runs(name)) for name in names] == [1, 1, 1]


def test_a_run_without_a_process_is_made_again_when_it_had_time_enough(moved: Moved) -> None:
    entry = moved.hand_in()
    moved.tick()
    moved.say(entry.id, running())
    moved.tick()
    assert moved.entry(entry.id).attempt == 1
    moved.tick(runner_since=time.time() + 5)
    after = moved.entry(entry.id)
    assert (after.attempt, after.lost) == (2, 0)
    assert moved.states(entry.id) == ["Crashed"]
    moved.tick()
    assert moved.states(entry.id) == ["Crashed", "Scheduled"]


def test_a_run_whose_process_works_is_left_alone(moved: Moved) -> None:
    entry = moved.hand_in()
    moved.tick()
    moved.say(entry.id, running())
    with Queue(moved.service.workspace).claimed(entry.id) as alone:
        assert alone
        moved.tick(runner_since=time.time() + 5)
        moved.reconciler.prepare(moved.client)
    assert moved.states(entry.id) == ["Running"]
    assert moved.entry(entry.id).attempt == 1


def test_an_earlier_life_leaves_no_run_that_claims_to_work(moved: Moved) -> None:
    entry = moved.hand_in()
    moved.tick()
    moved.say(entry.id, running())
    moved.reconciler.prepare(moved.client)
    assert moved.states(entry.id) == ["Crashed"]
    after = moved.entry(entry.id)
    assert (after.attempt, after.lost) == (2, 0)


def test_the_runs_of_a_pools_workers_outlive_the_service(moved: Moved) -> None:
    entry = moved.hand_in()
    moved.tick()
    moved.say(entry.id, running())
    Reconciler(moved.service, clock=moved.time, has_runner=False).prepare(moved.client)
    assert (moved.states(entry.id), moved.entry(entry.id).attempt) == (["Running"], 1)
    moved.reconciler.prepare(moved.client)
    assert (moved.states(entry.id), moved.entry(entry.id).attempt) == (["Crashed"], 2)


def test_a_run_that_ends_without_a_verdict_is_not_made_again_for_ever(moved: Moved) -> None:
    from prefect.states import Crashed

    entry = moved.hand_in()
    most = moved.service.settings.limits.attempts
    for attempt in range(1, most + 1):
        moved.tick()
        assert len(moved.runs(entry.id)) == attempt
        moved.say(entry.id, Crashed())
        moved.tick()
        if attempt < most:
            waits = moved.entry(entry.id)
            assert (waits.state, waits.lost, waits.attempt) == (RequestState.ACCEPTED, attempt, attempt + 1)
            moved.tick()
            assert len(moved.runs(entry.id)) == attempt
            moved.time.now += timedelta(hours=1)
    after = moved.entry(entry.id)
    assert (after.state, after.recorded) == (RequestState.FAILED, True)
    with open_ledger(moved.service.workspace) as ledger:
        (told,) = ledger.entries(event=Event.FAILED)
    assert told.body["queued"] == entry.token
    moved.tick()
    assert len(moved.runs(entry.id)) == most


def test_prefect_may_forget_everything(moved: Moved) -> None:
    entry = moved.hand_in()
    moved.tick()
    moved.client.request("DELETE", f"/flow_runs/{moved.runs(entry.id)[0].id}")
    assert moved.runs(entry.id) == []
    moved.tick()
    assert len(moved.runs(entry.id)) == 1
    assert moved.entry(entry.id).attempt == 1


def test_whoever_finishes_a_run_in_prefect_decides_nothing(moved: Moved) -> None:
    from prefect.states import Completed

    entry = moved.hand_in()
    moved.tick()
    moved.say(entry.id, Completed())
    moved.tick()
    after = moved.entry(entry.id)
    assert (after.state, after.attempt, after.verdicts, after.recorded) == (RequestState.ACCEPTED, 2, {}, False)
    with open_ledger(moved.service.workspace) as ledger:
        assert {entry.event for entry in ledger.entries()}.isdisjoint({Event.DECIDED, Event.RELEASED, Event.PUBLISHED})


def test_a_verdict_that_was_written_meanwhile_is_left_alone(moved: Moved) -> None:
    from prefect.states import Completed

    entry = moved.hand_in()
    moved.tick()
    moved.say(entry.id, Completed())
    queue = Queue(moved.service.workspace)
    queue.update(entry, state=RequestState.DECIDED, recorded=True)
    moved.tick()
    assert moved.entry(entry.id).state is RequestState.DECIDED
    assert len(moved.runs(entry.id)) == 1


def wait_for_reviewers(moved: Moved, entry: QueuedRequest) -> None:
    queue = Queue(moved.service.workspace)
    assert queue.update(entry, state=RequestState.AWAITING_REVIEW, release_id=entry.id) is not None


def note(moved: Moved) -> None:
    """A new entry of the ledger."""
    with open_ledger(moved.service.workspace) as ledger:
        ledger.append(Event.TRACED, release_id=None, recipient=None, actor="tests", body={}, at=NOW)


def test_a_request_is_decided_once_nobody_needs_to_vote(moved: Moved, monkeypatch: pytest.MonkeyPatch) -> None:
    def decided(service: Service, seen: QueuedRequest, **_: Any) -> None:
        service.queue.update(seen, state=RequestState.DECIDED)

    entry = moved.hand_in()
    wait_for_reviewers(moved, entry)
    waits = {"now": True}
    monkeypatch.setattr(Reconciler, "_awaits_votes", lambda *_: waits["now"])
    monkeypatch.setattr("flows.service.reconciler.follow_reviews", decided)
    with open_ledger(moved.service.workspace, create=True):
        moved.tick()
    assert moved.entry(entry.id).state is RequestState.AWAITING_REVIEW
    waits["now"] = False
    moved.tick()
    assert moved.entry(entry.id).state is RequestState.AWAITING_REVIEW, "nothing is new in the ledger"
    note(moved)
    moved.tick()
    assert moved.entry(entry.id).state is RequestState.DECIDED
    assert moved.runs(entry.id) == [], "what waits has no run"


def test_a_scheduled_run_that_died_with_its_worker_is_repeated_and_not_for_ever(
    moved: Moved, monkeypatch: pytest.MonkeyPatch
) -> None:
    def scheduled() -> Any:
        return moved.client.read_flow_run(run.id)

    from flows.service.deployments import deployments

    (deployment,) = (one for one in deployments(moved.service) if one.flow_name == "reassess")
    run = moved.client.create_flow_run_from_deployment(deployment.apply())
    reconciler = Reconciler(moved.service, has_runner=False)
    for repeated in range(1, moved.service.settings.limits.attempts + 1):
        moved.client.set_flow_run_state(run.id, running(), force=True)
        Reconciler(moved.service, has_runner=False).tick(moved.client)
        assert scheduled().state.name == "Running"
        with monkeypatch.context() as patch:
            patch.setattr("flows.service.reconciler._GRACE_RUNNING", -60.0)
            queue = Queue(moved.service.workspace)
            with queue.claimed(run_name(run.id)):
                Reconciler(moved.service, has_runner=False).tick(moved.client)
                assert scheduled().state.name == "Running"
            Reconciler(moved.service, has_runner=False).tick(moved.client)
        last = repeated == moved.service.settings.limits.attempts
        assert scheduled().state.name == ("Crashed" if last else "Scheduled")
    reconciler.tick(moved.client)
    assert scheduled().state.name == "Crashed"


def test_what_an_officer_puts_before_its_reviewers_again_waits_again(
    moved: Moved, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = moved.hand_in()
    queue = Queue(moved.service.workspace)
    queue.update(entry, state=RequestState.DECIDED, release_id=entry.id, finished_at=NOW, recorded=True)
    waits = {"now": True}
    monkeypatch.setattr(Reconciler, "_awaits_votes", lambda *_: waits["now"])
    with open_ledger(moved.service.workspace, create=True) as ledger:
        body: dict[str, object] = {"by": "An Officer", "reason": "The reviewer has read another file."}
        about: dict[str, Any] = {"release_id": entry.id, "recipient": "university", "actor": "tests", "at": NOW}
        ledger.append(Event.OVERRIDDEN, body=body | {"gates": []}, **about)
        moved.tick()
        assert moved.entry(entry.id).state is RequestState.DECIDED
        ledger.append(Event.OVERRIDDEN, body=body, **about)
    assert moved.reconciler.is_due()
    moved.tick()
    again = moved.entry(entry.id)
    assert (again.state, again.finished_at, again.recorded) == (RequestState.AWAITING_REVIEW, None, False)
    queue.update(again, state=RequestState.DECIDED, finished_at=NOW, recorded=True)
    waits["now"] = False
    Reconciler(moved.service).tick(moved.client)
    assert moved.entry(entry.id).state is RequestState.DECIDED


def test_prefect_is_asked_when_there_may_be_something_to_do_and_else_now_and_then(
    moved: Moved, monkeypatch: pytest.MonkeyPatch
) -> None:
    reconciler = moved.reconciler = Reconciler(moved.service, clock=moved.time)
    assert reconciler.is_due()
    moved.tick()
    assert not reconciler.is_due()
    monkeypatch.setattr("flows.service.reconciler._LONGEST_PAUSE", 0.0)
    assert reconciler.is_due()
    monkeypatch.undo()
    entry = moved.hand_in()
    for _ in range(2):
        assert reconciler.is_due()
        moved.tick()
    wait_for_reviewers(moved, entry)
    monkeypatch.setattr(Reconciler, "_awaits_votes", lambda *_: True)
    moved.tick()
    assert not reconciler.is_due()
    moved.time.now += timedelta(days=1)
    assert reconciler.is_due()
    moved.tick()
    assert not reconciler.is_due()
    note(moved)
    assert reconciler.is_due()


def test_the_limit_of_solvers_is_as_set_and_no_dead_run_holds_a_place(moved: Moved) -> None:
    name = moved.service.solver_limit
    held = moved.client.read_global_concurrency_limit_by_name(name)
    assert (held.limit, held.active_slots) == (1, 0)
    moved.client.increment_concurrency_slots(names=[name], slots=1, mode="concurrency")
    assert moved.client.read_global_concurrency_limit_by_name(name).active_slots == 1
    moved.reconciler.prepare(moved.client)
    assert moved.client.read_global_concurrency_limit_by_name(name).active_slots == 0


def test_a_run_is_kept_for_one_workspace(moved: Moved, tmp_path: Path) -> None:
    other = service_of(tmp_path / "other")
    assert other.name != moved.service.name
    assert service_of(tmp_path / "other").name == other.name
