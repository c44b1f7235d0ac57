"""The retry policy: which failures are retryable, and when the next run is (RQ's retries)."""

from __future__ import annotations

from rq import Queue
from rq.job import Job
from rq.scheduler import RQScheduler
from rq.timeouts import JobTimeoutException

from selection import SelectionError
from selection.batch import decompressed_size, stored_size
from worker.settings import Settings


class WorkerKilledError(Exception):
    """The process that ran the job was killed, or its machine failed."""


class JobRefusedError(Exception):
    """The worker refuses the job: it is not one of this project, or cannot be read."""


def set_retry_policy(job: Job, settings: Settings) -> None:
    """Set the retries and lifetimes of the settings for a job that has none.

    They must be saved with the job before the work begins, so that a worker that finds the
    job abandoned has them, too.
    """
    if job.result_ttl is None:
        job.result_ttl = settings.result_ttl
    if job.failure_ttl is None:
        job.failure_ttl = settings.failure_ttl
    if job.retries_left is None:
        job.retries_left = len(settings.retry_delays)
    if job.retries_left and not job.retry_intervals:
        job.retry_intervals = list(settings.retry_delays)


def set_timeout(job: Job, path: str, settings: Settings) -> None:
    """Set the timeout of the settings for a job that has none.

    RQ writes 180 seconds into such a job, so a producer's own 180 seconds are replaced, too.
    """
    if job.timeout in (None, Queue.DEFAULT_TIMEOUT):
        size = decompressed_size(path, stored_size(path, settings.roots))
        job.timeout = settings.job_timeout(size)


_TRANSIENT = (OSError, MemoryError, JobTimeoutException, WorkerKilledError)


def is_retryable(error: BaseException) -> bool:
    """Return True if another run of the same job can succeed."""
    if isinstance(error, SelectionError):
        return error.retryable
    return isinstance(error, _TRANSIENT)


def make_final(job: Job) -> None:
    """Remove the retries that the job has left."""
    job.retries_left = 0


def requeue_at_front(job: Job) -> None:
    """Let RQ requeue the job at the front of the queue at once, without using up a try."""
    job.retries_left = (job.retries_left or 0) + 1
    job.retry_intervals = None
    job.enqueue_at_front_on_retry = True


def next_delay(job: Job) -> int | None:
    """Return the seconds until the job's next run; None if it has no retries left.

    Without a live scheduler a delayed job is never enqueued, so the delay is removed.
    """
    if not job.retries_left:
        return None
    if not job.connection.exists(RQScheduler.get_locking_key(job.origin)):
        job.retry_intervals = None
    return job.get_retry_interval()
