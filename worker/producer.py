"""Enqueue batches: checked first, once per file, with a timeout, a retry policy and lifetimes."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress

from redis import Redis
from rq import Queue, Retry
from rq.exceptions import DuplicateJobError, InvalidJobOperation, NoSuchJobError
from rq.job import Job, JobStatus

from selection.batch import check_files
from worker.events import STREAM, Event, publish
from worker.report import batch_of
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
    batch, target = _absolute(path), None if output is None else _absolute(output)
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


def _absolute(path: str | os.PathLike[str]) -> str:
    name = os.path.join(os.getcwd(), path)
    parts = name.split("/")
    if ".." in parts or parts[-1] in ("", "."):
        # Shortened, it could be another file: of link/../a.json, missing/../a.json, a.json/.
        return name
    return os.path.abspath(name)


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
    """The job of that id, enqueued again if it is over without an output; None if it is gone."""
    try:
        job = Job.fetch(job_id, connection=queue.connection, serializer=queue.serializer)
    except NoSuchJobError:
        return None
    status = job.get_status(refresh=False)
    if status in _OVER:
        with suppress(InvalidJobOperation):  # another producer was faster
            return requeue(job, settings)
    elif status is JobStatus.FINISHED and not os.path.exists(final):
        job.delete()
        return None
    return job


def requeue(job: Job, settings: Settings) -> Job:
    """Enqueue a failed job again, with all its tries.

    Raises:
        InvalidJobOperation: it is not among the failed ones (any more).
    """
    job.retries_left = len(settings.retry_delays)
    job.retry_intervals = list(settings.retry_delays)
    path, output = batch_of(job)
    again: Job = job.requeue()
    publish(job.connection, settings, Event.QUEUED, job.id, path, output)
    return again
