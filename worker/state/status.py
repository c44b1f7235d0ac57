"""The state of jobs, of the queue and of its workers, read from the server."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from redis import Redis
from redis.exceptions import WatchError
from rq import Queue
from rq.defaults import RQ_KEY_PREFIX
from rq.executions import WORKER_EXECUTIONS_KEY_TEMPLATE
from rq.suspension import WORKERS_SUSPENDED

from worker.connections import server_time
from worker.settings import Settings
from worker.state.events import STREAM
from worker.state.job_state import ENDED as ENDED
from worker.state.job_state import JobMeta, JobState
from worker.state.records import AT_ONCE, Record, decode_id, job_keys, read_records
from worker.state.registrations import WORKERS_OF_QUEUE, WorkerRegistration, read_registration

# More than any fleet runs at once; a forged registry must not fill the memory.
_MOST_RUNNING = 1_000
# The rate is that of the newest entries of the stream, unless they are older than this.
_EVENTS_FOR_RATE, _SECONDS_FOR_RATE = 400, 600

# RQ's keys for the ids of a queue's jobs by state: lists, and sorted sets for the others.
# A stopped job is in the registry of failed ones.
_QUEUE = f"{RQ_KEY_PREFIX}:queue:%s"
_LISTS = (_QUEUE, f"{_QUEUE}:intermediate")
_SORTED = {
    JobState.STARTED: f"{RQ_KEY_PREFIX}:wip:%s",
    JobState.SCHEDULED: f"{RQ_KEY_PREFIX}:scheduled:%s",
    JobState.DEFERRED: f"{RQ_KEY_PREFIX}:deferred:%s",
    JobState.FINISHED: f"{RQ_KEY_PREFIX}:finished:%s",
    JobState.FAILED: f"{RQ_KEY_PREFIX}:failed:%s",
    JobState.CANCELED: f"{RQ_KEY_PREFIX}:canceled:%s",
}
_KEPT_WITH = {JobState.RETRYING: JobState.SCHEDULED, JobState.STOPPED: JobState.FAILED}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus(JobMeta):
    """One job as it is now: the fields of ``job.meta`` and what RQ keeps about it.

    Attributes:
        id: the job's id, ``job`` in :meth:`as_dict`.
        state: never None, unlike in ``meta``.
        enqueued_at, ended_at: ISO 8601 in UTC, or None.
        summary: the job's result, once it is finished.
    """

    id: str
    state: JobState
    enqueued_at: str | None = None
    ended_at: str | None = None
    summary: dict[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, ready for JSON."""
        plain = asdict(self)
        return {"job": plain.pop("id"), **plain}

    def seconds(self, now: float) -> float:
        """Return for how many seconds the current run has been going on; 0 without one.

        Args:
            now: the server's time in seconds.
        """
        return _seconds_since(self.started_at, now) if self.state is JobState.STARTED else 0.0


def read_jobs(connection: Redis, settings: Settings, ids: Sequence[str]) -> list[JobStatus]:
    """Read the jobs with these ids, in that order."""
    records = read_records(connection, ids)
    return [
        _status(record) if record else JobStatus(id=name, state=JobState.GONE)
        for name, record in zip(ids, records)
    ]


def newest_jobs(
    connection: Redis, settings: Settings, states: Iterable[JobState] = (), limit: int | None = None
) -> Iterator[JobStatus]:
    """Read the queue's jobs, the last changed first.

    Args:
        connection, settings: the server and the name of the queue.
        states: the states of the jobs to return; by default all.
        limit: the largest number of jobs; by default all. Some hundred are read at a time.
    """
    wanted = set(states)
    kept = {_KEPT_WITH.get(state, state) for state in wanted} or {JobState.QUEUED, *_SORTED}
    at_once = min(limit or AT_ONCE, AT_ONCE)
    keys = [key for key in _LISTS if JobState.QUEUED in kept]
    keys += [key for state, key in _SORTED.items() if state in kept]
    sources = [_newest(connection, key % settings.queue, at_once) for key in keys]
    merged = heapq.merge(*sources, key=lambda record: record.changed_at, reverse=True)
    statuses = _once(_status(record) for record in merged)
    chosen = (status for status in statuses if not wanted or status.state in wanted)
    return islice(chosen, limit)


def newest_records(
    connection: Redis, settings: Settings, state: JobState, limit: int
) -> Iterator[Record]:
    """Read the jobs in RQ's registry for a state, the newest first."""
    return islice(_newest(connection, _SORTED[state] % settings.queue, AT_ONCE), limit)


