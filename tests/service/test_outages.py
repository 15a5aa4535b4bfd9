"""Servers that do not answer are waited for as long as the settings say; every request has one verdict in the end."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from flows.pipeline.embedded_prefect import is_healthy, start_from_template
from flows.queue.queue import Queue, QueuedRequest, RequestState
from flows.service.config import Service, service_of
from flows.service.intake import Arrival, receive
from flows.service.monitoring import Pulse, health
from flows.service.outages import PREFECT, OutageWatch, answers, waiting
from flows.service.worker import decide
from flows.workspace.ledger import VARIABLE, open_ledger
from tasks.core.errors import Outage, StageFailed
from tasks.ledger.entry import Event
from tasks.service.settings import ServiceSettings
from tests.support.postgres import Server, running_server
from tests.support.serving import Serving
from tests.support.shared_workers import BRIEFLY, OUTAGES_SEEN_SOON
from tests.support.world import NOW, QUICK_LINKAGE, World, drawn_rows, make_world

LEDGER, DASK = "the ledger's database", "the Dask cluster"


@dataclass
class Time:
    now: datetime = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Time:
    return Time()


@pytest.fixture
def service(world: World) -> Service:
    world.enrol(lambda: NOW)
    return service_of(world.workspace.root, (world.folder,))


@pytest.fixture
def entry(service: Service, world: World) -> QueuedRequest:
    arrival = Arrival(world.request.read_bytes(), "http", "request", (world.folder,))
    return receive(service, arrival, clock=lambda: NOW).entry


def engine_of(error: Exception) -> Any:
    @contextmanager
    def engine(*_: Path) -> Iterator[None]:
        raise error
        yield

    return engine


def now(service: Service, entry: QueuedRequest) -> QueuedRequest:
    found = Queue(service.workspace).get(entry.id)
    assert found is not None
    return found


def out(server: str) -> Outage:
    return Outage(f"{server} does not answer", server=server, where="10.0.0.5", expected="an answer", got="none")


@pytest.mark.parametrize("server", [LEDGER, DASK, PREFECT])
def test_a_request_waits_a_day_and_not_for_a_number_of_runs(
    service: Service, entry: QueuedRequest, clock: Time, server: str
) -> None:
    for minutes in (0, 1, 30, 600, 1439):
        clock.now = NOW + timedelta(minutes=minutes)
        entry = decide(service, entry, engine_of(out(server)), clock=clock)
        assert (entry.state, entry.lost) == (RequestState.ACCEPTED, 0)
        assert (entry.waits_for, entry.waiting_since) == (server, NOW)
    assert entry.not_before == clock.now + timedelta(minutes=1)
    assert waiting(service) == (f"{server} does not answer: 1 request waiting since 2026-03-02 09:30 UTC",)
    clock.now = NOW + timedelta(days=1)
    last = decide(service, entry, engine_of(out(server)), clock=clock)
    assert (last.state, last.reason["where"]) == (RequestState.FAILED, server)
    assert "within 24 hours (limits.outage_hours)" in last.reason["expected"]
    with open_ledger(service.workspace) as ledger:
        assert [one.body["queued"] for one in ledger.entries(event=Event.FAILED)] == [entry.token]
        assert ledger.entries(event=Event.REFUSED) == ()


def test_an_outage_that_ends_leaves_no_trace(service: Service, entry: QueuedRequest, clock: Time) -> None:
    entry = decide(service, entry, engine_of(out(DASK)), clock=clock)
    clock.now += timedelta(hours=5)
    after = decide(service, entry, engine_of(StageFailed("no release exists")), clock=clock)
    assert (after.state, after.waits_for, after.waiting_since) == (RequestState.FAILED, "", None)
    assert waiting(service) == ()


def test_the_queue_says_which_requests_wait_for_prefect(service: Service, entry: QueuedRequest, clock: Time) -> None:
    watch = OutageWatch(service, clock=clock)
    watch.tick(prefect_answers=True)
    assert now(service, entry).waits_for == ""
    watch.tick(prefect_answers=False)
    assert (now(service, entry).waits_for, now(service, entry).waiting_since) == (PREFECT, NOW)
    clock.now += timedelta(hours=3)
    watch.tick(prefect_answers=False)
    assert now(service, entry).waiting_since == NOW
    ok, parts = health(service, Pulse({"queue": time.monotonic()}), prefect_answers=True, runner_runs=True)
    assert not ok
    assert parts["requests"] == "the Prefect server does not answer: 1 request waiting since 2026-03-02 09:30 UTC"
    watch.tick(prefect_answers=True)
    assert (now(service, entry).waits_for, now(service, entry).waiting_since) == ("", None)
    watch.tick(prefect_answers=False)
    clock.now += timedelta(hours=25)
    watch.tick(prefect_answers=False)
    after = now(service, entry)
    assert (after.state, after.recorded) == (RequestState.FAILED, True)


def test_an_outage_that_only_runs_see_is_given_up_as_lost_runs_are(
    service: Service, entry: QueuedRequest, clock: Time
) -> None:
    watch, most = OutageWatch(service, clock=clock), service.settings.limits.attempts
    for lost in range(1, most):
        clock.now += timedelta(minutes=20)
        entry = decide(service, now(service, entry), engine_of(out(LEDGER)), clock=clock)
        watch.tick(prefect_answers=True)
        after = now(service, entry)
        assert (after.state, after.lost, after.attempt) == (RequestState.ACCEPTED, lost, entry.attempt)
        assert (after.waits_for, after.waiting_since) == ("", None)
        assert after.not_before == clock.now + timedelta(seconds=5 * 2 ** (lost - 1))
    clock.now += timedelta(minutes=20)
    decide(service, now(service, entry), engine_of(out(LEDGER)), clock=clock)
    watch.tick(prefect_answers=True)
    last = now(service, entry)
    assert (last.state, last.recorded, last.reason["where"]) == (RequestState.FAILED, True, LEDGER)
    assert last.reason["got"] == f"{LEDGER} does not answer"


def test_an_outage_that_run_and_service_see_is_not_counted(service: Service, entry: QueuedRequest, clock: Time) -> None:
    watch = OutageWatch(service, clock=clock)
    clock.now += timedelta(minutes=20)
    entry = decide(service, entry, engine_of(out(PREFECT)), clock=clock)
    clock.now += timedelta(minutes=1)
    watch.tick(prefect_answers=False)
    clock.now += timedelta(minutes=1)
    watch.tick(prefect_answers=True)
    after = now(service, entry)
    assert (after.lost, after.waits_for, after.waiting_since) == (0, "", None)


def test_a_request_whose_run_is_under_way_is_left_to_it(service: Service, entry: QueuedRequest, clock: Time) -> None:
    with service.queue.claimed(entry.id) as claimed:
        assert claimed
        OutageWatch(service, clock=clock).tick(prefect_answers=False)
        assert now(service, entry).waits_for == ""


def test_what_ended_while_the_ledger_was_away_is_recorded_once_it_is_back(
    service: Service, entry: QueuedRequest, clock: Time
) -> None:
    ended = {"state": RequestState.FAILED, "reason": {"what": "a run was lost"}, "finished_at": NOW}
    Queue(service.workspace).update(entry, **ended)
    watch = OutageWatch(service, clock=clock)
    for _ in range(3):
        watch.tick(prefect_answers=True)
    assert now(service, entry).recorded
    with open_ledger(service.workspace) as ledger:
        (failed,) = ledger.entries(event=Event.FAILED)
    assert (failed.body["title"], failed.body["recipients"]) == (entry.title, list(entry.recipients))
    assert (failed.body["what"], failed.body["queued"]) == ("a run was lost", entry.token)


def test_what_listens_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert answers(f"tcp://127.0.0.1:{server.getsockname()[1]}")
    assert not answers("tcp://127.0.0.1:1")
    assert not answers("nonsense")


@pytest.mark.slow
class TestRealServers:
    """A database and a cluster that are stopped and started."""

    @pytest.fixture
    def server(self) -> Iterator[Server]:
        with running_server() as running:
            yield running

    def test_the_ledgers_database(self, server: Server, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(VARIABLE, server.new_database())
        world.enrol(lambda: NOW)
        clock, service = Time(), service_of(world.workspace.root, (world.folder,))
        watch = OutageWatch(service, clock=clock)
        arrival = Arrival(world.request.read_bytes(), "http", "request", (world.folder,))
        entry = receive(service, arrival, clock=clock).entry
        server.kill()
        with pytest.raises(Outage, match="the ledger cannot be used"):
            receive(service, arrival, clock=clock)
        watch.tick(prefect_answers=True)
        assert now(service, entry).waits_for == LEDGER
        clock.now += timedelta(hours=2)
        entry = decide(service, now(service, entry), engine_of(AssertionError("it was run")), clock=clock)
        assert (entry.state, entry.lost, entry.waits_for, entry.waiting_since) == ("accepted", 0, LEDGER, NOW)
        ok, parts = health(service, Pulse(), prefect_answers=True, runner_runs=True)
        assert (ok, parts["ledger"]) == (False, "the ledger cannot be used")
        assert LEDGER in parts["requests"]
        server.start()
        watch.tick(prefect_answers=True)
        assert waiting(service) == ()
        server.kill()
        clock.now += timedelta(hours=1)
        watch.tick(prefect_answers=True)
        clock.now += timedelta(hours=24)
        with pytest.raises(Outage):
            watch.tick(prefect_answers=True)
        assert (now(service, entry).state, now(service, entry).recorded) == (RequestState.FAILED, False)
        server.start()
        watch.tick(prefect_answers=True)
        assert now(service, entry).recorded
        with open_ledger(service.workspace) as ledger:
            assert ledger.verify()
            assert [one.body["queued"] for one in ledger.entries(event=Event.FAILED)] == [entry.token]

    def test_a_cluster_that_dies_at_work(
        self, service: Service, world: World, clock: Time, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from distributed import LocalCluster

        from tests.support.brief_reports import brief_reports
        from tests.support.engines import in_process

        monkeypatch.setattr("tasks.microdata.workers._TO_CONNECT", "2s")
        pd.DataFrame(list(drawn_rows())).to_parquet(world.data)
        world.ask(dataset={"path": "data.csv"}, policy={"linkage": QUICK_LINKAGE})
        parquet = world.data.rename(world.folder / "data.parquet")
        world.ask(dataset={"path": parquet.name}, policy={"linkage": QUICK_LINKAGE})
        world.enrol(lambda: NOW)
        arrival = Arrival(world.request.read_bytes(), "http", "request", (world.folder,))
        entry = receive(service, arrival, clock=clock).entry
        engine = in_process(world.folder)
        terms: dict[str, Any] = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "protocol": "tcp://"}
        terms |= {"dashboard_address": None, "host": "127.0.0.1"}
        with LocalCluster(**terms) as cluster:
            address = cluster.scheduler_address
            settings = {"schema_version": "releasegate/service/1", "counting": {"dask": address}}
            service = replace(service, settings=ServiceSettings.model_validate(settings))

            def dying(*_: object) -> None:
                threading.Thread(target=cluster.close).start()
                while answers(address):
                    time.sleep(0.05)

            with monkeypatch.context() as patch, brief_reports():
                patch.setattr("tasks.microdata.workers.check_cluster", lambda _: None)
                patch.setattr("flows.gate.release.step", dying)
                entry = decide(service, entry, engine, clock=clock)
        assert (entry.state, entry.lost, entry.waits_for) == (RequestState.ACCEPTED, 0, DASK)
        entry = decide(service, entry, engine, clock=clock)
        assert (entry.state, entry.lost, entry.waiting_since) == (RequestState.ACCEPTED, 0, NOW)
        with LocalCluster(**terms, scheduler_port=int(address.rpartition(":")[2])), brief_reports():
            entry = decide(service, entry, engine, clock=clock)
        assert (entry.state, entry.verdicts, entry.waits_for) == (RequestState.DECIDED, {"university": "released"}, "")
        with open_ledger(service.workspace) as ledger:
            events = [one.event for one in ledger.entries(release_id=entry.id)]
        assert events.count(Event.DECIDED) == events.count(Event.RELEASED) == 1
        assert Event.REFUSED not in events
        assert Event.FAILED not in events

    def test_services_go_on_after_what_they_depend_on_was_away(
        self, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """One without its database and one without its Prefect server, side by side: both are mostly waited for."""
        variables = {VARIABLE: server.new_database()}
        with monkeypatch.context() as patch:
            patch.setenv(VARIABLE, variables[VARIABLE])
            of_database = asking(tmp_path / "database")
        of_prefect = asking(tmp_path / "prefect")
        with ThreadPoolExecutor(1) as beside:  # the database ends with the thread that starts it: this one
            other = beside.submit(goes_on_without_prefect, of_prefect)
            with_database = goes_on_without_database(of_database, server, variables)
            without = other.result()
        decided_once(of_prefect, without)
        monkeypatch.setenv(VARIABLE, variables[VARIABLE])
        decided_once(of_database, with_database)


def decided_once(world: World, entry: QueuedRequest) -> None:
    """The ledger is whole, and has one decision on a request."""
    with open_ledger(world.workspace) as ledger:
        assert ledger.verify()
        assert len(ledger.entries(release_id=entry.id, event=Event.DECIDED)) == 1


def asking(folder: Path) -> World:
    """A world whose request is enrolled, beside an empty inbox."""
    (folder / "inbox").mkdir(parents=True)
    world = make_world(folder / "world")
    world.ask(policy={"linkage": QUICK_LINKAGE})
    world.enrol()
    return world


def goes_on_without_database(world: World, server: Server, variables: dict[str, str]) -> QueuedRequest:
    """Its ledger's database is away for longer than a run takes; the request is decided once it is back."""
    inbox = world.folder.parent / "inbox"
    serving = Serving(world.workspace, inbox, (world.folder,), variables | OUTAGES_SEEN_SOON, brief=True)
    serving.start()
    try:
        serving.wait_until_ready()
        (inbox / "request.yaml").write_bytes(world.request.read_bytes())
        (receipt,) = serving.wait(lambda: list((inbox / "accepted").glob("*.receipt.txt")), "it is taken in")
        (entry,) = Queue(world.workspace).open_entries()
        server.kill()

        def waits() -> bool:
            status, _, body = serving.ask("/health")
            return status == 503 and LEDGER in json.loads(body)["requests"]

        serving.wait(waits, "health says that it waits")
        time.sleep(12)
        assert serving.wait_for(entry.id, "accepted").lost == 0
        server.start()
        done = serving.wait_for(entry.id, "decided")
        assert (done.lost, done.waits_for) == (0, "")
        serving.wait(lambda: serving.ask("/health")[0] == 200, "health is well again")
        outcome = f"id: {entry.id}\nstate: decided\nuniversity: released\n"
        serving.wait(lambda: receipt.read_text().startswith(outcome), "the receipt has the outcome")
    finally:
        serving.stop()
    return done


