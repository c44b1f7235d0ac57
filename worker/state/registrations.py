"""The workers' registrations on the server: what a worker writes about itself, and who is alive."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from worker.processes import identity
from worker.settings import Settings

#: Where RQ has the keys of a queue's workers, and what those keys begin with.
_KEYS = os.environ.get("RQ_KEY_PREFIX", "rq")
WORKERS_OF_QUEUE = f"{_KEYS}:workers:%s"
_PREFIX = f"{_KEYS}:worker:"

# What a SelectionWorker adds to its registration.
_FIELD = "selection"

_MISSED_HEARTBEATS = 3


@dataclass(frozen=True, slots=True)
class Member:
    """One worker of the queue.

    Attributes:
        name, host, pid: as registered.
        state: RQ's: ``started``, ``idle``, ``busy`` or ``suspended``.
        version: of RQ there.
        last_heartbeat: seconds ago; None if there was none.
        job: the job that it runs.
        process: as :func:`worker.processes.identity` gives it; "" for a stock worker.
        roots, serializer, heartbeat: of its settings; None for a stock worker.
    """

    name: str
    host: str
    pid: int
    state: str
    version: str = ""
    last_heartbeat: float | None = None
    job: str | None = None
    process: str = ""
    roots: tuple[str, ...] | None = None
    serializer: str | None = None
    heartbeat: int | None = None

    @property
    def is_alive(self) -> bool:
        """Whether it gave a sign of life lately.

        A SelectionWorker gives one every ``heartbeat`` seconds, with a job and without; one
        that missed three is dead, though RQ keeps its registration for minutes. A stock
        worker is silent for as long as RQ keeps it, so its registration has to do.
        """
        if self.last_heartbeat is None:
            return False
        return (
            self.heartbeat is None or self.last_heartbeat < _MISSED_HEARTBEATS * self.heartbeat + 1
        )


def registration(pid: int, settings: Settings) -> dict[str, str]:
    """Return what a SelectionWorker adds to RQ's registration."""
    facts = {
        "process": identity(pid),
        "roots": list(settings.roots),
        "serializer": "json",
        "heartbeat": settings.heartbeat,
    }
    return {_FIELD: json.dumps(facts)}


def read_member(
    key: str, fields: Mapping[str, str], now: float, job: str | None = None
) -> Member | None:
    """Read a registration; None if it ended. A field that is malformed has its default.

    Args:
        key, fields: where and what it is on the server.
        now: the server's time, since workers give their signs of life by that clock.
        job: the job that the worker runs.
    """
    if not fields or "death" in fields:
        return None
    pid = fields.get("pid", "")
    facts = _facts(fields.get(_FIELD, ""))
    process, roots, serializer = (facts.get(name) for name in ("process", "roots", "serializer"))
    heartbeat = facts.get("heartbeat")
    return Member(
        name=key.removeprefix(_PREFIX),
        host=fields.get("hostname", "?"),
        pid=int(pid) if pid.isascii() and pid.isdecimal() and len(pid) < 12 else 0,
        state=fields.get("state", "?"),
        version=fields.get("version", ""),
        job=job,
        last_heartbeat=_seconds_since(fields.get("last_heartbeat", ""), now),
        process=process if isinstance(process, str) else "",
        roots=tuple(map(str, roots)) if isinstance(roots, list) else None,
        serializer=serializer if isinstance(serializer, str) else None,
        heartbeat=heartbeat if isinstance(heartbeat, int) else None,
    )


def _facts(text: str) -> dict[str, object]:
    try:
        facts = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) else {}


def _seconds_since(text: str, now: float) -> float | None:
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    return now - when.replace(tzinfo=when.tzinfo or UTC).timestamp()
