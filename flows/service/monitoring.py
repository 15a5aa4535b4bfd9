"""Health of the service, and its metrics for Prometheus: queue, verdicts, durations.

Both reveal nothing about people, and need no token: they count requests and releases.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from flows.actor import utc_now
from flows.ledger import has_ledger, open_ledger
from flows.service.config import Service
from flows.service.notifications import announced_to, news_of
from flows.service.queue import OPEN, QueuedRequest, RequestState
from tasks.core.errors import ReleasegateError, WorkspaceError
from tasks.service.settings import NewsKind

Health = Callable[[], tuple[bool, Mapping[str, str]]]
Key = TypeVar("Key", bound=str)

_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_STALLED_SECONDS = 120.0
_LONGEST_IN_QUEUE = 6 * 3600.0
_BUCKETS = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14400.0)


def status_router(health: Health, metrics: "Metrics") -> APIRouter:
    """``GET /health`` and ``GET /metrics``."""
    router = APIRouter()

    @router.get("/health")
    def healthy() -> JSONResponse:
        ok, parts = health()
        return JSONResponse({"ok": ok, **parts}, 200 if ok else 503)

    @router.get("/metrics")
    def scrape() -> Response:
        try:
            return Response(metrics.scrape(), media_type=_CONTENT_TYPE)
        except ReleasegateError as error:
            return JSONResponse({"error": error.fields()}, 503)

    return router


@dataclass
class Pulse:
    """When the queue was last processed, by the monotonic clock, and which parts of the service have problems."""

    last: float = 0.0
    problems: dict[str, str] = field(default_factory=dict)


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
    try:
        if service.queue.damaged():
            return "an entry is damaged"
        ages = _ages(service.queue.open_entries(), utc_now())
    except (ReleasegateError, OSError):
        return "cannot be read"
    if time.monotonic() - pulse.last > _STALLED_SECONDS:
        return "has not been processed for two minutes"
    if ages.get(RequestState.ACCEPTED, 0.0) > _LONGEST_IN_QUEUE:
        return "a request has waited for six hours"
    return "ok"


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
        self._seen = 0
        self._verdicts: Counter[NewsKind] = Counter()
        self._ended: dict[str, QueuedRequest] = {}
        """By token, also of those that were taken in anew since: counters never fall."""
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def scrape(self) -> bytes:
        """The metrics as text.

        Raises
        ------
        ReleasegateError
            If queue or ledger cannot be read.
        """
        with self._counting:  # two at once would count the same entries twice
            if has_ledger(self._service.workspace):
                with open_ledger(self._service.workspace) as ledger:
                    for entry in ledger.entries(after=self._seen):
                        self._seen, kind = entry.sequence, news_of(entry)
                        self._verdicts.update([kind] if kind is not None else [])
            self._ended |= {entry.token: entry for entry in self._service.queue.done_entries()}
            return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """The metrics, for the registry."""
        entries, ended = self._service.queue.open_entries(), self._ended.values()
        waiting, ages = Counter(one.state for one in entries), _ages(entries, utc_now())
        yield _by(GaugeMetricFamily, "releasegate_queue_requests", "Requests without a verdict", OPEN, waiting)
        yield _by(GaugeMetricFamily, "releasegate_queue_oldest_seconds", "Age of the oldest of them", OPEN, ages)
        damaged = len(self._service.queue.damaged())
        yield GaugeMetricFamily("releasegate_queue_damaged", "Entries that cannot be read", value=damaged)
        text = "Entries of the ledger by verdict"
        yield _by(CounterMetricFamily, "releasegate_verdicts", text, NewsKind, self._verdicts, label="verdict")
        text, final = "Requests by final state", set(RequestState) - OPEN
        yield _by(CounterMetricFamily, "releasegate_requests", text, final, Counter(one.state for one in ended))
        seconds = [one.seconds for one in ended if one.seconds is not None]
        buckets = [(str(most), sum(one <= most for one in seconds)) for most in _BUCKETS] + [("+Inf", len(seconds))]
        text = "Seconds of work on a request"
        yield HistogramMetricFamily("releasegate_request_seconds", text, buckets=buckets, sum_value=sum(seconds))


def _by(
    family: type[GaugeMetricFamily] | type[CounterMetricFamily],
    name: str,
    text: str,
    keys: Iterable[Key],
    values: Mapping[Key, float],
    *,
    label: str = "state",
) -> Metric:
    """A family of metrics by one label; keys without a value are 0."""
    made = family(name, text, labels=[label])
    for key in sorted(keys):
        made.add_metric([str(key)], float(values.get(key, 0)))
    return made
