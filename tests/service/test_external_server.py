"""The service with an external Prefect server: one serves all tests of this module."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from flows.gate.release import run_release
from flows.pipeline.embedded_prefect import EmbeddedServer, prefect_server
from flows.pipeline.sequence import in_process
from flows.queue.queue import Queue, RequestState
from flows.releases.cases import ReleaseAction
from flows.releases.program import code_fact
from flows.service.config import VARIABLE, Service, service_of
from flows.service.deployments import is_served, register
from flows.service.intake import Arrival, receive
from flows.service.orchestrator import Orchestrator, OrchestratorEnded
from flows.service.worker import decide
from tasks.core.errors import WorkspaceError
from tests.support.acting import cast_vote
from tests.support.brief_reports import brief_reports
from tests.support.serving import Serving
from tests.support.shared_workers import BRIEFLY, shared_workers
from tests.support.world import NOW, QUICK_LINKAGE, World

pytestmark = pytest.mark.slow

REVIEW = {"required": 1, "reviewers": ["First Reviewer"]}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    with prefect_server(tmp_path_factory.mktemp("given")) as running:
        yield running


def deployments_of(client: Any, service: Service) -> list[Any]:
    return [one for one in client.read_deployments() if one.name == service.name]


def test_an_external_server_gets_the_deployments_and_a_runner_whose_end_is_noticed(
    server: EmbeddedServer, tmp_path: Path
) -> None:
    from prefect.client.orchestration import get_client

    service = service_of(tmp_path / "workspace")
    orchestrator = Orchestrator(service, dict(os.environ), server.api_url)
    try:
        assert orchestrator.check()
        assert not orchestrator.is_ready
        orchestrator.start_flows()
        assert orchestrator.is_ready
        (runner,) = orchestrator._children.values()
        with get_client(sync_client=True) as client:
            until(lambda: len(deployments_of(client, service)) == 5)
        assert orchestrator.check()
        os.kill(runner.pid, signal.SIGKILL)
        runner.wait(300)
        with pytest.raises(OrchestratorEnded, match="the runner has ended"):
            orchestrator.check()
    finally:
        orchestrator.stop()
    assert not orchestrator.is_ready
    assert not Path(f"/proc/{runner.pid}").exists()


def until(condition: Callable[[], Any], seconds: float = 300.0) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return found


@contextmanager
def worker(server: EmbeddedServer, pool: str, log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A process worker as an administrator starts it: it knows the server, and nothing of the workspace."""
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    environment |= {"PREFECT_HOME": str(log.parent / "worker"), "PREFECT_WORKER_QUERY_SECONDS": "1"}
    environment |= BRIEFLY | shared_workers()
    line = [sys.executable, "-m", "prefect", "worker", "start", "--pool", pool, "--type", "process"]
    assert environment["PREFECT_API_URL"] == server.api_url
    with log.open("wb") as output:
        process = subprocess.Popen(
            line, env=environment, cwd=log.parent, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:  # Prefect's worker waits for whatever it takes for running
            process.kill()
            process.wait(60)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_workers_take_a_request_to_its_reviewers_and_after_the_vote_to_its_verdict_though_one_is_killed(
    server: EmbeddedServer, world: World, tmp_path: Path
) -> None:
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.actions import WorkPoolCreate

    inbox = tmp_path / "inbox"
    inbox.mkdir()
    with get_client(sync_client=True) as client:
        service = service_of(world.workspace.root, (world.folder,))
        with pytest.raises(WorkspaceError, match="there is no such work pool"):
            register(service, "machines", {})
        client.create_work_pool(WorkPoolCreate(name="machines", type="process"))
        assert not is_served("machines")
        variables = {name: value for name, value in os.environ.items() if name.startswith("PREFECT_API_")}
        options = ("--pool", "machines", "--prefect", server.api_url)
        serving = Serving(world.workspace, inbox, (world.folder,), variables, options, brief=True)
        serving.start()
        try:
            serving.wait(lambda: serving.told("the deployments were registered"), "deployments")
            assert serving.told("the runner was started") is None
            assert health_of_runner(serving) == "is not running"
            content = world.ask(title="Pooled", policy={"linkage": QUICK_LINKAGE, "review": REVIEW}).read_bytes()
            world.enrol()
            (inbox / "pooled.yaml").write_bytes(content)
            with worker(server, "machines", tmp_path / "worker-1.log") as first:
                (entry,) = serving.wait(lambda: Queue(world.workspace).open_entries(), "it is taken in")
                serving.wait(lambda: Queue(world.workspace).is_claimed(entry.id), "its run")
                first.kill()
            with worker(server, "machines", tmp_path / "worker-2.log"):
                waiting = serving.wait_for(entry.id, "awaiting review")
                serving.wait(lambda: health_of_runner(serving) == "ok", "a worker is online")
                cast_vote(ReleaseAction(entry.id, world.workspace, by="First Reviewer", reason="Recounted."), "approve")
                done = serving.wait_for(entry.id, "decided")
            assert (waiting.attempt, done.attempt, done.verdicts) == (1, 1, {"university": "released"})
            assert {one.work_pool_name for one in deployments_of(client, service)} == {"machines"}
        finally:
            serving.stop()
        serving.wait_until_nothing_is_left()


def health_of_runner(serving: Serving) -> Any:
    status, _, body = serving.ask("/health")
    assert status in {200, 503}
    return json.loads(body)["runner"]


@pytest.mark.usefixtures("server")
def test_the_gate_decides_on_the_kept_document_and_a_run_that_died_behind_it_is_not_decided_by_another_program(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrival = Arrival(world.request.read_bytes(), "inbox", "request.yaml", (world.folder,))
    entry = receive(service_of(world.workspace.root), arrival, clock=lambda: NOW).entry
    world.enrol(lambda: NOW)
    queue = Queue(world.workspace)
    with brief_reports(), monkeypatch.context() as dying:
        # The run dies when all is in the ledger, and before bundle and queue say so.
        dying.setattr("flows.gate.publishing.publish", ending)
        with pytest.raises(KeyboardInterrupt):
            run_release(
                queue.document(entry.request_sha256),
                world.workspace.root,
                [Path(root) for root in entry.roots],
                clock=lambda: NOW,
                engine=in_process,
            )
    assert not world.workspace.bundle(entry.id).exists()
    with monkeypatch.context() as patch:
        another = code_fact().model_copy(update={"commit": "another"})
        patch.setattr("flows.service.intake.code_fact", lambda: another)
        after = decide(service_of(world.workspace.root), entry, ending, clock=lambda: NOW)
    assert after.release_id == entry.id
    assert (after.state, after.verdicts) == (RequestState.DECIDED, {"university": "released"})
    assert world.run(in_process).repeated  # the original decides nothing anew, either


def ending(*_: object) -> Any:
    raise KeyboardInterrupt


@pytest.mark.usefixtures("server")
def test_a_run_whose_limit_is_gone_does_not_solve() -> None:
    from prefect.concurrency.sync import concurrency

    with pytest.raises(Exception, match="none-such"), concurrency("none-such", strict=True):
        pytest.fail("solved")
