"""The service: everything started, kept going, and ended together.

What one call does, in order:

1. Let no second service at the workspace; check folders, settings and addresses.
2. Start the Prefect server, or wait for the given one; set right what an earlier life left; start the runner.
3. Until told to stop: keep both alive, look into the inbox, move requests on, tell what is new, answer over HTTP.
"""

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from flows.engine import environment_of
from flows.locking import alone
from flows.service.backend import Backend, given_server
from flows.service.config import Service
from flows.service.health import Pulse, health
from flows.service.inbox import Inbox
from flows.service.logs import log, log_problem
from flows.service.pools import check_pool
from flows.service.queue import Queue
from flows.web.settings import Settings
from tasks.errors import WorkspaceError

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
        Address of a Prefect server; PREFECT_API_URL where not given, and a server of our own without that.
    pool : str, optional
        Work pool whose workers run the flows; a runner of our own where not given.
    host, port
        Where to answer over HTTP; port 0 for any.

    Raises
    ------
    WorkspaceError
        If another service has the workspace, or the address cannot be used.
    BadInput
        If the address of the Prefect server is none, or a pool is named without a server.
    """
    taken = WorkspaceError(
        "another service is at work in this workspace",
        where=str(service.workspace.root),
        expected="one service for one workspace",
        fix="end the other one, or serve another workspace",
    )
    environment = dict(os.environ)
    given = given_server(prefect, environment)
    if pool is not None:
        check_pool(pool, given)
    with alone(service.home / "serve.lock", taken), _listening(host, port) as listening, _signals_end_it():
        Queue(service.workspace).prepare()
        backend = Backend(service, given, environment, pool)
        with environment_of(backend.settings):
            _Serving(service, backend, listening, has_runner=pool is None).run()


class _Serving:
    """The threads of a service; each looks, acts, and looks again, so that an error ends none of them."""

    def __init__(self, service: Service, backend: Backend, listening: socket.socket, *, has_runner: bool) -> None:
        from flows.service.moving import Mover  # noqa: PLC0415 - reads Prefect's settings, which are made by now
        from flows.service.telling import Herald  # noqa: PLC0415

        self._service = service
        self._backend = backend
        self._socket = listening
        self._stopping = threading.Event()
        self._pulse = Pulse()
        self._mover = Mover(service, has_runner=has_runner, ring=backend.ring)
        self._herald = Herald(service)
        self._inbox = None if service.inbox is None else Inbox(service, service.inbox)
        self._preparing = threading.Lock()
        self._page = Settings(**service.settings.page.model_dump())

    def run(self) -> None:
        parts: list[tuple[str, Callable[[], None]]] = [
            ("keeper", self._keep),
            ("queue", self._move),
            ("news", self._tell),
        ]
        if self._inbox is not None:
            self._inbox.prepare()
            parts.append(("inbox", self._watch))
        threads = [threading.Thread(target=work, name=name) for name, work in parts]
        self._herald.prepare()
        for thread in threads:
            thread.start()
        try:
            self._answer()
        finally:
            log("the service ends")
            self._stopping.set()
            for thread in threads:
                thread.join(_JOIN_SECONDS)

    def _keep(self) -> None:
        self._backend.keep(self._stopping, self._prepare)

    def _prepare(self) -> None:
        with self._preparing, _client() as client:
            self._mover.prepare(client)

    def _move(self) -> None:
        def once() -> None:
            if self._backend.is_ready:
                with self._preparing:
                    if self._mover.is_due():
                        with _client() as client:
                            self._mover.tick(client, self._backend.runner_started_at)
                self._pulse.beat("queue")

        self._again("queue", once, _TICK_SECONDS)

    def _tell(self) -> None:
        def once() -> None:
            if self._backend.is_ready:
                if self._herald.is_due():
                    with _client() as client:
                        self._herald.tick(client)
                self._pulse.beat("news")

        self._again("news", once, _TICK_SECONDS)

    def _watch(self) -> None:
        inbox = self._inbox
        if inbox is not None:
            self._again("inbox", inbox.tick, self._service.settings.inbox.poll_seconds)

    def _again(self, part: str, once: Callable[[], Any], seconds: float) -> None:
        """Do something again and again; what goes wrong is told once for each kind of it."""
        while not self._stopping.is_set():
            try:
                once()
                self._pulse.problems.pop(part, None)
            except Exception as error:
                kind = f"{type(error).__name__}: {error.what}" if hasattr(error, "what") else type(error).__name__
                if self._pulse.problems.get(part) != kind:
                    log_problem(f"{part}: it is tried again", error)
                self._pulse.problem(part, kind)
            self._stopping.wait(seconds)

    def _answer(self) -> None:
        """Answer over HTTP, from the main thread, until a signal ends it."""
        import uvicorn  # noqa: PLC0415

        config = uvicorn.Config(
            self._app(),
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=5,
        )
        host, port = self._socket.getsockname()[:2]
        log("the service answers", address=f"http://{host}:{port}", workspace=str(self._service.workspace.root))
        uvicorn.Server(config).run(sockets=[self._socket])

    def _app(self) -> Any:
        from flows.service.api import requests_router, status_router  # noqa: PLC0415
        from flows.service.metrics import Metrics  # noqa: PLC0415
        from flows.web.app import create_app  # noqa: PLC0415

        routers = [requests_router(self._service), status_router(self._health, Metrics(self._service))]
        return create_app(self._service.workspace.root, settings=self._page, routers=routers)

    def _health(self) -> tuple[bool, dict[str, str]]:
        from flows.service.backend import is_healthy  # noqa: PLC0415

        backend = self._backend
        return health(
            self._service,
            self._pulse,
            prefect_answers=lambda: is_healthy(backend.api_url, backend.settings),
            runner_runs=lambda: backend.runs_flows,
        )


@contextmanager
def _signals_end_it() -> Iterator[None]:
    """Let SIGTERM and Ctrl-C end the service through its ``finally`` blocks; both are the usual way."""

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
                "the service cannot answer at this address",
                where="--host and --port",
                expected="an address of this machine and a port that nothing else listens on",
                got=error.strerror or "refused",
                fix="end what listens there, or name another port",
            ) from None
        yield listening
