"""Prometheus metrics of the queue, read from Redis whenever they are asked for."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from typing import cast

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector
from redis import Redis
from redis.exceptions import RedisError

from selection import Extractor, Rule
from selection.log import log
from worker.events import COUNTERS
from worker.settings import Settings
from worker.status import oldest_seconds, open_queue, read_workers

# The counters that have a label: the part of a field's name before the colon, the label, and
# its known values. These start at 0, since Prometheus takes no rate of the step from nothing.
_LABELLED: dict[str, tuple[str, tuple[str, ...], str]] = {
    "jobs": (
        "outcome",
        ("finished", "failed", "retried", "handed_back"),
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

_Metric = CounterMetricFamily | GaugeMetricFamily


class QueueCollector(Collector):
    """Reads the queue, its workers and the lasting counters; a server that is gone is a 0.

    Gauges: ``selection_redis_up``, ``selection_queue_jobs`` (by ``state``),
    ``selection_queue_oldest_seconds``, ``selection_workers`` (by ``state``). Counters, kept in
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
        queue = open_queue(self._connection, self._settings)
        jobs = GaugeMetricFamily("selection_queue_jobs", "Jobs by state", labels=["state"])
        jobs.add_metric(["queued"], queue.count)
        registries = {
            "started": queue.started_job_registry,
            "retrying": queue.scheduled_job_registry,
            "finished": queue.finished_job_registry,
            "failed": queue.failed_job_registry,
        }
        for state, registry in registries.items():
            # Cleaning up would settle abandoned jobs, which is for a worker to do.
            jobs.add_metric([state], registry.get_job_count(cleanup=False))
        yield jobs
        age = GaugeMetricFamily("selection_queue_oldest_seconds", "Wait of the first queued job")
        age.add_metric([], oldest_seconds(queue))
        yield age
        workers = GaugeMetricFamily("selection_workers", "Live workers by state", labels=["state"])
        states = [worker.state for worker in read_workers(queue, self._settings)]
        for state in ("idle", "busy", "started", "suspended"):
            workers.add_metric([state], states.count(state))
        yield workers

    def _counters(self) -> Iterator[_Metric]:
        stored = cast(dict[bytes, bytes], self._connection.hgetall(COUNTERS))
        fields = {name.decode(): int(amount) for name, amount in stored.items()}
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
