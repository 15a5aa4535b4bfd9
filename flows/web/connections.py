"""Connections to the service: how many there may be, and for how long one may keep a request to itself.

A request that is sent in drops, or never to its end, holds a connection, and the system allows only so many. So a
request has a time to be complete, and a new connection beyond the limit takes the place of the one that has waited
longest for its own. A request that is complete is answered, however long that takes.
"""

import asyncio
import resource
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

LONGEST_REQUEST = 20.0
"""Seconds from a request's beginning, or that of its connection, to its end."""
_MOST_CONNECTIONS = 512
_BACKLOG = 64
"""Connections that the system holds until they are accepted, which is done as many at a time."""


def http_server(app: Callable[..., Any]) -> uvicorn.Server:
    """A server of an application, which logs nothing by itself and believes no proxy."""
    config = uvicorn.Config(
        app,
        http=BoundedConnection,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=_BACKLOG,
        timeout_graceful_shutdown=5,
    )
    return uvicorn.Server(config)


class BoundedConnection(H11Protocol):
    """A connection that is closed if it keeps a request back for too long, or for longer than all others do."""

    since = 0.0
    _ending: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request; where there are too many connections, end the one that has waited longest."""
        super().connection_made(transport)
        self._watch()
        held = [one for one in self.connections if isinstance(one, BoundedConnection) and not one.is_closing()]
        if len(held) > most_connections():
            min(filter(BoundedConnection.is_waiting, held), key=attrgetter("since")).transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take in a piece of a request."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the wait."""
        super().connection_lost(exc)
        self._stop()

    def is_closing(self) -> bool:
        """Whether the connection is given up."""
        return self.transport.is_closing()

    def is_waiting(self) -> bool:
        """Whether a request is not complete."""
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY)

    def _watch(self) -> None:
        if not self.is_waiting():
            self._stop()
        elif self._ending is None:
            self.since = self.loop.time()
            self._ending = self.loop.call_later(LONGEST_REQUEST, self.transport.abort)

    def _stop(self) -> None:
        if self._ending is not None:
            self._ending.cancel()
            self._ending = None


def most_connections() -> int:
    """Connections there may be: half the files that the process may open, which leaves it the other half."""
    return min(_MOST_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
