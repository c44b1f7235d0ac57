"""A running job's state in Redis, written so that it never holds up or fails the job."""

from __future__ import annotations

import inspect
import threading
from types import TracebackType
from typing import Any

from redis import ConnectionPool, Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry
from rq.connections import parse_connection
from rq.job import Job

from selection import Progress, SelectionError, Summary
from worker import retries
from worker.events import Event, count, finished_amounts, publish, timestamp
from worker.logs import log_failure, log_finish, log_start
from worker.settings import Settings

_SECONDS_FOR_ONE_WRITE = 2.0
_SECONDS_AFTER_A_FAILED_WRITE = 5.0


def error_as_dict(error: BaseException) -> dict[str, Any]:
    """A failure as plain data: what it is, where, and whether another try may help."""
    if isinstance(error, SelectionError):
        facts = error.as_dict()
    else:
        facts = {"type": type(error).__name__, "message": str(error)}
    return {**facts, "retryable": retries.may_help(error)}


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


def tell_failure(job: Job, error: BaseException, retry_in: int | None, settings: Settings) -> None:
    """Tell Redis and the log that a run failed; the next try is in ``retry_in`` seconds."""
    facts = error_as_dict(error)
    job.meta |= {"error": facts, "retry_in": retry_in}
    log_failure(job.id, batch_of(job)[0], facts, retry_in)
    if retry_in is None:
        amounts = {"jobs:failed": 1, f"failures:{facts['type']}": 1}
        _tell(job, settings, Event.FAILED, amounts, error=facts)
    else:
        amounts = {"jobs:retried": 1, f"retries:{facts['type']}": 1}
        _tell(job, settings, Event.RETRYING, amounts, error=facts, delay=str(retry_in))


def _tell(
    job: Job, settings: Settings, event: Event, amounts: dict[str, int], **fields: Any
) -> None:
    job.meta |= {"state": event.value, "updated_at": timestamp()}
    path, output = batch_of(job)
    worker = job.worker_name or ""
    try:
        with job.connection.pipeline() as pipeline:
            job.save(pipeline, include_result=False)
            publish(pipeline, settings, event, job.id, path, output, worker=worker, **fields)
            count(pipeline, amounts)
            pipeline.execute()
    except RedisError as error:
        log_failure(job.id, path, error_as_dict(error), None, "not told to Redis")


class Report:
    """Tells Redis and the log what one run of a job does.

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
        earlier = job.meta.get("attempt")
        # Whoever enqueued the job may have put something of their own there.
        others = {name: job.meta[name] for name in job.meta if name not in ("error", "retry_in")}
        job.meta = others | {
            "state": Event.STARTED.value,
            "path": path,
            "output": output,
            "bytes_done": 0,
            "bytes_total": None,
            "articles": 0,
            "picks": {},
            "attempt": earlier + 1 if isinstance(earlier, int) else 1,
            "started_at": timestamp(),
            "updated_at": timestamp(),
            "worker": job.worker_name,
        }

    def __enter__(self) -> Report:
        log_start(self._job.id, self._job.meta["path"], self._job.meta["attempt"])
        self._tell(Event.STARTED, {})
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
        log_finish(self._job.id, summary)
        self._tell(Event.FINISHED, finished_amounts(facts), summary=facts)

    def failed(self, error: BaseException, retry_in: int | None) -> None:
        """Nothing was written; another try comes in ``retry_in`` seconds, or never."""
        self._stop()
        tell_failure(self._job, error, retry_in, self._settings)

    def handed_back(self) -> None:
        """The worker must stop; the job goes back to the queue."""
        self._stop()
        self._tell(Event.HANDED_BACK, {"jobs:handed_back": 1})

    def _tell(self, event: Event, amounts: dict[str, int], **fields: Any) -> None:
        _tell(self._job, self._settings, event, amounts, **fields)

    def _stop(self) -> None:
        if not self._done.is_set():
            self._done.set()
            if self._thread.is_alive():
                self._thread.join()

    def _write_progress(self) -> None:
        connection = _impatient(self._job.connection)
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


def _impatient(connection: Redis) -> Redis:
    """The same server over a connection that gives up at once."""
    client, pooled, options = parse_connection(connection)
    limits = {
        "socket_timeout": _SECONDS_FOR_ONE_WRITE,
        "socket_connect_timeout": _SECONDS_FOR_ONE_WRITE,
        "retry": Retry(NoBackoff(), 0),
    }
    pool = ConnectionPool(connection_class=pooled, **{**options, **limits})
    return client(connection_pool=pool)
