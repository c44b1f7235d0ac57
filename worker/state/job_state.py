"""The schema of ``job.meta``: what producer and worker record about a job.

This is the only module that builds or parses ``meta``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

_LARGEST = 1 << 63


class JobState(StrEnum):
    """The state of a job, in ``meta``, in events, and as commands and metrics show it.

    ``handed_back`` occurs in ``meta`` and events only: a graceful shutdown requeued the job.
    ``deferred`` waits for another job, ``scheduled`` for a time. ``gone`` is a job that the
    server does not have.
    """

    QUEUED = "queued"
    DEFERRED = "deferred"
    SCHEDULED = "scheduled"
    STARTED = "started"
    RETRYING = "retrying"
    HANDED_BACK = "handed_back"
    FINISHED = "finished"
    FAILED = "failed"
    STOPPED = "stopped"
    CANCELED = "canceled"
    GONE = "gone"


#: The states that a job leaves only if it is enqueued again.
ENDED = frozenset(
    {JobState.FINISHED, JobState.FAILED, JobState.STOPPED, JobState.CANCELED, JobState.GONE}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobMeta:
    """The fields of ``job.meta``.

    Attributes:
        state: the last state that was recorded, or None.
        path, output: as enqueued.
        bytes_done, bytes_total, articles, picks: the progress of the last run.
        attempt: the number of the last run, from 1; 0 before the first.
        started_at, updated_at: ISO 8601 with a time zone, or None.
        worker: the name of the worker that runs or ran it.
        error: of the last run that failed: ``type``, ``message``, ``retryable``, and the
            place: ``path``, ``byte``, ``line``, ``column``, ``article``.
        retry_in: seconds between that failure and the next run; None if there is none.
    """

    state: JobState | None = None
    path: str | None = None
    output: str | None = None
    bytes_done: int = 0
    bytes_total: int | None = None
    articles: int = 0
    picks: Mapping[str, int] | None = None
    attempt: int = 0
    started_at: str | None = None
    updated_at: str | None = None
    worker: str | None = None
    error: Mapping[str, Any] | None = None
    retry_in: int | None = None

    @classmethod
    def from_meta(cls, meta: object) -> JobMeta:
        """Read decoded ``meta``; a field that is missing or malformed has its default."""
        if not isinstance(meta, Mapping):
            return cls()
        values = {name: valid(meta.get(name)) for name, valid in _VALID.items()}
        return cls(**{name: value for name, value in values.items() if value is not None})

    def as_meta(self) -> dict[str, Any]:
        """Return the fields as plain data, which every serializer can write."""
        plain = asdict(self)
        plain["state"] = None if self.state is None else self.state.value
        if self.picks is not None:
            plain["picks"] = {str(name): count for name, count in self.picks.items()}
        return plain


_SCHEMA = frozenset(field.name for field in fields(JobMeta))


def update_meta(meta: object, **changes: Any) -> dict[str, Any]:
    """Return decoded ``meta`` with some fields of the schema replaced.

    Fields beside the schema, which a producer added, are kept.

    Args:
        meta: as the job has it; anything but a mapping counts as empty.
        changes: the new values, by the names of :class:`JobMeta`.
    """
    return extra_fields(meta) | replace(JobMeta.from_meta(meta), **changes).as_meta()


def extra_fields(meta: object) -> dict[str, Any]:
    """Return the fields of decoded ``meta`` that are not part of the schema."""
    if not isinstance(meta, Mapping):
        return {}
    return {name: value for name, value in meta.items() if name not in _SCHEMA}


def as_count(value: object) -> int | None:
    """Return the value if it is a whole number from 0 up that fits into 64 bits, else None."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST
    return value if is_count and isinstance(value, int) else None


def as_text(value: object) -> str | None:
    """Return the value if it is a text that UTF-8 can express, else None."""
    if not isinstance(value, str):
        return None
    try:
        value.encode()
    except UnicodeEncodeError:
        return None
    return str(value)


def as_path(value: object) -> str | None:
    """Return the value if it can be the name of a file, else None."""
    text = as_text(value)
    return text if text and "\0" not in text else None


def as_time(value: object) -> str | None:
    """Return a time in ISO 8601 that has a zone, expressed in UTC, else None."""
    if not isinstance(value, str):
        return None
    try:
        when = datetime.fromisoformat(value)
        if when.tzinfo is None:
            return None
        return when.astimezone(UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError):
        return None


def as_counts(value: object) -> dict[str, int] | None:
    """Return the counts in a mapping by their names, or None if the value is not a mapping."""
    if not isinstance(value, Mapping):
        return None
    pairs = ((as_text(name), as_count(count)) for name, count in value.items())
    return {name: count for name, count in pairs if name is not None and count is not None}


def as_error(value: object) -> dict[str, Any] | None:
    """Return an error as plain data if it has a type and a message, else None."""
    if not isinstance(value, Mapping):
        return None
    kind, message = as_text(value.get("type")), as_text(value.get("message"))
    if kind is None or message is None:
        return None
    error = {
        "type": kind,
        "message": message,
        "path": as_path(value.get("path")),
        **{name: as_count(value.get(name)) for name in ("byte", "line", "column", "article")},
        "retryable": value.get("retryable") is True,
    }
    # An error that is not of a file does not have a place.
    return {name: field for name, field in error.items() if name in value}


def as_state(value: object) -> JobState | None:
    """Return a value if it is the name of a state, else None."""
    return _STATES.get(value) if isinstance(value, str) else None


_STATES: dict[str, JobState] = {state.value: state for state in JobState}


_VALID: dict[str, Callable[[object], Any]] = {
    "state": as_state,
    "path": as_path,
    "output": as_path,
    "bytes_done": as_count,
    "bytes_total": as_count,
    "articles": as_count,
    "picks": as_counts,
    "attempt": as_count,
    "started_at": as_time,
    "updated_at": as_time,
    "worker": as_text,
    "error": as_error,
    "retry_in": as_count,
}
