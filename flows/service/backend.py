"""The orchestrator of a service: its own Prefect server and the runner of its flows, kept alive; or a given server.

Both are child processes. What they know can be lost: the queue and the ledger are the truth, and runs that died are
found and run again. So they are ended without ceremony and started anew whenever one of them ends. With a work pool
there is no runner: the workers of the pool run the flows, on whatever machines they are.
"""

import os
import secrets
import socket
import threading
import time
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Callable, Mapping
from pathlib import Path

from flows.engine import start_from_template
from flows.service import pools
from flows.service.children import Child
from flows.service.config import Service
from flows.service.logs import log, log_problem
from tasks.errors import BadInput, WorkspaceError

_HERE = Path(__file__).resolve().parent
_SERVER = _HERE.parent / "server_process.py"
_POLL_SECONDS = 0.2
_HEALTH_SECONDS = 5.0
_LONGEST_START = 300.0
_UNRESPONSIVE_SECONDS = 300.0
_LONGEST_PAUSE = 30.0
_LASTING_SECONDS = 60.0
"""After which a runner that was started counts as one that runs."""
_KEPT = (
    "PREFECT_API_KEY",
    "PREFECT_API_AUTH_STRING",
    "PREFECT_API_TLS_INSECURE_SKIP_VERIFY",
    "PREFECT_API_SSL_CERT_FILE",
)
"""Variables that a given server may need."""

_IDLE_SERVICES = ("CANCELLATION_CLEANUP", "FOREMAN", "LATE_RUNS", "PAUSE_EXPIRATIONS")
"""Services of our own server that look every few seconds for what there is none of: workers, pauses that end, subflows
of what was cancelled; and for late runs, which they only give another name."""

_NOT_FOR_CHILDREN = ("PREFECT_", "RELEASEGATE_API_TOKEN", "RELEASEGATE_NOTIFY_")
"""Variables that server, runner and runs have of their own, or have no use for."""


