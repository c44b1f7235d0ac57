"""RQ's job, which can be read from any content of its key without an exception."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from redis.client import Pipeline
from redis.exceptions import ResponseError
from rq import Queue
from rq.exceptions import NoSuchJobError
from rq.executions import Execution
from rq.job import Job
from rq.registry import StartedJobRegistry

from worker.connections import server_time

_LARGEST = 1 << 31


class SelectionJob(Job):
    """RQ's job with four differences.

    - A field that cannot be read is left out and named in ``unreadable``. In RQ it raises in
      each worker that reads the job.
    - ``meta`` that cannot be read, or is not an object, is empty.
    - Its callbacks and webhooks are never run.
    - Heartbeats and delays are measured by the server's clock.
    """

    unreadable: tuple[str, ...] = ()

    def refresh(self) -> None:
        """Read the job again.

        Raises:
            NoSuchJobError: it does not exist, or its key has another type.
        """
        try:
            super().refresh()
        except ResponseError as error:
            if not str(error).startswith("WRONGTYPE"):
                raise
            raise NoSuchJobError(f"not a job: {self.key}") from None

    def restore(self, raw_data: Any) -> None:
        """Set the fields from the job's hash, as far as they can be read."""
        bad: set[bytes] = set()
        if not self._can_read(raw_data):
            bad = {name for name in raw_data if not self._can_read({name: raw_data[name]})}
        self.unreadable = tuple(sorted(name.decode(errors="backslashreplace") for name in bad))
        super().restore({name: raw_data[name] for name in raw_data if name not in bad})
        # RQ has a placeholder of bytes for unreadable meta, which JSON cannot express.
        if self._unreadable_meta is not None or not isinstance(self.meta, dict):
            self.meta, self._unreadable_meta = {}, None
        if not self.retry_intervals:
            self.retry_intervals = None

    def _can_read(self, fields: dict[bytes, bytes]) -> bool:
        probe = Job(connection=self.connection, serializer=self.serializer)
        try:
            probe.restore({b"data": b"", **fields})
        except Exception:  # of whatever kind the field's parser raises
            return False
        if not all(isinstance(job_id, str) for job_id in _items(probe._dependency_ids)):
            return False
        numbers = [getattr(probe, name) for name in _NUMBERS]
        pauses = probe.retry_intervals
        if pauses is not None:
            numbers += [-2 if pause is None else pause for pause in _items(pauses)]
        return all(number is None or _is_number(number) for number in numbers)

    def retry(self, queue: Queue, pipeline: Pipeline) -> None:
        """Enqueue the job again, at once or later by the server's clock."""
        pause = self.get_retry_interval()
        self.retries_left = (self.retries_left or 0) - 1
        if pause:
            due = datetime.fromtimestamp(server_time(self.connection) + pause, UTC)
            queue.schedule_job(self, due, pipeline=pipeline)
        else:
            queue._enqueue_job(self, pipeline=pipeline, at_front=self.enqueue_at_front_on_retry)

    @property
    def started_job_registry(self) -> StartedRegistry:
        """The registry of running jobs."""
        return StartedRegistry(
            self.origin,
            connection=self.connection,
            job_class=type(self),
            serializer=self.serializer,
        )

    @property
    def success_callback(self) -> None:
        """None."""

    @property
    def failure_callback(self) -> None:
        """None."""

    @property
    def stopped_callback(self) -> None:
        """None."""

    def send_webhooks(self, *_: Any, **__: Any) -> None:
        """Send nothing."""


class StartedRegistry(StartedJobRegistry):
    """RQ's registry of running jobs, by the server's clock.

    With the clocks of the machines, a worker whose clock is a minute ahead counts the jobs of
    the others as abandoned.
    """

    def add_execution(
        self, execution: Execution, pipeline: Pipeline, ttl: int = 0, xx: bool = False
    ) -> Any:
        """Add the execution, again if the registry has been lost meanwhile."""
        expires = server_time(self.connection) + ttl
        return pipeline.zadd(self.key, {execution.composite_key: expires})


# The numbers that RQ calculates with; a larger one is an OverflowError of an alarm or a date.
_NUMBERS = (
    *("timeout", "result_ttl", "failure_ttl", "ttl", "retries_left", "number_of_retries"),
    "repeats_left",
)


def _items(value: object) -> list[Any]:
    """Return the items of a list; an invalid one if the value is not a list."""
    return value if isinstance(value, list) else [None]


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -1 <= value < _LARGEST
