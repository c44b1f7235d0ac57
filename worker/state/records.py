"""A job as the server stores it, read as data whichever serializer wrote it.

RQ's own ``Job`` loads ``meta`` and ``data`` with one serializer, pickle by default. There a job
that another serializer wrote is an error, and a forged pickle runs code.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from redis import Redis
from rq.defaults import RQ_KEY_PREFIX

from worker.state.job_call import FUNCTION, PARAMETERS
from worker.state.job_state import (
    JobMeta,
    JobState,
    as_count,
    as_counts,
    as_state,
    as_text,
    as_time,
    extra_fields,
)
from worker.state.serialized import Form, decompress, read, read_compressed

_JOB = f"{RQ_KEY_PREFIX}:job:"
_RESULTS = f"{RQ_KEY_PREFIX}:results:"
#: The number of jobs that one request reads.
AT_ONCE = 200
_MOST_SECONDS = 1e9
_FIELDS = (
    "status",
    "data",
    "meta",
    "enqueued_at",
    "started_at",
    "ended_at",
    "worker_name",
)


@dataclass(frozen=True, slots=True)
class Payload:
    """The function and the arguments of a job.

    Attributes:
        form: how it is serialized.
        function: the name of the function; None if it is unreadable.
        path, output: as enqueued, possibly not the name of any file; None if not given.
    """

    form: Form
    function: str | None = None
    path: str | None = None
    output: str | None = None

    @property
    def is_ours(self) -> bool:
        """True if it names this project's function and a path."""
        return self.function == FUNCTION and self.path is not None


@dataclass(frozen=True, slots=True)
class Record:
    """One job.

    Attributes:
        id: the job's id.
        status: RQ's status.
        state: the status as a state; QUEUED where RQ has another name for waiting.
        payload: the function and its arguments.
        meta: the fields of ``job.meta``.
        enqueued_at, started_at, ended_at: ISO 8601 in UTC, or None.
        worker: the worker that RQ has assigned.
        has_run: True if a run of it began.
        extra: the fields that a producer added to JSON ``meta`` beside the schema.
        summary: the result as plain data, once it is finished.
        failure: RQ's text of the last failure.
    """

    id: str
    status: str
    state: JobState
    payload: Payload
    meta: JobMeta
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
        """The time of the last change of its state; "" if it is unknown."""
        return max(self.enqueued_at or "", self.started_at or "", self.ended_at or "")


def read_records(connection: Redis, ids: Iterable[str]) -> Iterator[Record | None]:
    """Read the jobs with these ids in that order; None for one that does not exist.

    Some hundred are read at a time, so memory is bounded.
    """
    remaining = iter(ids)
    while chunk := list(islice(remaining, AT_ONCE)):
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
            bound = dict(zip(PARAMETERS, arguments)) | named
            path, output = bound.get("path"), bound.get("output")
            return Payload(
                found.form,
                function,
                path if isinstance(path, str) else None,
                output if isinstance(output, str) else None,
            )
    return Payload(found.form if found.value is None else Form.UNREADABLE)


def decode_id(raw: bytes) -> str:
    """Return the id of a job, which can be any bytes, as a text that encodes to the same bytes."""
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
    meta = JobMeta.from_meta(found.value)
    record = Record(
        id=name,
        status=status,
        state=as_state(status) or JobState.QUEUED,
        payload=read_payload(raw["data"]),
        meta=meta,
        enqueued_at=as_time(texts.get("enqueued_at")),
        started_at=as_time(texts.get("started_at")),
        ended_at=as_time(texts.get("ended_at")),
        worker=texts.get("worker_name"),
        # A stock worker does not count the runs of a job that it cannot read.
        has_run=meta.attempt > 0 or "started_at" in texts,
        extra=extra_fields(found.value) if found.form is Form.JSON else {},
    )
    if not isinstance(results, list) or not results:
        return record
    [(_, last)] = results
    return _with_result(record, last)


def _with_result(record: Record, fields: Mapping[bytes, bytes]) -> Record:
    if record.state is JobState.FINISHED:
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
