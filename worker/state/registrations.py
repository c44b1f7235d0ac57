"""The workers' registrations on the server, and which workers are alive.

The health check imports this module, so it imports neither RQ nor the client library.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from worker.processes import identity
from worker.settings import Settings

#: RQ's key of a queue's workers, and the beginning of a worker's key; RQ reads this variable, too.
_KEYS = os.environ.get("RQ_KEY_PREFIX", "rq")
WORKERS_OF_QUEUE = f"{_KEYS}:workers:%s"
_PREFIX = f"{_KEYS}:worker:"

# The field that a SelectionWorker adds to its registration.
_FIELD = "selection"

#: A SelectionWorker that missed this many heartbeats counts as dead.
MISSED_HEARTBEATS = 3


@dataclass(frozen=True, slots=True)
class WorkerRegistration:
    """One worker of the queue.

    Attributes:
        name, host, pid: as registered.
        state: RQ's state: ``started``, ``idle``, ``busy`` or ``suspended``.
        version: the version of RQ there.
        last_heartbeat: seconds since the last heartbeat; None if there was none.
        job: the id of the job that it runs.
        process: as :func:`worker.processes.identity` returns it; "" for a stock worker.
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
        """True if it has sent a heartbeat recently.

        A SelectionWorker sends one every ``heartbeat`` seconds, busy or idle; RQ keeps the
        registration of a killed one for minutes. A stock worker can be silent for as long as
        RQ keeps its registration, so it counts as alive while it is registered.
        """
        if self.last_heartbeat is None:
            return False
        return (
            self.heartbeat is None or self.last_heartbeat < MISSED_HEARTBEATS * self.heartbeat + 1
        )


def registration_fields(pid: int, settings: Settings) -> dict[str, str]:
    """Return the fields that a SelectionWorker adds to RQ's registration."""
    added = {
        "process": identity(pid),
        "roots": list(settings.roots),
        "serializer": "json",
        "heartbeat": settings.heartbeat,
    }
    return {_FIELD: json.dumps(added)}


def read_registration(
    key: str, fields: Mapping[str, str], now: float, job: str | None = None
) -> WorkerRegistration | None:
    """Read a registration; None if it has ended. A malformed field has its default.

    Args:
        key, fields: the registration's key and hash on the server.
        now: the server's time in seconds; heartbeats are measured by that clock.
        job: the id of the job that the worker runs.
    """
    if not fields or "death" in fields:
        return None
    pid = fields.get("pid", "")
    added = _added(fields.get(_FIELD, ""))
    process, roots, serializer = (added.get(name) for name in ("process", "roots", "serializer"))
    heartbeat = added.get("heartbeat")
    return WorkerRegistration(
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


def _added(text: str) -> dict[str, object]:
    try:
        added = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return added if isinstance(added, dict) else {}


def _seconds_since(text: str, now: float) -> float | None:
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    return now - when.replace(tzinfo=when.tzinfo or UTC).timestamp()
