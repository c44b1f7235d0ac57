"""The commands that take files: ``enqueue`` and ``local``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import chain

import click
from redis import Redis
from rq.job import Job

from selection.batch import Summary
from selection.cli.messages import log, log_error, log_left_out, log_warnings, progress
from selection.cli.options import file_options
from selection.cli.pages import means_folder, plan_pages
from selection.cli.plan import Plan, make_folder, plan
from selection.cli.printable import printable
from selection.cli.tables import print_summaries
from selection.errors import SelectionError
from selection.storage.names import REPORTS
from worker.cli.outcome import exit_code, print_jobs
from worker.cli.report import rows_of_jobs
from worker.cli.wait import wait_for
from worker.local_fleet import local_queue
from worker.producer import enqueue as enqueue_batch
from worker.settings import Settings
from worker.state.job_state import JobState
from worker.state.status import JobStatus, read_jobs


@click.command()
@file_options
@click.option("--wait", is_flag=True, help="Wait until all jobs have ended.")
@click.option("--force", is_flag=True, help="Select files again that look unchanged.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object per job, and no table."
)
def enqueue(
    files: Sequence[str],
    output: str | None,
    output_dir: str | None,
    recursive: bool,
    wait: bool,
    force: bool,
    as_json: bool,
) -> int:
    """Enqueue each FILE: a batch, a pattern or a folder.

    FILEs and output options mean the same as for 'selection run'. A file that was enqueued
    before and has not changed, by size and time, remains one job; with --force it is
    selected again. With --wait the exit code is that of the first failure.

    \b
    Examples:
      selection-worker enqueue batch.json
      selection-worker enqueue /data --recursive --output-dir /picked --wait
      selection-worker enqueue '/data/2026-*/*.json' --json
    """
    settings = Settings.from_environment()
    connection = settings.connect()
    planned = plan(files, output, output_dir, recursive=recursive)
    jobs, errors = _enqueue_all(planned, connection, settings, force)
    code = errors[0].exit_code if errors else 0
    ids = list(dict.fromkeys(job.id for job in jobs))
    # Only a new job has the time at which it was enqueued.
    known = [job.id for job in jobs if job.enqueued_at is None]
    _log_known(read_jobs(connection, settings, known))
    if wait:
        batches = wait_for(connection, settings, ids)
        code = code or exit_code(batches)
    else:
        batches = read_jobs(connection, settings, ids)
    print_jobs(batches, as_json)
    return code


def _log_known(jobs: Sequence[JobStatus]) -> None:
    """Log the jobs that exist from an earlier call."""
    for job in jobs:
        if job.state is JobState.FINISHED:
            log(f"{job.path}: already selected and unchanged; --force selects it again")
        else:
            log(f"{job.path}: already enqueued")


def _enqueue_all(
    planned: Plan, connection: Redis, settings: Settings, force: bool = False
) -> tuple[list[Job], list[SelectionError]]:
    """Enqueue the files without an error; return the jobs and the errors."""
    log_left_out(planned.left_out)
    jobs: list[Job] = []
    errors: list[SelectionError] = list(planned.errors)
    for batch in planned.batches:
        try:
            make_folder(batch, settings.roots)
            jobs.append(
                enqueue_batch(
                    batch.path,
                    batch.output,
                    connection=connection,
                    settings=settings,
                    force=force,
                )
            )
        except SelectionError as error:
            errors.append(error)
    for each in errors:
        log_error(each)
    return jobs, errors


@click.command()
@file_options
@click.option(
    "--workers", type=click.IntRange(min=1), default=1, help="Number of workers; 1 by default."
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object per job, and no table."
)
def local(
    files: Sequence[str],
    output: str | None,
    output_dir: str | None,
    recursive: bool,
    workers: int,
    as_json: bool,
) -> int:
    """Process FILEs with a private server and workers.

    Server and workers are stopped afterwards. The server is that of the extra 'embedded',
    or valkey-server or redis-server on PATH. FILEs and output options mean the same as for
    'selection run'.

    The report of one file, <name>_report.html, is written beside it. The reports of several
    files or a folder are written with an index to selection_report/ beside the outputs.

    \b
    Examples:
      selection-worker local river_plate_extracted.json
      selection-worker local /data --workers 2
    """
    planned = plan(files, output, output_dir, recursive=recursive)
    folder = _folder_of_reports(files, output, output_dir, recursive)
    with local_queue(Settings.from_environment(), workers) as (settings, running):
        connection = settings.connect()
        jobs, errors = _enqueue_all(planned, connection, settings)
        ids = list(dict.fromkeys(job.id for job in jobs))
        batches = wait_for(connection, settings, ids, running.require_alive) if ids else []
    summaries = [Summary(**batch.summary) for batch in batches if batch.summary]
    if as_json:
        print_jobs(batches, as_json)
    else:
        if summaries:
            print_summaries(summaries)
        print_jobs([batch for batch in batches if not batch.summary], as_json)
    code = errors[0].exit_code if errors else exit_code(batches)
    if folder is not None:
        failure = _report_folder(errors, batches, folder, settings.roots, as_json)
        return code or failure
    for summary in summaries:
        log_warnings(summary.input, summary.warnings)
        failure = _report(summary.input, settings.roots, as_json)
        code = code or failure
    return code


def _folder_of_reports(
    files: Sequence[str], output: str | None, output_dir: str | None, recursive: bool
) -> str | None:
    """Return the folder of the reports of several batches, None for the page of one file."""
    if not means_folder(files, None):
        return None
    below = output_dir or output
    return os.path.join(below, REPORTS) if below else plan_pages(files, recursive=recursive).folder


def _report_folder(
    errors: Sequence[SelectionError],
    jobs: Sequence[JobStatus],
    folder: str,
    roots: Sequence[str],
    as_json: bool,
) -> int:
    """Write the reports and the index of several batches; return the exit code."""
    # The import would cost every other command a tenth of a second.
    from selection.cli.report_folder import PageOptions, finish
    from selection.report.index import Failure, Row

    refused = [Row(path=e.path or "", failure=Failure.of(e), is_earlier=True) for e in errors]
    try:
        rows = rows_of_jobs(jobs, folder, PageOptions(roots=roots))
        index, code = finish(chain(refused, rows), folder, roots)
    except SelectionError as error:
        log_error(error)
        return error.exit_code
    _print_report(index, as_json)
    return code


def _report(path: str, roots: Sequence[str], as_json: bool) -> int:
    """Write a batch's report and print its path; return the exit code."""
    # The import would cost every other command a tenth of a second.
    from selection.report.write import write_report

    try:
        with progress(path) as shown:
            report = write_report(path, progress=shown, roots=roots)
    except SelectionError as error:
        log_error(error)
        return error.exit_code
    _print_report(report.output, as_json)
    return 0


def _print_report(path: str, as_json: bool) -> None:
    if as_json:
        log(f"report: {path}")
    else:
        click.echo(f"report: {printable(path)}")
