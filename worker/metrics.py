"""Prometheus metrics of the queue, read from Redis whenever they are asked for."""

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
from worker.state.events import COUNTERS, DURATION_BOUNDS
from worker.state.status import read_backlog, read_workers

# The counters that have a label: the part of a field's name before the colon, the label, and
# its known values. These start at 0, since Prometheus takes no rate of the step from nothing.
_LABELLED: dict[str, tuple[str, tuple[str, ...], str]] = {
    "jobs": (
        "outcome",
        ("finished", "failed", "retried", "handed_back", "stopped"),
        "Runs of jobs by how they ended",
    ),
    "failures": ("error", (), "Final failures by class of error"),
    "retries": ("error", (), "Failures that are tried again by class of error"),
    "picks": ("extractor", tuple(Extractor), "Articles by picked extractor"),
    "rules": ("rule", tuple(Rule), "Articles by the rule that decided"),
}
_PLAIN = {
    "articles": "Articles that got a pick",
    "skipped": "Items of articles that are no objects",
    "bytes": "Bytes of selected batches",
}

_MOST_DIGITS = 20

_Metric = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily


class QueueCollector(Collector):
    """Reads the queue, its workers and the lasting counters; a server that is gone is a 0.

    Gauges: ``selection_redis_up``, ``selection_queue_jobs`` (by ``state``; a retrying job is
    ``scheduled``), ``selection_queue_oldest_seconds``, ``_jobs_per_second``,
    ``_seconds_left`` (both NaN while unknown), ``_suspended``, ``selection_workers`` (by
    ``state``). A histogram: ``selection_duration_seconds``. Counters, kept in
    Redis, so that they survive workers and this process: ``selection_jobs``, ``_failures``,
    ``_retries``, ``_picks``, ``_rules`` (each with a label), ``_articles``, ``_skipped``,
    ``_bytes``, all with ``_total``.
    """

    def __init__(self, connection: Redis, settings: Settings) -> None:
        self._connection = connection
        self._settings = settings

    def collect(self) -> Iterator[_Metric]:
        """All metrics as they are now."""
        up = GaugeMetricFamily("selection_redis_up", "Whether the server answers")
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
            ("jobs_per_second", backlog.rate, "Jobs that finished lately per second"),
            ("seconds_left", backlog.seconds_left, "Until all jobs are over, at this rate"),
            ("suspended", float(backlog.is_suspended), "Whether workers are told to take no job"),
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
        # Only numbers are counters; anybody may have written another field there.
        fields = {
            name.decode("utf-8", "replace"): int(amount)
            for name, amount in stored.items()
            if amount.isdigit() and len(amount) < _MOST_DIGITS
        }
        for name, text in _PLAIN.items():
            plain = CounterMetricFamily(f"selection_{name}", text)
            plain.add_metric([], fields.get(name, 0))
            yield plain
        for prefix, (label, known, text) in _LABELLED.items():
            labelled = CounterMetricFamily(f"selection_{prefix}", text, labels=[label])
            amounts = dict.fromkeys(known, 0)
            for name, amount in fields.items():
                kind, _, value = name.partition(":")
                if kind == prefix:
                    amounts[value] = amount
            for value, amount in amounts.items():
                labelled.add_metric([value], amount)
            yield labelled
        yield _durations(fields)


def _durations(fields: Mapping[str, int]) -> HistogramMetricFamily:
    """The histogram of durations; each bucket counts those of the smaller ones, too."""
    counts = [fields.get(f"durations:{bound}", 0) for bound in DURATION_BOUNDS]
    bounds = ["+Inf" if bound == inf else str(bound) for bound in DURATION_BOUNDS]
    histogram = HistogramMetricFamily("selection_duration_seconds", "Durations of finished batches")
    buckets = [(bound, float(total)) for bound, total in zip(bounds, accumulate(counts))]
    histogram.add_metric([], buckets, fields.get("milliseconds", 0) / 1000)
    return histogram


def serve(settings: Settings, host: str, port: int) -> None:
    """Serve the metrics over HTTP until SIGTERM or Ctrl-C; port 0 takes any free one.

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
