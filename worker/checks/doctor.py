"""Find out what keeps batches from being selected, or would lose them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from redis.exceptions import RedisError

from worker.checks import queue_checks, server_checks
from worker.checks.check_result import Finding
from worker.settings import Settings


def examine(settings: Settings) -> Iterator[Finding]:
    """Look at server, workers, queue and files; without a usable server, at that alone."""
    connection = settings.connect()
    try:
        found = list(server_checks.reach(connection))
    except RedisError as error:
        found = [Finding("redis", "fault", server_checks.advice(error))]
    yield from found
    if any(finding.verdict == "fault" for finding in found):
        return
    checks: dict[str, Callable[[], Iterator[Finding]]] = {
        "redis settings": lambda: server_checks.durability(connection),
        "writing": lambda: server_checks.writing(connection),
        "workers": lambda: queue_checks.workers(connection, settings),
        "scheduler": lambda: queue_checks.scheduler(connection, settings),
        "queue": lambda: queue_checks.queue(connection, settings),
        "root": lambda: queue_checks.roots(settings),
        "jobs": lambda: queue_checks.jobs(connection, settings),
    }
    for subject, check in checks.items():
        try:
            yield from check()
        except RedisError as error:
            yield Finding(subject, "fault", server_checks.advice(error))
