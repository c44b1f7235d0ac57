"""The command ``selection-worker``."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, NoReturn

import click
from redis import Redis
from redis.exceptions import RedisError
from rq.job import Job

from selection import errors
from selection.batch import Summary
from selection.cli import runner as command
from selection.cli.messages import (
    log,
    log_error,
    log_left_out,
    log_warnings,
    name_program,
    progress,
)
from selection.cli.plan import Plan, make_folder, plan
from selection.cli.printable import printable
from selection.cli.tables import console, print_summaries
from selection.errors import SelectionError
from worker import health as health_check
from worker.checks.doctor import examine
from worker.checks.server_checks import advice
from worker.cli import tables
from worker.cli.wait import follow
from worker.cli.watch import watch_fleet
from worker.control import ControlError, cancel_job, pause_workers, resume_workers
from worker.local_fleet import LocalError, local_queue
from worker.producer import RequeueError, requeue
from worker.producer import enqueue as enqueue_batch
from worker.settings import Settings, SettingsError
from worker.state.job_state import State
from worker.state.status import Batch, newest_batches, read_backlog, read_batches, read_fleet

FAULT, NO_INPUT, UNAVAILABLE, FAILED_ELSEWHERE = 1, 66, 69, 74

_ROWS_OF_A_TABLE = 500
_LISTED = [state for state in State if state not in (State.HANDED_BACK, State.GONE)]

_EXIT_CODES = """
\b
Exit codes:
  0    done
  1    doctor: something is at fault; health: no worker is alive
  2    wrong usage
  65, 66, 73, 74   a batch failed: data, input, output, transfer (the first one's code)
  69   the server cannot be reached, or cannot be run here
  130  stopped by Ctrl-C (143 by SIGTERM, 141 by a closed pipe)
"""


class _Group(click.Group):
    """Ends with a sentence where settings or server are at fault."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except SettingsError as error:
            log(f"error: {error}")
            return command.USAGE
        except RedisError as error:
            log(f"error: {advice(error)}")
            return UNAVAILABLE
        except LocalError as error:
            log(f"error: {error}")
            return UNAVAILABLE


@click.group(
    cls=_Group, epilog=_EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(package_name="deterministic-content-selection", prog_name="selection-worker")
def selection_worker() -> None:
    """Put batches into the queue, and operate the queue and its workers.

    The workers themselves are RQ's: rq worker selection. All settings are environment
    variables; RQ_REDIS_URL names the server.

    \b
    Examples:
      selection-worker local river_plate_extracted.json
      selection-worker enqueue /data/*.json --wait
      selection-worker watch
    """


@selection_worker.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("-o", "--output", type=click.Path(readable=False), help="As of 'selection run'.")
@click.option("--output-dir", type=click.Path(readable=False), help="Write into this folder.")
@click.option("-r", "--recursive", is_flag=True, help="Look into the folders of folders, too.")
@click.option("--wait", is_flag=True, help="Follow the jobs to their end.")
@click.option("--force", is_flag=True, help="Select files again that look unchanged.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a job, no more.")
def enqueue(
    files: Sequence[str],
    output: str | None,
    output_dir: str | None,
    recursive: bool,
    wait: bool,
    force: bool,
    as_json: bool,
) -> int:
    """Enqueue each FILE: a batch, a pattern or a folder; *_selected.json are left out.

    A file that is enqueued already and has not changed (by size and time) stays one job;
    with --force it is selected again. With --wait the exit code is the first failure's.
    Files and output options mean the same as for 'selection run'.

    \b
    Examples:
      selection-worker enqueue batch.json
      selection-worker enqueue /data --recursive --output-dir /picked --wait
      selection-worker enqueue '/data/2026-*/*.json' --json
    """
    settings = Settings.from_environment()
    connection = settings.connect()
    planned = plan(files, output, output_dir, recursive=recursive)
    jobs, code = _enqueue_all(planned, connection, settings, force)
    ids = list(dict.fromkeys(job.id for job in jobs))
    if wait:
        batches = follow(connection, settings, ids)
        code = code or _code(batches)
    else:
        batches = read_batches(connection, settings, ids)
    _print_batches(batches, as_json)
    return code


def _enqueue_all(
    planned: Plan, connection: Redis, settings: Settings, force: bool = False
) -> tuple[list[Job], int]:
    """Enqueue what can be enqueued; the jobs, and the first failure's exit code."""
    log_left_out(planned.left_out)
    jobs: list[Job] = []
    errors: list[SelectionError] = list(planned.errors)
    for batch in planned.batches:
        try:
            make_folder(batch)
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
    return jobs, errors[0].exit_code if errors else 0


def _code(batches: Sequence[Batch]) -> int:
    for batch in batches:
        if batch.state is not State.FINISHED:
            kind = getattr(errors, (batch.error or {}).get("type", ""), None)
            return int(getattr(kind, "exit_code", FAILED_ELSEWHERE))
    return 0


def _print_batches(batches: Sequence[Batch], as_json: bool) -> None:
    if as_json:
        for batch in batches:
            click.echo(json.dumps(batch.as_dict()))
    elif batches:
        longest = max(len(batch.path or "") for batch in batches)
        console(2 * longest).print(tables.BatchTable(batches))


@selection_worker.command()
@click.argument("jobs", metavar="[JOB...]", nargs=-1)
@click.option("--failed", is_flag=True, help="The same as --state failed.")
@click.option(
    "--state",
    "states",
    multiple=True,
    metavar="STATE",
    type=click.Choice([state.value for state in _LISTED]),
    help=f"Only jobs in this state; can be repeated: {', '.join(_LISTED)}.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=20,
    help="How many jobs at most; 20 by default, 0 for all.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a job.")
def status(
    jobs: Sequence[str], failed: bool, states: Sequence[str], limit: int, as_json: bool
) -> int:
    """Show each JOB; without a choice, the newest of the queue, the last changed first.

    \b
    Examples:
      selection-worker status
      selection-worker status --failed --limit 100
      selection-worker status selection-3f0c9a1b --json
    """
    settings = Settings.from_environment()
    connection = settings.connect()
    if jobs:
        batches = read_batches(connection, settings, jobs)
        _print_batches(batches, as_json)
        return NO_INPUT if any(batch.state is State.GONE for batch in batches) else 0
    wanted = {State(name) for name in states} | ({State.FAILED} if failed else set())
    found = newest_batches(connection, settings, wanted, limit or None)
    while page := list(islice(found, _ROWS_OF_A_TABLE)):
        _print_batches(page, as_json)
    if not as_json:
        backlog = read_backlog(connection, settings)
        console().print(tables.backlog_lines(backlog))
    return 0


@selection_worker.command()
@click.option("--interval", type=click.FloatRange(min=0.1), default=1.0, help="Seconds.")
def watch(interval: float) -> None:
    """Show the queue, its workers and its batches until q or Ctrl-C; in a log, once.

    The arrow keys, j, k, Space and Page Up and Down scroll.

    \b
    Example:
      selection-worker watch
    """
    settings = Settings.from_environment()
    connection = settings.connect()
    screen = console()
    if not screen.is_terminal:
        screen.print(tables.fleet_view(read_fleet(connection, settings)))
        return
    watch_fleet(screen, lambda: read_fleet(connection, settings, last=50), interval)


@selection_worker.command()
@click.argument("jobs", metavar="[JOB...]", nargs=-1)
@click.option("--failed", is_flag=True, help="All that failed.")
def retry(jobs: Sequence[str], failed: bool) -> int:
    """Enqueue failed jobs again, with all their tries.

    \b
    Examples:
      selection-worker retry selection-3f0c9a1b
      selection-worker retry --failed
    """
    if bool(jobs) == failed:
        raise click.UsageError("name jobs, or give --failed")
    settings = Settings.from_environment()
    connection = settings.connect()
    # All of them first: a job that fails again meanwhile is not retried for ever.
    names = jobs or [b.job for b in newest_batches(connection, settings, [State.FAILED])]
    return _for_each(names, lambda name: requeue(connection, settings, name))


@selection_worker.command()
@click.argument("jobs", metavar="JOB...", nargs=-1, required=True)
def cancel(jobs: Sequence[str]) -> int:
    """Cancel each JOB: one that waits is not run, one that runs is stopped.

    What a stopped run has written is removed by the next run for the same output.

    \b
    Example:
      selection-worker cancel selection-3f0c9a1b
    """
    settings = Settings.from_environment()
    connection = settings.connect()
    return _for_each(jobs, lambda name: cancel_job(connection, settings, name))


def _for_each(names: Sequence[str], action: Callable[[str], object]) -> int:
    """Do something with each job and print its id; the exit code."""
    code = 0
    for name in names:
        try:
            action(name)
        except (RequeueError, ControlError) as error:
            log(f"error: {name}: {error}")
            code = NO_INPUT
        else:
            click.echo(printable(name))
    return code


@selection_worker.command()
def pause() -> int:
    """Let no worker take another job; what runs is finished.

    It holds for every RQ queue of this server.

    \b
    Example:
      selection-worker pause
    """
    pause_workers(Settings.from_environment().connect())
    click.echo("paused; selection-worker resume ends it")
    return 0


@selection_worker.command()
def resume() -> int:
    """Let workers take jobs again after a pause.

    \b
    Example:
      selection-worker resume
    """
    was_paused = resume_workers(Settings.from_environment().connect())
    click.echo("resumed" if was_paused else "was not paused")
    return 0


@selection_worker.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a finding.")
def doctor(as_json: bool) -> int:
    """Find out what keeps batches from being selected, or would lose them.

    \b
    Example:
      selection-worker doctor
    """
    findings = list(examine(Settings.from_environment()))
    if as_json:
        for finding in findings:
            click.echo(json.dumps(finding.as_dict()))
    else:
        console().print(tables.findings_table(findings))
    return FAULT if any(finding.verdict == "fault" for finding in findings) else 0


@selection_worker.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("-o", "--output", type=click.Path(readable=False), help="As of 'selection run'.")
@click.option("--output-dir", type=click.Path(readable=False), help="Write into this folder.")
@click.option("-r", "--recursive", is_flag=True, help="Look into the folders of folders, too.")
@click.option("--workers", type=click.IntRange(min=1), default=1, help="How many; 1 by default.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a job, no more.")
def local(
    files: Sequence[str],
    output: str | None,
    output_dir: str | None,
    recursive: bool,
    workers: int,
    as_json: bool,
) -> int:
    """Select FILEs through a private queue with real workers, all gone afterwards.

    Files and output options mean the same as for 'selection run'.

    Ends by writing a report of each, <name>_report.html beside it, and printing its path.

    \b
    Examples:
      selection-worker local river_plate_extracted.json
      selection-worker local /data --workers 2
    """
    planned = plan(files, output, output_dir, recursive=recursive)
    with local_queue(Settings.from_environment(), workers) as (settings, running):
        connection = settings.connect()
        jobs, code = _enqueue_all(planned, connection, settings)
        ids = list(dict.fromkeys(job.id for job in jobs))
        batches = follow(connection, settings, ids, running.require) if ids else []
    summaries = [Summary(**batch.summary) for batch in batches if batch.summary]
    for summary in summaries:
        log_warnings(summary.input, summary.warnings)
    if as_json:
        _print_batches(batches, as_json)
    else:
        if summaries:
            print_summaries(summaries)
        _print_batches([batch for batch in batches if not batch.summary], as_json)
    code = code or _code(batches)
    for summary in summaries:
        failure = _report(summary.input, settings.roots, as_json)
        code = code or failure
    return code


def _report(path: str, roots: Sequence[str], as_json: bool) -> int:
    """Write a batch's report and print where it is; the exit code of what failed."""
    # What it draws with would cost every other command a tenth of a second.
    from selection.report.write import write_report

    try:
        with progress(path) as shown:
            report = write_report(path, progress=shown, roots=roots)
    except SelectionError as error:
        log_error(error)
        return error.exit_code
    if as_json:
        log(f"report: {report.output}")
    else:
        click.echo(f"report: {printable(report.output)}")
    return 0


@selection_worker.command()
def health() -> int:
    """Say whether a worker on this host is alive; the health check of its container.

    \b
    Example:
      selection-worker health
    """
    return health_check.main()


@selection_worker.command()
@click.option("--host", default="127.0.0.1", help="Address to listen on; 127.0.0.1 by default.")
@click.option("--port", type=click.IntRange(0, 65535), default=9109, help="Port; 9109 by default.")
def metrics(host: str, port: int) -> int:
    """Serve the queue's metrics to Prometheus.

    \b
    Example:
      selection-worker metrics --port 9109
    """
    try:
        from worker.metrics import serve
    except ImportError:
        raise click.UsageError(
            "install the extra 'monitoring': "
            "pip install 'deterministic-content-selection[monitoring]'"
        ) from None
    try:
        serve(Settings.from_environment(), host, port)
    except OSError as error:
        log(f"error: {host}:{port} cannot be used: {error.strerror}")
        return UNAVAILABLE
    return 0


def main() -> NoReturn:
    """Run ``selection-worker`` with the process's arguments."""
    name_program("selection-worker")
    command.run(selection_worker)
