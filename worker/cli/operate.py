"""The commands that show and change jobs and the queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

import click

from selection.cli.messages import log
from selection.cli.printable import printable
from selection.cli.tables import console
from worker.cli import tables
from worker.cli.outcome import NO_INPUT, print_jobs
from worker.cli.watch import watch_fleet
from worker.control import ControlError, cancel_job, pause_workers, resume_workers
from worker.producer import RequeueError, requeue
from worker.settings import Settings
from worker.state.job_state import JobState
from worker.state.status import newest_jobs, read_backlog, read_fleet, read_jobs

_ROWS_OF_A_TABLE = 500
_LISTED = [state for state in JobState if state not in (JobState.HANDED_BACK, JobState.GONE)]


@click.command()
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
    help="Largest number of jobs; 20 by default, 0 for all.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per job.")
def status(
    jobs: Sequence[str], failed: bool, states: Sequence[str], limit: int, as_json: bool
) -> int:
    """Show each JOB, or the newest jobs.

    The job that changed last comes first.

    \b
    Examples:
      selection-worker status
      selection-worker status --failed --limit 100
      selection-worker status selection-3f0c9a1b --json
    """
    settings = Settings.from_environment()
    connection = settings.connect()
    if jobs:
        found = read_jobs(connection, settings, jobs)
        print_jobs(found, as_json)
        return NO_INPUT if any(each.state is JobState.GONE for each in found) else 0
    wanted = {JobState(name) for name in states} | ({JobState.FAILED} if failed else set())
    newest = newest_jobs(connection, settings, wanted, limit or None)
    while page := list(islice(newest, _ROWS_OF_A_TABLE)):
        print_jobs(page, as_json)
    if not as_json:
        backlog = read_backlog(connection, settings)
        console().print(tables.backlog_lines(backlog))
    return 0


@click.command()
@click.option(
    "--interval", type=click.FloatRange(min=0.1), default=1.0, help="Seconds between two views."
)
def watch(interval: float) -> None:
    """Show the queue, its workers and its jobs live.

    q or Ctrl-C ends the command. The arrow keys, j, k, Space, Page Up and Page Down
    scroll. Without a terminal, the command prints one view and ends.

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


@click.command()
@click.argument("jobs", metavar="[JOB...]", nargs=-1)
@click.option("--failed", is_flag=True, help="Retry all failed jobs.")
def retry(jobs: Sequence[str], failed: bool) -> int:
    """Enqueue jobs again that failed, were stopped or were canceled.

    They get all their retries again.

    \b
    Examples:
      selection-worker retry selection-3f0c9a1b
      selection-worker retry --failed
    """
    if bool(jobs) == failed:
        raise click.UsageError("name jobs, or give --failed")
    settings = Settings.from_environment()
    connection = settings.connect()
    # Listed first, so that a job that fails again meanwhile is not retried again.
    names = jobs or [each.id for each in newest_jobs(connection, settings, [JobState.FAILED])]
    if not names:
        log("nothing to retry: the queue does not have a failed job")
    return _for_each(names, lambda name: requeue(connection, settings, name))


@click.command()
@click.argument("jobs", metavar="JOB...", nargs=-1, required=True)
def cancel(jobs: Sequence[str]) -> int:
    """Remove each waiting JOB, and stop each running one.

    The temporary file of a stopped run is removed by the next run for the same output.

    \b
    Example:
      selection-worker cancel selection-3f0c9a1b
    """
    settings = Settings.from_environment()
    connection = settings.connect()
    return _for_each(jobs, lambda name: cancel_job(connection, settings, name))


def _for_each(names: Sequence[str], action: Callable[[str], object]) -> int:
    """Call ``action`` with each job and print its id; return the exit code."""
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


@click.command()
def pause() -> int:
    """Stop workers from taking jobs; running jobs are finished.

    This holds for every RQ queue of the server.

    \b
    Example:
      selection-worker pause
    """
    pause_workers(Settings.from_environment().connect())
    click.echo("paused; selection-worker resume ends it")
    return 0


@click.command()
def resume() -> int:
    """Let workers take jobs again after a pause.

    \b
    Example:
      selection-worker resume
    """
    was_paused = resume_workers(Settings.from_environment().connect())
    click.echo("resumed" if was_paused else "was not paused")
    return 0
