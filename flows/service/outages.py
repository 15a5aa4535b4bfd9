"""Outages of servers that the gate depends on, and the requests that wait for them.

A request waits while the ledger's database, the Prefect server or the Dask cluster does not answer, for
``limits.outage_hours`` at most; then it has failed. Its place in the queue says so, and with it health, page and API.
"""

import socket
from collections import Counter
from datetime import datetime
from urllib.parse import urlsplit

from flows.queue.queue import UNDECIDED, QueuedRequest, RequestState
from flows.service.config import Service
from flows.service.intake import record_ends
from flows.service.logs import log
from flows.service.worker import give_up_waiting, has_waited_too_long, retry_or_fail, write
from flows.workspace.actor import Clock, utc_now
from tasks.core.errors import Outage, ReleasegateError, StageFailed

PREFECT = "the Prefect server"
_SEEN_HERE = frozenset({PREFECT, "the ledger's database"})
"""Servers whose return is seen from here; whether the Dask cluster can work is seen by a run."""
_CONNECT_SECONDS = 2.0


class OutageWatch:
    """Notes in the queue which requests wait for a server, and ends those that have waited too long."""

    def __init__(self, service: Service, *, clock: Clock = utc_now) -> None:
        self._service, self._clock = service, clock
        self._began, self._down_at = clock(), dict[str, datetime]()
        """Start of the watch, and the last time at which it saw each server down."""
        self._recorded: int | None = None
        """Last change of the folder of ended requests when all of them were recorded."""

    def tick(self, *, prefect_answers: bool) -> None:
        """Compare the queue with the servers as they are now."""
        queue, ledger = self._service.queue, self._ledger_outage()
        silent = [*filter(None, [ledger]), *([] if prefect_answers else [PREFECT])]
        self._down_at |= dict.fromkeys(silent, self._clock())
        down = silent[0] if silent else ""
        for entry in queue.open_entries():
            if entry.state is not RequestState.ACCEPTED or queue.is_claimed(entry.id):
                continue
            if down and entry.waiting_since is None:
                self._note(entry, down, self._clock())
            elif entry.waits_for in _SEEN_HERE and entry.waits_for != down:
                if down or self._was_seen(entry):
                    self._note(entry, down, entry.waiting_since if down else None)
                else:
                    self._count(entry)
            elif has_waited_too_long(entry, self._service, self._clock):
                give_up_waiting(entry, self._service, self._clock)
        if not ledger:
            self._record_ends()

    def _note(self, entry: QueuedRequest, server: str, since: datetime | None) -> None:
        if self._service.queue.update(entry, waits_for=server, waiting_since=since) is not None:
            what = "a request waits for a server" if server else "a request no longer waits"
            log(what, request=entry.id, server=server or None)

    def _was_seen(self, entry: QueuedRequest) -> bool:
        """Whether this watch has seen the outage that a request waits for, or the outage may be from before it."""
        return _since(entry) <= self._down_at.get(entry.waits_for, self._began)

    def _count(self, entry: QueuedRequest) -> None:
        """Count an outage that only the run has seen as a lost run: here the server answers, so no wait would end."""
        error = StageFailed(
            "a server does not answer the runs of a request, though it answers the service",
            where=entry.waits_for,
            expected="an answer to runs too",
            got=entry.reason.get("what", "none"),
            fix="make it reachable from the machines that run requests, then submit the request again",
        )
        changes = retry_or_fail(entry, self._service, error, self._clock) | {"attempt": entry.attempt}
        if write(self._service, entry, changes) is not None:
            log("only the run of a request finds no server", request=entry.id, server=entry.waits_for)

    def _ledger_outage(self) -> str:
        try:
            self._service.ledger_end()
        except Outage as outage:
            return outage.server
        except ReleasegateError:
            pass  # which health reports
        return ""

    def _record_ends(self) -> None:
        """Record what ended while the ledger did not answer."""
        _, changed = self._service.queue.changed()
        if changed == self._recorded:
            return
        record_ends(self._service, [one for one in self._service.queue.done_entries() if one.state in UNDECIDED])
        self._recorded = changed


def waiting(service: Service) -> tuple[str, ...]:
    """A sentence for each server that requests wait for; none names a request."""
    held = [one for one in service.queue.open_entries() if one.waiting_since is not None]
    numbers = Counter(one.waits_for for one in held)
    since = {one.waits_for: one.waiting_since for one in sorted(held, key=_since, reverse=True)}
    return tuple(
        f"{server} does not answer: {number} request{'' if number == 1 else 's'} waiting since "
        f"{since[server]:%Y-%m-%d %H:%M} UTC"
        for server, number in sorted(numbers.items())
    )


def _since(entry: QueuedRequest) -> datetime:
    return entry.waiting_since or entry.accepted_at


def answers(address: str) -> bool:
    """Whether something listens at a Dask scheduler's address, as ``tcp://host:port``."""
    place = urlsplit(address)
    try:
        with socket.create_connection((place.hostname or "", place.port or 0), timeout=_CONNECT_SECONDS):
            return True
    except (OSError, ValueError):
        return False
