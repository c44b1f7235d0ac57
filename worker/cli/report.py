"""The command ``report``: a folder of reports on what the queue has done."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

import click

from selection.cli.options import Bytes
from selection.cli.plan import Planned, place_pages
from selection.cli.printable import printable
from selection.storage.names import REPORTS
from worker.cli.outcome import exit_code
from worker.cli.tables import error_text
from worker.settings import Settings
from worker.state.job_state import JobState
from worker.state.status import JobStatus, newest_jobs

_ENDED = (JobState.FINISHED, JobState.FAILED, JobState.STOPPED)


@click.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(readable=False),
    default=REPORTS,
    help=f"The folder; {REPORTS}/ by default.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=100,
    help="Largest number of jobs; 100 by default, 0 for all.",
)
@click.option("--text-limit", type=Bytes(), help="Most text in a page, by default 5M.")
def report(output: str, limit: int, text_limit: int | None) -> int:
    """Write a folder of reports on the newest jobs that have ended.

    The page of a finished job is made from its output. A job that failed is a row of the
    index with its error. The last job of a batch counts.

    \b
    Examples:
      selection-worker report                      writes selection_report/index.html
      selection-worker report -o /data/report --limit 0
    """
    settings = Settings.from_environment()
    jobs = newest_jobs(settings.connect(), settings, _ENDED, limit or None)
    index, code = report_jobs(jobs, output, settings.roots, text_limit=text_limit)
    click.echo(printable(index))
    return code


def report_jobs(
    jobs: Iterable[JobStatus],
    folder: str,
    roots: Sequence[str],
    *,
    text_limit: int | None = None,
) -> tuple[str, int]:
    """Write the pages of finished jobs, and an index that has the others with their errors.

    Args:
        jobs: the jobs, the last changed first, or one job a batch.
        folder: the folder of the index.
        roots, text_limit: as for ``write_report``.

    Returns:
        The path of the index, and the exit code of the first failure to read an output or to
        write a page, or 0. The failures of the jobs themselves are not counted.

    Raises:
        SelectionError: the index cannot be written.
    """
    # The import would cost every other command a tenth of a second.
    from selection.cli.report_folder import finish, report_one
    from selection.report.index import Failure, Row

    chosen = list(_last_of_each_batch(jobs))
    paths = [job.path or "" for job in chosen]
    rows: list[Row] = []
    code = 0
    for job, page in zip(
        chosen, place_pages(paths, [os.path.dirname(path) for path in paths], folder), strict=True
    ):
        summary = job.summary or {}
        name = job.path or job.id
        if job.state is not JobState.FINISHED:
            error = job.error or {"type": job.state, "message": "the job has no recorded error"}
            failure = Failure(str(error["type"]), error_text(error), exit_code([job]))
            rows.append(Row(path=name, failure=failure))
            continue
        rows.append(
            report_one(
                Planned(str(summary.get("output") or job.output or ""), page, is_below=True),
                folder,
                name=name,
                seconds=summary.get("seconds"),
                text_limit=text_limit,
                roots=roots,
            )
        )
        if rows[-1].failure:
            code = code or rows[-1].failure.exit_code
    index, _ = finish(rows, folder, roots)
    return index, code


def _last_of_each_batch(jobs: Iterable[JobStatus]) -> Iterator[JobStatus]:
    seen: set[tuple[str | None, str | None]] = set()
    for job in jobs:
        key = job.path, job.output
        if job.path is None or key not in seen:
            seen.add(key)
            yield job
