"""Changes of jobs' states, published in Redis: a stream of events, and counters.

docs/queue.md describes the events and their fields. When ``finished`` is published, the output
is complete; RQ stores the result with the job a moment later.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from redis import Redis
from redis.client import Pipeline

from worker.settings import Settings
from worker.state.job_state import JobState

STREAM = "selection:events"
COUNTERS = "selection:counters"

#: The histogram of the durations of finished batches, in seconds.
DURATION_BOUNDS = (0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, float("inf"))

#: The states that are published.
PUBLISHED = frozenset(
    {
        *(JobState.QUEUED, JobState.STARTED, JobState.FINISHED, JobState.FAILED),
        *(JobState.RETRYING, JobState.STOPPED, JobState.HANDED_BACK, JobState.CANCELED),
    }
)


class Outcome(StrEnum):
    """How a run of a job ended, as it is counted."""

    FINISHED = "finished"
    FAILED = "failed"
    RETRIED = "retried"
    HANDED_BACK = "handed_back"
    STOPPED = "stopped"

    @property
    def counter(self) -> str:
        """The name of its counter."""
        return f"jobs:{self}"


def timestamp() -> str:
    """Return the current time, ISO 8601 in UTC with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of the stream.

    Attributes:
        event: the new state, one of :data:`PUBLISHED`.
        job: the job's id.
        path, output: as enqueued; "" where the arguments cannot be read.
        at: ISO 8601 in UTC.
        worker: the worker's name, for the events of a run.
        summary: the job's result, with ``finished``.
        error: as in ``job.meta``, with ``failed`` and ``retrying``.
        delay: seconds until the next run, with ``retrying``.
    """

    event: JobState
    job: str
    path: str
    output: str | None = None
    at: str = field(default_factory=timestamp)
    worker: str | None = None
    summary: Mapping[str, Any] | None = None
    error: Mapping[str, Any] | None = None
    delay: int | None = None

    def as_entry(self) -> dict[Any, Any]:
        """Return the fields as the stream has them: texts in UTF-8, objects as JSON."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        found["output"] = self.output or ""
        entry = {
            name: json.dumps(value) if isinstance(value, Mapping) else str(value)
            for name, value in found.items()
            if value is not None
        }
        # A producer's path can be any text; a lone surrogate in it is shown escaped.
        return {name: text.encode("utf-8", "backslashreplace") for name, text in entry.items()}


def publish(connection: Redis | Pipeline, settings: Settings, event: Event) -> Any:
    """Add an event to the stream and return the id of its entry."""
    return connection.xadd(STREAM, event.as_entry(), maxlen=settings.events, approximate=True)


def count(pipeline: Pipeline, amounts: Mapping[str, int]) -> None:
    """Add amounts to the counters of these names."""
    for name, amount in amounts.items():
        if amount:
            pipeline.hincrby(COUNTERS, name, amount)


def duration_bound(seconds: float) -> str:
    """Return the smallest bound of the histogram that is not less, as text."""
    return str(next(bound for bound in DURATION_BOUNDS if seconds <= bound))


def finished_amounts(summary: Mapping[str, Any]) -> dict[str, int]:
    """Return what a finished batch adds to the counters."""
    return {
        Outcome.FINISHED.counter: 1,
        "articles": summary["articles"],
        "skipped": summary["skipped"],
        "bytes": summary["bytes"],
        "milliseconds": round(1000 * summary["seconds"]),
        f"durations:{duration_bound(summary['seconds'])}": 1,
        **{f"picks:{name}": amount for name, amount in summary["picks"].items()},
        **{f"rules:{name}": amount for name, amount in summary["rules"].items()},
    }
