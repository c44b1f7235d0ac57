"""``worker.SelectionWorker``: an RQ worker that runs this project's jobs and nothing else.

``rq worker selection`` uses it where ``RQ_WORKER_CLASS=worker.SelectionWorker`` is set.
"""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

from redis import Redis
from redis.backoff import ExponentialBackoff
from redis.retry import Retry
from rq import Queue, Worker
from rq.exceptions import AbandonedJobError
from rq.job import Job
from rq.job_lifecycle import call_exception_handlers
from rq.serializers import JSONSerializer

from selection import SelectionError
from worker import logs, retries
from worker.handback import HandBack, orders
from worker.members import read_member, registration
from worker.producer import FUNCTION
from worker.report import tell_failure
from worker.retries import WorkerKilledError
from worker.settings import Settings

# About a minute and a half: a server's restart, not an outage.
_LONGEST_PAUSE, _TRIES = 5.0, 20

# Longer than looking for abandoned jobs takes.
_SECONDS_TO_LOOK = 60


class SelectionQueue(Queue):
    """RQ's queue, where a worker that is killed while it looks for abandoned jobs stops the
    others from looking for a minute. In RQ it does for a quarter of an hour."""

    def acquire_maintenance_lock(self) -> bool:
        """Whether this worker is the one to look."""
        key = self.registry_cleaning_key
        return bool(self.connection.set(key, 1, nx=True, ex=_SECONDS_TO_LOOK))


class SelectionWorker(Worker):
    """RQ's worker with six differences.

    - Jobs are JSON. RQ's pickle lets whoever can write to Redis run code in the worker.
    - Only ``worker.jobs.select_batch`` is run, and no callback or webhook of a job.
    - It has a scheduler, so that delayed retries need nothing else.
    - A batch whose process or whole worker is killed is tried again soon, a bounded number
      of times (``SELECTION_HEARTBEAT``, ``SELECTION_RETRY_DELAYS``).
    - A bad batch is one line in the log, not RQ's traceback.
    - Told to stop, it gives its batch ``SELECTION_GRACE`` seconds and then hands it back.
    """

    def __init__(self, queues: Any, name: str | None = None, **options: Any) -> None:
        self._settings = Settings.from_environment()
        logs.set_up(self._settings)
        connection: Redis = options["connection"]
        connection.set_retry(Retry(ExponentialBackoff(_LONGEST_PAUSE, 0.1), _TRIES))
        names = [queue if isinstance(queue, str) else queue.name for queue in queues]
        options |= {
            "serializer": JSONSerializer,
            "job_class": Job,
            "queue_class": SelectionQueue,
            # The description is written by whoever enqueues.
            "log_job_description": False,
            "job_monitoring_interval": self._settings.heartbeat,
            "maintenance_interval": self._settings.heartbeat,
        }
        handlers = options.get("exception_handlers") or []
        options["exception_handlers"] = [*handlers, self._on_exception]
        super().__init__(names, name, **options)

    def work(self, *args: Any, **options: Any) -> bool:
        """RQ's loop, with a scheduler."""
        options["with_scheduler"] = True
        worked: bool = super().work(*args, **options)
        return worked

    def serialize(self) -> dict[str, Any]:
        """RQ's registration, with what status, doctor and the health check need."""
        fields: dict[str, Any] = super().serialize()
        return fields | registration(os.getpid(), self._settings)

    def register_birth(self) -> None:
        """Register, also in the place of a dead worker of the same name.

        RQ refuses the name of a worker that was killed for eight minutes.
        """
        fields: Any = self.connection.hgetall(self.key)
        texts = {name.decode(): value.decode("utf-8", "replace") for name, value in fields.items()}
        earlier = read_member(self.key, texts)
        if earlier is not None and not earlier.is_alive:
            self.connection.delete(self.key)
        super().register_birth()

    def run_maintenance_tasks(self) -> None:
        """Look for abandoned jobs, and let what is known of dead workers end.

        RQ writes to a worker's key without asking whether it is there. Had it expired while
        the server was away, it comes back without a lifetime, and stays for ever if its
        worker is killed before it says the next time that it is alive.
        """
        super().run_maintenance_tasks()
        for key in self.all_keys(self.connection):
            if self.connection.ttl(key) == -1:
                self.connection.expire(key, self.worker_ttl + 60)

    @property
    def dequeue_timeout(self) -> int:
        """Seconds to wait for a job before looking for abandoned ones again.

        RQ waits seven minutes, and an idle worker looks for nothing meanwhile.
        """
        return self._settings.heartbeat

    def get_heartbeat_ttl(self, job: Job, working_time: float = 0.0) -> int:
        """Seconds after which a job without a sign of life is another worker's."""
        return 3 * self._settings.heartbeat

    def execute_job(self, job: Job, queue: Queue) -> None:
        """Run the job in a process of its own, or refuse it."""
        reason = refusal(job)
        if reason is None:
            super().execute_job(job, queue)
            return
        logs.log_refusal(job.id, reason)
        execution = self.prepare_execution(job)
        job.retries_left = 0
        self.handle_job_failure(
            job, queue, exc_string=f"JobRefusedError: {reason}", execution=execution
        )

    def handle_exception(self, job: Job, *exc_info: Any) -> None:
        """Without RQ's traceback for what has been told in one line already."""
        if isinstance(exc_info[1], SelectionError | HandBack):
            call_exception_handlers(self._exc_handlers, job, *exc_info)
        else:
            super().handle_exception(job, *exc_info)

    def setup_work_horse_signals(self) -> None:
        """In the job's process: SIGTERM hands the batch back."""
        super().setup_work_horse_signals()
        orders.listen()

    def handle_warm_shutdown_request(self) -> None:
        """Give a running batch its grace."""
        super().handle_warm_shutdown_request()
        if self.horse_pid:
            timer = threading.Timer(self._settings.grace, self._order_hand_back)
            timer.daemon = True
            timer.start()

    def _order_hand_back(self) -> None:
        if self.horse_pid:
            os.kill(self.horse_pid, signal.SIGTERM)

    def handle_work_horse_killed(self, job: Job, retpid: int, ret_val: int, rusage: Any) -> None:
        """The job's process died: the job's retries decide, as the process left them."""
        job.refresh()
        retries.give_policy(job, self._settings)
        status = os.waitstatus_to_exitcode(ret_val) if ret_val is not None else None
        killed = WorkerKilledError(
            f"the process that ran it ended with {status}; a memory limit kills with -9"
        )
        tell_failure(job, killed, retries.delay(job), self._settings)

    def _on_exception(self, job: Job, kind: type[BaseException], *_: Any) -> bool:
        """RQ calls this for abandoned jobs, too; others have told their failure themselves."""
        if kind is AbandonedJobError:
            retries.give_policy(job, self._settings)
            gone = WorkerKilledError("its worker went away")
            tell_failure(job, gone, retries.delay(job), self._settings)
        return True


def refusal(job: Job) -> str | None:
    """Why a job must not be run; None if it may."""
    try:
        function, instance, args, kwargs = job.serializer.loads(job.data)
    except Exception:
        return "its payload is not JSON"
    if function != FUNCTION or instance is not None:
        return f"it names another function: {function!r}"
    if not isinstance(args, list) or not isinstance(kwargs, dict):
        return "its arguments are malformed"
    if not all(isinstance(value, str | None) for value in [*args, *kwargs.values()]):
        return "its arguments are no paths"
    if job._success_callback_name or job._failure_callback_name or job._stopped_callback_name:
        return "it has a callback"
    if job.webhooks:
        return "it has a webhook"
    return None
