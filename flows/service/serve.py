"""The service: everything is started, runs side by side, and ends together.

1. Allow one service per workspace; check folders, settings and addresses.
2. Start the Prefect server, or wait for the external one; correct what an earlier service left; start the runner.
3. Until told to stop: poll the inbox, reconcile requests with their runs, notify, answer over HTTP.

If the Prefect server or the runner ends, the service ends with an error, for its supervisor to start it again.
"""

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from flows.engine import environment_of, is_healthy
from flows.locking import alone
from flows.service.config import Service
from flows.service.health import Pulse, health
from flows.service.inbox import InboxWatcher
from flows.service.logs import log, log_problem
from flows.service.orchestrator import Orchestrator, OrchestratorEnded, external_address
from flows.service.pools import check_pool
from flows.service.queue import Queue
from tasks.core.errors import WorkspaceError

_TICK_SECONDS = 1.0
_JOIN_SECONDS = 30.0


def serve(
    service: Service,
    *,
    prefect: str | None = None,
    pool: str | None = None,
    host: str = "127.0.0.1",
    port: int = 8600,
) -> None:
    """Serve a workspace until told to stop by SIGINT or SIGTERM.

    Parameters
    ----------
    service : Service
    prefect : str, optional
        Address of an external Prefect server; PREFECT_API_URL if omitted, and the service's own server without that.
    pool : str, optional
        Work pool whose workers run the flows; the service's own runner if omitted.
    host, port
        HTTP address to answer at; port 0 for any free one.

    Raises
    ------
    WorkspaceError
        If another service has the workspace, or the address cannot be used.
    BadInput
        If the address of the Prefect server is not valid, or a pool is named without a server.
    OrchestratorEnded
        If the Prefect server or the runner has ended.
    """
    refused = WorkspaceError(
        "another service is running in this workspace",
        where=str(service.workspace.root),
        expected="one service per workspace",
        fix="end the other service, or serve another workspace",
    )
    environment = dict(os.environ)
    external = external_address(prefect, environment)
    if pool is not None:
        check_pool(pool, external)
    with alone(service.home / "serve.lock", refused), _listening(host, port) as listening, _signals_end_it():
        Queue(service.workspace).prepare()
        orchestrator = Orchestrator(service, environment, external, pool)
        with environment_of(orchestrator.settings):
            _Serving(service, orchestrator, has_runner=pool is None).run(listening)


class _Serving:
    """The threads of a service; each repeats one step, so that an error ends none of them."""

    def __init__(self, service: Service, orchestrator: Orchestrator, *, has_runner: bool) -> None:
        import uvicorn  # noqa: PLC0415

        from flows.service.notifications import Notifier  # noqa: PLC0415 - reads Prefect's settings, which now exist
        from flows.service.reconciler import Reconciler  # noqa: PLC0415

        self._service = service
        self._orchestrator = orchestrator
        self._stopping = threading.Event()
        self._pulse = Pulse()
        self._reconciler = Reconciler(service, has_runner=has_runner)
        self._notifier = Notifier(service)
        self._inbox = None if service.inbox is None else InboxWatcher(service, service.inbox)
        self._ended: OrchestratorEnded | None = None
        self._server = uvicorn.Server(
            uvicorn.Config(
                self._app(),
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=5,
            )
        )

    def run(self, listening: socket.socket) -> None:
        """Answer over HTTP from this thread, and do the rest in others, until a signal or an error ends it."""
        parts: list[tuple[str, Callable[[], object], float]] = [
            ("queue", self._reconcile, _TICK_SECONDS),
            ("news", self._notify, _TICK_SECONDS),
        ]
        if self._inbox is not None:
            self._inbox.prepare()
            parts.append(("inbox", self._inbox.tick, self._service.settings.inbox.poll_seconds))
        threads = [threading.Thread(target=self._repeat, args=part, name=part[0]) for part in parts]
        threads.append(threading.Thread(target=self._keep_orchestrator, name="orchestrator"))
        self._notifier.prepare()
        for thread in threads:
            thread.start()
        host, port = listening.getsockname()[:2]
        log("the service answers", address=f"http://{host}:{port}", workspace=str(self._service.workspace.root))
        try:
            self._server.run(sockets=[listening])
        finally:
            log("the service ends")
            self._stopping.set()
            for thread in threads:
                thread.join(_JOIN_SECONDS)
        if self._ended is not None:
            log_problem("the service has ended because a process that it needs has ended", self._ended)
            raise self._ended

    def _keep_orchestrator(self) -> None:
        """Start and watch the orchestrator; on Linux its processes end with the thread that has started them.

        Nothing else is done in this thread: where the server is gone, a client waits for it for minutes.
        """
        try:
            self._repeat("orchestrator", self._orchestrate, _TICK_SECONDS)
        finally:
            self._orchestrator.stop()

    def _orchestrate(self) -> None:
        if self._orchestrator.check() and not self._orchestrator.is_ready:
            with _client() as client:
                self._reconciler.prepare(client)
            self._orchestrator.start_flows()

    def _reconcile(self) -> None:
        if self._orchestrator.is_ready:
            if self._reconciler.is_due():
                with _client() as client:
                    self._reconciler.tick(client)
            self._pulse.beat("queue")

    def _notify(self) -> None:
        if self._orchestrator.is_ready:
            if self._notifier.is_due():
                with _client() as client:
                    self._notifier.tick(client)
            self._pulse.beat("news")

    def _repeat(self, part: str, step: Callable[[], object], seconds: float) -> None:
        """Repeat a step until the service stops; errors of the same kind are logged once in a row."""
        while not self._stopping.is_set():
            try:
                step()
                self._pulse.problems.pop(part, None)
            except OrchestratorEnded as error:
                self._ended = error
                self._server.should_exit = True
                return
            except Exception as error:
                kind = f"{type(error).__name__}: {error.what}" if hasattr(error, "what") else type(error).__name__
                if self._pulse.problems.get(part) != kind:
                    log_problem(f"{part}: will be tried again", error)
                self._pulse.problems[part] = kind
            self._stopping.wait(seconds)

    def _app(self) -> Any:
        from flows.service.api import requests_router, status_router  # noqa: PLC0415
        from flows.service.metrics import Metrics  # noqa: PLC0415
        from flows.web.app import create_app  # noqa: PLC0415

        routers = [requests_router(self._service), status_router(self._health, Metrics(self._service))]
        return create_app(self._service.workspace.root, settings=self._service.settings.page, routers=routers)

    def _health(self) -> tuple[bool, dict[str, str]]:
        orchestrator = self._orchestrator
        return health(
            self._service,
            self._pulse,
            prefect_answers=lambda: is_healthy(orchestrator.api_url, orchestrator.settings),
            runner_runs=lambda: orchestrator.runs_flows,
        )


@contextmanager
def _signals_end_it() -> Iterator[None]:
    """Let SIGTERM and Ctrl-C end the service through its ``finally`` blocks."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise SystemExit(0)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _client() -> Iterator[Any]:
    from prefect.client.orchestration import get_client  # noqa: PLC0415 - reads its settings on import

    with get_client(sync_client=True) as client:
        yield client


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
            listening.listen()
        except OSError as error:
            raise WorkspaceError(
                "the service cannot listen at this address",
                where="--listen",
                expected="an address of this machine and a free port",
                got=error.strerror or "a refusal by the system",
                fix="end the program that listens there, or choose another port",
            ) from None
        yield listening
