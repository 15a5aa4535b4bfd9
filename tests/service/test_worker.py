"""What a run comes to is written down: what may pass by itself is tried again, a decision never."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from flows.actions.audit import month_before
from flows.queue.queue import Queue, QueuedRequest, RequestState
from flows.service.config import Service, service_of
from flows.service.intake import Arrival, receive
from flows.service.worker import decide, expire_all, follow_reviews
from flows.workspace.ledger import open_ledger
from tasks.core.errors import (
    BadInput,
    Outage,
    ReleasegateError,
    StageCrashed,
    StageFailed,
    TamperingFound,
    WorkspaceError,
)
from tasks.ledger.entry import Event
from tasks.service.settings import ServiceSettings
from tests.support.world import NOW, World, drawn_rows

CANARY = "QJXCANARY"


@pytest.fixture
def service(world: World) -> Service:
    world.enrol(lambda: NOW)
    return service_of(world.workspace.root, (world.folder,))


@pytest.fixture
def entry(service: Service, world: World) -> QueuedRequest:
    arrival = Arrival(world.request.read_bytes(), "http", "request", (world.folder,))
    return receive(service, arrival, clock=lambda: NOW).entry


def failing(error: Exception) -> Callable[[Path, Path], Any]:
    """An engine that no flow runs on."""

    @contextmanager
    def engine(*_: Path) -> Iterator[None]:
        raise error
        yield

    return engine


def work(service: Service, entry: QueuedRequest, error: Exception) -> QueuedRequest:
    queue = Queue(service.workspace)
    after = decide(service, entry, failing(error), clock=lambda: NOW)
    kept = queue.get(entry.id)
    assert kept is not None
    assert kept.model_copy(update={"recorded": after.recorded}) == after
    return after


def told(service: Service, event: Event) -> list[dict[str, Any]]:
    with open_ledger(service.workspace) as ledger:
        ledger.verify()
        return [dict(one.body) for one in ledger.entries(event=event)]


@pytest.mark.parametrize(
    "error",
    [
        StageCrashed("a stage ran out of memory"),
        WorkspaceError("the disk is full"),
        RuntimeError(CANARY),
        MemoryError(),
    ],
)
def test_what_may_pass_by_itself_is_tried_again_later_and_not_for_ever(
    service: Service, entry: QueuedRequest, error: Exception
) -> None:
    most = service.settings.limits.attempts
    for attempt in range(1, most):
        entry = work(service, entry, error)
        assert (entry.state, entry.attempt, entry.lost) == (RequestState.ACCEPTED, attempt + 1, attempt)
        assert entry.not_before == NOW + timedelta(seconds=5 * 2 ** (attempt - 1))
    last = work(service, entry, error)
    assert last.state is RequestState.FAILED
    assert CANARY not in last.model_dump_json()
    assert [one.recorded for one in Queue(service.workspace).done_entries()] == [True]


def waiting(service: Service, entry: QueuedRequest) -> QueuedRequest:
    changed = Queue(service.workspace).update(entry, state=RequestState.AWAITING_REVIEW, release_id=entry.id)
    assert changed is not None
    return changed


def test_what_awaits_review_has_not_failed_while_its_release_is_in_use(
    service: Service, entry: QueuedRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = WorkspaceError("another process acts on it")
    monkeypatch.setattr("flows.service.worker.standing_outcome", lambda *_, **__: raising(busy))
    entry, queue = waiting(service, entry), Queue(service.workspace)
    with pytest.raises(WorkspaceError, match="acts on it"):
        follow_reviews(service, entry, clock=lambda: NOW)
    assert queue.get(entry.id) == entry
    assert told(service, Event.FAILED) == []


def test_what_awaits_review_fails_where_its_release_is_not_as_recorded(
    service: Service, entry: QueuedRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    altered = TamperingFound("a file of this release differs from the record")
    monkeypatch.setattr("flows.service.worker.standing_outcome", lambda *_, **__: raising(altered))
    entry, queue = waiting(service, entry), Queue(service.workspace)
    follow_reviews(service, entry, clock=lambda: NOW)
    after = queue.get(entry.id)
    assert after is not None
    assert (after.state, after.recorded, after.reason["what"]) == (RequestState.FAILED, True, altered.what)
    assert [body["queued"] for body in told(service, Event.FAILED)] == [entry.token]


def raising(error: Exception) -> None:
    raise error


def test_a_stage_that_failed_for_all_is_the_end_and_told_once(service: Service, entry: QueuedRequest) -> None:
    after = work(service, entry, StageFailed("no release exists"))
    assert (after.state, after.reason["what"]) == (RequestState.FAILED, "no release exists")
    assert [body["what"] for body in told(service, Event.FAILED)] == ["no release exists"]


def test_what_cannot_be_used_is_refused_and_told_once(service: Service, entry: QueuedRequest) -> None:
    after = work(service, entry, BadInput("the data do not match"))
    assert (after.state, after.lost) == (RequestState.REFUSED, 0)
    assert [body["what"] for body in told(service, Event.REFUSED)] == ["the data do not match"]


@pytest.mark.parametrize("spoil", [lambda world: world.spoil(note={1: "x"}), lambda world: world.data.unlink()])
def test_files_that_were_changed_since_are_refused_before_anything_runs(
    service: Service, entry: QueuedRequest, world: World, spoil: Callable[[World], None]
) -> None:
    spoil(world)
    after = work(service, entry, AssertionError("the flow was run"))
    assert (after.state, after.attempt) == (RequestState.REFUSED, 1)
    (body,) = told(service, Event.REFUSED)
    assert body["queued"] == entry.token
    assert told(service, Event.REQUESTED) == []


def test_work_is_timed_over_all_attempts(service: Service, entry: QueuedRequest) -> None:
    first = work(service, entry, StageCrashed("memory"))
    second = work(service, first, StageCrashed("memory"))
    assert first.seconds is not None
    assert second.seconds is not None
    assert second.seconds > first.seconds > 0


def test_a_request_with_a_verdict_is_not_written_to_again(service: Service, entry: QueuedRequest) -> None:
    queue = Queue(service.workspace)
    done = queue.update(entry, state=RequestState.DECIDED)
    decide(service, entry, failing(StageCrashed("memory")), clock=lambda: NOW)
    assert queue.get(entry.id) == done


def test_a_workspace_without_releases_expires_nothing(service: Service) -> None:
    assert expire_all(service.workspace) == (0, 0)


def test_what_is_not_as_recorded_is_counted_and_stops_nothing(service: Service, entry: QueuedRequest) -> None:
    work(service, entry, StageCrashed("memory"))
    (service.workspace.releases / ("0" * 64)).mkdir()
    assert expire_all(service.workspace, clock=lambda: NOW) == (0, 1)


def test_an_outage_is_no_failure_of_a_release_and_ends_the_schedule(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = Outage("the ledger does not answer", server="the ledger's database")
    (service.workspace.releases / ("0" * 64)).mkdir(parents=True)
    monkeypatch.setattr("flows.service.worker.ReleaseAction", lambda *_, **__: raising(out))
    with pytest.raises(Outage, match="the ledger does not answer"):
        expire_all(service.workspace, clock=lambda: NOW)


def test_the_month_before_is_audited() -> None:
    assert month_before(date(2026, 3, 1)) == (date(2026, 2, 1), date(2026, 2, 28))
    assert month_before(date(2027, 1, 31)) == (date(2026, 12, 1), date(2026, 12, 31))


def test_what_an_event_asks_for_is_taken_in_later_where_that_cannot_be_now(
    service: Service, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:

    from flows.service import deployments

    tries: list[float] = []
    monkeypatch.setattr("time.sleep", tries.append)
    monkeypatch.setattr("flows.service.intake.receive", lambda *_, **__: raising(WorkspaceError("the queue is full")))
    arrival = Arrival(world.request.read_bytes(), "event", "request", (world.folder,), "event-1")
    with pytest.raises(WorkspaceError, match="full"):
        deployments.receive_with_retries(service, arrival)
    assert (len(tries), sum(tries)) == (4, 380.0)
    monkeypatch.setattr(
        "flows.service.intake.receive", lambda *a, **b: receive(*a, **b) if len(tries) > 5 else raising(error)
    )
    error = WorkspaceError("the ledger is locked")
    assert deployments.receive_with_retries(service, arrival).entry.state is RequestState.ACCEPTED
    assert len(tries) == 6


ADDRESS = "tcp://127.0.0.1:1"
COUNTED_ELSEWHERE = ServiceSettings.model_validate(
    {"schema_version": "releasegate/service/1", "counting": {"dask": ADDRESS}}
)


@pytest.mark.parametrize("parquet", [True, False])
def test_a_cluster_that_does_not_answer_refuses_no_request(
    service: Service, world: World, monkeypatch: pytest.MonkeyPatch, *, parquet: bool
) -> None:
    monkeypatch.setattr("tasks.microdata.workers._TO_CONNECT", "200ms")
    if parquet:
        pd.DataFrame(list(drawn_rows())).to_parquet(world.data)
    arrival = Arrival(world.request.read_bytes(), "http", "request", (world.folder,))
    entry = receive(service, arrival, clock=lambda: NOW).entry
    after = work(replace(service, settings=COUNTED_ELSEWHERE), entry, StageCrashed("this machine has no memory"))
    what = "the Dask cluster does not answer" if parquet else "this machine has no memory"
    assert (after.state, after.lost, after.reason["what"]) == (RequestState.ACCEPTED, not parquet, what)
    assert after.waits_for == ("the Dask cluster" if parquet else "")
    assert told(service, Event.REFUSED) == []


def test_a_cluster_that_answers_counts(service: Service, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def gate(*_: object, dask: str, **__: object) -> None:
        raise WorkspaceError(f"counted at {dask}")

    pd.DataFrame(list(drawn_rows())).to_parquet(world.data)
    arrival = Arrival(world.request.read_bytes(), "http", "request", (world.folder,))
    entry = receive(service, arrival, clock=lambda: NOW).entry
    monkeypatch.setattr("tasks.microdata.workers.check_cluster", lambda _: None)
    monkeypatch.setattr("flows.service.worker.run_release", gate)
    after = work(replace(service, settings=COUNTED_ELSEWHERE), entry, StageCrashed("unused"))
    assert after.reason["what"] == f"counted at {ADDRESS}"


def test_an_audit_goes_by_the_clock_of_its_days(service: Service) -> None:
    from flows.service.deployments import deployments

    settings = ServiceSettings.model_validate(
        {"schema_version": "releasegate/service/1", "schedules": {"timezone": "Asia/Tokyo"}}
    )
    made = deployments(replace(service, settings=settings))
    found = {one.flow_name: one.schedules[0].schedule.timezone for one in made if one.schedules}  # type: ignore[union-attr]
    assert found == {"reassess": "Asia/Tokyo", "expire": "Asia/Tokyo", "audit": "UTC"}


def test_errors_of_the_gate_are_what_the_entry_tells(service: Service, entry: QueuedRequest) -> None:
    error: ReleasegateError = BadInput("what", where="where", expected="e", got="g", fix="f")
    assert work(service, entry, error).reason == error.fields()


def test_the_run_of_a_request_is_recorded_under_the_login_that_it_came_from(service: Service, world: World) -> None:
    arrival = Arrival(world.request.read_bytes(), "http", "request", (world.folder,), handed_in_by="ruiz (token)")
    work(service, receive(service, arrival, clock=lambda: NOW).entry, StageFailed("a stage has failed"))
    with open_ledger(service.workspace) as ledger:
        (asked,) = ledger.entries(event=Event.REQUESTED)
    assert asked.actor == "ruiz (token)"
