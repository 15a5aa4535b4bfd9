"""Environments of the service's processes, its Prefect server, and the check that all of them run."""

import http.server
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from flows.pipeline.embedded_prefect import is_healthy
from flows.service.config import VARIABLE, Service, of_environment, service_of
from flows.service.orchestrator import Orchestrator, OrchestratorEnded, external_address
from flows.service.serve import serve
from tasks.core.errors import BadInput, WorkspaceError

SECRETS = {"RELEASEGATE_API_TOKEN": "QJXTOKEN", "RELEASEGATE_NOTIFY_OFFICE": "mailto://QJXTOKEN@example.org"}


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return service_of(tmp_path / "workspace", (tmp_path,))


def test_an_external_server_is_named_by_option_or_environment() -> None:
    url = "https://prefect.example.org/api"
    assert external_address(None, {}) is None
    assert external_address(None, {"PREFECT_API_URL": url}) == url
    assert external_address(url, {"PREFECT_API_URL": "http://other/api"}) == url
    with pytest.raises(BadInput, match="not valid"):
        external_address("file:///etc/passwd", {})


def test_an_external_server_is_asked_with_its_password_and_nothing_else(service: Service) -> None:
    environment = {"PREFECT_API_AUTH_STRING": "me:secret", "PREFECT_SERVER_ANALYTICS_ENABLED": "true", "PREFECT_X": "y"}
    settings = Orchestrator(service, environment, "http://prefect:4200/api/").settings
    assert settings["PREFECT_API_URL"] == "http://prefect:4200/api"
    assert settings["PREFECT_API_AUTH_STRING"] == "me:secret"
    assert settings["PREFECT_SERVER_ANALYTICS_ENABLED"] == "false"
    assert settings["DO_NOT_TRACK"] == "1"
    assert "PREFECT_X" not in settings


def test_every_start_of_an_own_server_has_another_password(service: Service) -> None:
    first, second = (Orchestrator(service, {}).settings for _ in range(2))
    assert first["PREFECT_API_AUTH_STRING"] != second["PREFECT_API_AUTH_STRING"]
    chosen = Orchestrator(service, {"PREFECT_API_AUTH_STRING": "me:secret"}).settings
    assert chosen["PREFECT_API_AUTH_STRING"] == "me:secret"


def test_processes_get_no_secret_that_they_have_no_use_for(service: Service) -> None:
    backend = Orchestrator(service, SECRETS | {"RELEASEGATE_LEDGER": "postgresql://…", "HOME": "/home/gate"})
    told = backend.child_environment()
    assert "QJXTOKEN" not in str(told)
    assert told["RELEASEGATE_LEDGER"] == "postgresql://…"
    again = of_environment(told)
    assert (again.workspace, again.roots, again.name) == (service.workspace, service.roots, service.name)


def test_runs_have_the_settings_that_the_service_was_started_with(tmp_path: Path) -> None:
    settings = tmp_path / "workspace" / "service.yaml"
    settings.parent.mkdir()
    settings.write_text(
        "schema_version: releasegate/service/1\n"
        "limits: {attempts: 7}\n"
        "notifications: [{variable: RELEASEGATE_NOTIFY_A, events: [blocked]}]\n"
    )
    service = service_of(tmp_path / "workspace")
    settings.write_text("limits: [")
    assert of_environment(service.environment()).settings == service.settings
    assert service.settings.limits.attempts == 7


def test_the_password_of_prefects_database_is_told_to_its_server_alone(service: Service) -> None:
    url = "postgresql+asyncpg://prefect:QJXDATABASE@database/prefect"
    backend = Orchestrator(service, {"PREFECT_SERVER_DATABASE_CONNECTION_URL": url})
    assert "QJXDATABASE" not in str(backend.child_environment())
    assert "QJXDATABASE" not in str(backend.settings)
    assert backend.server_settings()["PREFECT_SERVER_DATABASE_CONNECTION_URL"] == url


@pytest.mark.parametrize("text", [None, "", "{}", "[]", "null", "not JSON", '{"settings": {"limits": 1}}'])
def test_a_run_that_belongs_to_no_service_says_so(text: str | None) -> None:
    with pytest.raises(WorkspaceError, match="belongs to no service"):
        of_environment({} if text is None else {VARIABLE: text})


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        (tmp_path / "workspace").mkdir()
        (tmp_path / "workspace" / "service.yaml").write_text(
            f"schema_version: releasegate/service/1\norchestrator: {{port: {port}}}\n"
        )
        service = service_of(tmp_path / "workspace")
        with pytest.raises(WorkspaceError, match=f"orchestrator.port: {port}"):
            Orchestrator(service, {})
        with pytest.raises(WorkspaceError, match="--listen"):
            serve(service, port=port)


def test_nobody_answers_where_there_is_no_server() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert not is_healthy(f"http://127.0.0.1:{port}/api", {})


class Healthy(http.server.BaseHTTPRequestHandler):
    """A server that is well."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_a_runner_that_always_dies_after_an_outage_is_given_up(service: Service) -> None:
    def die() -> None:
        child = subprocess.Popen([sys.executable, "-c", ""], start_new_session=True)
        child.wait()
        orchestrator._children["runner"] = child

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Healthy) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        orchestrator = Orchestrator(service, {}, f"http://127.0.0.1:{server.server_address[1]}/api")
        ended = orchestrator.answering_since = time.time() - 60
        for _ in range(2):
            die()
            assert orchestrator.check()
            assert orchestrator.answering_since == ended, "no further outage has ended"
        orchestrator.answering_since -= 300
        die()
        with pytest.raises(OrchestratorEnded, match="the runner has ended"):
            orchestrator.check()
        server.shutdown()


def test_a_workspace_has_one_service(service: Service) -> None:
    from flows.workspace.locking import locked

    held, ended = threading.Event(), threading.Event()

    def hold() -> None:
        with locked(service.home / "serve.lock", WorkspaceError("taken")):
            held.set()
            ended.wait(300)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert held.wait(300)
        with pytest.raises(WorkspaceError, match="another service is running"):
            serve(service, port=0)
    finally:
        ended.set()
        thread.join()
