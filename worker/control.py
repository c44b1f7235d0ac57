"""Commands of an operator to the queue and its workers: cancel a job, pause, resume."""

from __future__ import annotations

from redis import Redis
from redis.exceptions import WatchError
from rq.command import send_command
from rq.suspension import resume, suspend

from worker.settings import Settings
from worker.state.events import Event, publish
from worker.state.job_state import ENDED, JobState
from worker.state.records import read_records
from worker.state.status import remove_job


class ControlError(Exception):
    """The command cannot be carried out; the message gives the reason."""


def cancel_job(connection: Redis, settings: Settings, job: str) -> None:
    """Remove a job that waits, or stop one that runs.

    Raises:
        ControlError: the job does not exist or has ended.
    """
    record = next(read_records(connection, [job]), None)
    if record is None:
        raise ControlError("the job does not exist")
    if record.state in ENDED:
        raise ControlError(f"the job is {record.state} already")
    if record.state is JobState.STARTED:
        if not record.worker:
            raise ControlError("the job's worker is unknown; try again")
        # RQ's own send_stop_job_command unpickles the job.
        send_command(connection, record.worker, "stop-job", job_id=job)
        return
    try:
        remove_job(connection, settings, record)
    except WatchError:
        raise ControlError("the job has just changed its state; try again") from None
    event = Event(JobState.CANCELED, job, record.payload.path or "", record.payload.output)
    publish(connection, settings, event)


def pause_workers(connection: Redis) -> None:
    """Stop all workers of the server from taking another job."""
    suspend(connection)


def resume_workers(connection: Redis) -> bool:
    """Let workers take jobs again; return False if they were not paused."""
    return bool(resume(connection))
