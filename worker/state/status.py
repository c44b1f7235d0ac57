"""What the server knows about batches: some jobs, the newest of them, or the whole queue."""

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
from worker.state.job_state import State
from worker.state.records import Record, decode_id, job_keys, read_records
from worker.state.registrations import WORKERS_OF_QUEUE, Member, read_member

_AT_ONCE = 200
# More than any fleet runs at once, so that a forged registry does not fill the memory.
_MOST_RUNNING = 1_000
# The newest entries of the stream of events that give the rate, and how old they may be.
_EVENTS_FOR_RATE, _SECONDS_FOR_RATE = 400, 600

# Where RQ keeps the ids of a queue's jobs by state: lists, and sorted sets for the others.
# A stopped job is among the failed ones.
_QUEUE = f"{RQ_KEY_PREFIX}:queue:%s"
_LISTS = (_QUEUE, f"{_QUEUE}:intermediate")
_SORTED = {
    State.STARTED: f"{RQ_KEY_PREFIX}:wip:%s",
    State.SCHEDULED: f"{RQ_KEY_PREFIX}:scheduled:%s",
    State.DEFERRED: f"{RQ_KEY_PREFIX}:deferred:%s",
    State.FINISHED: f"{RQ_KEY_PREFIX}:finished:%s",
    State.FAILED: f"{RQ_KEY_PREFIX}:failed:%s",
    State.CANCELED: f"{RQ_KEY_PREFIX}:canceled:%s",
}
_KEPT_WITH = {State.RETRYING: State.SCHEDULED, State.STOPPED: State.FAILED}


@dataclass(frozen=True, slots=True)
class Batch:
    """One job as it is now.

    Attributes:
        job: its id.
        state: see :class:`worker.state.job_state.State`.
        path, output: as enqueued.
        bytes_done, bytes_total, articles, picks: how far it is.
        attempt: which run of the job this is or was, from 1; 0 before the first.
        worker: the worker that runs or ran it.
        enqueued_at, started_at, ended_at, updated_at: ISO 8601 in UTC, or None.
        error: of the last run that failed: ``type``, ``message``, the place, ``retryable``.
        retry_in: seconds between that failure and the next try; None if there is none.
        summary: the job's result, once it is finished.
    """

    job: str
    state: State
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

    def seconds(self, now: float) -> float:
        """How long the current run has been going on at a time; 0 if none is."""
        return _seconds_since(self.started_at, now) if self.state is State.STARTED else 0.0


def read_batches(connection: Redis, settings: Settings, ids: Sequence[str]) -> list[Batch]:
    """Read the jobs with these ids, in that order."""
    records = read_records(connection, ids)
    return [
        _batch(record) if record else Batch(name, State.GONE) for name, record in zip(ids, records)
    ]


def newest_batches(
    connection: Redis, settings: Settings, states: Iterable[State] = (), limit: int | None = None
) -> Iterator[Batch]:
    """Read the queue's jobs, the one whose state changed last first.

    Args:
        connection, settings: where the queue is.
        states: leave out jobs in any other; by default none.
        limit: how many at most; by default all. They are read some hundred at a time.
    """
    wanted = set(states)
    kept = {_KEPT_WITH.get(state, state) for state in wanted} or {State.QUEUED, *_SORTED}
    at_once = min(limit or _AT_ONCE, _AT_ONCE)
    keys = [key for key in _LISTS if State.QUEUED in kept]
    keys += [key for state, key in _SORTED.items() if state in kept]
    sources = [_newest(connection, key % settings.queue, at_once) for key in keys]
    merged = heapq.merge(*sources, key=lambda record: record.changed_at, reverse=True)
    batches = _once(_batch(record) for record in merged)
    chosen = (batch for batch in batches if not wanted or batch.state in wanted)
    return islice(chosen, limit)


def newest_records(
    connection: Redis, settings: Settings, state: State, limit: int
) -> Iterator[Record]:
    """Read the jobs that RQ keeps with those in a state, the newest first."""
    return islice(_newest(connection, _SORTED[state] % settings.queue, _AT_ONCE), limit)


