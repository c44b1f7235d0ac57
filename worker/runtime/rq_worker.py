"""``worker.SelectionWorker``: an RQ worker that runs this project's jobs and nothing else.

``rq worker selection`` uses it where ``RQ_WORKER_CLASS=worker.SelectionWorker`` is set.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from redis import Redis
from redis.client import Pipeline
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError
from rq import Queue, Worker, worker_registration
from rq.exceptions import NoSuchJobError, StopRequested
from rq.executions import Execution
from rq.job import Job
from rq.job_lifecycle import call_exception_handlers
from rq.serializers import JSONSerializer
from rq.suspension import is_suspended
from rq.worker import WorkerStatus

from selection import SelectionError
from selection.storage.input import fault_of_name
from worker import log_format
from worker.connections import Patience, impatient, server_time
from worker.processes import runs
from worker.producer import FUNCTION
from worker.runtime import recovery, retries
from worker.runtime.children import become_child
from worker.runtime.recorder import batch_of, record_failure, record_put_back, record_stop
from worker.runtime.retries import JobRefusedError, WorkerKilledError
from worker.runtime.rq_job import SelectionJob
from worker.runtime.rq_queue import SelectionQueue
from worker.runtime.rq_scheduler import SelectionScheduler
from worker.runtime.shutdown import HandBack, orders
from worker.settings import SAFE_WORKER, Settings
from worker.state.registrations import Member, read_member, registration

_MISSED_HEARTBEATS = 3

# After the grace: for the job's process to hand the batch back, and for the scheduler to end.
_SECONDS_TO_HAND_BACK, _SECONDS_TO_END = 10, 2


class SelectionWorker(Worker):
    """RQ's worker with nine differences.

    - Jobs are JSON. With RQ's pickle, each client that can write to Redis can run code
      in the worker.
    - Only ``worker.jobs.select_batch`` is run, and no callback or webhook of a job.
    - It has a scheduler, so that delayed retries need nothing else.
    - A batch whose process or whole worker is killed is tried again soon, a bounded number
      of times (``SELECTION_HEARTBEAT``, ``SELECTION_RETRY_DELAYS``), and so is a job that
      nothing owns any more.
    - A bad batch is one line in the log, not RQ's traceback.
    - On SIGTERM it gives its batch ``SELECTION_GRACE`` seconds and then hands it back; it
      never waits longer for a server that is away.
    - No job ends it: one that cannot be read fails with the reason.
    - A pause holds for idle workers, too.
    - It waits as long as an outage lasts, and registers again with a server that has
      forgotten it.
    """

    def __init__(self, queues: Any, name: str | None = None, **options: Any) -> None:
        self._settings = Settings.from_environment()
        log_format.set_up(self._settings)
        self._patience = Patience()
        connection: Redis = options["connection"]
        connection.set_retry(self._patience)
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
        """RQ's loop, with a scheduler."""
        options["with_scheduler"] = True
        worked: bool = super().work(*args, **options)
        return worked

    def bootstrap(self, *args: Any, **options: Any) -> None:
        """Register; from then on an outage is waited for."""
        super().bootstrap(*args, **options)
        self._patience.wait_for_the_server()

    def serialize(self) -> dict[str, Any]:
        """RQ's registration, with what status, doctor and the health check need."""
        fields: dict[str, Any] = super().serialize()
        # Not this process's number: a job's process gives signs of life of its worker, too.
        return fields | registration(self.pid or 0, self._settings)

    def register_birth(self) -> None:
        """Register, also in the place of a dead worker of the same name.

        RQ refuses the name of a worker that was killed for eight minutes.
        """
        fields: Any = self.connection.hgetall(self.key)
        texts = {name.decode(): value.decode("utf-8", "replace") for name, value in fields.items()}
        earlier = read_member(self.key, texts, server_time(self.connection))
        if earlier is not None and not (earlier.is_alive and _may_run(earlier)):
            self.connection.delete(self.key)
        super().register_birth()

    def heartbeat(self, timeout: int | None = None, pipeline: Pipeline | None = None) -> None:
        """Give a sign of life, by the server's clock.

        All of the registration is written each time: a server that was restarted without its
        data, or whose key of this worker has expired, knows the worker again.
        """
        lifetime = timeout or self.worker_ttl + 60
        self.last_heartbeat = datetime.fromtimestamp(server_time(self.connection), UTC)
        commands = self.connection.pipeline() if pipeline is None else pipeline
        fields: dict[Any, Any] = self.serialize() | {"state": self._state}
        commands.hset(self.key, mapping=fields)
        commands.expire(self.key, lifetime)
        commands.expire(self.executions_key, lifetime)
        worker_registration.register(self, commands)
        if pipeline is None:
            commands.execute()

    @property
    def dequeue_timeout(self) -> int:
        """Seconds to wait for a job before looking for abandoned ones again.

        RQ waits seven minutes, and an idle worker looks for nothing meanwhile.
        """
        return self._settings.heartbeat

    def dequeue_job_and_maintain_ttl(
        self, timeout: int | None, max_idle_time: int | None = None
    ) -> tuple[Job, Queue] | None:
        """Wait for a job; one that comes during a pause goes back.

        RQ looks for a pause between two jobs only, so that each idle worker runs one more.
        """
        while True:
            found = super().dequeue_job_and_maintain_ttl(timeout, max_idle_time)
            if found is None or not is_suspended(self.connection):
                return found
            job, queue = found
            recovery.move_back(queue, job.id)
            self.check_for_suspension(burst=timeout is None)
            if self._stop_requested:
                return None

    # Maintenance

    def run_maintenance_tasks(self) -> None:
        """Look for what dead workers have left; nothing that is found there ends this one."""
        if self._stop_requested:
            return
        steps: list[Callable[[], object]] = [
            self._keep_scheduler,
            self.clean_registries,
            self.clean_group_registries,
            self._expire_workers,
        ]
        for step in steps:
            with _surviving(step.__name__):
                step()
        self.last_cleaned_at = datetime.now(UTC)  # type: ignore[assignment]

    def clean_registries(self) -> None:
        """Put back or fail the jobs that no live worker has."""
        for queue in self.queues:
            if queue.acquire_maintenance_lock():
                self._clean(queue)
                queue.release_maintenance_lock()

    def _clean(self, queue: Queue) -> None:
        steps: list[Callable[[Queue], object]] = [
            recovery.forget_expired,
            worker_registration.clean_worker_registry,
            self._recover_abandoned,
            self._put_back,
            recovery.enqueue_waiting,
        ]
        for step in steps:
            with _surviving(f"{step.__name__} of queue {queue.name}"):
                step(queue)

    def _recover_abandoned(self, queue: Queue) -> None:
        for job in recovery.claim_abandoned(queue):
            with _surviving(f"job {job.id}"):
                reason = refusal(job)
                gone = WorkerKilledError("its worker went away")
                self._fail(job, queue, JobRefusedError(reason) if reason else gone)

    def _put_back(self, queue: Queue) -> None:
        for job_id in recovery.put_back_moved(queue):
            log_format.log_put_back(
                job_id.decode(errors="backslashreplace"), "its worker had not started it"
            )
        for job in recovery.put_back_stale(queue, 4 * self._settings.heartbeat):
            record_put_back(job, "nothing owned it", self._settings)

    def _keep_scheduler(self) -> None:
        scheduler = self.scheduler
        if self.last_cleaned_at and scheduler:
            process = scheduler._process
            if process is None or not process.is_alive():
                scheduler.acquire_locks(auto_start=True)

    def _expire_workers(self) -> None:
        """Let what is known of dead workers end.

        RQ writes to a worker's key without asking whether it is there. Had it expired while
        the server was away, it comes back without a lifetime, and stays for ever if its
        worker is killed before its next sign of life.
        """
        for key in self.all_keys(self.connection):
            if self.connection.ttl(key) == -1:
                self.connection.expire(key, self.worker_ttl + 60)

    # Jobs

    def execute_job(self, job: Job, queue: Queue) -> None:
        """Run the job in a process of its own, or refuse it."""
        try:
            self._execute(job, queue)
        except StopRequested:
            raise
        except NoSuchJobError as error:
            # Deleted meanwhile.
            log_format.log_odd(f"job {job.id}", error)
        except Exception as error:
            if isinstance(error, RedisError) and not str(error).startswith("WRONGTYPE"):
                raise
            self._end_horse()
            with _surviving(f"job {job.id}"):
                self._fail(job, queue, JobRefusedError(f"it cannot be handled: {error}"))

    def _execute(self, job: Job, queue: Queue) -> None:
        # The origin in the job's hash is the producer's text.
        job.origin = queue.name
        execution = self.prepare_execution(job)
        if not self._claim(job, queue, execution):
            with self.connection.pipeline() as pipeline:
                self.cleanup_execution(job, pipeline, execution)
                pipeline.execute()
        elif reason := refusal(job):
            job.worker_name = self.name
            self._fail(job, queue, JobRefusedError(reason), execution)
        else:
            self.fork_work_horse(job, queue)
            self.monitor_work_horse(job, queue, execution)
        self.set_state(WorkerStatus.IDLE)

    def _claim(self, job: Job, queue: Queue, execution: Execution) -> bool:
        """Whether the job is this worker's; not if it was slow and another put the job back."""
        if self.connection.lrem(queue.intermediate_queue_key, 1, job.id):
            return True
        # Where RQ does not use the intermediate queue, or the answer to the first try was lost.
        return not recovery.is_owned(queue, job.id, besides=execution.composite_key)

    def _fail(
        self, job: Job, queue: Queue, error: Exception, execution: Execution | None = None
    ) -> None:
        """Record a failure of a job that has no process; its retries decide what follows."""
        retries.give_policy(job, self._settings)
        if not retries.may_help(error):
            retries.forbid(job)
        record_failure(job, error, retries.delay(job), self._settings)
        reason = f"{type(error).__name__}: {error}"
        self.handle_job_failure(job, queue, exc_string=reason, execution=execution)

    def _end_horse(self) -> None:
        if self.horse_pid:
            self.kill_horse()
            self.wait_for_horse()
            self._horse_pid = 0

    def get_heartbeat_ttl(self, job: Job, working_time: float = 0.0) -> int:
        """Seconds after which a job without a sign of life is another worker's."""
        return _MISSED_HEARTBEATS * self._settings.heartbeat

    def maintain_heartbeats(self, job: Job, execution: Execution) -> None:
        """Give a sign of life of a running job, and learn the timeout that its process has set."""
        super().maintain_heartbeats(job, execution)
        timeout = self.connection.hget(job.key, "timeout")
        if timeout and timeout.isdigit():
            job.timeout = int(timeout)

    def fork_work_horse(self, job: Job, queue: Queue) -> None:
        """Start the job's process."""
        self._parent = os.getpid()
        super().fork_work_horse(job, queue)

    def setup_work_horse_signals(self) -> None:
        """In the job's process: end with the worker; SIGTERM hands the batch back."""
        become_child(self._parent, self.connection)
        super().setup_work_horse_signals()
        orders.listen()

    def prepare_job_execution(self, job: Job, remove_from_intermediate_queue: bool = False) -> None:
        """In the job's process: give the job the timeout of the settings, if it has none."""
        retries.give_timeout(job, batch_of(job)[0], self._settings)
        super().prepare_job_execution(job)
        self.connection.hset(job.key, "timeout", job.timeout)

    def handle_exception(self, job: Job, *exc_info: Any) -> None:
        """Without RQ's traceback for what has been logged in one line already."""
        if isinstance(exc_info[1], SelectionError | HandBack):
            call_exception_handlers(self._exc_handlers, job, *exc_info)
        else:
            super().handle_exception(job, *exc_info)

    def handle_work_horse_killed(self, job: Job, retpid: int, ret_val: int, rusage: Any) -> None:
        """The job's process died: the job's retries decide, as the process left them."""
        job.refresh()
        retries.give_policy(job, self._settings)
        killed = WorkerKilledError(_how_it_ended(ret_val))
        record_failure(job, killed, retries.delay(job), self._settings)

    def _handle_stopped_job(self, job: Job, queue: Queue, execution: Execution) -> None:
        job.refresh()
        record_stop(job, self._settings)
        super()._handle_stopped_job(job, queue, execution)

    # Shutdown

    def handle_warm_shutdown_request(self) -> None:
        """Give a running batch its grace."""
        super().handle_warm_shutdown_request()
        threading.Thread(target=self._end_in_time, daemon=True).start()

    def _shutdown(self) -> None:
        """End now, or after the batch; nothing here waits for the server."""
        if self.get_state() != WorkerStatus.BUSY:
            raise StopRequested
        self._stop_requested = True

    def _end_in_time(self) -> None:
        self._wait_for_job(self._settings.grace)
        if self.horse_pid:
            os.kill(self.horse_pid, signal.SIGTERM)
        self._wait_for_job(_SECONDS_TO_HAND_BACK)
        time.sleep(_SECONDS_TO_END)
        # It waits for a server that is away. The second signal is RQ's cold shutdown.
        os.kill(os.getpid(), signal.SIGTERM)

    def _wait_for_job(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while self.get_state() == WorkerStatus.BUSY and time.monotonic() < end:
            time.sleep(0.1)

    def teardown(self) -> None:
        """Stop the scheduler and say goodbye, without waiting for a server that is away."""
        if self.is_horse:
            return
        # What follows takes some seconds at most, and is not to be cut off half-way.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self._patience.end()
        self.stop_scheduler()
        self.connection = impatient(self.connection)
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
            self._patience,
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
        """End the scheduler's process."""
        process = self.scheduler._process if self.scheduler else None
        if process is None or not process.is_alive():
            return
        process.terminate()
        process.join(_SECONDS_TO_END)
        process.kill()
        process.join()


def _may_run(earlier: Member) -> bool:
    """Whether a worker of the same name runs, as far as this machine knows."""
    if earlier.host != socket.gethostname():
        return True
    # A container that is started again has the same process number.
    return runs(earlier.pid) and earlier.pid != os.getpid()


@contextmanager
def _surviving(what: str) -> Iterator[None]:
    """Log what cannot be handled, and go on; an outage or a stop is another matter."""
    try:
        yield
    except (StopRequested, RedisConnectionError, RedisTimeoutError):
        raise
    except Exception as error:
        log_format.log_odd(what, error)


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


def refusal(job: Job) -> str | None:
    """Why a job must not be run; None if it may."""
    if unreadable := getattr(job, "unreadable", ()):
        return f"its fields cannot be read: {', '.join(unreadable)}"
    try:
        payload = job.serializer.loads(job.data)
    except Exception:
        return f"its payload is not JSON; enqueue it with RQ_WORKER_CLASS={SAFE_WORKER}"
    if not isinstance(payload, list) or len(payload) != 4:
        return "its payload does not name a function and arguments"
    function, instance, args, kwargs = payload
    if function != FUNCTION or instance is not None:
        return f"it names another function: {function!r}"
    if not isinstance(args, list) or not isinstance(kwargs, dict):
        return "its arguments are malformed"
    return _refusal_of_arguments(job) or _refusal_of_callbacks(job)


def _refusal_of_arguments(job: Job) -> str | None:
    try:
        path, output = batch_of(job)
    except TypeError as error:
        return f"its arguments are not a path and an output: {error}"
    if not isinstance(path, str) or not isinstance(output, str | None):
        return "its arguments are not paths"
    for name in filter(None, (path, output)):
        try:
            if b"\0" in os.fsencode(name):
                return f"a NUL character cannot be in a path: {name!r}"
        except UnicodeEncodeError:
            return fault_of_name(name) or f"it cannot be the name of a file: {name!r}"
    return None


def _refusal_of_callbacks(job: Job) -> str | None:
    if job._success_callback_name or job._failure_callback_name or job._stopped_callback_name:
        return "it has a callback"
    if job.webhooks:
        return "it has a webhook"
    return None
