"""Metrics of the service for Prometheus: queue, verdicts, durations. They count requests and releases, not people."""

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from flows.actor import utc_now
from flows.ledger import has_ledger, open_ledger
from flows.service.config import Service
from flows.service.health import queue_ages
from flows.service.notifications import news_of
from flows.service.queue import OPEN, Queue, QueuedRequest, RequestState
from tasks.service.settings import NewsKind

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Key = TypeVar("Key", bound=str)
_BUCKETS = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14400.0)


class Metrics:
    """The metrics of one service; each scrape reads the queue and the new entries of the ledger."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._queue = Queue(service.workspace)
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
            self._count_entries()
            self._ended |= {entry.token: entry for entry in self._queue.done_entries()}
            return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """The metrics, for the registry."""
        entries = self._queue.open_entries()
        waiting, ages = Counter(one.state for one in entries), queue_ages(entries, utc_now())
        yield _by(GaugeMetricFamily, "releasegate_queue_requests", "Requests without a verdict", OPEN, waiting)
        yield _by(GaugeMetricFamily, "releasegate_queue_oldest_seconds", "Age of the oldest of them", OPEN, ages)
        damaged = len(self._queue.damaged())
        yield GaugeMetricFamily("releasegate_queue_damaged", "Entries that cannot be read", value=damaged)
        text = "Entries of the ledger by verdict"
        yield _by(CounterMetricFamily, "releasegate_verdicts", text, NewsKind, self._verdicts, label="verdict")
        ended, states = Counter(one.state for one in self._ended.values()), set(RequestState) - OPEN
        yield _by(CounterMetricFamily, "releasegate_requests", "Requests by final state", states, ended)
        seconds = [one.seconds for one in self._ended.values() if one.seconds is not None]
        buckets = [(str(most), sum(one <= most for one in seconds)) for most in _BUCKETS] + [("+Inf", len(seconds))]
        text = "Seconds of work on a request"
        yield HistogramMetricFamily("releasegate_request_seconds", text, buckets=buckets, sum_value=sum(seconds))

    def _count_entries(self) -> None:
        if not has_ledger(self._service.workspace):
            return
        with open_ledger(self._service.workspace) as ledger:
            if ledger.head().sequence == self._seen:
                return
            entries = ledger.entries(after=self._seen)
        self._verdicts.update(kind for entry in entries if (kind := news_of(entry)) is not None)
        self._seen = entries[-1].sequence if entries else self._seen


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