class Backend:
    """Starts server and runner, and starts them again; used from one thread that lives as long as the service."""

    def __init__(
        self, service: Service, prefect: str | None, environment: Mapping[str, str], pool: str | None = None
    ) -> None:
        self._service = service
        self._given = prefect
        self._pool = pool
        self._environment = environment
        self._listening = None if prefect is not None else _bound(service.settings.orchestrator.port)
        self.settings = self._client_settings()
        """Prefect's variables, for this process and for runs."""
        self._server: Child | None = None
        self._runner: Child | None = None
        self._answered = 0.0
        self._asked = 0.0
        self._failures = 0
        self._ready = threading.Event()
        self.runner_started_at = 0.0
        """Seconds since 1970; runs from before it are dead unless their process says otherwise; 0 for a pool's."""

    @property
    def api_url(self) -> str:
        """Where Prefect answers."""
        return self.settings["PREFECT_API_URL"]

    @property
    def is_ready(self) -> bool:
        """Whether the server answers, and the runner runs or the pool has the deployments."""
        return self._ready.is_set()

    @property
    def process_ids(self) -> dict[str, int]:
        """Of the child processes that run."""
        children = {"server": self._server, "runner": self._runner}
        return {name: child.process_id for name, child in children.items() if child is not None and child.is_alive}

    @property
    def runs_flows(self) -> bool:
        """Whether flows can run: the runner does, or a worker of the pool is online."""
        return self._ready.is_set() and (self._pool is None or pools.is_served(self._pool))

    def ring(self) -> None:
        """Tell the runner that there is a run to start; it would find it a little later."""
        runner = self._runner
        if runner is not None:
            runner.ring()

    def keep(self, stopping: threading.Event, prepare: Callable[[], None]) -> None:
        """Keep both alive until told to stop.

        Parameters
        ----------
        stopping : threading.Event
        prepare : callable
            Called while the server answers and no runner runs: what is orphaned then is dead, but for a pool's.
        """
        try:
            while not stopping.is_set():
                try:
                    self._keep_once(stopping, prepare)
                except Exception as error:
                    log_problem("the orchestrator could not be kept; it is tried again", error)
                    self._pause(stopping)
                stopping.wait(_POLL_SECONDS)
        finally:
            self._stop_all()

    def _keep_once(self, stopping: threading.Event, prepare: Callable[[], None]) -> None:
        if self._given is None and (self._server is None or not self._server.is_alive):
            self._start_server(stopping)
        elif time.monotonic() - self._asked > _HEALTH_SECONDS:
            self._ask()
        if not self._answered or stopping.is_set():
            return
        if self._pool is not None:
            if not self._ready.is_set():
                prepare()
                pools.register(self._service, self._pool, self.settings)
                self._ready.set()
        elif self._runner is None or not self._runner.is_alive:
            self._ready.clear()
            if self._runner is not None:
                log("the runner of flows has ended; it is started again")
                self._runner.stop(at_once=True)
                self._pause(stopping)
            prepare()
            self.runner_started_at = time.time()
            arguments = ["-P", str(_HERE / "runner_process.py"), str(os.getpid())]
            self._runner = Child(arguments, self._whole_environment(), self._service.home / "runner.log")
            log("the runner of flows was started", process=self._runner.process_id)
            self._ready.set()
        else:
            self._ready.set()  # a given server answers again that had not for long
            if time.time() - self.runner_started_at > _LASTING_SECONDS:
                self._failures = 0

    def _start_server(self, stopping: threading.Event) -> None:
        self._ready.clear()
        self._answered = 0.0
        if self._server is not None:
            log("the Prefect server has ended; it is started again")
            self._server.stop(at_once=True)
        if self._runner is not None:
            self._runner.stop(at_once=True)
            self._runner = None
            self._pause(stopping)
        if self._listening is None or stopping.is_set():
            return
        start_from_template(self._service.home)
        arguments = ["-P", str(_SERVER), str(self._listening.fileno()), str(os.getpid())]
        settings = self._whole_environment() | self._server_settings()
        self._server = Child(
            arguments, settings, self._service.home / "server.log", pass_fds=[self._listening.fileno()]
        )
        deadline = time.monotonic() + _LONGEST_START
        while not stopping.is_set() and self._server.is_alive and time.monotonic() < deadline:
            if self._ask():
                log("the Prefect server answers", address=self.api_url, process=self._server.process_id)
                self._failures = 0
                return
            stopping.wait(_POLL_SECONDS)
        if not stopping.is_set():
            log("the Prefect server did not start", log=str(self._service.home / "server.log"))
            self._server.stop(at_once=True)
            self._pause(stopping)

    def _ask(self) -> bool:
        """Ask whether the server is well; one of our own that has not answered for long is started anew."""
        self._asked = time.monotonic()
        if is_healthy(self.api_url, self.settings):
            self._answered = time.monotonic()
            return True
        if self._answered and time.monotonic() - self._answered > _UNRESPONSIVE_SECONDS:
            log("the Prefect server does not answer", address=self.api_url)
            self._answered = 0.0
            if self._server is not None:
                self._server.stop(at_once=True)
            self._ready.clear()
        return False

    def _pause(self, stopping: threading.Event) -> None:
        """Wait a little longer each time something ends."""
        stopping.wait(min(0.1 * 2**self._failures, _LONGEST_PAUSE))
        self._failures += 1

    def _stop_all(self) -> None:
        self._ready.clear()
        if self._runner is not None:
            self._runner.stop(at_once=True)
        if self._server is not None:
            self._server.stop()
        if self._listening is not None:
            self._listening.close()

    def _whole_environment(self) -> dict[str, str]:
        others = {name: value for name, value in self._environment.items() if not name.startswith(_NOT_FOR_CHILDREN)}
        return others | self.settings | self._service.environment()

    def _client_settings(self) -> dict[str, str]:
        """What this process, the runner and runs need to know of the server."""
        home = self._service.home
        if self._listening is None:
            own = {name: self._environment[name] for name in _KEPT if name in self._environment}
            url = str(self._given).rstrip("/")
        else:
            password = self._environment.get("PREFECT_API_AUTH_STRING") or f"releasegate:{secrets.token_urlsafe(24)}"
            own = {"PREFECT_API_AUTH_STRING": password}
            url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/api"
        return own | {
            "DO_NOT_TRACK": "1",
            "PREFECT_HOME": str(home),
            "PREFECT_API_URL": url,
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "PREFECT_LOGGING_TO_API_ENABLED": "false",
            "PREFECT_LOGGING_SETTINGS_PATH": str(_HERE.parent / "logging.yml"),
            "PREFECT_RESULTS_DEFAULT_SERIALIZER": "json",
            "PREFECT_RESULTS_LOCAL_STORAGE_PATH": str(home / "results"),
            "PREFECT_RUNNER_AUTO_INSTALL_DEPENDENCIES": "false",
        }

    def _server_settings(self) -> dict[str, str]:
        """What our own server needs to know besides; all its services run."""
        home = self._service.home
        url = "PREFECT_SERVER_DATABASE_CONNECTION_URL"
        return {
            "PREFECT_SERVER_API_AUTH_STRING": self.settings["PREFECT_API_AUTH_STRING"],
            url: self._environment.get(url) or f"sqlite+aiosqlite:///{home / 'prefect.db'}",
            "PREFECT_SERVER_UI_ENABLED": "true" if self._service.settings.orchestrator.ui else "false",
            "PREFECT_UI_API_URL": self.api_url,
            "PREFECT_SERVER_LOGGING_LEVEL": "WARNING",
            # Leases outlive the server, so that it knows of slots that dead runs hold.
            "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
            "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,flow_runs",
            **{f"PREFECT_SERVER_SERVICES_{name}_ENABLED": "false" for name in _IDLE_SERVICES},
            "PREFECT__SERVER_FINAL": "1",
        }


