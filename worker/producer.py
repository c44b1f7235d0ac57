"""Enqueue batches: checked first, once per file, with a timeout, a retry policy and lifetimes."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from typing import Any

from redis import Redis
from redis.exceptions import WatchError
from rq import Queue, Retry
from rq.exceptions import DuplicateJobError, InvalidJobOperation
from rq.job import Job, JobStatus

from selection.batch import check_files
from worker.events import STREAM, Event, publish
from worker.recovery import fetch, is_stale, put_back
from worker.report import files_of, record_put_back
from worker.settings import Settings

FUNCTION = "worker.jobs.select_batch"

_OVER = (JobStatus.FAILED, JobStatus.STOPPED, JobStatus.CANCELED)


def enqueue(
    path: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    connection: Redis | None = None,
    settings: Settings | None = None,
) -> Job:
    """Enqueue one batch, unless it is enqueued already.

    The job's id comes from the file's real path, size and modification time and from the
    output's path: the same file is one job as long as Redis keeps it, a changed file is a
    new one. A job that failed is enqueued again; so is one that finished and whose output
    is gone.

    Args:
        path: the batch. It must be readable here under the name that the workers use.
        output: where to write; by default ``<name>_selected.json`` beside the batch.
        connection: the server; by default the one of the settings.
        settings: by default those of the environment.

    Returns:
        The job, new or not.

    Raises:
        SelectionError: the input cannot be read, or the output would be the input.
        redis.exceptions.RedisError: the server cannot be reached.
    """
    settings = settings or Settings.from_environment()
    batch, target = os.path.abspath(path), None if output is None else os.path.abspath(output)
    found, final = check_files(batch, target, settings.roots)
    queue = Queue(
        settings.queue,
        connection=connection or settings.connect(),
        serializer=settings.serializer,
    )
    job_id = _job_id(os.path.realpath(batch), found, os.path.realpath(final))
    while True:
        job = _new(queue, job_id, batch, target, found.st_size, settings)
        if job is None:
            job = _existing(queue, job_id, final, batch, target, settings)
        if job is not None:
            return job


def _job_id(path: str, found: os.stat_result, output: str) -> str:
    identity = "\0".join([path, str(found.st_size), str(found.st_mtime_ns), output])
    return f"selection-{hashlib.sha256(os.fsencode(identity)).hexdigest()[:32]}"


def _new(
    queue: Queue, job_id: str, path: str, output: str | None, size: int, settings: Settings
) -> Job | None:
    """The job, if there was none of that id."""
    # Told before it is enqueued, because a worker may start it at once, and taken back if
    # another producer was faster.
    told = publish(queue.connection, settings, Event.QUEUED, job_id, path, output)
    retry = Retry(len(settings.retry_delays), list(settings.retry_delays))
    try:
        return queue.enqueue_call(
            FUNCTION,
            args=(path, output),
            job_id=job_id,
            unique=True,
            timeout=settings.job_timeout(size),
            result_ttl=settings.result_ttl,
            failure_ttl=settings.failure_ttl,
            retry=retry,
            description=f"select {path}",
            meta={"state": "queued", "path": path, "output": output, "bytes_total": size},
        )
    except DuplicateJobError:
        queue.connection.xdel(STREAM, told)
        return None


def _existing(
    queue: Queue, job_id: str, final: str, path: str, output: str | None, settings: Settings
) -> Job | None:
    """The job of that id, enqueued again if it is over without an output; None if it is gone.

    Gone is also what has the job's key and is not a job that can be read: it is deleted.
    """
    job = fetch(queue, job_id)
    if job is None or job.unreadable:
        queue.remove(job_id)
        queue.connection.delete(Job.key_for(job_id))
        return None
    status = job.get_status(refresh=False)
    if status in _OVER:
        if files_of(job) != (path, output):
            # Written for the other kind of worker, or by someone else.
            job.delete()
            return None
        with suppress(InvalidJobOperation):  # another producer was faster
            return requeue(job, settings)
    elif status is JobStatus.FINISHED and not os.path.exists(final):
        job.delete()
        return None
    elif is_stale(queue, job_id) and put_back(queue, job_id):
        record_put_back(job, "nothing owned it", settings)
    return job


def requeue(job: Job, settings: Settings) -> Job:
    """Enqueue a failed job again, with all its tries.

    Raises:
        InvalidJobOperation: it has not failed, or is enqueued again already.
    """
    job.retries_left = len(settings.retry_delays)
    job.retry_intervals = list(settings.retry_delays)
    job.started_at = job.ended_at = None
    path, output = files_of(job)
    queue = Queue(job.origin, connection=job.connection, serializer=job.serializer)
    with job.connection.pipeline() as pipeline:
        try:
            # Not RQ's own way, which asks the registry: it may have been lost.
            pipeline.watch(job.key)
            status: Any = pipeline.hget(job.key, "status")
            if status is None or status.decode() not in _OVER:
                raise InvalidJobOperation("it is not a failed job")
            pipeline.multi()
            queue.failed_job_registry.remove(job.id, pipeline=pipeline)
            queue.canceled_job_registry.remove(job.id, pipeline=pipeline)
            queue._enqueue_job(job, pipeline=pipeline)
            publish(pipeline, settings, Event.QUEUED, job.id, path, output)
            pipeline.execute()
        except WatchError:
            raise InvalidJobOperation("another producer was faster") from None
    return job
