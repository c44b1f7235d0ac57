"""Find out what keeps batches from being selected, or would lose them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from redis import Redis
from redis.exceptions import RedisError, ResponseError
from rq import Queue
from rq.scheduler import RQScheduler

from worker.report import batch_of
from worker.settings import Settings
from worker.status import oldest_seconds, open_queue, read_workers

_LONG_WAIT = 600
_LOOKED_AT = 20

Verdict = Literal["ok", "warning", "fault"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: what, how it is, and what to do about it."""

    subject: str
    verdict: Verdict
    message: str

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data, ready for JSON."""
        return asdict(self)


def examine(settings: Settings) -> Iterator[Finding]:
    """Look at server, workers, queue and paths; the first fault of the server ends it."""
    connection = settings.connect()
    try:
        connection.ping()
    except RedisError as error:
        yield Finding("redis", "fault", f"cannot be reached: {error}; check RQ_REDIS_URL")
        return
    yield Finding("redis", "ok", "answers")
    yield from _server(connection)
    queue = open_queue(connection, settings)
    yield _workers(queue, settings)
    yield _scheduler(queue)
    yield _queue(queue)
    yield from _roots(settings)
    yield _paths(queue)


def _server(connection: Redis) -> Iterator[Finding]:
    try:
        memory: Any = connection.info("memory")
        persistence: Any = connection.info("persistence")
    except ResponseError as error:
        yield Finding("redis settings", "warning", f"cannot be read: {error}")
        return
    policy = memory.get("maxmemory_policy", "unknown")
    if policy == "noeviction":
        yield Finding("eviction", "ok", "noeviction")
    else:
        yield Finding(
            "eviction", "fault", f"{policy} can drop queued jobs; set maxmemory-policy noeviction"
        )
    if persistence.get("aof_enabled"):
        yield Finding("persistence", "ok", "append-only file")
    else:
        yield Finding("persistence", "warning", "a restart loses recent jobs; set appendonly yes")


def _workers(queue: Queue, settings: Settings) -> Finding:
    workers = read_workers(queue, settings)
    if not workers:
        return Finding("workers", "fault", f"none; start one with: rq worker {queue.name}")
    busy = sum(worker.job is not None for worker in workers)
    return Finding("workers", "ok", f"{len(workers)}, {busy} of them busy")


def _scheduler(queue: Queue) -> Finding:
    if queue.connection.exists(RQScheduler.get_locking_key(queue.name)):
        return Finding("scheduler", "ok", "alive")
    waiting = queue.scheduled_job_registry.get_job_count(cleanup=False)
    return Finding(
        "scheduler",
        "fault" if waiting else "warning",
        f"none, so retries have no delay and {waiting} delayed jobs wait; "
        f"start a worker with: rq worker --with-scheduler {queue.name}",
    )


def _queue(queue: Queue) -> Finding:
    depth, age = queue.count, oldest_seconds(queue)
    message = f"{depth} waiting, the first for {age:.0f} s"
    return Finding("queue", "warning" if age > _LONG_WAIT else "ok", message)


def _roots(settings: Settings) -> Iterator[Finding]:
    for root in settings.roots:
        if os.path.isdir(root) and os.access(root, os.R_OK | os.W_OK | os.X_OK):
            yield Finding("root", "ok", root)
        else:
            yield Finding("root", "fault", f"{root} is no folder that can be written from here")


def _paths(queue: Queue) -> Finding:
    """Whether the next jobs' files can be read here; a volume may be missing."""
    jobs = queue.get_jobs(0, _LOOKED_AT)
    paths = [batch_of(job)[0] for job in jobs if _is_ours(job)]
    missing = [path for path in paths if not os.access(path, os.R_OK)]
    if missing:
        return Finding("paths", "fault", f"not readable from here: {', '.join(missing)}")
    return Finding("paths", "ok", f"{len(paths)} of the next jobs' files are readable from here")


def _is_ours(job: Any) -> bool:
    try:
        batch_of(job)
    except Exception:  # a payload that cannot be read or is another project's
        return False
    return True