def next_records(connection: Redis, settings: Settings, limit: int) -> Iterator[Record]:
    """Read the queued jobs in their order."""
    found: Any = connection.lrange(_QUEUE % settings.queue, 0, limit - 1)
    return (record for record in read_records(connection, map(decode_id, found)) if record)


def _once(statuses: Iterable[JobStatus]) -> Iterator[JobStatus]:
    """Leave out a job that was read already: it moves from key to key meanwhile."""
    seen: set[str] = set()
    for status in statuses:
        if status.id not in seen:
            seen.add(status.id)
            yield status


def _newest(connection: Redis, key: str, at_once: int) -> Iterator[Record]:
    start = 0
    while ids := _ids(connection, key, start, at_once):
        yield from (record for record in read_records(connection, ids) if record)
        start += at_once


def _ids(connection: Redis, key: str, start: int, count: int) -> list[str]:
    """Read some ids of a list or a sorted set, counted from its newest end."""
    if ":queue:" in key:
        found: Any = connection.lrange(key, -start - count, -start - 1)
        found.reverse()
    else:
        found = connection.zrange(key, start, start + count - 1, desc=True)
    # A running job's entry is its id, a colon and the number of the run.
    is_running = key.startswith(f"{RQ_KEY_PREFIX}:wip:")
    names = [decode_id(raw) for raw in found]
    return [name.rpartition(":")[0] or name for name in names] if is_running else names


def _status(record: Record) -> JobStatus:
    meta, state = record.meta, record.state
    if state is JobState.SCHEDULED and record.has_run:
        state = JobState.RETRYING
    error = meta.error if state in (JobState.FAILED, JobState.RETRYING) else None
    if state is JobState.FAILED and error is None and record.failure:
        # The process that ran it could not record the error; RQ's text is the only one.
        error = _from_traceback(record.failure)
    known = asdict(meta) | {
        "id": record.id,
        "state": state,
        "path": meta.path or record.payload.path,
        "output": meta.output or record.payload.output,
        "worker": meta.worker or record.worker,
        "enqueued_at": record.enqueued_at,
        "started_at": meta.started_at or record.started_at,
        "ended_at": record.ended_at,
        "error": error,
        "retry_in": meta.retry_in if error else None,
        "summary": record.summary,
    }
    return JobStatus(**known)


def _from_traceback(text: str) -> dict[str, Any]:
    last = text.strip().rpartition("\n")[2]
    kind, _, message = last.partition(": ")
    kind = kind.rpartition(".")[2]
    # A refusal is final.
    return {"type": kind, "message": message or last, "retryable": kind != "JobRefusedError"}


def _seconds_since(text: str | None, now: float) -> float:
    return max(now - datetime.fromisoformat(text).timestamp(), 0.0) if text else 0.0


@dataclass(frozen=True, slots=True)
class Backlog:
    """The number of jobs in each state, and the rate at which they finish.

    Attributes:
        now: the server's time in seconds.
        counts: the number of jobs by state; a retrying one counts as scheduled.
        oldest_seconds: for how long the first job has been waiting; 0 if none waits.
        rate: jobs per second that finished recently; None if it is unknown.
        is_suspended: True if the workers are paused.
    """

    now: float
    counts: dict[JobState, int]
    oldest_seconds: float
    rate: float | None
    is_suspended: bool

    @property
    def seconds_left(self) -> float | None:
        """The time in seconds for all remaining jobs at this rate; None if it is unknown."""
        left = sum(
            self.counts[state] for state in (JobState.QUEUED, JobState.STARTED, JobState.SCHEDULED)
        )
        if not left:
            return 0.0
        return left / self.rate if self.rate else None


def read_backlog(connection: Redis, settings: Settings) -> Backlog:
    """Read the sizes of the queue and its registries, and the latest events."""
    with connection.pipeline(transaction=False) as pipeline:
        for key in _LISTS:
            pipeline.llen(key % settings.queue)
        for key in _SORTED.values():
            pipeline.zcard(key % settings.queue)
        pipeline.exists(WORKERS_SUSPENDED)
        pipeline.lrange(_QUEUE % settings.queue, 0, 0)
        pipeline.time()
        pipeline.xrevrange(STREAM, count=_EVENTS_FOR_RATE)
        *sizes, suspended, first, now, events = pipeline.execute()
    waiting, taken, *others = sizes
    oldest = next(read_records(connection, map(decode_id, first)), None)
    return Backlog(
        now=now[0],
        counts={JobState.QUEUED: waiting + taken, **dict(zip(_SORTED, others))},
        oldest_seconds=_seconds_since(oldest.enqueued_at, now[0]) if oldest else 0.0,
        rate=_rate(events, now[0]),
        is_suspended=bool(suspended),
    )


