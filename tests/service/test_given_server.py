"""What needs a Prefect server of its own that somebody else keeps: one serves all tests of this module.

A runner that is kept alive, a worker of a pool in a process of its own, a decision, a notification, a limit.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from flows.engine import Engine, prefect_server
from flows.gate import run_release
from flows.identity import code_fact
from flows.reviewing import cast_vote
from flows.service.backend import Backend
from flows.service.config import VARIABLE, Service, service_of
from flows.service.intake import Arrival, receive
from flows.service.pools import is_served, register
from flows.service.queue import Queue, State
from flows.service.telling import notify
from flows.service.working import decide
from flows.workspace import open_workspace
from tasks.errors import WorkspaceError
from tasks.service.settings import Notification, Told
from tests.support.brief_reports import brief_reports
from tests.support.hooks import Hook
from tests.support.serving import BRIEF, Serving
from tests.support.world import NOW, QUICK_LINKAGE, ROOT, World

REVIEW = {"required": 1, "reviewers": ["First Reviewer"]}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with prefect_server(tmp_path_factory.mktemp("given")) as running:
        yield running


def served(*_: object) -> AbstractContextManager[None]:
    """An engine for flows: the server is there."""
    return nullcontext()


def deployments_of(client: Any, service: Service) -> list[Any]:
    return [one for one in client.read_deployments() if one.name == service.name]


def test_a_given_server_gets_the_deployments_and_a_runner_that_is_kept(server: Engine, tmp_path: Path) -> None:
    from prefect.client.orchestration import get_client

    stopping, prepared = threading.Event(), list[float]()

    def prepare() -> None:
        prepared.append(time.monotonic())
        if len(prepared) == 1:
            raise ConnectionError

    service = service_of(tmp_path / "workspace")
    backend = Backend(service, server.api_url, dict(os.environ))
    thread = threading.Thread(target=backend.keep, args=(stopping, prepare))
    thread.start()
    try:
        first = until(lambda: backend.process_ids.get("runner"))
        assert len(prepared) == 2
        assert backend.process_ids == {"runner": first}
        with get_client(sync_client=True) as client:
            until(lambda: len(deployments_of(client, service)) == 5)
        os.kill(first, signal.SIGKILL)
        second = until(lambda: {backend.process_ids.get("runner")} - {None, first})
        assert len(prepared) == 3
    finally:
        stopping.set()
        thread.join(60)
    assert backend.process_ids == {}
    assert not backend.is_ready
    assert not Path(f"/proc/{second.pop()}").exists()


def until(condition: Callable[[], Any], seconds: float = 300.0) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return found


@contextmanager
def worker(server: Engine, pool: str, log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A process worker as an administrator starts it: it knows the server, and nothing of the workspace."""
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    environment |= {"PREFECT_HOME": str(log.parent / "worker"), "PREFECT_WORKER_QUERY_SECONDS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(BRIEF), str(ROOT)])
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
        process.wait(60)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_workers_take_a_request_to_its_reviewers_and_after_the_vote_to_its_verdict_though_one_is_killed(
    server: Engine, world: World, tmp_path: Path
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
            assert serving.told("the runner of flows was started") is None
            assert health_of_runner(serving) == "is not running"
            content = world.ask(title="Pooled", policy={"linkage": QUICK_LINKAGE, "review": REVIEW}).read_bytes()
            (inbox / "pooled.yaml").write_bytes(content)
            with worker(server, "machines", tmp_path / "worker-1.log") as first:
                (entry,) = serving.wait(lambda: Queue(world.workspace).open_entries(), "it is taken in")
                serving.wait(lambda: Queue(world.workspace).is_worked_on(entry.id), "its run")
                first.kill()
            with worker(server, "machines", tmp_path / "worker-2.log"):
                waiting = serving.wait_for(entry.id, "awaiting review")
                serving.wait(lambda: health_of_runner(serving) == "ok", "a worker is online")
                cast_vote(entry.id, world.workspace, reviewer="First Reviewer", vote="approve", reason="Recounted.")
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
    entry = receive(open_workspace(world.workspace.root), arrival, clock=lambda: NOW).entry
    queue = Queue(world.workspace)
    with brief_reports(), monkeypatch.context() as dying:
        # The run dies when all is in the ledger, and before bundle and queue say so.
        dying.setattr("flows.gate.publish", ending)
        with pytest.raises(KeyboardInterrupt):
            run_release(
                queue.document(entry.request_sha256),
                world.workspace.root,
                [Path(root) for root in entry.roots],
                clock=lambda: NOW,
                engine=served,
            )
    assert not world.workspace.bundle(entry.id).exists()
    with monkeypatch.context() as patch:
        another = code_fact().model_copy(update={"commit": "another"})
        patch.setattr("flows.service.intake.code_fact", lambda: another)
        after, outcome = decide(queue, service_of(world.workspace.root), entry, ending, clock=lambda: NOW)
    assert outcome is not None
    assert outcome.release_id == entry.id
    assert (after.state, after.verdicts) == (State.DECIDED, {"university": "released"})
    assert world.run(served).repeated  # the original decides nothing anew, either


def ending(*_: object) -> Any:
    raise KeyboardInterrupt


@pytest.mark.usefixtures("server")
def test_a_block_of_prefect_is_told(hook: int) -> None:
    from prefect.blocks.notifications import CustomWebhookNotificationBlock

    block = CustomWebhookNotificationBlock(
        name="tests", url=f"http://127.0.0.1:{hook}/told", json_data={"text": "{{body}}", "subject": "{{subject}}"}
    )
    block.save("tests")
    notify(Notification(block="custom-webhook/tests", events=(Told.BLOCKED,)), "blocked", "Release 3f: blocked.")
    assert Hook.bodies == [{"text": "Release 3f: blocked.", "subject": "blocked"}]
    with pytest.raises(Exception, match="none-such"):
        notify(Notification(block="custom-webhook/none-such", events=(Told.BLOCKED,)), "blocked", "body")


@pytest.mark.usefixtures("server")
def test_a_run_whose_limit_is_gone_does_not_solve() -> None:
    from prefect.concurrency.sync import concurrency

    with pytest.raises(Exception, match="none-such"), concurrency("none-such", strict=True):
        pytest.fail("solved")
