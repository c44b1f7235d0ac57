"""RQ's queue, which neither an invalid entry nor a killed worker blocks."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from redis import Redis
from rq import Queue
from rq.intermediate_queue import IntermediateQueue

from worker import log_format
from worker.runtime.rq_job import SelectionJob

# Longer than a search for abandoned jobs takes.
_SECONDS_TO_SEARCH = 60

# RQ's own rule for the id of a job.
_ID = re.compile(rb"[A-Za-z0-9_-]+")


class SelectionQueue(Queue):
    """RQ's queue with two differences.

    - A worker that is killed while it searches for abandoned jobs blocks the search of the
      others for a minute, instead of RQ's quarter of an hour.
    - An entry that cannot be the id of a job is removed. In RQ it ends the worker.
    """

    job_class = SelectionJob

    def acquire_maintenance_lock(self) -> bool:
        """Return True if this worker is the one that searches."""
        key = self.registry_cleaning_key
        return bool(self.connection.set(key, 1, nx=True, ex=_SECONDS_TO_SEARCH))

    @classmethod
    def lmove(cls, connection: Redis, queue_key: str, timeout: int | None) -> Any:
        """Move the next id to the intermediate queue."""
        move = super().lmove
        return _next_id(lambda: move(connection, queue_key, timeout), connection)

    @classmethod
    def lpop(cls, queue_keys: Any, timeout: int | None, connection: Redis | None = None) -> Any:
        """Take the next id of several queues."""
        assert connection is not None
        pop = super().lpop
        return _next_id(lambda: pop(queue_keys, timeout, connection), connection)

    @classmethod
    def _fetch_dequeued_job(
        cls, connection: Redis, queue_key: str, job_id: str, *rest: Any, **options: Any
    ) -> Any:
        found = super()._fetch_dequeued_job(connection, queue_key, job_id, *rest, **options)
        if found is None:
            _remove(connection, queue_key, job_id)
        return found


def _next_id(take: Callable[[], Any], connection: Redis) -> Any:
    """Take entries until one can be the id of a job; None if the queue is empty."""
    while (found := take()) is not None:
        queue_key, entry = found
        if _ID.fullmatch(entry):
            return found
        _remove(connection, queue_key, entry)
        log_format.log_refusal(entry.decode(errors="backslashreplace"), "it is not the id of a job")
    return None


def _remove(connection: Redis, queue_key: Any, entry: Any) -> None:
    key = queue_key.decode() if isinstance(queue_key, bytes) else queue_key
    connection.lrem(IntermediateQueue.get_intermediate_queue_key(key), 1, entry)
