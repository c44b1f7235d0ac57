"""Prometheus metrics of the queue, read from Redis at each request."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Mapping
from itertools import accumulate
from math import inf, nan
from typing import cast

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.registry import Collector
from redis import Redis
from redis.exceptions import RedisError

from selection import Extractor, Rule
from selection.cli.messages import log
from worker.settings import Settings
from worker.state.events import COUNTERS, DURATION_BOUNDS, Outcome
from worker.state.status import read_backlog, read_workers

# The counters with a label: the part of a field's name before the colon, the label, and its
# known values. These start at 0, because Prometheus cannot derive a rate from a first sample.
_LABELED: dict[str, tuple[str, tuple[str, ...], str]] = {
    "jobs": (
        "outcome",
        tuple(Outcome),
        "Runs of jobs by how they ended",
    ),
    "failures": ("error", (), "Final failures by class of error"),
    "retries": ("error", (), "Failures that are retried by class of error"),
    "picks": ("extractor", tuple(Extractor), "Articles by picked extractor"),
    "rules": ("rule", tuple(Rule), "Articles by the rule that decided"),
}
_UNLABELED = {
    "articles": "Articles that got a pick",
    "skipped": "Items of articles that are not objects",
    "bytes": "Bytes of selected batches",
}

_MOST_DIGITS = 20

_Metric = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily


class QueueCollector(Collector):
    """Collect the metrics of the queue, its workers and the counters in Redis.

    docs/queue.md lists them. The counters survive workers and this process. If the server is
    away, ``selection_redis_up`` is 0 and the only metric.
    """

    def __init__(self, connection: Redis, settings: Settings) -> None:
        self._connection = connection
        self._settings = settings

    def collect(self) -> Iterator[_Metric]:
        """Read all metrics."""
        up = GaugeMetricFamily("selection_redis_up", "1 if the server answers")
        try:
            metrics = [*self._gauges(), *self._counters()]
        except RedisError:
            metrics = []
        up.add_metric([], 1 if metrics else 0)
        yield up
        yield from metrics

    def _gauges(self) -> Iterator[_Metric]:
        backlog = read_backlog(self._connection, self._settings)
        jobs = GaugeMetricFamily("selection_queue_jobs", "Jobs by state", labels=["state"])
        for kept, amount in backlog.counts.items():
            jobs.add_metric([kept], amount)
        yield jobs
        for name, value, text in (
            ("oldest_seconds", backlog.oldest_seconds, "Wait of the first queued job"),
            ("jobs_per_second", backlog.rate, "Jobs that finished recently per second"),
            ("seconds_left", backlog.seconds_left, "Time for the remaining jobs at this rate"),
            ("suspended", float(backlog.is_suspended), "1 if the workers are paused"),
        ):
            gauge = GaugeMetricFamily(f"selection_queue_{name}", text)
            gauge.add_metric([], nan if value is None else value)
            yield gauge
        workers = GaugeMetricFamily("selection_workers", "Live workers by state", labels=["state"])
        states = [worker.state for worker in read_workers(self._connection, self._settings)]
        for state in ("idle", "busy", "started", "suspended"):
            workers.add_metric([state], states.count(state))
        yield workers

    def _counters(self) -> Iterator[_Metric]:
        stored = cast(dict[bytes, bytes], self._connection.hgetall(COUNTERS))
        # Another client can have written fields that are not numbers.
        fields = {
            name.decode("utf-8", "replace"): int(amount)
            for name, amount in stored.items()
            if amount.isdigit() and len(amount) < _MOST_DIGITS
        }
        for name, text in _UNLABELED.items():
            unlabeled = CounterMetricFamily(f"selection_{name}", text)
            unlabeled.add_metric([], fields.get(name, 0))
            yield unlabeled
        for prefix, (label, known, text) in _LABELED.items():
            labeled = CounterMetricFamily(f"selection_{prefix}", text, labels=[label])
            amounts = dict.fromkeys(known, 0)
            for name, amount in fields.items():
                kind, _, value = name.partition(":")
                if kind == prefix:
                    amounts[value] = amount
            for value, amount in amounts.items():
                labeled.add_metric([value], amount)
            yield labeled
        yield _durations(fields)


def _durations(fields: Mapping[str, int]) -> HistogramMetricFamily:
    """Return the histogram of durations; its buckets are cumulative."""
    counts = [fields.get(f"durations:{bound}", 0) for bound in DURATION_BOUNDS]
    bounds = ["+Inf" if bound == inf else str(bound) for bound in DURATION_BOUNDS]
    histogram = HistogramMetricFamily("selection_duration_seconds", "Durations of finished batches")
    buckets = [(bound, float(total)) for bound, total in zip(bounds, accumulate(counts))]
    histogram.add_metric([], buckets, fields.get("milliseconds", 0) / 1000)
    return histogram


def serve(settings: Settings, host: str, port: int) -> None:
    """Serve the metrics over HTTP until SIGTERM or Ctrl-C.

    Args:
        settings: the server and the queue.
        host, port: the address to listen on; port 0 is any free port.

    Raises:
        OSError: the address cannot be used.
    """
    registry = CollectorRegistry()
    registry.register(QueueCollector(settings.connect(), settings))
    server, thread = start_http_server(port, host, registry)
    log(f"metrics at http://{host}:{server.server_port}/metrics")
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    stopped.wait()
    server.shutdown()
    thread.join()
