"""Health of the service, and its metrics for Prometheus: queue, verdicts, durations.

Both reveal nothing about people: they count requests and releases.
"""

import math
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest

from flows.queue.queue import OPEN, QueuedRequest, RequestState
from flows.service.config import Service
from flows.service.notifications import announced_to, news_of
from flows.service.outages import waiting
from flows.web.evidence import ReleaseIndex
from flows.workspace.actor import utc_now
from flows.workspace.ledger import has_ledger, open_ledger
from tasks.audit.current import BLOCKED_TODAY, LAPSING, OVERDUE, CurrentCase
from tasks.core.errors import ReleasegateError, WorkspaceError
from tasks.service.settings import REMINDERS, NewsKind

disable_created_metrics()  # type: ignore[no-untyped-call]

_STALLED_SECONDS = 120.0
_LONGEST_IN_QUEUE = 6 * 3600.0
_BUCKETS = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14400.0)


@dataclass
class Pulse:
    """Times at which parts of the service last worked, by the monotonic clock, and their problems."""

    last: dict[str, float] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)


def health(service: Service, pulse: Pulse, *, prefect_answers: bool, runner_runs: bool) -> tuple[bool, dict[str, str]]:
    """Whether the service is healthy; and ``ok`` or the problem, by part."""
    parts = {
        "ledger": _ledger(service),
        "prefect": "ok" if prefect_answers else "does not answer",
        "runner": "ok" if runner_runs else "is not running",
        "queue": _queue(service, pulse),
        "requests": _waiting(service),
        "inbox": "cannot be read" if "inbox" in pulse.problems else "ok",
        "news": "cannot be announced" if "news" in pulse.problems else "ok",
    }
    return all(state == "ok" for state in parts.values()), parts


def _ledger(service: Service) -> str:
    try:
        end = service.ledger_end()
        with suppress(WorkspaceError):  # a damaged note is reported under news
            if end < (announced_to(service.workspace) or 0):
                return "is shorter than it was" if end else "is gone"
    except ReleasegateError as error:
        return error.what
    return "ok"


def _queue(service: Service, pulse: Pulse) -> str:
    try:
        if service.queue.damaged():
            return "an entry is damaged"
        ages = _ages(service.queue.open_entries(), utc_now())
    except (ReleasegateError, OSError):
        return "cannot be read"
    if time.monotonic() - pulse.last.get("queue", 0.0) > _STALLED_SECONDS:
        return "has not been processed for two minutes"
    if ages.get(RequestState.ACCEPTED, 0.0) > _LONGEST_IN_QUEUE:
        return "a request has waited for six hours"
    return "ok"


def _waiting(service: Service) -> str:
    """The servers that requests wait for."""
    try:
        return "; ".join(waiting(service)) or "ok"
    except (ReleasegateError, OSError):
        return "cannot be read"


def _ages(entries: Iterable[QueuedRequest], at: datetime) -> dict[RequestState, float]:
    """Seconds since the oldest request of each state was accepted; entries come oldest first."""
    ages: dict[RequestState, float] = {}
    for entry in entries:
        ages.setdefault(entry.state, max((at - entry.accepted_at).total_seconds(), 0.0))
    return ages


class Metrics:
    """The metrics of one service; each scrape reads the queue and the new entries of the ledger."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._counting = threading.Lock()
        self._registry = registry = CollectorRegistry()
        self._waiting = Gauge("releasegate_queue_requests", "Requests without a verdict", ["state"], registry=registry)
        self._oldest = Gauge("releasegate_queue_oldest_seconds", "Age of the oldest", ["state"], registry=registry)
        self._damaged = Gauge("releasegate_queue_damaged", "Entries that cannot be read", registry=registry)
        self._verdicts = Counter("releasegate_verdicts", "Entries by verdict", ["verdict"], registry=registry)
        self._ended = Counter("releasegate_requests", "Requests by final state", ["state"], registry=registry)
        text = "Seconds of work on a request"
        self._seconds = Histogram("releasegate_request_seconds", text, buckets=_BUCKETS, registry=registry)
        text = "Delivered copies that may be in use and ask for action, by alarm"
        self._alarms = Gauge("releasegate_copies", text, ["alarm"], registry=registry)
        self._releases = ReleaseIndex(service.workspace)
        for kind in set(NewsKind) - REMINDERS:
            self._verdicts.labels(kind)
        for state in set(RequestState) - OPEN:
            self._ended.labels(state)
        self._seen = 0
        self._counted: set[str] = set()
        """Tokens of ended requests."""

    def scrape(self) -> bytes:
        """The metrics as text. Raises ReleasegateError if queue or ledger cannot be read."""
        queue = self._service.queue
        with self._counting:  # two at once would count the same entries twice
            if has_ledger(self._service.workspace):
                with open_ledger(self._service.workspace) as ledger:
                    for entry in ledger.entries(after=self._seen):
                        self._seen, kind = entry.sequence, news_of(entry)
                        if kind is not None:
                            self._verdicts.labels(kind).inc()
            for ended in queue.done_entries():
                if ended.token not in self._counted:
                    self._counted.add(ended.token)
                    self._ended.labels(ended.state).inc()
                    if ended.seconds is not None:
                        self._seconds.observe(ended.seconds)
            waiting = queue.open_entries()
            ages = _ages(waiting, utc_now())
            for state in OPEN:
                self._waiting.labels(state).set(sum(one.state is state for one in waiting))
                self._oldest.labels(state).set(ages.get(state, 0.0))
            self._damaged.set(len(queue.damaged()))
            for alarm, number in self._count_alarms(utc_now().date()).items():
                self._alarms.labels(alarm).set(number)
            return generate_latest(self._registry)

    def _count_alarms(self, today: date) -> dict[str, float]:
        """Copies by alarm; one that would be blocked today counts whatever its state is.

        Not a number where an entry of another version cannot be read: 0 would mean that there is no alarm.
        """
        counts: dict[str, float] = dict.fromkeys((BLOCKED_TODAY, OVERDUE, LAPSING), 0)
        try:
            releases = self._releases.all(today)
        except ValueError:
            return dict.fromkeys(counts, math.nan)
        for one in releases:
            current = CurrentCase(one.case, today)
            for alarm in {current.state, *current.alarms} & counts.keys():
                counts[alarm] += 1
        return counts
