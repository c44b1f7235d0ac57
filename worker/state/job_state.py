"""The schema of ``job.meta``: what a job says about itself while it waits, runs and ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from worker.state.serialized import read

_LARGEST = 1 << 63


class State(StrEnum):
    """The state of a job.

    ``handed_back``, in ``meta`` and events alone, is a job that a graceful shutdown returned
    to the queue. ``deferred`` waits for another job, ``scheduled`` for a time, and ``gone``
    is not on the server (any more).
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
ENDED = frozenset({State.FINISHED, State.FAILED, State.STOPPED, State.CANCELED, State.GONE})


@dataclass(frozen=True, slots=True)
class JobState:
    """What ``job.meta`` says.

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

    state: State | None = None
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
    def from_bytes(cls, raw: bytes | None) -> JobState:
        """Read ``meta`` as the server has it, in whichever form; never raises."""
        return cls.from_meta(read(raw).value)

    @classmethod
    def from_meta(cls, meta: object) -> JobState:
        """Read decoded ``meta``; a field that is missing or malformed has its default."""
        if not isinstance(meta, Mapping):
            return cls()
        fields = {name: valid(meta.get(name)) for name, valid in _VALID.items()}
        return cls(**{name: value for name, value in fields.items() if value is not None})

    def as_meta(self) -> dict[str, Any]:
        """The same as plain data, to be kept in ``meta`` beside what a producer put there."""
        plain = asdict(self)
        plain["state"] = None if self.state is None else self.state.value
        if self.picks is not None:
            plain["picks"] = {str(name): count for name, count in self.picks.items()}
        return plain


def as_count(value: object) -> int | None:
    """The value if it is a whole number from 0 up that fits into 64 bits, else None."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST
    return value if is_count and isinstance(value, int) else None


def as_text(value: object) -> str | None:
    """The value if it is a text that UTF-8 can express, else None."""
    if not isinstance(value, str):
        return None
    try:
        value.encode()
    except UnicodeEncodeError:
        return None
    return str(value)


def as_path(value: object) -> str | None:
    """The value if it can be the name of a file, else None."""
    text = as_text(value)
    return text if text and "\0" not in text else None


def as_time(value: object) -> str | None:
    """The value if it is a time in ISO 8601 with its zone, else None; expressed in UTC."""
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
    """The counts in a mapping by their names, or None if the value is not a mapping."""
    if not isinstance(value, Mapping):
        return None
    pairs = ((as_text(name), as_count(count)) for name, count in value.items())
    return {name: count for name, count in pairs if name is not None and count is not None}


def as_error(value: object) -> dict[str, Any] | None:
    """An error as plain data if it has a type and a message, else None."""
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


def _as_state(value: object) -> State | None:
    return _STATES.get(value) if isinstance(value, str) else None


_STATES: dict[str, State] = {state.value: state for state in State}


_VALID: dict[str, Callable[[object], Any]] = {
    "state": _as_state,
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
