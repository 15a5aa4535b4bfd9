"""The main paths of reconciliation, with a Prefect client in memory; ``test_reconciler`` has all, on a real server."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest
from prefect.client.schemas.objects import FlowRun
from prefect.states import Cancelling, Completed, Running, Scheduled

from flows.queue.queue import Queue, QueuedRequest, RequestState
from flows.service.config import Service, service_of
from flows.service.intake import Arrival, receive
from flows.service.reconciler import Reconciler
from tasks.service.settings import ServiceSettings
from tests.support.world import NOW, World


@dataclass
class MemoryClient:
    """As much of Prefect's client as reconciliation takes."""

    runs: dict[UUID, FlowRun] = field(default_factory=dict)

    def read_deployment_by_name(self, _name: str) -> Any:
        return SimpleNamespace(id=uuid4())

    def create_flow_run_from_deployment(self, _deployment: UUID, *, name: str, idempotency_key: str, **_: Any) -> Any:
        run = FlowRun(id=uuid4(), flow_id=uuid4(), name=name, idempotency_key=idempotency_key, state=Scheduled())
        self.runs[run.id] = run
        return run

    def read_flow_runs(self, *, flow_run_filter: Any, **_: Any) -> list[FlowRun]:
        keys = flow_run_filter.idempotency_key
        types = flow_run_filter.state.type.any_ if flow_run_filter.state else None
        return [
            run
            for run in self.runs.values()
            if (keys is None or run.idempotency_key in keys.any_) and (types is None or run.state.type in types)  # type: ignore[union-attr]
        ]

    def set_flow_run_state(self, run: UUID, state: Any, **_: Any) -> None:
        self.runs[run].state = state

    def upsert_global_concurrency_limit_by_name(self, _name: str, _limit: int) -> None:
        return None

    def update_global_concurrency_limit(self, _name: str, _limit: Any) -> None:
        return None


@pytest.fixture
def service(world: World) -> Service:
    return service_of(world.workspace.root, (world.folder,))


@pytest.fixture
def entry(service: Service, world: World) -> QueuedRequest:
    arrival = Arrival(world.request.read_bytes(), "http", "request", (world.folder,))
    return receive(service, arrival, clock=lambda: NOW).entry


@pytest.fixture
def client() -> Any:
    return MemoryClient()


def states(client: MemoryClient) -> list[str]:
    return [run.state.name for run in client.runs.values() if run.state is not None and run.state.name is not None]


@pytest.mark.usefixtures("entry")
def test_a_request_gets_one_run_however_often_it_is_reconciled(service: Service, client: Any) -> None:
    for _ in range(2):
        reconciler = Reconciler(service, clock=lambda: NOW)
        reconciler.prepare(client)
        reconciler.tick(client)
        reconciler.tick(client)
    assert [run.name for run in client.runs.values()] == ["release · Visits · university"]


def test_a_run_without_a_verdict_is_repeated_until_the_request_has_failed(
    service: Service, entry: QueuedRequest, client: Any
) -> None:
    now = NOW

    def clock() -> datetime:
        return now

    reconciler, attempts = Reconciler(service, clock=clock), service.settings.limits.attempts
    for attempt in range(1, attempts + 1):
        reconciler.tick(client)
        assert len(client.runs) == attempt
        client.set_flow_run_state(list(client.runs)[-1], Completed())
        reconciler.tick(client)
        now += timedelta(hours=1)
    failed = Queue(service.workspace).get(entry.id)
    assert failed is not None
    assert (failed.state, failed.lost, failed.recorded) == (RequestState.FAILED, attempts - 1, True)
    reconciler.tick(client)
    assert len(client.runs) == attempts


def test_a_run_that_died_with_the_service_is_repeated_and_not_counted(
    service: Service, entry: QueuedRequest, client: Any
) -> None:
    reconciler = Reconciler(service, clock=lambda: NOW)
    reconciler.tick(client)
    client.set_flow_run_state(next(iter(client.runs)), Running(timestamp=datetime.now(UTC)))
    reconciler.tick(client)
    assert states(client) == ["Running"], "its process may still begin"
    with Queue(service.workspace).claimed(entry.id) as claimed:
        assert claimed
        reconciler.prepare(client)
        assert states(client) == ["Running"], "its process is at work"
    reconciler.prepare(client)
    reconciler.tick(client)
    after = Queue(service.workspace).get(entry.id)
    assert after is not None
    assert (after.attempt, after.lost, states(client)) == (2, 0, ["Crashed", "Scheduled"])


def test_a_run_that_was_being_cancelled_as_it_died_is_cancelled_and_not_run_again(
    service: Service, entry: QueuedRequest, client: Any
) -> None:
    reconciler = Reconciler(service, clock=lambda: NOW)
    reconciler.tick(client)
    long_ago = datetime.now(UTC) - timedelta(hours=1)
    client.set_flow_run_state(next(iter(client.runs)), Cancelling(timestamp=long_ago))
    reconciler.tick(client)
    assert states(client) == ["Cancelled"]
    reconciler.tick(client)
    after = Queue(service.workspace).get(entry.id)
    assert after is not None
    assert (after.state, after.attempt, after.lost, len(client.runs)) == (RequestState.CANCELLED, 1, 0, 1)


def test_a_cluster_that_cannot_be_reached_is_asked_for_once_a_tick(
    service: Service, world: World, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    for title in ("One", "Two", "Three"):
        world.ask(title=title)
        arrival = Arrival(world.request.read_bytes(), "http", "request", (world.folder,))
        taken = receive(service, arrival, clock=lambda: NOW).entry
        service.queue.update(taken, waits_for="the Dask cluster", waiting_since=NOW)
    document = {"schema_version": "releasegate/service/1", "counting": {"dask": "tcp://127.0.0.1:1"}}
    elsewhere = replace(service, settings=ServiceSettings.model_validate(document))
    monkeypatch.setattr("flows.service.reconciler.answers", lambda address: bool(asked.append(address)))
    reconciler = Reconciler(elsewhere, clock=lambda: NOW)
    for ticks in (1, 2):
        reconciler.tick(client)
        assert asked == ["tcp://127.0.0.1:1"] * ticks
    assert not client.runs