def next_records(connection: Redis, settings: Settings, limit: int) -> Iterator[Record]:
    """Read the jobs that wait, the first first."""
    found: Any = connection.lrange(_QUEUE % settings.queue, 0, limit - 1)
    return (record for record in read_records(connection, map(decode_id, found)) if record)


def _once(batches: Iterable[Batch]) -> Iterator[Batch]:
    """Leave out a job that was met already: it moves from key to key while they are read."""
    seen: set[str] = set()
    for batch in batches:
        if batch.job not in seen:
            seen.add(batch.job)
            yield batch


def _newest(connection: Redis, key: str, at_once: int) -> Iterator[Record]:
    start = 0
    while ids := _ids(connection, key, start, at_once):
        yield from (record for record in read_records(connection, ids) if record)
        start += at_once


def _ids(connection: Redis, key: str, start: int, count: int) -> list[str]:
    """Some ids of a list or a sorted set, counted from its newest end."""
    if ":queue:" in key:
        found: Any = connection.lrange(key, -start - count, -start - 1)
        found.reverse()
    else:
        found = connection.zrange(key, start, start + count - 1, desc=True)
    # A running job's entry is its id, a colon and the number of the run.
    is_running = key.startswith(f"{RQ_KEY_PREFIX}:wip:")
    names = [decode_id(raw) for raw in found]
    return [name.rpartition(":")[0] or name for name in names] if is_running else names


def _batch(record: Record) -> Batch:
    meta, state = record.meta, record.state
    if state is State.SCHEDULED and record.has_run:
        state = State.RETRYING
    error = meta.error if state in (State.FAILED, State.RETRYING) else None
    if state is State.FAILED and error is None and record.failure:
        # The process that ran it could not record anything; RQ's own words are left.
        error = _from_traceback(record.failure)
    return Batch(
        job=record.job,
        state=state,
        path=meta.path or record.payload.path,
        output=meta.output or record.payload.output,
        bytes_done=meta.bytes_done,
        bytes_total=meta.bytes_total,
        articles=meta.articles,
        picks=dict(meta.picks) if meta.picks is not None else None,
        attempt=meta.attempt,
        worker=meta.worker or record.worker,
        enqueued_at=record.enqueued_at,
        started_at=meta.started_at or record.started_at,
        ended_at=record.ended_at,
        updated_at=meta.updated_at,
        error=dict(error) if error else None,
        retry_in=meta.retry_in if error else None,
        summary=record.summary,
    )


def _from_traceback(text: str) -> dict[str, Any]:
    last = text.strip().rpartition("\n")[2]
    kind, _, message = last.partition(": ")
    kind = kind.rpartition(".")[2]
    # A worker that refuses a job refuses it each time.
    return {"type": kind, "message": message or last, "retryable": kind != "JobRefusedError"}


def _seconds_since(text: str | None, now: float) -> float:
    return max(now - datetime.fromisoformat(text).timestamp(), 0.0) if text else 0.0


@dataclass(frozen=True, slots=True)
class Backlog:
    """How much there is to do, and how fast it is done.

    Attributes:
        now: the server's time, the clock that all machines share.
        counts: how many jobs are in each state; a retrying one counts as scheduled.
        oldest_seconds: how long the first job has been waiting; 0 without any.
        rate: jobs per second that finished lately; None where none did.
        is_suspended: whether the workers are told to take no job.
    """

    now: float
    counts: dict[State, int]
    oldest_seconds: float
    rate: float | None
    is_suspended: bool

    @property
    def seconds_left(self) -> float | None:
        """How long the jobs that are not over take at this rate; None if it is unknown."""
        left = sum(self.counts[state] for state in (State.QUEUED, State.STARTED, State.SCHEDULED))
        if not left:
            return 0.0
        return left / self.rate if self.rate else None


