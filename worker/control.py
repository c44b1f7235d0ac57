"""Orders of an operator to the queue and its workers: cancel a job, pause, resume."""

from __future__ import annotations

from redis import Redis
from redis.exceptions import WatchError
from rq.command import send_command
from rq.suspension import resume, suspend

from worker.settings import Settings
from worker.state.events import Event, publish
from worker.state.job_state import ENDED, State
from worker.state.records import read_records
from worker.state.status import forget


class ControlError(Exception):
    """An order that cannot be carried out; the message says why."""


def cancel_job(connection: Redis, settings: Settings, job: str) -> None:
    """Remove a job that waits, or stop one that runs.

    Raises:
        ControlError: there is no such job, or it is over.
    """
    record = next(read_records(connection, [job]), None)
    if record is None:
        raise ControlError("there is no such job")
    if record.state in ENDED:
        raise ControlError(f"the job is {record.state} already")
    if record.state is State.STARTED:
        if not record.worker:
            raise ControlError("the job's worker is unknown; try again")
        # RQ's own send_stop_job_command unpickles the job.
        send_command(connection, record.worker, "stop-job", job_id=job)
        return
    try:
        forget(connection, settings, record)
    except WatchError:
        raise ControlError("the job changed its state just now; try again") from None
    path, output = record.payload.path or "", record.payload.output
    publish(connection, settings, Event.CANCELED, job, path, output)


def pause_workers(connection: Redis) -> None:
    """Let no worker of the server take another job."""
    suspend(connection)


def resume_workers(connection: Redis) -> bool:
    """Let workers take jobs again; whether they were paused."""
    return bool(resume(connection))
