"""A job as the server keeps it, read as data whichever serializer wrote it.

RQ's own ``Job`` loads ``meta`` and ``data`` with one serializer, pickle by default. A job that
another one wrote ends in an error there, and a forged pickle runs.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from typing import Any

from redis import Redis
from rq.defaults import RQ_KEY_PREFIX

from worker.state.job_state import JobState, State, as_count, as_counts, as_text, as_time
from worker.state.serialized import Form, decompress, read, read_compressed

FUNCTION = "worker.jobs.select_batch"

_JOB = f"{RQ_KEY_PREFIX}:job:"
_RESULTS = f"{RQ_KEY_PREFIX}:results:"
_AT_ONCE = 200
_MOST_SECONDS = 1e9
_PARAMETERS = ("path", "output")
_FIELDS = (
    "status",
    "data",
    "meta",
    "enqueued_at",
    "started_at",
    "ended_at",
    "worker_name",
)
_SCHEMA = frozenset(field.name for field in fields(JobState))
_STATES = {state.value: state for state in State}


@dataclass(frozen=True, slots=True)
class Payload:
    """What a job runs.

    Attributes:
        form: how it is written.
        function: the name of the function; None if it is unreadable.
        path, output: as enqueued, perhaps not the name of any file; None if there is none.
    """

    form: Form
    function: str | None = None
    path: str | None = None
    output: str | None = None

    @property
    def is_ours(self) -> bool:
        """Whether it names this project's function and a path."""
        return self.function == FUNCTION and self.path is not None


@dataclass(frozen=True, slots=True)
class Record:
    """One job.

    Attributes:
        job: its id.
        status: as RQ has it.
        state: the status as a state; QUEUED where RQ has a name of its own for waiting.
        payload: what it runs.
        meta: what the job says about itself.
        enqueued_at, started_at, ended_at: ISO 8601 in UTC, or None.
        worker: the worker that RQ has assigned.
        has_run: whether a run of it began.
        extra: what its producer put into JSON ``meta`` beside the schema.
        summary: the result as plain data, once it is finished.
        failure: RQ's text of the last failure.
    """

    job: str
    status: str
    state: State
    payload: Payload
    meta: JobState
    enqueued_at: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    worker: str | None = None
    has_run: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)
    summary: dict[str, Any] | None = None
    failure: str | None = None

    @property
    def changed_at(self) -> str:
        """When the job changed its state last; "" if that is unknown."""
        return max(self.enqueued_at or "", self.started_at or "", self.ended_at or "")


def read_records(connection: Redis, ids: Iterable[str]) -> Iterator[Record | None]:
    """Read the jobs with these ids in that order, None for one that does not exist.

    They are read some hundred at a time, so that memory is bounded.
    """
    remaining = iter(ids)
    while chunk := list(islice(remaining, _AT_ONCE)):
        with connection.pipeline(transaction=False) as pipeline:
            for name in chunk:
                job, results = job_keys(name)
                pipeline.hmget(job, _FIELDS)
                pipeline.xrevrange(results, count=1)
            # A key of another type is an error of that one answer.
            answers = pipeline.execute(raise_on_error=False)
        for name, answer, results in zip(chunk, answers[::2], answers[1::2]):
            yield _record(name, answer, results)


def read_payload(raw: bytes | None) -> Payload:
    """Read a job's ``data``; never raises."""
    found = read_compressed(raw)
    match found.value:
        case [str(function), _, [*arguments], {**named}]:
            bound = dict(zip(_PARAMETERS, arguments)) | named
            path, output = bound.get("path"), bound.get("output")
            return Payload(
                found.form,
                function,
                path if isinstance(path, str) else None,
                output if isinstance(output, str) else None,
            )
    return Payload(found.form if found.value is None else Form.UNREADABLE)


def decode_id(raw: bytes) -> str:
    """Return the id of a job, which may be any bytes, as a text that leads back to it."""
    return raw.decode("utf-8", "surrogateescape")


def job_keys(job: str) -> list[Any]:
    """Return the keys of a job: its hash and its results."""
    return [_encoded(_JOB + job), _encoded(_RESULTS + job)]


def _encoded(key: str) -> Any:
    return key.encode("utf-8", "surrogateescape")


def _record(name: str, answer: Any, results: Any) -> Record | None:
    if not isinstance(answer, list) or not any(answer):
        return None
    raw = dict(zip(_FIELDS, answer))
    texts = {key: value.decode("utf-8", "replace") for key, value in raw.items() if value}
    found, status = read(raw["meta"]), texts.get("status", "")
    meta = JobState.from_meta(found.value)
    is_kept = found.form is Form.JSON and isinstance(found.value, dict)
    record = Record(
        job=name,
        status=status,
        state=_STATES.get(status, State.QUEUED),
        payload=read_payload(raw["data"]),
        meta=meta,
        enqueued_at=as_time(texts.get("enqueued_at")),
        started_at=as_time(texts.get("started_at")),
        ended_at=as_time(texts.get("ended_at")),
        worker=texts.get("worker_name"),
        # A stock worker counts no run of a job that it cannot read.
        has_run=meta.attempt > 0 or "started_at" in texts,
        extra={k: v for k, v in found.value.items() if k not in _SCHEMA} if is_kept else {},
    )
    if not isinstance(results, list) or not results:
        return record
    [(_, last)] = results
    return _with_result(record, last)


def _with_result(record: Record, fields: Mapping[bytes, bytes]) -> Record:
    if record.state is State.FINISHED:
        return replace(record, summary=as_summary(read(_base64(fields.get(b"return_value"))).value))
    text = decompress(_base64(fields.get(b"exc_string"))).decode("utf-8", "replace")
    return replace(record, failure=text or None)


def _base64(raw: bytes | None) -> bytes:
    try:
        return base64.b64decode(raw or b"")
    except binascii.Error:
        return b""


def as_summary(value: object) -> dict[str, Any] | None:
    """Return a job's result as plain data if it is a summary of a batch, else None."""
    if not isinstance(value, Mapping):
        return None
    seconds = value.get("seconds")
    if not isinstance(seconds, float | int) or not 0 <= seconds < _MOST_SECONDS:
        return None
    summary: dict[str, Any] = {
        **{name: as_text(value.get(name)) for name in ("input", "output", "python", "unicode")},
        **{name: as_count(value.get(name)) for name in ("articles", "skipped", "bytes")},
        **{name: as_counts(value.get(name)) for name in ("picks", "rules")},
        "seconds": float(seconds),
    }
    return None if None in summary.values() else summary