def read_backlog(connection: Redis, settings: Settings) -> Backlog:
    """Look at the sizes of the queue and its registries, and at the latest events."""
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
        counts={State.QUEUED: waiting + taken, **dict(zip(_SORTED, others))},
        oldest_seconds=_seconds_since(oldest.enqueued_at, now[0]) if oldest else 0.0,
        rate=_rate(events, now[0]),
        is_suspended=bool(suspended),
    )


def _rate(events: Iterable[tuple[bytes, dict[bytes, bytes] | None]], now: int) -> float | None:
    """Finished jobs per second, by the server's clock, which numbers the events."""
    times = [
        int(number.partition(b"-")[0]) / 1000
        for number, fields in events
        if fields and fields.get(b"event") == b"finished"
    ]
    recent = [when for when in times if now - when < _SECONDS_FOR_RATE]
    # One end does not have a rate; the first is the beginning of the time that is measured.
    if len(recent) < 2:
        return None
    return (len(recent) - 1) / max(now - recent[-1], 1.0)


@dataclass(frozen=True, slots=True)
class Fleet:
    """The queue as it is now.

    Attributes:
        backlog: how much there is to do.
        workers: those that listen to the queue and are alive.
        running: all that run, the newest first.
        retrying, finished, failed: the newest of them.
    """

    backlog: Backlog
    workers: list[Member]
    running: list[Batch]
    retrying: list[Batch]
    finished: list[Batch]
    failed: list[Batch]


def read_fleet(connection: Redis, settings: Settings, last: int = 5) -> Fleet:
    """Look at the queue, its workers and its registries; ``last``: how many ended jobs."""

    def newest(limit: int, *states: State) -> list[Batch]:
        return list(newest_batches(connection, settings, states, limit))

    return Fleet(
        backlog=read_backlog(connection, settings),
        workers=read_workers(connection, settings),
        running=newest(_MOST_RUNNING, State.STARTED),
        # Not all of those that wait for their time have run.
        retrying=[
            batch
            for batch in newest(_AT_ONCE, State.SCHEDULED, State.RETRYING)
            if batch.state is State.RETRYING
        ][:last],
        finished=newest(last, State.FINISHED),
        failed=newest(last, State.FAILED),
    )


def open_queue(connection: Redis, settings: Settings) -> Queue:
    """Return RQ's view of the queue, to write to."""
    return Queue(settings.queue, connection=connection, serializer=settings.serializer)


def read_workers(connection: Redis, settings: Settings) -> list[Member]:
    """Read the workers that listen to the queue and are alive, see :meth:`Member.is_alive`."""
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
    members = []
    for key, fields, executions in zip(keys, answers[::2], answers[1::2]):
        if not isinstance(fields, dict):
            continue
        texts = {_text(name): _text(value) for name, value in fields.items()}
        running = sorted(map(_text, executions)) if isinstance(executions, set) else []
        job = running[0].rpartition(":")[0] if running else None
        members.append(read_member(_text(key), texts, now, job))
    return [member for member in members if member and member.is_alive]


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def is_listed(connection: Redis, settings: Settings, job: str) -> bool:
    """Return whether the queue, or its registry of running jobs, has the job."""
    name, running = job.encode("utf-8", "surrogateescape"), _SORTED[State.STARTED]
    with connection.pipeline() as pipeline:
        for key in _LISTS:
            pipeline.lpos(key % settings.queue, name)  # type: ignore[arg-type]
        places = pipeline.execute()
    if any(place is not None for place in places):
        return True
    entries: Any = connection.zrange(running % settings.queue, 0, _MOST_RUNNING)
    return any(entry.rpartition(b":")[0] == name for entry in entries)


def forget(connection: Redis, settings: Settings, record: Record) -> None:
    """Remove a job and what the queue and its registries have of it.

    Raises:
        redis.exceptions.WatchError: it changed since it was read.
    """
    name: Any = record.job.encode("utf-8", "surrogateescape")
    keys = job_keys(record.job)
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
            if state is not State.STARTED:
                pipeline.zrem(key % settings.queue, name)
        pipeline.execute()