def given_server(option: str | None, environment: Mapping[str, str]) -> str | None:
    """The address of a Prefect server to use, by option or environment; None for one of our own.

    Raises
    ------
    BadInput
        If it is no address.
    """
    url = option or environment.get("PREFECT_API_URL") or None
    if url is not None and not url.startswith(("http://", "https://")):
        raise BadInput(
            "this is no address of a Prefect server",
            where="--prefect or PREFECT_API_URL",
            expected="an address as http://host:4200/api",
            got="something else",
            fix="correct it, or leave it out for a server of the service's own",
        )
    return url


def is_healthy(api_url: str, settings: Mapping[str, str]) -> bool:
    """Whether a Prefect server answers."""
    request = urllib.request.Request(f"{api_url}/health", headers=_credentials(settings))  # noqa: S310 - checked
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310 - checked by given_server
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError, ValueError):
        return False


def _credentials(settings: Mapping[str, str]) -> dict[str, str]:
    if "PREFECT_API_KEY" in settings:
        return {"Authorization": f"Bearer {settings['PREFECT_API_KEY']}"}
    if "PREFECT_API_AUTH_STRING" in settings:
        return {"Authorization": "Basic " + b64encode(settings["PREFECT_API_AUTH_STRING"].encode()).decode()}
    return {}


def _bound(port: int | None) -> socket.socket:
    """A socket on the loopback interface that outlives the server behind it, so that its address stays."""
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port or 0))
    except OSError as error:
        listening.close()
        raise WorkspaceError(
            "the Prefect server's port cannot be used",
            where=f"orchestrator.port: {port}",
            expected="a port of the loopback interface that nothing else listens on",
            got=error.strerror or "refused",
            fix="end what listens there, or set another port",
        ) from None
    return listening
