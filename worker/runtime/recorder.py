"""Record the state of a running job in Redis and in the log.

A write that fails never fails the job, and progress never delays it.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any

from redis.exceptions import RedisError
from rq.job import Job

from selection import Progress, SelectionError, Summary
from worker import log_format
from worker.connections import fail_fast_connection
from worker.runtime import retries
from worker.settings import Settings
from worker.state.events import Event, Outcome, count, finished_amounts, publish, timestamp
from worker.state.job_call import JobCall
from worker.state.job_state import JobMeta, JobState, update_meta

_SECONDS_AFTER_A_FAILED_WRITE = 5.0


def error_as_dict(error: BaseException) -> dict[str, Any]:
    """Return a failure as plain data: ``type``, ``message``, the place, and ``retryable``."""
    if isinstance(error, SelectionError):
        found = error.as_dict()
    else:
        kind = type(error).__name__
        found = {"type": kind, "message": str(error) or _WITHOUT_MESSAGE.get(kind, kind)}
    return {**found, "retryable": retries.is_retryable(error)}


# Python raises it without a message.
_WITHOUT_MESSAGE = {
    "MemoryError": "the process ran out of memory; give the worker more, or the batch fewer "
    "and smaller articles"
}


def record_failure(
    job: Job, error: BaseException, retry_in: int | None, settings: Settings
) -> None:
    """Record that a run failed, in Redis and in the log.

    Args:
        job, settings: the job, and where it is recorded.
        error: why the run failed.
        retry_in: seconds until the next run; None if there is none.
    """
    found = error_as_dict(error)
    if isinstance(error, retries.JobRefusedError):
        log_format.log_refusal(job.id, found["message"])
    else:
        log_format.log_failure(job.id, call_of(job).path, found, retry_in)
    kind, is_final = found["type"], retry_in is None
    amounts = (
        {Outcome.FAILED.counter: 1, f"failures:{kind}": 1}
        if is_final
        else {Outcome.RETRIED.counter: 1, f"retries:{kind}": 1}
    )
    event = _event(job, JobState.FAILED if is_final else JobState.RETRYING, found, retry_in)
    _record(job, settings, event, amounts, error=found, retry_in=retry_in)


def record_stop(job: Job, settings: Settings) -> None:
    """Record that a running job was stopped on request."""
    log_format.log_stop(job.id, call_of(job).path)
    _record(job, settings, _event(job, JobState.STOPPED), {Outcome.STOPPED.counter: 1})


def record_requeue(job: Job, reason: str, settings: Settings) -> None:
    """Record that a job without a live worker was enqueued again."""
    log_format.log_requeue(job.id, reason)
    call = call_of(job)
    event = Event(JobState.QUEUED, job.id, call.path, call.output)
    publish(job.connection, settings, event)


def call_of(job: Job) -> JobCall:
    """Return the path and the output of a job; without a path if they are malformed."""
    try:
        call = JobCall.bind(job.args, job.kwargs)
    except Exception:  # of whatever kind the serializer raises
        return JobCall("")
    path, output = call.path, call.output
    return JobCall(
        path if isinstance(path, str) else "", output if isinstance(output, str) else None
    )


def _event(
    job: Job,
    state: JobState,
    error: dict[str, Any] | None = None,
    delay: int | None = None,
    summary: dict[str, Any] | None = None,
) -> Event:
    call = call_of(job)
    return Event(
        state,
        job.id,
        call.path,
        call.output,
        worker=job.worker_name or "",
        summary=summary,
        error=error,
        delay=delay,
    )


def _record(
    job: Job, settings: Settings, event: Event, amounts: dict[str, int], **changes: Any
) -> None:
    """Save a new state with the job, publish it and count it, in one transaction."""
    job.meta = update_meta(job.meta, state=event.event, updated_at=event.at, **changes)
    try:
        with job.connection.pipeline() as pipeline:
            job.save(pipeline, include_result=False)
            publish(pipeline, settings, event)
            count(pipeline, amounts)
            pipeline.execute()
    except RedisError as error:
        found = error_as_dict(error)
        log_format.log_failure(job.id, event.path, found, None, "not recorded in Redis")


class Recorder:
    """Record one run of a job, in ``job.meta``, as events, in the counters and in the log.

    A thread writes the progress, over a connection of its own: a server that is slow or away
    does not delay the selection.
    """

    def __init__(self, job: Job, settings: Settings) -> None:
        self._job = job
        self._settings = settings
        self._call = JobCall.bind(job.args, job.kwargs)
        self._progress: Progress | None = None
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._write_progress, daemon=True)
        if getattr(job, "_unreadable_meta", None) is not None:
            job.meta = {}  # RQ has put a placeholder there
        self._attempt = JobMeta.from_meta(job.meta).attempt + 1

    def __enter__(self) -> Recorder:
        log_format.log_start(self._job.id, self._call.path, self._attempt)
        _record(
            self._job,
            self._settings,
            _event(self._job, JobState.STARTED),
            {},
            path=self._call.path,
            output=self._call.output,
            bytes_done=0,
            bytes_total=None,
            articles=0,
            picks={},
            attempt=self._attempt,
            started_at=timestamp(),
            worker=self._job.worker_name,
            error=None,
            retry_in=None,
        )
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def progress(self, now: Progress) -> None:
        """Note the progress; the thread writes it at its next interval."""
        self._progress = now

    def finished(self, summary: Summary) -> None:
        """Record that the output is complete."""
        self._stop()
        found = summary.as_dict()
        log_format.log_finish(self._job.id, summary)
        _record(
            self._job,
            self._settings,
            _event(self._job, JobState.FINISHED, summary=found),
            finished_amounts(found),
            bytes_done=summary.bytes,
            bytes_total=summary.bytes,
            articles=summary.articles,
            picks=found["picks"],
        )

    def failed(self, error: BaseException, retry_in: int | None) -> None:
        """Record a failure; the next run is in ``retry_in`` seconds, None if there is none."""
        self._stop()
        record_failure(self._job, error, retry_in, self._settings)

    def requeued(self) -> None:
        """Record that a graceful shutdown requeued the job."""
        self._stop()
        log_format.log_requeue(self._job.id, "its worker is shut down", self._call.path)
        event = _event(self._job, JobState.HANDED_BACK)
        _record(self._job, self._settings, event, {Outcome.HANDED_BACK.counter: 1})

    def _stop(self) -> None:
        if not self._done.is_set():
            self._done.set()
            if self._thread.is_alive():
                self._thread.join()

    def _write_progress(self) -> None:
        connection = fail_fast_connection(self._job.connection)
        written = None
        pause = self._settings.status_interval
        while not self._done.wait(pause):
            pause = self._settings.status_interval
            now = self._progress
            if now is None or now is written:
                continue
            meta = update_meta(
                self._job.meta,
                bytes_done=now.bytes_done,
                bytes_total=now.bytes_total,
                articles=now.articles,
                picks=dict(now.picks),
                updated_at=timestamp(),
            )
            try:
                connection.hset(self._job.key, "meta", self._job.serializer.dumps(meta))
                written = now
            except RedisError:
                pause = _SECONDS_AFTER_A_FAILED_WRITE
        connection.close()
