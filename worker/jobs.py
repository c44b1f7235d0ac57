"""The job: ``worker.jobs.select_batch``, enqueued by name and run by any RQ worker."""

from __future__ import annotations

from functools import partial
from typing import Any

from rq import get_current_job

from selection import Progress, ReadOptions, select_file
from selection.parallel.cores import usable_cores
from worker import log_format
from worker.runtime import retries
from worker.runtime.recorder import Recorder
from worker.runtime.shutdown import ShutdownRequested, handler
from worker.settings import Settings


def select_batch(path: str, output: str | None = None) -> dict[str, Any]:
    """Select one batch; see ``selection.select_file``.

    Args:
        path: the batch, under the name that the worker uses.
        output: where to write; by default ``<name>_selected.json`` beside the batch.

    Returns:
        The summary as plain data: ``input``, ``output``, ``articles``, ``skipped``,
        ``picks``, ``rules``, ``bytes``, ``seconds``, ``python``, ``unicode``,
        ``warnings``.

    Raises:
        TypeError: the arguments are not paths; final.
        SelectionError: as ``select_file``. Invalid data and forbidden paths are final; RQ
            retries transient errors, with the delays of the settings.
    """
    settings = Settings.from_environment()
    jobs = min(settings.jobs, usable_cores())
    select = partial(
        select_file,
        path,
        output,
        roots=settings.roots,
        jobs=jobs,
        options=ReadOptions(skip_bad_lines=settings.skip_bad_lines),
    )
    job = get_current_job()
    if job is None:
        return select().as_dict()
    log_format.set_up(settings)
    retries.set_retry_policy(job, settings)
    with Recorder(job, settings) as recorder:

        def progress(now: Progress) -> None:
            handler.raise_if_requested()
            recorder.progress(now)

        try:
            with handler.interruptible():
                summary = select(progress)
        except ShutdownRequested:
            retries.requeue_at_front(job)
            recorder.requeued()
            raise
        except Exception as error:
            if not retries.is_retryable(error):
                retries.make_final(job)
            recorder.failed(error, retries.next_delay(job))
            raise
        recorder.finished(summary)
    return summary.as_dict()
