"""A service whose flows the workers of a pool run, with a worker in a process of its own."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from flows.engine import Engine, prefect_server
from flows.reviewing import cast_vote
from flows.service.backend import Backend
from flows.service.config import VARIABLE, service_of
from flows.service.pools import check_pool, is_served, register, run_environment
from flows.service.queue import Queue
from tasks.errors import BadInput, WorkspaceError
from tests.support.serving import Serving
from tests.support.world import QUICK_LINKAGE, World, make_world

URL = "http://prefect:4200/api"

REVIEW = {"required": 1, "reviewers": ["First Reviewer"]}


@pytest.mark.parametrize(("pool", "server"), [("machines", None), ("", URL)])
def test_a_pool_needs_a_name_and_a_server_that_its_workers_reach(pool: str, server: str | None) -> None:
    with pytest.raises(BadInput, match="a work pool needs a Prefect server"):
        check_pool(pool, server)
    check_pool("machines", URL)


def test_what_prefect_keeps_of_a_run_says_nothing_of_the_server_or_its_password(tmp_path: Path) -> None:
    service = service_of(tmp_path / "workspace", (tmp_path,))
    settings = {
        "PREFECT_API_URL": URL,
        "PREFECT_API_AUTH_STRING": "gate:QJXPASSWORD",
        "PREFECT_API_KEY": "QJXPASSWORD",
        "PREFECT_SERVER_DATABASE_CONNECTION_URL": "postgresql+asyncpg://prefect:QJXPASSWORD@host/prefect",
        "PREFECT_LOGGING_TO_API_ENABLED": "false",
    }
    kept = run_environment(service, settings)
    assert set(kept) == {"PREFECT_LOGGING_TO_API_ENABLED", VARIABLE}
    assert "QJXPASSWORD" not in str(kept)


@pytest.mark.parametrize("given", [None, URL])
def test_runs_install_nothing(tmp_path: Path, given: str | None) -> None:
    service = service_of(tmp_path / "workspace")
    kept = run_environment(service, Backend(service, given, {}).settings)
    assert kept["PREFECT_RUNNER_AUTO_INSTALL_DEPENDENCIES"] == "false"
    assert not any("password" in name.lower() or "AUTH" in name for name in kept)


@contextmanager
def worker(engine: Engine, pool: str, log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A process worker as an administrator starts it: it knows the server, and nothing of the workspace."""
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    environment |= {"PREFECT_HOME": str(log.parent / "worker"), "PREFECT_WORKER_QUERY_SECONDS": "1"}
    line = [sys.executable, "-m", "prefect", "worker", "start", "--pool", pool, "--type", "process"]
    assert environment["PREFECT_API_URL"] == engine.api_url
    with log.open("wb") as output:
        process = subprocess.Popen(
            line, env=environment, cwd=log.parent, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path / "world")


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_worker_takes_a_request_to_its_reviewers_and_after_the_vote_to_its_verdict(
    world: World, tmp_path: Path
) -> None:
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.actions import WorkPoolCreate

    inbox = tmp_path / "inbox"
    inbox.mkdir()
    with prefect_server(tmp_path / "given") as engine, get_client(sync_client=True) as client:
        service = service_of(world.workspace.root, (world.folder,))
        with pytest.raises(WorkspaceError, match="there is no such work pool"):
            register(service, "machines", {})
        client.create_work_pool(WorkPoolCreate(name="machines", type="process"))
        assert not is_served("machines")
        variables = {name: value for name, value in os.environ.items() if name.startswith("PREFECT_API_")}
        options = ("--pool", "machines", "--prefect", engine.api_url)
        serving = Serving(world.workspace, inbox, (world.folder,), variables, options)
        serving.start()
        try:
            serving.wait(lambda: serving.told("the deployments were registered"), "deployments")
            assert serving.told("the runner of flows was started") is None
            assert health_of_runner(serving) == "is not running"
            content = world.ask(title="Pooled", policy={"linkage": QUICK_LINKAGE, "review": REVIEW}).read_bytes()
            (inbox / "pooled.yaml").write_bytes(content)
            with worker(engine, "machines", tmp_path / "worker.log"):
                (entry,) = serving.wait(lambda: Queue(world.workspace).open_entries(), "it is taken in")
                waiting = serving.wait_for(entry.id, "awaiting review")
                serving.wait(lambda: health_of_runner(serving) == "ok", "a worker is online")
                cast_vote(entry.id, world.workspace, reviewer="First Reviewer", vote="approve", reason="Recounted.")
                done = serving.wait_for(entry.id, "decided")
            assert (waiting.attempt, done.attempt, done.verdicts) == (1, 1, {"university": "released"})
            assert {one.work_pool_name for one in client.read_deployments()} == {"machines"}
        finally:
            serving.stop()
        serving.wait_until_nothing_is_left()


def health_of_runner(serving: Serving) -> Any:
    import json

    status, _, body = serving.ask("/health")
    assert status in {200, 503}
    return json.loads(body)["runner"]
