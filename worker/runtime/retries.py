"""Which failures are tried again, and when (RQ's own retries, set from inside the job)."""

from __future__ import annotations

import os
from contextlib import suppress

from rq import Queue
from rq.job import Job
from rq.scheduler import RQScheduler
from rq.timeouts import JobTimeoutException

from selection import SelectionError
from worker.settings import Settings


class WorkerKilledError(Exception):
    """The process that ran the job was killed, or its machine went away."""


class JobRefusedError(Exception):
    """The worker does not run the job: it is not one of this project's, or cannot be read."""


def give_policy(job: Job, settings: Settings) -> None:
    """Give a job that was enqueued without retries or lifetimes those of the settings.

    It must be saved with the job before the work begins, so that a worker that finds the
    job abandoned knows it, too.
    """
    if job.result_ttl is None:
        job.result_ttl = settings.result_ttl
    if job.failure_ttl is None:
        job.failure_ttl = settings.failure_ttl
    if job.retries_left is None:
        job.retries_left = len(settings.retry_delays)
    if job.retries_left and not job.retry_intervals:
        job.retry_intervals = list(settings.retry_delays)


def give_timeout(job: Job, path: str, settings: Settings) -> None:
    """Give a job that was enqueued without a timeout that of the settings.

    RQ gives each of them 180 seconds, so one that a producer gave on purpose is replaced, too.
    """
    if job.timeout in (None, Queue.DEFAULT_TIMEOUT):
        size = 0
        with suppress(OSError, ValueError):
            size = os.stat(path).st_size
        job.timeout = settings.job_timeout(size)


_PASSING = (OSError, MemoryError, JobTimeoutException, WorkerKilledError)


def may_help(error: BaseException) -> bool:
    """Whether another try of the same job can end better."""
    if isinstance(error, SelectionError):
        return error.retryable
    return isinstance(error, _PASSING)


def forbid(job: Job) -> None:
    """Let the job's failure be final."""
    job.retries_left = 0


def hand_back(job: Job) -> None:
    """Let the job go to the front of the queue at once, without using up a try."""
    job.retries_left = (job.retries_left or 0) + 1
    job.retry_intervals = None
    job.enqueue_at_front_on_retry = True


def delay(job: Job) -> int | None:
    """Seconds until the job's next try; None if it has none left.

    Without a live scheduler a delayed job is never enqueued, so the delay is removed.
    """
    if not job.retries_left:
        return None
    if not job.connection.exists(RQScheduler.get_locking_key(job.origin)):
        job.retry_intervals = None
    return job.get_retry_interval()