def goes_on_without_prefect(world: World) -> QueuedRequest:
    """Its external Prefect server is away as a request comes in, which is decided once it is back."""
    inbox = world.folder.parent / "inbox"
    with prefect_at(free_port(), world.folder.parent / "server") as prefect:
        prefect.start()
        options = ("--prefect", f"http://127.0.0.1:{prefect.port}/api")
        serving = Serving(world.workspace, inbox, (world.folder,), dict(OUTAGES_SEEN_SOON), options, brief=True)
        serving.start()
        try:
            serving.wait_until_ready()
            prefect.kill()
            (inbox / "request.yaml").write_bytes(world.request.read_bytes())
            (entry,) = serving.wait(lambda: Queue(world.workspace).open_entries(), "it is taken in")
            serving.wait(lambda: now(service_of(world.workspace.root), entry).waits_for == PREFECT, "it waits")
            status, _, body = serving.ask("/health")
            told = json.loads(body)
            assert (status, told["prefect"]) == (503, "does not answer")
            assert PREFECT in told["requests"]
            prefect.start()
            done = serving.wait_for(entry.id, "decided")
            assert (done.lost, done.waits_for) == (0, "")
        finally:
            serving.stop()
    return done


@dataclass
class PrefectServer:
    """A Prefect server as an administrator runs one."""

    port: int
    home: Path
    _process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        self.home.mkdir(exist_ok=True)
        start_from_template(self.home)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
        environment |= {"PREFECT_HOME": str(self.home), "PREFECT_SERVER_ANALYTICS_ENABLED": "false"}
        environment |= BRIEFLY
        line = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(self.port)]
        with (self.home / "log").open("ab") as log:
            self._process = subprocess.Popen(
                line, env=environment, cwd=self.home, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        deadline = time.monotonic() + 300
        while not is_healthy(f"http://127.0.0.1:{self.port}/api", {}):
            assert time.monotonic() < deadline, (self.home / "log").read_text()[-2000:]
            time.sleep(0.2)

    def kill(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(60)


@contextmanager
def prefect_at(port: int, home: Path) -> Iterator[PrefectServer]:
    server = PrefectServer(port, home)
    try:
        yield server
    finally:
        server.kill()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