def _rate(events: Iterable[tuple[bytes, dict[bytes, bytes] | None]], now: int) -> float | None:
    """Return finished jobs per second, by the server's clock, which numbers the events."""
    times = [
        int(number.partition(b"-")[0]) / 1000
        for number, fields in events
        if fields and fields.get(b"event") == b"finished"
    ]
    recent = [when for when in times if now - when < _SECONDS_FOR_RATE]
    # A single job does not give a rate: the first one begins the interval that is measured.
    if len(recent) < 2:
        return None
    return (len(recent) - 1) / max(now - recent[-1], 1.0)


@dataclass(frozen=True, slots=True)
class Fleet:
    """The queue, its workers and its newest jobs.

    Attributes:
        backlog: the number of jobs by state.
        workers: the queue's workers that are alive.
        running: all running jobs, the newest first.
        retrying, finished, failed: the newest jobs of each state.
    """

    backlog: Backlog
    workers: list[WorkerRegistration]
    running: list[JobStatus]
    retrying: list[JobStatus]
    finished: list[JobStatus]
    failed: list[JobStatus]


def read_fleet(connection: Redis, settings: Settings, last: int = 5) -> Fleet:
    """Read the queue and its workers, and ``last`` jobs of each state but the running ones."""

    def newest(limit: int, *states: JobState) -> list[JobStatus]:
        return list(newest_jobs(connection, settings, states, limit))

    return Fleet(
        backlog=read_backlog(connection, settings),
        workers=read_workers(connection, settings),
        running=newest(_MOST_RUNNING, JobState.STARTED),
        # A scheduled job that has not run yet is not a retry.
        retrying=[
            status
            for status in newest(AT_ONCE, JobState.SCHEDULED, JobState.RETRYING)
            if status.state is JobState.RETRYING
        ][:last],
        finished=newest(last, JobState.FINISHED),
        failed=newest(last, JobState.FAILED),
    )


def open_queue(connection: Redis, settings: Settings) -> Queue:
    """Return RQ's queue, with the serializer of the settings."""
    return Queue(settings.queue, connection=connection, serializer=settings.serializer)


def read_workers(connection: Redis, settings: Settings) -> list[WorkerRegistration]:
    """Read the registrations of the queue's workers that are alive."""
    found: Any = connection.smembers(WORKERS_OF_QUEUE % settings.queue)
    keys, now = sorted(found), server_time(connection)
    with connection.pipeline(transaction=False) as pipeline:
        for key in keys:
            pipeline.hgetall(key)
            name = decode_id(key).rpartition(":worker:")[2]
            pipeline.smembers(
                WORKER_EXECUTIONS_KEY_TEMPLATE.format(name).encode("utf-8", "replace")
            )
        answers = pipeline.execute(raise_on_error=False)
    registrations = []
    for key, fields, executions in zip(keys, answers[::2], answers[1::2]):
        if not isinstance(fields, dict):
            continue
        texts = {_text(name): _text(value) for name, value in fields.items()}
        running = sorted(map(_text, executions)) if isinstance(executions, set) else []
        job = running[0].rpartition(":")[0] if running else None
        registrations.append(read_registration(_text(key), texts, now, job))
    return [each for each in registrations if each and each.is_alive]


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def is_listed(connection: Redis, settings: Settings, job: str) -> bool:
    """Return True if the queue, or its registry of running jobs, has the job."""
    name, running = job.encode("utf-8", "surrogateescape"), _SORTED[JobState.STARTED]
    with connection.pipeline() as pipeline:
        for key in _LISTS:
            pipeline.lpos(key % settings.queue, name)  # type: ignore[arg-type]
        places = pipeline.execute()
    if any(place is not None for place in places):
        return True
    entries: Any = connection.zrange(running % settings.queue, 0, _MOST_RUNNING)
    return any(entry.rpartition(b":")[0] == name for entry in entries)


def remove_job(connection: Redis, settings: Settings, record: Record) -> None:
    """Remove a job from the server, the queue and its registries.

    Raises:
        redis.exceptions.WatchError: it has changed since it was read.
    """
    name: Any = record.id.encode("utf-8", "surrogateescape")
    keys = job_keys(record.id)
    with connection.pipeline() as pipeline:
        pipeline.watch(keys[0])  # type: ignore[no-untyped-call]
        now: Any = pipeline.hget(keys[0], "status")
        if now is not None and now.decode("utf-8", "replace") != record.status:
            raise WatchError
        pipeline.multi()
        pipeline.delete(*keys)
        for key in _LISTS:
            pipeline.lrem(key % settings.queue, 0, name)
        for state, key in _SORTED.items():
            if state is not JobState.STARTED:
                pipeline.zrem(key % settings.queue, name)
        pipeline.execute()
