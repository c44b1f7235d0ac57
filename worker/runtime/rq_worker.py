"""``worker.SelectionWorker``: an RQ worker that runs only this project's jobs.

``rq worker selection`` uses it with ``RQ_WORKER_CLASS=worker.SelectionWorker``.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError
from rq import Queue, worker_registration
from rq.exceptions import NoSuchJobError, StopRequested
from rq.executions import Execution
from rq.job import Job
from rq.job_lifecycle import call_exception_handlers
from rq.serializers import JSONSerializer
from rq.suspension import is_suspended
from rq.worker import WorkerStatus

from selection import SelectionError
from worker import log_format
from worker.connections import OutageRetry, fail_fast_connection
from worker.runtime import recovery, retries
from worker.runtime.children import set_up_child
from worker.runtime.job_check import refusal_reason
from worker.runtime.recorder import call_of, record_failure, record_requeue, record_stop
from worker.runtime.registered_worker import RegisteredWorker
from worker.runtime.retries import JobRefusedError, WorkerKilledError
from worker.runtime.rq_job import SelectionJob
from worker.runtime.rq_queue import SelectionQueue
from worker.runtime.rq_scheduler import SelectionScheduler
from worker.runtime.shutdown import ShutdownRequested, handler
from worker.settings import Settings
from worker.state.registrations import MISSED_HEARTBEATS

# After the grace: for the job's process to requeue the batch, and for the scheduler to end.
_SECONDS_TO_REQUEUE, _SECONDS_TO_END = 10, 2


class SelectionWorker(RegisteredWorker):
    """RQ's worker with these differences, besides those of its base class.

    - Jobs are JSON. With RQ's pickle, each client that can write to Redis can run code
      in the worker.
    - Only ``worker.jobs.select_batch`` is run, and never a callback or webhook of a job.
    - It runs a scheduler, so delayed retries need no other process.
    - A batch whose process or worker is killed is run again soon, a bounded number of times
      (``SELECTION_HEARTBEAT``, ``SELECTION_RETRY_DELAYS``), and so is a job that nothing
      owns any more.
    - An invalid batch is one line in the log instead of RQ's traceback.
    - On SIGTERM it gives its batch ``SELECTION_GRACE`` seconds and then requeues it; it
      never waits longer for a server that is away.
    - No job ends it: one that cannot be read fails with the reason.
    - A pause holds for idle workers, too.
    - It waits as long as an outage of the server lasts.
    """

    def __init__(self, queues: Any, name: str | None = None, **options: Any) -> None:
        self._settings = Settings.from_environment()
        log_format.set_up(self._settings)
        self._outage_retry = OutageRetry()
        connection: Redis = options["connection"]
        connection.set_retry(self._outage_retry)
        names = [queue if isinstance(queue, str) else queue.name for queue in queues]
        options |= {
            "serializer": JSONSerializer,
            "job_class": SelectionJob,
            "queue_class": SelectionQueue,
            # The description is the producer's text.
            "log_job_description": False,
            "job_monitoring_interval": self._settings.heartbeat,
            "maintenance_interval": self._settings.heartbeat,
        }
        super().__init__(names, name, **options)

    # The loop

    def work(self, *args: Any, **options: Any) -> bool:
        """Run RQ's loop, with a scheduler."""
        options["with_scheduler"] = True
        worked: bool = super().work(*args, **options)
        return worked

    def bootstrap(self, *args: Any, **options: Any) -> None:
        """Register; from then on wait as long as an outage lasts."""
        super().bootstrap(*args, **options)
        self._outage_retry.retry_forever()

    @property
    def dequeue_timeout(self) -> int:
        """Seconds to wait for a job before the next search for abandoned ones.

        RQ waits seven minutes, in which an idle worker does not search.
        """
        return self._settings.heartbeat

    def dequeue_job_and_maintain_ttl(
        self, timeout: int | None, max_idle_time: int | None = None
    ) -> tuple[Job, Queue] | None:
        """Wait for a job; one that comes during a pause is returned to the queue.

        RQ checks for a pause between two jobs only, so each idle worker runs one more.
        """
        while True:
            found = super().dequeue_job_and_maintain_ttl(timeout, max_idle_time)
            if found is None or not is_suspended(self.connection):
                return found
            job, queue = found
            recovery.return_to_queue(queue, job.id)
            self.check_for_suspension(burst=timeout is None)
            if self._stop_requested:
                return None

    # Maintenance

    def run_maintenance_tasks(self) -> None:
        """Recover the jobs of dead workers; an error in one step does not stop the next."""
        if self._stop_requested:
            return
        steps: list[Callable[[], object]] = [
            self._keep_scheduler,
            self.clean_registries,
            self.clean_group_registries,
            self.expire_registrations,
        ]
        for step in steps:
            with _logging_errors(step.__name__):
                step()
        self.last_cleaned_at = datetime.now(UTC)  # type: ignore[assignment]

    def clean_registries(self) -> None:
        """Requeue or fail the jobs that no live worker has."""
        for queue in self.queues:
            if queue.acquire_maintenance_lock():
                self._clean(queue)
                queue.release_maintenance_lock()

    def _clean(self, queue: Queue) -> None:
        steps: list[Callable[[Queue], object]] = [
            recovery.remove_expired,
            worker_registration.clean_worker_registry,
            self._recover_abandoned,
            self._requeue_lost,
            recovery.enqueue_waiting,
        ]
        for step in steps:
            with _logging_errors(f"{step.__name__} of queue {queue.name}"):
                step(queue)

    def _recover_abandoned(self, queue: Queue) -> None:
        for job in recovery.claim_abandoned(queue):
            with _logging_errors(f"job {job.id}"):
                reason = refusal_reason(job)
                gone = WorkerKilledError("its worker was killed or lost its connection")
                self._fail(job, queue, JobRefusedError(reason) if reason else gone)

    def _requeue_lost(self, queue: Queue) -> None:
        for job_id in recovery.requeue_moved(queue):
            name = job_id.decode(errors="backslashreplace")
            log_format.log_requeue(name, "its worker had not started it")
        for job in recovery.requeue_stale(queue, 4 * self._settings.heartbeat):
            record_requeue(job, "nothing owned it", self._settings)

    def _keep_scheduler(self) -> None:
        scheduler = self.scheduler
        if self.last_cleaned_at and scheduler:
            process = scheduler._process
            if process is None or not process.is_alive():
                scheduler.acquire_locks(auto_start=True)

    # Jobs

    def execute_job(self, job: Job, queue: Queue) -> None:
        """Run the job in a process of its own, or refuse it."""
        try:
            self._execute(job, queue)
        except StopRequested:
            raise
        except NoSuchJobError as error:  # deleted meanwhile
            log_format.log_unexpected(f"job {job.id}", error)
        except Exception as error:
            if isinstance(error, RedisError) and not str(error).startswith("WRONGTYPE"):
                raise
            self._kill_job_process()
            with _logging_errors(f"job {job.id}"):
                self._fail(job, queue, JobRefusedError(f"it cannot be handled: {error}"))

    def _execute(self, job: Job, queue: Queue) -> None:
        # The origin in the job's hash is the producer's text.
        job.origin = queue.name
        execution = self.prepare_execution(job)
        if not self._claim(job, queue, execution):
            with self.connection.pipeline() as pipeline:
                self.cleanup_execution(job, pipeline, execution)
                pipeline.execute()
        elif reason := refusal_reason(job):
            job.worker_name = self.name
            self._fail(job, queue, JobRefusedError(reason), execution)
        else:
            self.fork_work_horse(job, queue)
            self.monitor_work_horse(job, queue, execution)
        self.set_state(WorkerStatus.IDLE)

    def _claim(self, job: Job, queue: Queue, execution: Execution) -> bool:
        """Return False if this worker was slow and another one has requeued the job."""
        if self.connection.lrem(queue.intermediate_queue_key, 1, job.id):
            return True
        # RQ did not use the intermediate queue, or the answer to the first try was lost.
        return not recovery.is_owned(queue, job.id, besides=execution.composite_key)

    def _fail(
        self, job: Job, queue: Queue, error: Exception, execution: Execution | None = None
    ) -> None:
        """Record a failure of a job without a process; its retries decide what follows."""
        retries.set_retry_policy(job, self._settings)
        if not retries.is_retryable(error):
            retries.make_final(job)
        record_failure(job, error, retries.next_delay(job), self._settings)
        reason = f"{type(error).__name__}: {error}"
        self.handle_job_failure(job, queue, exc_string=reason, execution=execution)

    def _kill_job_process(self) -> None:
        if self.horse_pid:
            self.kill_horse()
            self.wait_for_horse()
            self._horse_pid = 0

    def get_heartbeat_ttl(self, job: Job, working_time: float = 0.0) -> int:
        """Return the seconds without a heartbeat after which another worker takes the job."""
        return MISSED_HEARTBEATS * self._settings.heartbeat

    def maintain_heartbeats(self, job: Job, execution: Execution) -> None:
        """Send heartbeats of a running job, and read the timeout that its process has set."""
        super().maintain_heartbeats(job, execution)
        timeout = self.connection.hget(job.key, "timeout")
        if timeout and timeout.isdigit():
            job.timeout = int(timeout)

    def fork_work_horse(self, job: Job, queue: Queue) -> None:
        """Start the job's process."""
        self._parent = os.getpid()
        super().fork_work_horse(job, queue)

    def setup_work_horse_signals(self) -> None:
        """Let this process, the job's, end with the worker, and let SIGTERM requeue the batch."""
        set_up_child(self._parent, self.connection)
        super().setup_work_horse_signals()
        handler.install()

    def prepare_job_execution(self, job: Job, remove_from_intermediate_queue: bool = False) -> None:
        """Set the timeout of the settings if the job has none, in the job's process."""
        retries.set_timeout(job, call_of(job).path, self._settings)
        super().prepare_job_execution(job)
        self.connection.hset(job.key, "timeout", job.timeout)

    def handle_exception(self, job: Job, *exc_info: Any) -> None:
        """Log RQ's traceback only for errors that have not been logged in one line already."""
        if isinstance(exc_info[1], SelectionError | ShutdownRequested):
            call_exception_handlers(self._exc_handlers, job, *exc_info)
        else:
            super().handle_exception(job, *exc_info)

    def handle_work_horse_killed(self, job: Job, retpid: int, ret_val: int, rusage: Any) -> None:
        """Record that the job's process was killed; the job's retries decide what follows."""
        job.refresh()
        retries.set_retry_policy(job, self._settings)
        killed = WorkerKilledError(_how_it_ended(ret_val))
        record_failure(job, killed, retries.next_delay(job), self._settings)

    def _handle_stopped_job(self, job: Job, queue: Queue, execution: Execution) -> None:
        job.refresh()
        record_stop(job, self._settings)
        super()._handle_stopped_job(job, queue, execution)

    # Shutdown

    def handle_warm_shutdown_request(self) -> None:
        """Give a running batch ``SELECTION_GRACE`` seconds, then requeue it."""
        super().handle_warm_shutdown_request()
        threading.Thread(target=self._end_in_time, daemon=True).start()

    def _shutdown(self) -> None:
        """Stop now, or after the batch, without waiting for the server."""
        if self.get_state() != WorkerStatus.BUSY:
            raise StopRequested
        self._stop_requested = True

    def _end_in_time(self) -> None:
        self._wait_for_job(self._settings.grace)
        if self.horse_pid:
            os.kill(self.horse_pid, signal.SIGTERM)
        self._wait_for_job(_SECONDS_TO_REQUEUE)
        time.sleep(_SECONDS_TO_END)
        # The main thread waits for a server that is away. A second signal is RQ's cold shutdown.
        os.kill(os.getpid(), signal.SIGTERM)

    def _wait_for_job(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while self.get_state() == WorkerStatus.BUSY and time.monotonic() < end:
            time.sleep(0.1)

    def teardown(self) -> None:
        """Stop the scheduler and remove the registration, without waiting for the server."""
        if self.is_horse:
            return
        # The rest takes some seconds at most and must not be interrupted.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self._outage_retry.retry_never()
        self.stop_scheduler()
        self.connection = fail_fast_connection(self.connection)
        try:
            self.register_death()
        except RedisError as error:
            log_format.log_stop_without_server(error)
        else:
            self.unsubscribe()

    # The scheduler

    def _start_scheduler(
        self, burst: bool = False, logging_level: str | None = None, *formats: str
    ) -> None:
        self.scheduler = SelectionScheduler(
            self.queues,
            self.connection,
            self._outage_retry,
            logging_level=self.log.level if logging_level is None else logging_level,
            serializer=self.serializer,
        )
        if not self.scheduler.acquire_locks():
            return
        if not burst:
            self.scheduler.start()
            return
        self.scheduler.enqueue_scheduled_jobs()
        self.scheduler.release_locks()

    def stop_scheduler(self) -> None:
        """Stop the scheduler's process."""
        process = self.scheduler._process if self.scheduler else None
        if process is None or not process.is_alive():
            return
        process.terminate()
        process.join(_SECONDS_TO_END)
        process.kill()
        process.join()


@contextmanager
def _logging_errors(what: str) -> Iterator[None]:
    """Log an unexpected error and go on; an outage and a stop request are raised."""
    try:
        yield
    except (StopRequested, RedisConnectionError, RedisTimeoutError):
        raise
    except Exception as error:
        log_format.log_unexpected(what, error)


def _how_it_ended(status: int | None) -> str:
    if status is None:
        return "the process that ran it did not end within its timeout and was killed"
    code = os.waitstatus_to_exitcode(status)
    if code == -signal.SIGKILL:
        return f"the process that ran it was killed ({code}), as a memory limit does"
    if code < 0:
        return f"the process that ran it was ended by {_signal_name(-code)} ({code})"
    return f"the process that ran it ended with exit code {code}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
