"""The command ``report``: a folder of reports on what the queue has done."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from selection.cli.options import FILE, Bytes
from selection.cli.pages import place_pages
from selection.cli.plan import Planned
from selection.cli.printable import printable
from selection.storage.names import REPORTS, default_output
from worker.cli.outcome import FAILED_ELSEWHERE, exit_code
from worker.cli.tables import error_text
from worker.settings import Settings
from worker.state.job_state import JobState
from worker.state.status import JobStatus, newest_jobs

if TYPE_CHECKING:
    from selection.cli.report_folder import PageOptions
    from selection.report.index import Row

_REPORTED = (JobState.FINISHED, JobState.FAILED, JobState.STOPPED)


@click.command()
@click.option(
    "-o",
    "--output",
    type=FILE,
    default=REPORTS,
    help=f"The folder; {REPORTS}/ by default.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=100,
    help="Largest number of jobs; 100 by default, 0 for all.",
)
@click.option(
    "--text-limit", type=Bytes(), help="Largest size of the texts in a page; 5M by default."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON objects and write no page.")
def report(output: str, limit: int, text_limit: int | None, as_json: bool) -> int:
    """Write a folder of reports on the newest jobs that have ended.

    The page of a finished job is made from its output. A job that failed is a row of the
    index with its error. Of several jobs of one batch, only the last has a row.

    \b
    Examples:
      selection-worker report              writes selection_report/index.html
      selection-worker report -o /data/report --limit 0
      selection-worker report --json > batches.jsonl
    """
    # The import would cost every other command a tenth of a second.
    from selection.cli.report_folder import PageOptions, finish, print_rows

    settings = Settings.from_environment()
    jobs = newest_jobs(settings.connect(), settings, _REPORTED, limit or None)
    options = PageOptions(text_limit, settings.roots, writes=not as_json)
    rows = rows_of_jobs(jobs, output, options)
    if as_json:
        return print_rows(rows)
    index, code = finish(rows, output, settings.roots)
    click.echo(printable(index))
    return code


def rows_of_jobs(jobs: Iterable[JobStatus], folder: str, options: PageOptions) -> Iterator[Row]:
    """Write the pages of finished jobs; return the rows of all jobs.

    Args:
        jobs: the jobs, the last changed first, or one job a batch.
        folder: the folder of the index.
        options: how the pages are made.

    Raises:
        click.UsageError: the index would replace a batch or an output.
    """
    chosen = list(_last_of_each_batch(jobs))
    paths = [job.path or "" for job in chosen]
    outputs = [_output(job) for job in chosen]
    pages = place_pages(paths, [os.path.dirname(path) for path in paths], folder, outputs)
    for job, output, page in zip(chosen, outputs, pages, strict=True):
        yield _row(job, Planned(output, page, is_below=True), folder, options)


def _row(job: JobStatus, planned: Planned, folder: str, options: PageOptions) -> Row:
    # The import would cost every other command a tenth of a second.
    from selection.cli.report_folder import report_one
    from selection.report.index import Failure, Row

    row = Row(path=job.path or job.id, job=job.id, seconds=(job.summary or {}).get("seconds"))
    if job.state is JobState.FINISHED and planned.path:
        return report_one(planned, folder, row, options)
    error = job.error or {"type": job.state, "message": "the job has no recorded error"}
    if job.state is JobState.FINISHED:
        error = {"type": "JobRefusedError", "message": "the job is not one of this project"}
    failure = Failure(str(error["type"]), error_text(error), exit_code([job]) or FAILED_ELSEWHERE)
    return Row(path=row.path, job=job.id, failure=failure, is_earlier=True)


def _output(job: JobStatus) -> str:
    """Return the output of a job, "" if it does not name a batch."""
    named = (job.summary or {}).get("output") or job.output
    return str(named) if named else default_output(job.path) if job.path else ""


def _last_of_each_batch(jobs: Iterable[JobStatus]) -> Iterator[JobStatus]:
    seen: set[tuple[str | None, str | None]] = set()
    for job in jobs:
        key = job.path, job.output
        if job.path is None or key not in seen:
            seen.add(key)
            yield job
