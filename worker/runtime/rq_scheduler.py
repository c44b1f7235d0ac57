"""RQ's scheduler, which ends with its worker and survives every job."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from redis import Redis
from redis.exceptions import RedisError
from rq.registry import ScheduledJobRegistry
from rq.scheduler import ForkProcess, RQScheduler, run

from worker.connections import OutageRetry
from worker.runtime.children import set_up_child
from worker.runtime.recovery import enqueue_due
from worker.runtime.rq_queue import SelectionQueue

# The lock is renewed every second.
_SECONDS_OF_A_LOCK = 10


class SelectionScheduler(RQScheduler):
    """RQ's scheduler with four differences.

    - It ends when its worker is killed, and stops at once while the server is away.
    - It enqueues each job once and by the server's clock, also with several schedulers.
    - It enqueues a job that cannot be read, so that the worker refuses it.
    - Another scheduler takes over some seconds after it was killed. In RQ that takes a
      minute, in which no delayed retry begins.
    """

    def __init__(
        self, queues: Any, connection: Redis, outage_retry: OutageRetry, **options: Any
    ) -> None:
        super().__init__(queues, connection=connection, **options)
        self._worker_connection = connection
        self._outage_retry = outage_retry

    def start(self) -> Any:
        """Start the process."""
        self._status = self.Status.STARTED
        # Each process has connections of its own.
        self._connection = None
        process = ForkProcess(target=_run, args=(self, os.getpid()), daemon=True)
        self._process = process  # type: ignore[assignment]
        process.start()
        return process

    def end_with(self, parent: int) -> None:
        """Let this process, the scheduler's, end with the worker."""
        set_up_child(parent, self._worker_connection)

    def acquire_locks(self, auto_start: bool = False) -> set[str]:
        """Take the locks that are free."""
        taken: set[str] = super().acquire_locks(auto_start)
        self._shorten(taken)
        return taken

    def heartbeat(self) -> None:
        """Keep the locks."""
        super().heartbeat()
        self._shorten(self._acquired_locks)

    def _shorten(self, names: set[str]) -> None:
        for name in names:
            self.connection.expire(self.get_locking_key(name), _SECONDS_OF_A_LOCK)

    def enqueue_scheduled_jobs(self) -> None:
        """Enqueue the jobs that are due."""
        self._status = self.Status.WORKING
        for name in self._acquired_locks:
            registry = ScheduledJobRegistry(
                name, connection=self.connection, serializer=self.serializer
            )
            queue = SelectionQueue(name, connection=self.connection, serializer=self.serializer)
            enqueue_due(queue, registry)
        self._status = self.Status.STARTED

    def request_stop(self, signum: Any = None, frame: Any = None) -> None:
        """Stop after the next command, without waiting for the server."""
        self._outage_retry.retry_never()
        super().request_stop(signum, frame)

    def work(self) -> None:
        """Enqueue the jobs that are due every second, until it is stopped."""
        try:
            super().work()
        except RedisError:
            if not self._stop_requested:
                raise
            self.log.warning("Scheduler stopped without the server")

    def stop(self) -> None:
        """Release the locks, unless the server is away."""
        with suppress(RedisError):
            super().stop()


def _run(scheduler: SelectionScheduler, parent: int) -> None:
    scheduler.end_with(parent)
    run(scheduler)
