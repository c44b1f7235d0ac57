"""Enqueue batches: check the file first, once per file, with a timeout and a retry policy."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from redis import Redis
from redis.exceptions import WatchError
from rq import Queue, Retry
from rq.exceptions import DuplicateJobError
from rq.job import Job

from selection.batch import check_files, decompressed_size, stored_size
from selection.storage.address import is_address
from selection.storage.opening import exists
from worker.settings import Settings
from worker.state.events import STREAM, Event, publish
from worker.state.job_call import FUNCTION
from worker.state.job_state import ENDED, JobState, update_meta
from worker.state.records import Record, read_records
from worker.state.serialized import Form
from worker.state.status import is_listed, open_queue, remove_job

_RETRIED = (JobState.FAILED, JobState.STOPPED, JobState.CANCELED)
_WAITING = (JobState.QUEUED, JobState.SCHEDULED, JobState.DEFERRED)

# A worker takes a job and records it as started within milliseconds.
_SECONDS_UNLISTED = 60


class RequeueError(Exception):
    """The job cannot be enqueued again; the message gives the reason."""


def enqueue(
    path: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    connection: Redis | None = None,
    settings: Settings | None = None,
    force: bool = False,
) -> Job:
    """Enqueue one batch, unless it is enqueued already.

    The job's id is derived from the file's real path, size and modification time, or from an
    object's address, ETag, size and version, and from the output's path: the same file is one
    job as long as Redis keeps it, and a changed file is a new job. A job that failed is
    enqueued again, and so is a finished one whose output does not exist, one in a form that
    the workers of these settings cannot read, and one that no list of the queue has.

    Args:
        path: the batch, a file or the address of an object. It must be readable here under the
            name that the workers use.
        output: where to write; by default ``<name>_selected.json`` beside the batch.
        connection: a client of the server; by default that of the settings.
        settings: by default those of the environment.
        force: enqueue a finished job again, too, even if its file looks unchanged.

    Returns:
        The new or the existing job.

    Raises:
        SelectionError: the input cannot be read, or the output would be the input.
        redis.exceptions.RedisError: the server cannot be reached.
    """
    settings = settings or Settings.from_environment()
    batch, target = _absolute(path), None if output is None else _absolute(output)
    found, size, final = check_files(batch, target, settings.roots)
    queue = open_queue(connection or settings.connect(), settings)
    job_id = _job_id(*found, final if is_address(final) else os.path.realpath(final))
    while True:
        job = _new(queue, job_id, batch, target, size or 0, settings)
        if job is not None:
            return job
        record = next(read_records(queue.connection, [job_id]), None)
        if record is None:
            continue
        if not (force and record.state in ENDED) and not _is_due(queue, record, final, settings):
            return Job(job_id, connection=queue.connection, serializer=queue.serializer)
        with suppress(WatchError):  # another producer or a worker was faster
            remove_job(queue.connection, settings, record)


def _absolute(path: str | os.PathLike[str]) -> str:
    if is_address(os.fspath(path)):
        return os.fspath(path)
    name = os.path.join(os.getcwd(), path)
    parts = name.split("/")
    if ".." in parts or parts[-1] in ("", "."):
        # Normalised, these could be another file: link/../a.json, missing/../a.json, a.json/.
        return name
    return os.path.abspath(name)


def _job_id(*identity_parts: str) -> str:
    identity = "\0".join(identity_parts)
    return f"selection-{hashlib.sha256(os.fsencode(identity)).hexdigest()[:32]}"


def _new(
    queue: Queue,
    job_id: str,
    path: str,
    output: str | None,
    size: int,
    settings: Settings,
    extra: Mapping[str, Any] | None = None,
) -> Job | None:
    """Enqueue a job and return it; None if a job with that id exists."""
    # Published before the job is enqueued, because a worker can start it at once, and removed
    # if another producer was faster.
    event = Event(JobState.QUEUED, job_id, path, output)
    entry = publish(queue.connection, settings, event)
    meta = update_meta(extra, state=event.event, path=path, output=output, bytes_total=size)
    try:
        return queue.enqueue_call(
            FUNCTION,
            args=(path, output),
            job_id=job_id,
            unique=True,
            timeout=settings.job_timeout(decompressed_size(path, size)),
            result_ttl=settings.result_ttl,
            failure_ttl=settings.failure_ttl,
            retry=Retry(len(settings.retry_delays), list(settings.retry_delays)),
            description=f"select {path}",
            meta=meta,
        )
    except DuplicateJobError:
        queue.connection.xdel(STREAM, entry)
        return None


def _is_due(queue: Queue, record: Record, final: str, settings: Settings) -> bool:
    """Return True if the job must be enqueued again to produce its output."""
    if record.state in _RETRIED:
        return True
    if record.state is JobState.FINISHED:
        return not exists(final)
    wanted = Form.JSON if settings.uses_json else Form.PICKLE
    if record.state in _WAITING and record.payload.form is not wanted:
        return True
    if record.state not in (JobState.QUEUED, JobState.STARTED):
        return False
    changed = datetime.fromisoformat(record.changed_at) if record.changed_at else None
    is_recent = changed and (datetime.now(UTC) - changed).total_seconds() < _SECONDS_UNLISTED
    return not is_recent and not is_listed(queue.connection, settings, record.id)


def requeue(connection: Redis, settings: Settings, job_id: str) -> None:
    """Enqueue a failed, stopped or canceled job again, with all its retries.

    A new job is made from its path and output, in the form of these settings.

    Raises:
        RequeueError: it is in another state, or not a job of this project.
    """
    record = next(read_records(connection, [job_id]), None)
    if record is None:
        raise RequeueError("the job does not exist")
    if record.state not in _RETRIED:
        raise RequeueError(f"the job is {record.state}, not failed, stopped or canceled")
    path, output = record.payload.path, record.payload.output
    if not record.payload.is_ours or path is None:
        raise RequeueError("the job is not one of this project; enqueue its file")
    # The batch can exist for the workers only.
    size = stored_size(path, settings.roots) or record.meta.bytes_total or 0
    try:
        remove_job(connection, settings, record)
    except WatchError:
        raise RequeueError("the job has just changed its state; try again") from None
    _new(open_queue(connection, settings), job_id, path, output, size, settings, record.extra)
