"""A running job's state in Redis, written so that it never holds up or fails the job."""

from __future__ import annotations

import inspect
import threading
from types import TracebackType
from typing import Any

from redis.exceptions import RedisError
from rq.job import Job

from selection import Progress, SelectionError, Summary
from worker import log_format
from worker.connections import impatient
from worker.runtime import retries
from worker.settings import Settings
from worker.state.events import Event, count, finished_amounts, publish, timestamp
from worker.state.job_state import JobState

_SECONDS_AFTER_A_FAILED_WRITE = 5.0


def error_as_dict(error: BaseException) -> dict[str, Any]:
    """A failure as plain data: what it is, where, and whether another try may help."""
    if isinstance(error, SelectionError):
        facts = error.as_dict()
    else:
        kind = type(error).__name__
        facts = {"type": kind, "message": str(error) or _WITHOUT_MESSAGE.get(kind, kind)}
    return {**facts, "retryable": retries.may_help(error)}


# Python raises it without one.
_WITHOUT_MESSAGE = {
    "MemoryError": "the process ran out of memory; give the worker more, or the batch fewer "
    "and smaller articles"
}


def batch_of(job: Job) -> tuple[str, str | None]:
    """The path and the output that a job was enqueued with."""
    bound = _SIGNATURE.bind(*job.args, **job.kwargs).arguments
    return bound["path"], bound.get("output")


_SIGNATURE = inspect.Signature(
    [
        inspect.Parameter("path", inspect.Parameter.POSITIONAL_OR_KEYWORD),
        inspect.Parameter("output", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None),
    ]
)


def record_failure(
    job: Job, error: BaseException, retry_in: int | None, settings: Settings
) -> None:
    """Record that a run failed, in Redis and in the log; the next is in ``retry_in`` seconds."""
    facts = error_as_dict(error)
    job.meta |= {"error": facts, "retry_in": retry_in}
    if isinstance(error, retries.JobRefusedError):
        log_format.log_refusal(job.id, facts["message"])
    else:
        log_format.log_failure(job.id, files_of(job)[0], facts, retry_in)
    if retry_in is None:
        amounts = {"jobs:failed": 1, f"failures:{facts['type']}": 1}
        _record(job, settings, Event.FAILED, amounts, error=facts)
    else:
        amounts = {"jobs:retried": 1, f"retries:{facts['type']}": 1}
        _record(job, settings, Event.RETRYING, amounts, error=facts, delay=str(retry_in))


def record_stop(job: Job, settings: Settings) -> None:
    """Record that a running job was stopped on request."""
    log_format.log_stop(job.id, files_of(job)[0])
    _record(job, settings, Event.STOPPED, {"jobs:stopped": 1})


def record_put_back(job: Job, reason: str, settings: Settings) -> None:
    """Record that a job that no live worker had is in the queue again."""
    log_format.log_put_back(job.id, reason)
    publish(job.connection, settings, Event.QUEUED, job.id, *files_of(job))


def files_of(job: Job) -> tuple[str, str | None]:
    """As :func:`batch_of`, but without a path where the arguments are malformed."""
    try:
        path, output = batch_of(job)
    except Exception:  # of whatever kind the serializer raises
        return "", None
    is_output = isinstance(output, str)
    return path if isinstance(path, str) else "", output if is_output else None


def _record(
    job: Job, settings: Settings, event: Event, amounts: dict[str, int], **fields: Any
) -> None:
    job.meta |= {"state": event.value, "updated_at": timestamp()}
    path, output = files_of(job)
    worker = job.worker_name or ""
    try:
        with job.connection.pipeline() as pipeline:
            job.save(pipeline, include_result=False)
            publish(pipeline, settings, event, job.id, path, output, worker=worker, **fields)
            count(pipeline, amounts)
            pipeline.execute()
    except RedisError as error:
        log_format.log_failure(job.id, path, error_as_dict(error), None, "not recorded in Redis")


class Report:
    """Records in Redis and in the log what one run of a job does.

    The job's ``meta`` has ``state`` (``started``, ``finished``, ``failed``, ``retrying``,
    ``handed_back``), ``path``, ``output``, ``bytes_done``, ``bytes_total``, ``articles``,
    ``picks``, ``attempt``, ``started_at``, ``updated_at``, ``worker``, and after a failure
    ``error`` as :func:`error_as_dict` gives it and ``retry_in`` (seconds or None).

    Progress is written by a thread, over a connection of its own: a server that is slow or
    gone costs the selection nothing.
    """

    def __init__(self, job: Job, settings: Settings) -> None:
        self._job = job
        self._settings = settings
        self._progress: Progress | None = None
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._write_progress, daemon=True)
        path, output = batch_of(job)
        unread = getattr(job, "_unreadable_meta", None) is not None
        # A producer may have put something of its own there, and RQ puts a placeholder there
        # for what it cannot read.
        meta = job.meta if isinstance(job.meta, dict) and not unread else {}
        others = {name: meta[name] for name in meta if name not in ("error", "retry_in")}
        job.meta = others | {
            "state": Event.STARTED.value,
            "path": path,
            "output": output,
            "bytes_done": 0,
            "bytes_total": None,
            "articles": 0,
            "picks": {},
            "attempt": JobState.from_meta(meta).attempt + 1,
            "started_at": timestamp(),
            "updated_at": timestamp(),
            "worker": job.worker_name,
        }

    def __enter__(self) -> Report:
        log_format.log_start(self._job.id, self._job.meta["path"], self._job.meta["attempt"])
        self._record(Event.STARTED, {})
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
        """Note how far the selection is; it is written when it is time."""
        self._progress = now

    def finished(self, summary: Summary) -> None:
        """The output is in place."""
        self._stop()
        facts = summary.as_dict()
        self._job.meta |= {
            "bytes_done": summary.bytes,
            "bytes_total": summary.bytes,
            "articles": summary.articles,
            "picks": facts["picks"],
        }
        log_format.log_finish(self._job.id, summary)
        self._record(Event.FINISHED, finished_amounts(facts), summary=facts)

    def failed(self, error: BaseException, retry_in: int | None) -> None:
        """Nothing was written; another try comes in ``retry_in`` seconds, or never."""
        self._stop()
        record_failure(self._job, error, retry_in, self._settings)

    def handed_back(self) -> None:
        """The worker must stop; the job goes back to the queue."""
        self._stop()
        log_format.log_hand_back(self._job.id, self._job.meta["path"])
        self._record(Event.HANDED_BACK, {"jobs:handed_back": 1})

    def _record(self, event: Event, amounts: dict[str, int], **fields: Any) -> None:
        _record(self._job, self._settings, event, amounts, **fields)

    def _stop(self) -> None:
        if not self._done.is_set():
            self._done.set()
            if self._thread.is_alive():
                self._thread.join()

    def _write_progress(self) -> None:
        connection = impatient(self._job.connection)
        written = None
        pause = self._settings.status_interval
        while not self._done.wait(pause):
            pause = self._settings.status_interval
            now = self._progress
            if now is None or now is written:
                continue
            meta = self._job.meta | {
                "bytes_done": now.bytes_done,
                "bytes_total": now.bytes_total,
                "articles": now.articles,
                "picks": {str(name): amount for name, amount in now.picks.items()},
                "updated_at": timestamp(),
            }
            try:
                connection.hset(self._job.key, "meta", self._job.serializer.dumps(meta))
                written = now
            except RedisError:
                pause = _SECONDS_AFTER_A_FAILED_WRITE
        connection.close()
