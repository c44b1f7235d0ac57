"""Enqueue batches: checked first, once per file, with a timeout, a retry policy and lifetimes."""

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

from selection.batch import check_files, size_of
from selection.storage.names import is_address
from selection.storage.opening import exists
from worker.settings import Settings
from worker.state.events import STREAM, Event, publish
from worker.state.job_state import ENDED, JobState, State
from worker.state.records import FUNCTION as FUNCTION
from worker.state.records import Record, read_records
from worker.state.serialized import Form
from worker.state.status import forget, is_listed, open_queue

_RETRIED = (State.FAILED, State.STOPPED, State.CANCELED)
_WAITING = (State.QUEUED, State.SCHEDULED, State.DEFERRED)

# A worker takes a job and notes it as started within milliseconds.
_SECONDS_UNLISTED = 60


class RequeueError(Exception):
    """A job that cannot be enqueued again; the message says why."""


def enqueue(
    path: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    connection: Redis | None = None,
    settings: Settings | None = None,
    force: bool = False,
) -> Job:
    """Enqueue one batch, unless it is enqueued already.

    The job's id comes from the file's real path, size and modification time, or from an
    object's address, ETag, size and version, and from the output's path: the same file is one
    job as long as Redis keeps it, a changed file is a new one. A job that failed is enqueued
    again; so is one that finished and whose output is gone, one that waits in a form that the
    workers of these settings cannot read, and one that no list of the queue has any more.

    Args:
        path: the batch, a file or the address of an object. It must be readable here under the
            name that the workers use.
        output: where to write; by default ``<name>_selected.json`` beside the batch.
        connection: the server; by default the one of the settings.
        settings: by default those of the environment.
        force: enqueue a finished job again, too, though its file looks unchanged.

    Returns:
        The job, new or not.

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
            forget(queue.connection, settings, record)


def _absolute(path: str | os.PathLike[str]) -> str:
    if is_address(os.fspath(path)):
        return os.fspath(path)
    name = os.path.join(os.getcwd(), path)
    parts = name.split("/")
    if ".." in parts or parts[-1] in ("", "."):
        # Shortened, it could be another file: of link/../a.json, missing/../a.json, a.json/.
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
    """Enqueue a job and return it; None if there is one of that id."""
    # Published before it is enqueued, because a worker may start it at once, and removed if
    # another producer was faster.
    event = publish(queue.connection, settings, Event.QUEUED, job_id, path, output)
    state = JobState(state=State.QUEUED, path=path, output=output, bytes_total=size)
    try:
        return queue.enqueue_call(
            FUNCTION,
            args=(path, output),
            job_id=job_id,
            unique=True,
            timeout=settings.job_timeout(size),
            result_ttl=settings.result_ttl,
            failure_ttl=settings.failure_ttl,
            retry=Retry(len(settings.retry_delays), list(settings.retry_delays)),
            description=f"select {path}",
            meta=dict(extra or {}) | state.as_meta(),
        )
    except DuplicateJobError:
        queue.connection.xdel(STREAM, event)
        return None


def _is_due(queue: Queue, record: Record, final: str, settings: Settings) -> bool:
    """Whether the job must be enqueued again to end well."""
    if record.state in _RETRIED:
        return True
    if record.state is State.FINISHED:
        return not exists(final)
    wanted = Form.JSON if settings.is_safe else Form.PICKLE
    if record.state in _WAITING and record.payload.form is not wanted:
        return True
    if record.state not in (State.QUEUED, State.STARTED):
        return False
    changed = datetime.fromisoformat(record.changed_at) if record.changed_at else None
    is_recent = changed and (datetime.now(UTC) - changed).total_seconds() < _SECONDS_UNLISTED
    return not is_recent and not is_listed(queue.connection, settings, record.job)


def requeue(connection: Redis, settings: Settings, job_id: str) -> None:
    """Enqueue a failed, stopped or canceled job again, with all its tries.

    It is written anew from its path and output, in the form of these settings.

    Raises:
        RequeueError: it is not such a job, or not one of this project.
    """
    record = next(read_records(connection, [job_id]), None)
    if record is None or record.state not in _RETRIED:
        raise RequeueError("not a failed job")
    path, output = record.payload.path, record.payload.output
    if not record.payload.is_ours or path is None:
        raise RequeueError("its payload is not one of this project; enqueue its file")
    # The batch can exist for the workers only.
    size = size_of(path) or record.meta.bytes_total or 0
    try:
        forget(connection, settings, record)
    except WatchError:
        raise RequeueError("not a failed job any more") from None
    _new(open_queue(connection, settings), job_id, path, output, size, settings, record.extra)
