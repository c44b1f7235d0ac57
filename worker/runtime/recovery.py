"""Find the jobs that no live worker has, and put them back into the queue.

A job is owned by the queue, by the intermediate queue (a worker has moved it and not yet
started it), by a registry, or by a live execution. What a killed worker or a lost key leaves
behind has no owner. Each step is a transaction or takes one entry away first, so that two
workers that look at the same moment put a job back once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from redis.exceptions import WatchError
from rq import Queue
from rq.exceptions import NoSuchJobError
from rq.job import Job, JobStatus
from rq.rate_limit import RateLimitRegistry
from rq.registry import ReadyJobRegistry, ScheduledJobRegistry

from worker import log_format
from worker.connections import server_time
from worker.runtime.rq_job import SelectionJob

# A worker that lives starts the job that it has moved within some milliseconds. If it is
# slower, it finds that the job was put back and leaves it alone.
_SECONDS_TO_START = 0.5

_KEYS_AT_ONCE, _JOBS_AT_ONCE = 5000, 1000
_SUSPECTS = "selection:stale"
_SUSPECTS_LOCK = "selection:stale-search"
_OPEN = (JobStatus.QUEUED, JobStatus.STARTED, JobStatus.SCHEDULED)

_PUT_BACK = """
if redis.call('LREM', KEYS[1], 1, ARGV[1]) == 0 then return 0 end
redis.call('LPUSH', KEYS[2], ARGV[1])
return 1
"""


def fetch(queue: Queue, job_id: str) -> SelectionJob | None:
    """Read a job as far as it can be read; None if there is none."""
    try:
        job = SelectionJob(job_id, queue.connection, queue.serializer)
        job.refresh()
    except (NoSuchJobError, ValueError):
        return None
    return job


def is_owned(queue: Queue, job_id: str, besides: str = "") -> bool:
    """Whether the queue, a registry or a live execution other than ``besides`` has the job."""
    if queue.get_job_position(job_id) is not None:
        return True
    with queue.connection.pipeline() as pipeline:
        pipeline.lrange(queue.intermediate_queue_key, 0, -1)
        pipeline.zrange(queue.started_job_registry.key, 0, -1)
        for registry in (
            queue.scheduled_job_registry,
            queue.deferred_job_registry,
            queue.ready_job_registry,
        ):
            pipeline.zscore(registry.key, job_id)
        moved, running, *scores = pipeline.execute()
    runs = any(_job_id(entry) == job_id and entry.decode() != besides for entry in running)
    return runs or job_id.encode() in moved or any(score is not None for score in scores)


def claim_abandoned(queue: Queue) -> Iterator[SelectionJob]:
    """Take the jobs whose worker has missed its signs of life out of the registry.

    Who takes one must enqueue it or fail it.
    """
    key = queue.started_job_registry.key
    now = server_time(queue.connection)
    expired: Any = queue.connection.zrangebyscore(key, 0, now)
    for entry in expired:
        if not queue.connection.zrem(key, entry):
            continue  # another worker's
        job = fetch(queue, _job_id(entry))
        if job is None:
            continue
        queue.connection.lrem(queue.intermediate_queue_key, 1, job.id)
        # The status follows the execution by a moment, so it may be "queued" still.
        is_open = job.get_status(refresh=False) in (JobStatus.STARTED, JobStatus.QUEUED)
        if (is_open or job.unreadable) and not is_owned(queue, job.id):
            yield job


def put_back_moved(queue: Queue) -> list[bytes]:
    """Put back what workers have moved and, a moment later, not started; the ids."""
    moved = _moved(queue)
    if not moved:
        return []
    time.sleep(_SECONDS_TO_START)
    return [job_id for job_id in _moved(queue) if job_id in moved and move_back(queue, job_id)]


def move_back(queue: Queue, job_id: str | bytes) -> bool:
    """Put back a job that a worker has moved, as the next one; whether it was still there."""
    script = queue.connection.register_script(_PUT_BACK)
    return bool(script(keys=[queue.intermediate_queue_key, queue.key], args=[job_id]))


def _moved(queue: Queue) -> list[bytes]:
    with queue.connection.pipeline() as pipeline:
        pipeline.lrange(queue.intermediate_queue_key, 0, -1)
        pipeline.zrange(queue.started_job_registry.key, 0, -1)
        moved, running = pipeline.execute()
    started = {_job_id(entry) for entry in running}
    return [entry for entry in moved if entry.decode(errors="replace") not in started]


def put_back_stale(queue: Queue, seconds: int) -> list[SelectionJob]:
    """Enqueue again what is not over and has no owner, at this look and at one before.

    Only one worker looks in this time.

    Args:
        queue: the queue whose jobs are looked at.
        seconds: the time between two looks.
    """
    connection = queue.connection
    if not connection.set(f"{_SUSPECTS_LOCK}:{queue.name}", 1, nx=True, ex=seconds):
        return []
    key = f"{_SUSPECTS}:{queue.name}"
    before: Any = connection.smembers(key)
    found = {job_id for job_id in _open_ids(queue) if not is_owned(queue, job_id)}
    again = {job_id.decode() for job_id in before} & found
    with connection.pipeline() as pipeline:
        pipeline.delete(key)
        if found - again:
            pipeline.sadd(key, *(found - again))
            pipeline.expire(key, 10 * seconds)
        pipeline.execute()
    return [job for job_id in sorted(again) if (job := put_back(queue, job_id))]


def _open_ids(queue: Queue) -> Iterator[str]:
    """The jobs of this queue that are not over and in none of the long lists."""
    connection = queue.connection
    with connection.pipeline() as pipeline:
        pipeline.lrange(queue.key, 0, -1)
        pipeline.zrange(queue.scheduled_job_registry.key, 0, -1)
        pipeline.zrange(queue.started_job_registry.key, 0, -1)
        waiting, delayed, running = pipeline.execute()
    owned = {entry.decode(errors="replace") for entry in waiting + delayed}
    owned |= set(map(_job_id, running))
    prefix = Job.redis_job_namespace_prefix
    cursor = 0
    while True:
        page: Any = connection.scan(cursor, match=f"{prefix}*", count=_KEYS_AT_ONCE, _type="hash")
        cursor, keys = page
        with connection.pipeline(transaction=False) as pipeline:
            for each in keys:
                pipeline.hmget(each, "status", "origin")
            states = pipeline.execute(raise_on_error=False)
        for each, state in zip(keys, states):
            job_id = each.decode(errors="replace").removeprefix(prefix)
            if job_id not in owned and _is_open(queue, state):
                yield job_id
        if not cursor:
            return


def _is_open(queue: Queue, state: Any) -> bool:
    if not isinstance(state, list) or None in state:
        return False
    status, origin = (value.decode(errors="replace") for value in state)
    return origin == queue.name and status in _OPEN


def put_back(queue: Queue, job_id: str) -> SelectionJob | None:
    """Enqueue a job without an owner; None if it has one by now, or is over or gone."""
    job = fetch(queue, job_id)
    if job is None:
        return None
    with queue.connection.pipeline() as pipeline:
        try:
            pipeline.watch(job.key)
            status: Any = pipeline.hget(job.key, "status")
            if status is None or status.decode() not in _OPEN or is_owned(queue, job_id):
                return None
            pipeline.multi()
            _push(queue, job, pipeline)
            pipeline.execute()
        except WatchError:
            return None
    return job


def enqueue_due(queue: Queue, registry: ScheduledJobRegistry) -> None:
    """Move the scheduled jobs that are due by the server's clock to the queue."""
    due: Any = queue.connection.zrangebyscore(
        registry.key, 0, server_time(queue.connection), start=0, num=_JOBS_AT_ONCE
    )
    for entry in due:
        job_id = entry.decode(errors="replace")
        job = fetch(queue, job_id)
        if job is None:
            queue.connection.zrem(registry.key, entry)
            continue
        with queue.connection.pipeline() as pipeline:
            try:
                # Another scheduler that moves it changes its status.
                pipeline.watch(job.key)
                if pipeline.zscore(registry.key, job_id) is None:
                    continue
                pipeline.multi()
                registry.remove(job_id, pipeline=pipeline)
                _push(queue, job, pipeline)
                pipeline.execute()
            except WatchError:
                continue
            except (TypeError, ValueError, AttributeError) as error:
                # RQ cannot save what it has read. The worker refuses the job.
                log_format.log_odd(f"job {job_id}", error)
                pipeline.reset()
                registry.remove(job_id)
                queue.push_job_id(job_id)


