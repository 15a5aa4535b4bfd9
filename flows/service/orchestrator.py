"""The service's orchestrator: a Prefect server and a runner as child processes, or an external server.

Neither child is restarted here. When one ends, the service ends too, and its supervisor (systemd or the container
runtime) starts everything again; queue and ledger say where to continue. With a work pool there is no runner: the
pool's workers run the flows.
"""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from flows.pipeline.embedded_prefect import (
    NO_AUTHORITY,
    QUICK_START,
    bound_socket,
    client_settings,
    is_healthy,
    is_migrated,
    new_password,
    server_settings,
    spawn,
    start_from_template,
)
from flows.releases.program import ROOT
from flows.service.config import Service
from flows.service.logs import log
from tasks.core.errors import BadInput, ReleasegateError, system_refusal
from tasks.core.secret_variables import FOR_RUNS, SECRETS

_HEALTH_SECONDS = 5.0
_SILENT_SECONDS = 30.0
_UNRESPONSIVE_SECONDS = 300.0
_STOP_SECONDS = 10.0
_EXTERNAL_SERVER_VARIABLES = (
    "PREFECT_API_KEY",
    "PREFECT_API_AUTH_STRING",
    "PREFECT_API_TLS_INSECURE_SKIP_VERIFY",
    "PREFECT_API_SSL_CERT_FILE",
)
_UNUSED_SERVICES = ("CANCELLATION_CLEANUP", "CLEANUP_RECONCILER", "FOREMAN", "LATE_RUNS", "PAUSE_EXPIRATIONS")
"""Prefect services that would poll every few seconds for objects the service does not have: workers, expiring pauses,
subflows of cancelled runs; and for late runs, which they only rename."""


class OrchestratorEnded(ReleasegateError):
    """A process that the service depends on has ended."""


