"""The threads of a service, each of which repeats one step: an error ends none of them."""

import socket
import threading
import time
from collections.abc import Callable
from functools import partial

from prefect.client.orchestration import get_client

from flows.pipeline.embedded_prefect import is_healthy
from flows.service.api import requests_router, status_router
from flows.service.config import Service
from flows.service.intake import InboxWatcher
from flows.service.logs import log, log_problem
from flows.service.monitoring import Metrics, Pulse, health
from flows.service.notifications import Notifier
from flows.service.orchestrator import Orchestrator, OrchestratorEnded
from flows.service.outages import OutageWatch, waiting
from flows.service.queue_board import QueueBoard
from flows.service.reconciler import Reconciler
from flows.service.studio_runs import QueuedRuns
from flows.studio.desk import Desk
from flows.studio.studio import Studio
from flows.web.app import Writing, create_app
from flows.web.connections import http_server
from flows.web.uploads import keep_uploads_in

_TICK_SECONDS = 1.0
_STARTING_SECONDS = 0.1
"""Between two looks while runs cannot be made yet: the server may answer at any moment."""
_OUTAGE_SECONDS = 5.0
_JOIN_SECONDS = 30.0


class Threads:
    """The orchestrator, the queue, the news and the inbox in threads of their own; the page in the main thread."""

    def __init__(self, service: Service, orchestrator: Orchestrator, *, has_runner: bool) -> None:
        self._service = service
        self._orchestrator = orchestrator
        self._stopping = threading.Event()
        self._pulse = Pulse()
        self._reconciler = Reconciler(
            service, has_runner=has_runner, answering_since=lambda: orchestrator.answering_since
        )
        self._outages = OutageWatch(service)
        self._notifier = Notifier(service)
        self._ended: OrchestratorEnded | None = None
        status = status_router(
            lambda: health(
                service,
                self._pulse,
                prefect_answers=is_healthy(orchestrator.api_url, orchestrator.settings),
                runner_runs=orchestrator.runs_flows,
            ),
            Metrics(service),
        )
        keep_uploads_in(service.workspace)
        app = create_app(
            service.workspace.root,
            settings=service.settings.page,
            routers=[requests_router(service), status],
            outages=partial(waiting, service),
            writing=Writing(Studio(Desk(service.workspace, roots=service.roots), QueuedRuns(service))),
            queue=QueueBoard(service),
        )
        self._server = http_server(app)

    def run(self, listening: socket.socket) -> None:
        """Answer over HTTP from this thread, and do the rest in others, until a signal or an error ends it."""
        parts: list[tuple[str, Callable[[], object], float]] = [
            ("queue", partial(self._follow, self._reconciler), _TICK_SECONDS),
            ("news", partial(self._follow, self._notifier), _TICK_SECONDS),
            ("outages", lambda: self._outages.tick(prefect_answers=self._orchestrator.answers), _OUTAGE_SECONDS),
        ]
        if self._service.inbox is not None:
            inbox = InboxWatcher(self._service, self._service.inbox)
            inbox.prepare()
            parts.append(("inbox", inbox.tick, self._service.settings.inbox.poll_seconds))
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
            with get_client(sync_client=True) as client:
                self._reconciler.prepare(client)
            self._orchestrator.start_flows()

    def _follow(self, part: Reconciler | Notifier) -> None:
        if self._orchestrator.is_ready and part.is_due():
            with get_client(sync_client=True) as client:
                part.tick(client)

    def _repeat(self, part: str, step: Callable[[], object], seconds: float) -> None:
        """Repeat a step until the service stops; errors of the same kind are logged once in a row."""
        while not self._stopping.is_set():
            try:
                step()
                self._pulse.problems.pop(part, None)
                self._pulse.last[part] = time.monotonic()
            except OrchestratorEnded as error:
                self._ended = error
                self._server.should_exit = True
                return
            except Exception as error:
                kind = f"{type(error).__name__}: {error.what}" if hasattr(error, "what") else type(error).__name__
                if self._pulse.problems.get(part) != kind:
                    log_problem(f"{part}: will be tried again", error)
                self._pulse.problems[part] = kind
            self._stopping.wait(seconds if self._orchestrator.is_ready else min(seconds, _STARTING_SECONDS))
