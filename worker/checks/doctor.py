"""Check server, workers, queue and files for what stops or loses batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from redis.exceptions import RedisError

from worker.checks import queue_checks, server_checks
from worker.checks.check_result import CheckResult
from worker.settings import Settings


def run_checks(settings: Settings) -> Iterator[CheckResult]:
    """Run all checks; without a usable server, only those of the server."""
    connection = settings.connect()
    try:
        found = list(server_checks.reach(connection))
    except RedisError as error:
        found = [CheckResult("redis", "error", server_checks.advice(error))]
    yield from found
    if any(result.verdict == "error" for result in found):
        return
    checks: dict[str, Callable[[], Iterator[CheckResult]]] = {
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
            yield CheckResult(subject, "error", server_checks.advice(error))
