"""The service's Prefect server, in a process of its own that never outlives the process which started it.

Run by ``flows.service.orchestrator`` as ``python -P prefect_server_process.py SOCKET PARENT``, with standard input as
a pipe whose other end only the parent holds.
"""

import gc
import socket
import sys
import zoneinfo
from datetime import timedelta
from functools import cache, partial
from typing import TYPE_CHECKING

from flows.workspace.parent_process import end_with_parent_or_pipe
from tasks.core.postponed import postpone

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_CHECKS = timedelta(seconds=1)
"""Seconds between two looks for Prefect's chores, none of which is urgent; four looks a second take 1 % of a core."""
_OWN_CONTENT = "; ".join(
    [
        "default-src 'self'",
        "connect-src 'self' http://127.0.0.1:* ws://127.0.0.1:*",
        "script-src 'self' 'unsafe-eval'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "worker-src 'self' blob:",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    ]
)
"""Sources that Prefect's pages may load from and send to: this machine only."""


def confined(app: "ASGIApp") -> "ASGIApp":
    """Prefect's app, whose pages call no other host.

    They start Amplitude's client whatever the settings say, and it would fetch its configuration and scripts.
    """

    async def answered(scope: "Scope", receive: "Receive", send: "Send") -> None:
        async def sent(message: "Message") -> None:
            if message["type"] == "http.response.start":
                header = (b"content-security-policy", _OWN_CONTENT.encode())
                message = {**message, "headers": [*message.get("headers", ()), header]}
            await send(message)

        await app(scope, receive, sent if scope["type"] == "http" else send)

    return answered


def main(descriptor: int, parent: int) -> None:
    """Serve Prefect's API on a bound socket until told to stop."""
    end_with_parent_or_pipe(parent)
    gc.set_threshold(50_000, 20, 50)  # else an eighth of the time to start goes into the collector
    # Prefect reads the names of all time zones from the disk for each schedule that it loads, every minute.
    vars(zoneinfo)["available_timezones"] = cache(zoneinfo.available_timezones)
    # For encrypted blocks and for PostgreSQL: 10 MiB that most servers never use.
    postpone("cryptography.fernet", ("Fernet",))
    postpone("asyncpg")
    import uvicorn  # noqa: PLC0415 - these take seconds, and the parent may die meanwhile
    from docket import Worker  # noqa: PLC0415
    from prefect.server.api import background_workers  # noqa: PLC0415
    from prefect.server.api.server import create_app  # noqa: PLC0415

    class ChoresWorker(Worker):
        """Worker that does not look ten times a second for cancelled chores: Prefect never cancels any."""

        async def _cancellation_listener(self) -> None:
            session = self._processing_session
            if session is not None:
                session.cancellation_ready.set()
                await session.stopping.wait()

    chores = partial(ChoresWorker, minimum_check_interval=_CHECKS, scheduling_resolution=_CHECKS)
    vars(background_workers)["Worker"] = chores

    listening = socket.socket(fileno=descriptor)
    uvicorn.Server(uvicorn.Config(confined(create_app()), log_level="warning", lifespan="on")).run(sockets=[listening])


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
