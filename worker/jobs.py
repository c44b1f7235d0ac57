"""The job: ``worker.jobs.select_batch``, enqueued by name and run by any RQ worker."""

from __future__ import annotations

from typing import Any

from rq import get_current_job

from selection import select_file
from selection.parallel.cores import usable_cores
from worker import log_format
from worker.runtime import retries
from worker.runtime.recorder import Report
from worker.runtime.shutdown import HandBack, orders
from worker.settings import Settings


def select_batch(path: str, output: str | None = None) -> dict[str, Any]:
    """Select one batch; see ``selection.select_file``.

    Args:
        path: the batch, as the worker sees it.
        output: where to write; by default ``<name>_selected.json`` beside the batch.

    Returns:
        The summary as plain data: ``input``, ``output``, ``articles``, ``skipped``,
        ``picks``, ``rules``, ``bytes``, ``seconds``, ``python``, ``unicode``,
        ``warnings``.

    Raises:
        TypeError: the arguments are no paths; final.
        SelectionError: as ``select_file``. Bad data and forbidden paths are final; what may
            pass is tried again by RQ, with the delays of the settings.
    """
    settings = Settings.from_environment()
    jobs = min(settings.jobs, usable_cores())
    job = get_current_job()
    if job is None:
        return select_file(path, output, roots=settings.roots, jobs=jobs).as_dict()
    log_format.set_up(settings)
    retries.give_policy(job, settings)
    with Report(job, settings) as report:
        try:
            with orders.interruptible():
                summary = select_file(
                    path, output, report.progress, roots=settings.roots, jobs=jobs
                )
        except HandBack:
            retries.hand_back(job)
            report.handed_back()
            raise
        except Exception as error:
            if not retries.may_help(error):
                retries.forbid(job)
            report.failed(error, retries.delay(job))
            raise
        report.finished(summary)
    return summary.as_dict()
