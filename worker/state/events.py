"""What happens to jobs, published in Redis: a stream of events and lasting counters.

Every change of a job's state is one entry of the stream ``selection:events``. A consumer
group reads it instead of polling. When ``finished`` comes, the output is in place; RQ notes
the result with the job a moment later. All fields are text:

===========  ========================================================================
``event``    ``queued``, ``started``, ``finished``, ``failed`` (a refused job, too),
             ``retrying``, ``stopped`` (on request), ``handed_back`` (a graceful
             shutdown returned the job to the queue) or ``canceled`` (an operator
             removed the job before it was run)
``job``      the job's id
``path``     the batch
``output``   the output; empty: the default beside the batch
``at``       when, ISO 8601 in UTC
``worker``   the worker's name; not with ``queued``
``summary``  JSON, the job's result; with ``finished``
``error``    JSON: ``type``, ``message``, ``path``, ``byte``, ``line``, ``column``,
             ``article``, ``retryable``; with ``failed`` and ``retrying``
``delay``    seconds until the next try; with ``retrying``
===========  ========================================================================
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from redis import Redis
from redis.client import Pipeline

from worker.settings import Settings

STREAM = "selection:events"
COUNTERS = "selection:counters"

#: The histogram of the durations of finished batches, in seconds.
DURATION_BOUNDS = (0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, float("inf"))


class Event(StrEnum):
    """A change of a job's state."""

    QUEUED = "queued"
    STARTED = "started"
    FINISHED = "finished"
    FAILED = "failed"
    RETRYING = "retrying"
    STOPPED = "stopped"
    HANDED_BACK = "handed_back"
    CANCELED = "canceled"


def timestamp() -> str:
    """Now, ISO 8601 in UTC with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def publish(
    connection: Redis | Pipeline,
    settings: Settings,
    event: Event,
    job_id: str,
    path: str,
    output: str | None,
    **fields: Any,
) -> Any:
    """Add an event to the stream; fields that are no text are written as JSON."""
    entry: dict[Any, Any] = {
        "event": event,
        "job": job_id,
        "path": path,
        "output": output or "",
        "at": timestamp(),
    }
    for name, value in fields.items():
        entry[name] = value if isinstance(value, str) else json.dumps(value)
    # A path from a producer may be anything; a lone surrogate in it is shown escaped.
    entry = {name: str(value).encode("utf-8", "backslashreplace") for name, value in entry.items()}
    return connection.xadd(STREAM, entry, maxlen=settings.events, approximate=True)


def count(pipeline: Pipeline, amounts: Mapping[str, int]) -> None:
    """Add to the counters: jobs and failures by kind, articles, picks, bytes."""
    for name, amount in amounts.items():
        if amount:
            pipeline.hincrby(COUNTERS, name, amount)


def duration_bound(seconds: float) -> str:
    """Return the smallest bound of the histogram that is not less, as text."""
    return str(next(bound for bound in DURATION_BOUNDS if seconds <= bound))


def finished_amounts(summary: Mapping[str, Any]) -> dict[str, int]:
    """What a finished batch adds to the counters."""
    return {
        "jobs:finished": 1,
        "articles": summary["articles"],
        "skipped": summary["skipped"],
        "bytes": summary["bytes"],
        "milliseconds": round(1000 * summary["seconds"]),
        f"durations:{duration_bound(summary['seconds'])}": 1,
        **{f"picks:{name}": amount for name, amount in summary["picks"].items()},
        **{f"rules:{name}": amount for name, amount in summary["rules"].items()},
    }