def enqueue_waiting(queue: Queue) -> None:
    """Enqueue what waits for another job, or for a slot, and was left half-way."""
    ReadyJobRegistry(queue=queue, job_class=SelectionJob).cleanup()
    for registry in RateLimitRegistry.all(queue.connection):
        registry.cleanup()


def forget_expired(queue: Queue) -> None:
    """Remove jobs whose lifetime is over from the registries of ended ones."""
    now = server_time(queue.connection)
    queue.finished_job_registry.cleanup(now)
    queue.failed_job_registry.cleanup(now)


def _push(queue: Queue, job: SelectionJob, pipeline: Any) -> None:
    at_front = job.should_enqueue_at_front()
    if job.unreadable:
        # Saved, it would lose what the worker that refuses it has to name.
        pipeline.hset(job.key, "status", JobStatus.QUEUED.value)
        queue.push_job_id(job.id, pipeline=pipeline, at_front=at_front)
    elif job.has_rate_limit:
        queue._enqueue_rate_limited_job(job, pipeline=pipeline, at_front=at_front)
    else:
        queue._enqueue_job(job, pipeline=pipeline, at_front=at_front)


def _job_id(entry: bytes) -> str:
    """The job of an entry of the registry of running jobs, ``job:execution``."""
    return entry.decode(errors="replace").partition(":")[0]
