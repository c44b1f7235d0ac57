"""What Redis knows about batches: one job, or the whole queue at a glance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from redis import Redis
from rq import Queue, Worker
from rq.job import Job, JobStatus
from rq.registry import BaseRegistry

from worker.settings import SAFE_WORKER, Settings

# RQ schedules a job for one reason here: its next try.
_STATE = {JobStatus.SCHEDULED: "retrying"}

_MISSED_HEARTBEATS = 3

ENDED = ("finished", "failed", "stopped", "canceled", "gone")


@dataclass(frozen=True, slots=True)
class Batch:
    """One job as it is now.

    Attributes:
        job: its id.
        state: ``queued``, ``started``, ``retrying``, ``finished``, ``failed``, ``stopped``,
            ``canceled``, or ``gone`` when Redis has no such job (any more).
        path, output: as enqueued.
        bytes_done, bytes_total, articles, picks: how far it is.
        attempt: which run of the job this is or was, from 1; 0 before the first.
        worker: who runs or ran it.
        enqueued_at, started_at, ended_at, updated_at: ISO 8601 in UTC, or None.
        error: of the last run that failed: ``type``, ``message``, the place, ``retryable``.
        retry_in: seconds between that failure and the next try; None if there is none.
        summary: the job's result, once it is finished.
    """

    job: str
    state: str
    path: str | None = None
    output: str | None = None
    bytes_done: int = 0
    bytes_total: int | None = None
    articles: int = 0
    picks: dict[str, int] | None = None
    attempt: int = 0
    worker: str | None = None
    enqueued_at: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    updated_at: str | None = None
    error: dict[str, Any] | None = None
    retry_in: int | None = None
    summary: dict[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data, ready for JSON."""
        return asdict(self)

    @property
    def seconds(self) -> float:
        """How long the current run has been going on; 0 if none is."""
        if self.state != "started" or self.started_at is None:
            return 0.0
        began = datetime.fromisoformat(self.started_at)
        return (datetime.now(UTC) - began).total_seconds()


def read_batches(connection: Redis, settings: Settings, ids: Iterable[str]) -> list[Batch]:
    """The jobs with these ids, in that order."""
    ids = list(ids)
    jobs = Job.fetch_many(ids, connection=connection, serializer=settings.serializer)
    return [_batch(job) if job else Batch(name, "gone") for name, job in zip(ids, jobs)]


def _batch(job: Job) -> Batch:
    status = job.get_status(refresh=False)
    meta = job.meta
    facts = {name: meta[name] for name in _FROM_META if meta.get(name) is not None}
    failed = status in (JobStatus.FAILED, JobStatus.SCHEDULED)
    result = job.latest_result() if status in (JobStatus.FINISHED, JobStatus.FAILED) else None
    if status is JobStatus.FAILED and "error" not in facts and result is not None:
        # The process that ran it could tell nothing; RQ's own words are left.
        facts["error"] = _from_traceback(result.exc_string or "")
    if not failed:
        facts.pop("error", None)
        facts.pop("retry_in", None)
    return Batch(
        job=job.id,
        state=_STATE.get(status, status.value),
        enqueued_at=_iso(job.enqueued_at),
        ended_at=_iso(job.ended_at),
        summary=result.return_value if result and status is JobStatus.FINISHED else None,
        **facts,
    )


_FROM_META = (
    "path",
    "output",
    "bytes_done",
    "bytes_total",
    "articles",
    "picks",
    "attempt",
    "worker",
    "started_at",
    "updated_at",
    "error",
    "retry_in",
)


def _from_traceback(text: str) -> dict[str, Any]:
    last = text.strip().rpartition("\n")[2]
    kind, _, message = last.partition(": ")
    return {"type": kind.rpartition(".")[2], "message": message or last, "retryable": True}


def _iso(when: datetime | None) -> str | None:
    if when is None:
        return None
    return when.replace(tzinfo=when.tzinfo or UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True, slots=True)
class Member:
    """One worker of the queue: its name, host, process there, state and the job that it runs."""

    name: str
    host: str
    pid: int
    state: str
    job: str | None


@dataclass(frozen=True, slots=True)
class Fleet:
    """The queue as it is now.

    Attributes:
        depth: jobs waiting.
        oldest_seconds: how long the first of them has been waiting; 0 without any.
        workers: who listens to the queue.
        running, retrying: all of them.
        finished, failed: the last ones, newest first, and how many there are in all.
    """

    depth: int
    oldest_seconds: float
    workers: list[Member]
    running: list[Batch]
    retrying: list[Batch]
    finished: list[Batch]
    finished_total: int
    failed: list[Batch]
    failed_total: int


def read_fleet(connection: Redis, settings: Settings, last: int = 5) -> Fleet:
    """Look at the queue, its workers and its registries; ``last``: how many ended jobs."""
    queue = open_queue(connection, settings)

    def batches(ids: Iterable[str]) -> list[Batch]:
        return [b for b in read_batches(connection, settings, ids) if b.state != "gone"]

    def newest(registry: BaseRegistry) -> list[Batch]:
        return batches(registry.get_job_ids(0, last - 1, desc=True, cleanup=False))

    return Fleet(
        depth=queue.count,
        oldest_seconds=oldest_seconds(queue),
        workers=read_workers(queue, settings),
        running=batches(queue.started_job_registry.get_job_ids(cleanup=False)),
        retrying=batches(queue.scheduled_job_registry.get_job_ids(cleanup=False)),
        finished=newest(queue.finished_job_registry),
        finished_total=queue.finished_job_registry.get_job_count(cleanup=False),
        failed=newest(queue.failed_job_registry),
        failed_total=queue.failed_job_registry.get_job_count(cleanup=False),
    )


def open_queue(connection: Redis, settings: Settings) -> Queue:
    """The queue of the settings."""
    return Queue(settings.queue, connection=connection, serializer=settings.serializer)


def oldest_seconds(queue: Queue) -> float:
    """How long the first job of the queue has been waiting; 0 if none is."""
    for job in queue.get_jobs(0, 1):
        if job.enqueued_at is not None:
            return (datetime.now(UTC) - job.enqueued_at.replace(tzinfo=UTC)).total_seconds()
    return 0.0


def read_workers(queue: Queue, settings: Settings) -> list[Member]:
    """The workers that listen to the queue and have given a sign of life lately.

    A SelectionWorker gives one every ``heartbeat`` seconds, with a job and without; one that
    missed three is dead, though RQ keeps its registration for minutes. A plain worker is
    silent for as long as RQ keeps it, so there RQ's word has to do.
    """
    limit = _MISSED_HEARTBEATS * settings.heartbeat + 1
    now = datetime.now(UTC)
    return [
        Member(
            worker.name,
            worker.hostname or "?",
            worker.pid or 0,
            worker.get_state(),
            worker.get_current_job_id(),
        )
        for worker in Worker.all(queue=queue, serializer=queue.serializer)
        if worker.last_heartbeat is not None
        and (
            settings.worker_class != SAFE_WORKER
            or (now - worker.last_heartbeat.replace(tzinfo=UTC)).total_seconds() < limit
        )
    ]


def all_ids(queue: Queue) -> list[str]:
    """The ids of all jobs that Redis keeps for the queue: waiting, running, over."""
    registries = (
        queue.started_job_registry,
        queue.scheduled_job_registry,
        queue.failed_job_registry,
        queue.finished_job_registry,
    )
    ids = list(queue.get_job_ids())
    for registry in registries:
        ids += registry.get_job_ids(cleanup=False)
    return list(dict.fromkeys(ids))
