"""Find the jobs that no live worker has, and requeue them.

A job is owned by the queue, by the intermediate queue (a worker has moved it and not yet
started it), by a registry, or by a live execution. A job of a killed worker or of a lost key
has no owner. Each step is a transaction or first removes one entry, so two workers that search
at the same moment requeue a job once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from redis.exceptions import WatchError
from rq import Queue
from rq.exceptions import NoSuchJobError
from rq.job import Job
from rq.job import JobStatus as RQStatus
from rq.rate_limit import RateLimitRegistry
from rq.registry import ReadyJobRegistry, ScheduledJobRegistry

from worker import log_format
from worker.connections import server_time
from worker.runtime.rq_job import SelectionJob

# A live worker starts the job that it has moved within some milliseconds. A slower one finds
# that the job was requeued, and does not run it.
_SECONDS_TO_START = 0.5

_KEYS_AT_ONCE, _JOBS_AT_ONCE = 5000, 1000
_STALE = "selection:stale"
_STALE_LOCK = "selection:stale-search"
_OPEN = (RQStatus.QUEUED, RQStatus.STARTED, RQStatus.SCHEDULED)

_RETURN_TO_QUEUE = """
if redis.call('LREM', KEYS[1], 1, ARGV[1]) == 0 then return 0 end
redis.call('LPUSH', KEYS[2], ARGV[1])
return 1
"""


def fetch(queue: Queue, job_id: str) -> SelectionJob | None:
    """Read a job as far as it can be read; None if it does not exist."""
    try:
        job = SelectionJob(job_id, queue.connection, queue.serializer)
        job.refresh()
    except (NoSuchJobError, ValueError):
        return None
    return job


def is_owned(queue: Queue, job_id: str, besides: str = "") -> bool:
    """Return True if the queue, a registry or an execution other than ``besides`` has the job."""
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
    """Remove the jobs whose worker has missed its heartbeats from the registry.

    The caller must enqueue each of them or fail it.
    """
    key = queue.started_job_registry.key
    now = server_time(queue.connection)
    expired: Any = queue.connection.zrangebyscore(key, 0, now)
    for entry in expired:
        if not queue.connection.zrem(key, entry):
            continue  # another worker has it
        job = fetch(queue, _job_id(entry))
        if job is None:
            continue
        queue.connection.lrem(queue.intermediate_queue_key, 1, job.id)
        # The status is written after the execution, so it can still be "queued".
        is_open = job.get_status(refresh=False) in (RQStatus.STARTED, RQStatus.QUEUED)
        if (is_open or job.unreadable) and not is_owned(queue, job.id):
            yield job


def requeue_moved(queue: Queue) -> list[bytes]:
    """Requeue what workers have moved and not started a moment later; return the ids."""
    moved = _moved(queue)
    if not moved:
        return []
    time.sleep(_SECONDS_TO_START)
    still_moved = [job_id for job_id in _moved(queue) if job_id in moved]
    return [job_id for job_id in still_moved if return_to_queue(queue, job_id)]


def return_to_queue(queue: Queue, job_id: str | bytes) -> bool:
    """Return a moved job to the front of the queue; False if another has done so."""
    script = queue.connection.register_script(_RETURN_TO_QUEUE)
    return bool(script(keys=[queue.intermediate_queue_key, queue.key], args=[job_id]))


def _moved(queue: Queue) -> list[bytes]:
    with queue.connection.pipeline() as pipeline:
        pipeline.lrange(queue.intermediate_queue_key, 0, -1)
        pipeline.zrange(queue.started_job_registry.key, 0, -1)
        moved, running = pipeline.execute()
    started = {_job_id(entry) for entry in running}
    return [entry for entry in moved if entry.decode(errors="replace") not in started]


def requeue_stale(queue: Queue, seconds: int) -> list[SelectionJob]:
    """Enqueue the open jobs that have no owner in this search and had none in the last one.

    Only one worker searches in each interval.

    Args:
        queue: the queue whose jobs are searched.
        seconds: the interval between two searches.

    Returns:
        The jobs that were enqueued.
    """
    connection = queue.connection
    if not connection.set(f"{_STALE_LOCK}:{queue.name}", 1, nx=True, ex=seconds):
        return []
    key = f"{_STALE}:{queue.name}"
    before: Any = connection.smembers(key)
    found = {job_id for job_id in _open_ids(queue) if not is_owned(queue, job_id)}
    again = {job_id.decode() for job_id in before} & found
    with connection.pipeline() as pipeline:
        pipeline.delete(key)
        if found - again:
            pipeline.sadd(key, *(found - again))
            pipeline.expire(key, 10 * seconds)
        pipeline.execute()
    return [job for job_id in sorted(again) if (job := requeue(queue, job_id))]


def _open_ids(queue: Queue) -> Iterator[str]:
    """Yield the open jobs of this queue that are in none of the long lists."""
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


def requeue(queue: Queue, job_id: str) -> SelectionJob | None:
    """Enqueue a job without an owner; None if it has one by now, or has ended."""
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
                # RQ cannot save what it has read; the worker refuses the job.
                log_format.log_unexpected(f"job {job_id}", error)
                pipeline.reset()
                registry.remove(job_id)
                queue.push_job_id(job_id)


def enqueue_waiting(queue: Queue) -> None:
    """Enqueue deferred and rate-limited jobs that a killed worker has left."""
    ReadyJobRegistry(queue=queue, job_class=SelectionJob).cleanup()
    for registry in RateLimitRegistry.all(queue.connection):
        registry.cleanup()


def remove_expired(queue: Queue) -> None:
    """Remove jobs whose lifetime is over from the registries of ended jobs."""
    now = server_time(queue.connection)
    queue.finished_job_registry.cleanup(now)
    queue.failed_job_registry.cleanup(now)


def _push(queue: Queue, job: SelectionJob, pipeline: Any) -> None:
    at_front = job.should_enqueue_at_front()
    if job.unreadable:
        # Saving it would remove the fields that the refusal names.
        pipeline.hset(job.key, "status", RQStatus.QUEUED.value)
        queue.push_job_id(job.id, pipeline=pipeline, at_front=at_front)
    elif job.has_rate_limit:
        queue._enqueue_rate_limited_job(job, pipeline=pipeline, at_front=at_front)
    else:
        queue._enqueue_job(job, pipeline=pipeline, at_front=at_front)


def _job_id(entry: bytes) -> str:
    """Return the job of an entry ``job:execution`` of the registry of running jobs."""
    return entry.decode(errors="replace").partition(":")[0]
