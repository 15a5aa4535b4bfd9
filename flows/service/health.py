"""Whether the service is well: the ledger can be read, Prefect answers, the queue moves."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from flows.actor import utc_now
from flows.ledger import has_ledger, open_ledger
from flows.service.config import Service
from flows.service.moving import queue_ages
from flows.service.queue import Queue, State
from flows.service.telling import told_of
from tasks.errors import ReleasegateError, WorkspaceError

_STALLED_SECONDS = 120.0
_LONGEST_IN_QUEUE = 6 * 3600.0


@dataclass
class Pulse:
    """When parts of the service were well last, as the monotonic clock has it."""

    beats: dict[str, float] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)

    def beat(self, part: str) -> None:
        """Note that a part has done its work."""
        self.beats[part] = time.monotonic()
        self.problems.pop(part, None)

    def problem(self, part: str, kind: str) -> None:
        """Note what kind of error a part has met."""
        self.problems[part] = kind

    def stalled(self, part: str) -> bool:
        """Whether a part has not done its work for long."""
        return time.monotonic() - self.beats.get(part, 0.0) > _STALLED_SECONDS


def health(
    service: Service, pulse: Pulse, *, prefect_answers: Callable[[], bool], runner_runs: Callable[[], bool]
) -> tuple[bool, dict[str, str]]:
    """Whether all is well, and what is not.

    Returns
    -------
    well : bool
    parts : dict of str to str
        ``ok``, or what is wrong with it, by ledger, prefect, runner, queue, inbox, news.
    """
    parts = {
        "ledger": _ledger(service),
        "prefect": "ok" if prefect_answers() else "does not answer",
        "runner": "ok" if runner_runs() else "is not running",
        "queue": _queue(service, pulse),
        "inbox": "cannot be looked into" if "inbox" in pulse.problems else "ok",
        "news": "cannot be told" if "news" in pulse.problems else "ok",
    }
    return all(state == "ok" for state in parts.values()), parts


def _ledger(service: Service) -> str:
    try:
        if has_ledger(service.workspace):
            with open_ledger(service.workspace) as ledger:
                head = ledger.head().sequence
        else:
            head = 0
        with suppress(WorkspaceError):  # a note that is damaged is the news' affair
            if head < (told_of(service.workspace) or 0):
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
        return "has not been looked at for two minutes"
    if ages.get(State.ACCEPTED, 0.0) > _LONGEST_IN_QUEUE:
        return "a request has waited for six hours"
    return "ok"
