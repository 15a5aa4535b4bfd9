"""Metrics of the service for Prometheus: queue, verdicts, durations. They count requests and releases, not people."""

import threading
from collections import Counter as Tally
from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric

from flows.actor import utc_now
from flows.ledger import has_ledger, open_ledger
from flows.service.config import Service
from flows.service.health import queue_ages
from flows.service.notifications import news_of
from flows.service.queue import OPEN, Queue, QueuedRequest, RequestState
from tasks.service.settings import NewsKind

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (1, 5, 15, 60, 300, 900, 3600, 4 * 3600, float("inf"))


class Metrics:
    """The metrics of one service; each scrape reads the queue and the new entries of the ledger."""

    def __init__(self, service: Service) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._service = service
        self._queue = Queue(service.workspace)
        self._counting = threading.Lock()
        self._seen = 0
        self._counted: set[str] = set()
        self._registry = CollectorRegistry()
        self._registry.register(_Gauges(self._queue))
        self._verdicts = Counter(
            "releasegate_verdicts", "Entries of the ledger by verdict", ["verdict"], registry=self._registry
        )
        self._requests = Counter("releasegate_requests", "Requests by final state", ["state"], registry=self._registry)
        self._seconds = Histogram(
            "releasegate_request_seconds", "Seconds of work on a request", buckets=_BUCKETS, registry=self._registry
        )
        for kind in NewsKind:
            self._verdicts.labels(kind.value)
        for state in RequestState:
            if state not in OPEN:
                self._requests.labels(state.value)

    def scrape(self) -> bytes:
        """The metrics as text.

        Raises
        ------
        ReleasegateError
            If queue or ledger cannot be read.
        """
        with self._counting:  # two at once would count the same entries twice
            self._count_entries()
            for entry in self._queue.done_entries():
                self._count_request(entry)
            return generate_latest(self._registry)

    def _count_entries(self) -> None:
        if not has_ledger(self._service.workspace):
            return
        with open_ledger(self._service.workspace) as ledger:
            if ledger.head().sequence == self._seen:
                return
            entries = ledger.entries(after=self._seen)
        for entry in entries:
            news = news_of(entry)
            if news is not None:
                self._verdicts.labels(news.kind.value).inc()
            self._seen = entry.sequence

    def _count_request(self, entry: QueuedRequest) -> None:
        if entry.token in self._counted:
            return
        self._counted.add(entry.token)
        self._requests.labels(entry.state.value).inc()
        if entry.seconds is not None:
            self._seconds.observe(entry.seconds)


class _Gauges:
    """The present state of the queue."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue

    def collect(self) -> Iterator[Metric]:
        """The gauges."""
        entries = self._queue.open_entries()
        ages = queue_ages(entries, utc_now())
        yield _gauge("releasegate_queue_requests", "Requests without a verdict", Tally(one.state for one in entries))
        yield _gauge("releasegate_queue_oldest_seconds", "Age of the oldest of them", ages)
        yield GaugeMetricFamily(
            "releasegate_queue_damaged", "Entries that cannot be read", value=len(self._queue.damaged())
        )


def _gauge(name: str, text: str, values: dict[RequestState, float] | Tally[RequestState]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=["state"])
    states: Iterable[RequestState] = sorted(OPEN)
    for state in states:
        family.add_metric([state.value], float(values.get(state, 0)))
    return family