class Orchestrator:
    """Starts server and runner and watches them; used from one thread that lives as long as the service.

    `external_server` is the API address of a Prefect server, or None for one of the service's own; the workers of
    `pool`, where one is named, run the flows.
    """

    def __init__(
        self,
        service: Service,
        environment: Mapping[str, str],
        external_server: str | None = None,
        pool: str | None = None,
    ) -> None:
        self._service = service
        self._environment = environment
        self._pool = pool
        self._socket = None if external_server is not None else _bound(service.settings.orchestrator.port)
        self.settings = self._client_settings(external_server)
        """Prefect's variables for this process and for runs."""
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._last_answer: float | None = None
        self._last_asked = 0.0
        self._started_at = time.monotonic()
        self._is_silent = False
        self.answering_since = 0.0
        """Time of the server's first answer after an outage, in seconds since 1970; 0 without an outage."""
        self.is_ready = False
        """Whether deployments are registered and runs can be made."""

    @property
    def api_url(self) -> str:
        """API address of the Prefect server."""
        return self.settings["PREFECT_API_URL"]

    @property
    def answers(self) -> bool:
        """Whether the server has answered within half a minute, or may still be starting."""
        return time.monotonic() - (self._last_answer or self._started_at) < _SILENT_SECONDS

    @property
    def runs_flows(self) -> bool:
        """Whether flows can run now: the runner has started, or a worker of the pool is online."""
        if not self.is_ready or self._pool is None:
            return self.is_ready
        from flows.service.deployments import is_served  # noqa: PLC0415 - Prefect reads its settings on import

        return is_served(self._pool)

    def start_flows(self) -> None:
        """Start the runner, or register the deployments for the pool; call it once the server answers."""
        if self._pool is not None:
            from flows.service.deployments import register  # noqa: PLC0415 - Prefect reads its settings on import

            register(self._service, self._pool, self.settings)
        else:
            self._spawn("runner", "runner.log", "service/prefect_runner.py")
        self.is_ready = True

    def start_server(self) -> None:
        """Start the service's own server, if it has one; on Linux it ends with the thread that calls this."""
        if self._socket is not None:
            start_from_template(self._service.home)
            self._spawn("Prefect server", "server.log", "service/prefect_server_process.py", self._socket.fileno())

    def check(self) -> bool:
        """Whether the server has answered, now or lately.

        While an external server does not answer, the runner may end; it is started again afterwards.
        Raises OrchestratorEnded if a child has ended otherwise, or the service's own server has not answered for five
        minutes.
        """
        for name, process in list(self._children.items()):
            if process.poll() is not None:
                if self._is_outage():
                    self._forget(name)
                    continue
                raise _ended(f"the {name} has ended", f"exit code {process.returncode}", self._service)
        now = time.monotonic()
        if self._last_answer is None or now - self._last_asked > _HEALTH_SECONDS:
            self._last_asked = now
            if is_healthy(self.api_url, self.settings):
                if self._last_answer is None:
                    server = self._children.get("Prefect server")
                    log("the Prefect server answers", address=self.api_url, process=server and server.pid)
                if self._is_silent:
                    self._is_silent, self.answering_since = False, time.time()
                self._last_answer = now
                return True
            self._is_silent = self._is_silent or self._last_answer is not None
            if self._socket is not None and now - (self._last_answer or self._started_at) > _UNRESPONSIVE_SECONDS:
                raise _ended("the Prefect server does not answer", "no answer for five minutes", self._service)
        return self._last_answer is not None

    def _is_outage(self) -> bool:
        """Whether an external server does not answer, or has not lately."""
        lately = time.time() - self.answering_since < _UNRESPONSIVE_SECONDS
        return self._socket is None and (self._is_silent or lately or not is_healthy(self.api_url, self.settings))

    def _forget(self, name: str) -> None:
        """Leave a child that has ended with an outage; all begins anew once the server answers."""
        process = self._children.pop(name)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        log(f"the {name} has ended while the Prefect server did not answer", process=process.pid)
        # If the server answers, no outage can end: a runner that dies all the same is given up.
        self._is_silent = self._is_silent or not is_healthy(self.api_url, self.settings)
        self.is_ready, self._last_answer = False, None

    def stop(self) -> None:
        """End the children, and every process that they have started."""
        self.is_ready = False
        for name, process in reversed(self._children.items()):
            with process:  # which waits for its end
                if name != "runner":  # the runner's runs are continued after the next start
                    process.terminate()
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(_STOP_SECONDS)
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
        if self._socket is not None:
            self._socket.close()

    def _spawn(self, name: str, log_file: str, script: str, *descriptors: int) -> None:
        of_server = bool(descriptors)
        environment = self.child_environment(runs=not of_server) | (self.server_settings() if of_server else {})
        process = spawn(self._service.home, log_file, script, environment, *descriptors)
        self._children[name] = process
        log(f"the {name} was started", process=process.pid)

    def child_environment(self, *, runs: bool = True) -> dict[str, str]:
        """Environment of the runner and of runs, or else of the server: no secret that they have no use for."""
        held = (*SECRETS, "PREFECT_")
        needed = FOR_RUNS if runs else ()
        others = {
            name: value for name, value in self._environment.items() if name in needed or not name.startswith(held)
        }
        paths: Sequence[str] = [str(ROOT), *filter(None, [others.get("PYTHONPATH")])]
        return others | self.settings | self._service.environment() | {"PYTHONPATH": os.pathsep.join(paths)}

    def _client_settings(self, external_server: str | None) -> dict[str, str]:
        home = self._service.home
        if self._socket is None:
            own = {name: self._environment[name] for name in _EXTERNAL_SERVER_VARIABLES if name in self._environment}
            url = str(external_server).rstrip("/")
        else:
            own = {
                "PREFECT_API_AUTH_STRING": self._environment.get("PREFECT_API_AUTH_STRING") or new_password(),
                "PREFECT_API_SSL_CERT_FILE": str(NO_AUTHORITY),
            }
            url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/api"
        settings = client_settings(home, url, home / "results")
        for_runs = {"PREFECT_RUNNER_AUTO_INSTALL_DEPENDENCIES": "false", "PREFECT_LOGGING_TO_API_ENABLED": "true"}
        return own | settings | for_runs

    def server_settings(self) -> dict[str, str]:
        """Further variables of the service's own server."""
        password, url = self.settings["PREFECT_API_AUTH_STRING"], "PREFECT_SERVER_DATABASE_CONNECTION_URL"
        settings = server_settings(self._service.home, password, _UNUSED_SERVICES) | QUICK_START
        if url in self._environment:
            settings[url] = self._environment[url]
        elif is_migrated(self._service.home):
            settings["PREFECT_SERVER_DATABASE_MIGRATE_ON_START"] = "false"
        return settings | {
            "PREFECT_SERVER_UI_ENABLED": "true" if self._service.settings.orchestrator.ui else "false",
            "PREFECT_UI_API_URL": self.api_url,
            # Leases outlive the server, so that slots held by dead runs are known after a restart.
            "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
            "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,flow_runs",
            # Deployments change at the start alone, and the first of their runs is due hours later.
            "PREFECT_SERVER_SERVICES_SCHEDULER_RECENT_DEPLOYMENTS_LOOP_SECONDS": "60",
            # The trigger answers to events; none waits for the absence of one.
            "PREFECT_SERVER_EVENTS_PROACTIVE_GRANULARITY": "PT60S",
        }


def external_address(option: str | None, environment: Mapping[str, str]) -> str | None:
    """Address of an external Prefect server from option or environment; None if the service starts its own.

    Raises BadInput if it is not an HTTP address.
    """
    url = option or environment.get("PREFECT_API_URL") or None
    if url is not None and not url.startswith(("http://", "https://")):
        raise BadInput(
            "the address of the Prefect server is not valid",
            where="--prefect or PREFECT_API_URL",
            expected="an address such as http://host:4200/api",
            got="no HTTP address",
            fix="correct it, or omit it to let the service start its own server",
        )
    return url


def check_pool(pool: str, server: str | None) -> None:
    """Check that a pool is named together with a server that workers can reach. Raises BadInput if it is not."""
    if not pool or server is None:
        raise BadInput(
            "a work pool needs a Prefect server that its workers can reach",
            where="--pool",
            expected="the name of a pool, and an address with --prefect or PREFECT_API_URL",
            got="no name" if not pool else "no address",
            fix="give both, or omit --pool to use the service's own runner",
        )


def _bound(port: int | None) -> socket.socket:
    """Bind a socket on the loopback interface for the server."""
    with system_refusal(
        "the Prefect server's port cannot be used",
        where=f"orchestrator.port: {port}",
        expected="a free port of the loopback interface",
        fix="end the program that uses it, or set another port",
    ):
        return bound_socket(port)


def _ended(what: str, got: str, service: Service) -> OrchestratorEnded:
    return OrchestratorEnded(
        what,
        where=str(service.home),
        expected="a server and a runner that run as long as the service",
        got=got,
        fix="let its supervisor start the service again; if this repeats, read server.log and runner.log there",
    )
