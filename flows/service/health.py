"""Health of the service: whether the ledger can be read, Prefect answers, and requests make progress."""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from flows.actor import utc_now
from flows.ledger import has_ledger, open_ledger
from flows.service.config import Service
from flows.service.notifications import announced_to
from flows.service.queue import Queue, QueuedRequest, RequestState
from tasks.core.errors import ReleasegateError, WorkspaceError

_STALLED_SECONDS = 120.0
_LONGEST_IN_QUEUE = 6 * 3600.0


@dataclass
class Pulse:
    """When parts of the service last worked, by the monotonic clock, and which have problems."""

    beats: dict[str, float] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)

    def beat(self, part: str) -> None:
        """Note that a part has done its work."""
        self.beats[part] = time.monotonic()

    def stalled(self, part: str) -> bool:
        """Whether a part has not done its work for long."""
        return time.monotonic() - self.beats.get(part, 0.0) > _STALLED_SECONDS


def health(
    service: Service, pulse: Pulse, *, prefect_answers: Callable[[], bool], runner_runs: Callable[[], bool]
) -> tuple[bool, dict[str, str]]:
    """Health of the service and its parts.

    Returns
    -------
    healthy : bool
    parts : dict of str to str
        ``ok`` or the problem, by part: ledger, prefect, runner, queue, inbox, news.
    """
    parts = {
        "ledger": _ledger(service),
        "prefect": "ok" if prefect_answers() else "does not answer",
        "runner": "ok" if runner_runs() else "is not running",
        "queue": _queue(service, pulse),
        "inbox": "cannot be read" if "inbox" in pulse.problems else "ok",
        "news": "cannot be announced" if "news" in pulse.problems else "ok",
    }
    return all(state == "ok" for state in parts.values()), parts


def queue_ages(entries: Iterable[QueuedRequest], at: datetime) -> dict[RequestState, float]:
    """Seconds since the oldest request of each state was accepted."""
    ages: dict[RequestState, float] = {}
    for entry in entries:
        age = max((at - entry.accepted_at).total_seconds(), 0.0)
        ages[entry.state] = max(ages.get(entry.state, 0.0), age)
    return ages


def _ledger(service: Service) -> str:
    head = 0
    try:
        if has_ledger(service.workspace):
            with open_ledger(service.workspace) as ledger:
                head = ledger.head().sequence
        with suppress(WorkspaceError):  # a damaged note is reported under news
            if head < (announced_to(service.workspace) or 0):
                return "is shorter than it was" if head else "is gone"
    except ReleasegateError as error:
        return error.what
    return "ok"


def _queue(service: Service, pulse: Pulse) -> str:
    queue = Queue(service.workspace)
    try:
        if queue.damaged():
            return "an entry is damaged"
        ages = queue_ages(queue.open_entries(), utc_now())
    except (ReleasegateError, OSError):
        return "cannot be read"
    if pulse.stalled("queue"):
        return "has not been processed for two minutes"
    if ages.get(RequestState.ACCEPTED, 0.0) > _LONGEST_IN_QUEUE:
        return "a request has waited for six hours"
    return "ok"
