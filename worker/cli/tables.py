"""Tables of the queue, of jobs and of check results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from selection.cli.printable import printable
from selection.cli.tables import shorten
from worker.checks.check_result import CheckResult
from worker.state.job_state import JobState
from worker.state.status import Backlog, Fleet, JobStatus

_STYLE = {
    JobState.FINISHED: "green",
    JobState.FAILED: "red",
    JobState.RETRYING: "yellow",
    JobState.STARTED: "cyan",
}
_VERDICT_STYLE = {"ok": "green", "warning": "yellow", "error": "bold red"}

# In a narrower table, the file and the outcome of a job have lines of their own.
_WIDE = 120
_LEAST_OF_A_PATH = 24


class ShortPath:
    """A text, such as a path, that is shortened in the middle to the available width."""

    def __init__(self, text: str) -> None:
        self._text = printable(text)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(shorten(self._text, options.max_width), no_wrap=True)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        length = cell_len(self._text)
        return Measurement(min(length, _LEAST_OF_A_PATH), length)


def fleet_view(fleet: Fleet) -> RenderableType:
    """Return the live view of ``watch``: queue, workers, running jobs, the last ended ones."""
    busy = sum(worker.job is not None for worker in fleet.workers)
    workers = Text(f"workers {len(fleet.workers)} ({busy} busy)", style="bold")
    ended = {"retrying": fleet.retrying, "failed": fleet.failed, "finished": fleet.finished}
    tables = [_ended(jobs, name) for name, jobs in ended.items() if jobs]
    if fleet.running:
        tables.insert(0, _running(fleet.running, fleet.backlog.now))
    return Group(backlog_lines(fleet.backlog), workers, *tables)


def backlog_lines(backlog: Backlog) -> Text:
    """Return the number of jobs by state, and the rate, on two lines."""
    counts = backlog.counts
    waiting = f"queue {counts[JobState.QUEUED]:,} waiting"
    if counts[JobState.QUEUED]:
        waiting += f" (first for {_duration(backlog.oldest_seconds)})"
    others = (
        JobState.STARTED,
        JobState.SCHEDULED,
        JobState.DEFERRED,
        JobState.FAILED,
        JobState.FINISHED,
    )
    shown = [f"{state} {counts[state]:,}" for state in others if counts[state]]
    text = Text("   ".join([waiting, *shown]), style="bold")
    if backlog.is_suspended:
        text.append("\npaused; selection-worker resume ends it", style="yellow")
    if backlog.rate is not None:
        left = backlog.seconds_left
        end = f", {_duration(left)} left" if left else ""
        text.append(f"\n{60 * backlog.rate:,.1f} jobs a minute recently{end}")
    return text


def _running(jobs: Sequence[JobStatus], now: float) -> Table:
    table = Table(box=box.SIMPLE_HEAD, expand=True, padding=(0, 1, 0, 0))
    table.add_column("running", ratio=3)
    table.add_column("progress", ratio=1)
    for name in ("articles", "per s", "left", "try"):
        table.add_column(name, justify="right", no_wrap=True)
    for job in jobs:
        seconds = job.seconds(now)
        rate = job.articles / seconds if seconds else 0.0
        table.add_row(
            ShortPath(job.path or job.id),
            ProgressBar(
                # Without a total, which a compressed batch has only at its end, it pulses.
                total=float(job.bytes_total) if job.bytes_total else None,
                completed=float(job.bytes_done),
            ),
            f"{job.articles:,}",
            f"{rate:,.0f}",
            _time_left(job, seconds),
            str(job.attempt),
        )
    return table


def _time_left(job: JobStatus, seconds: float) -> str:
    if not job.bytes_done or not job.bytes_total:
        return "?"
    return _duration(seconds * (job.bytes_total - job.bytes_done) / job.bytes_done)


def _ended(jobs: Sequence[JobStatus], title: str) -> Table:
    """Return the jobs of one state: file and outcome, both on one line."""
    table = Table(box=box.SIMPLE_HEAD, expand=True, padding=(0, 1, 0, 0))
    table.add_column(title, ratio=1)
    table.add_column("articles", justify="right", no_wrap=True)
    table.add_column("try", justify="right", no_wrap=True)
    table.add_column("outcome", ratio=1)
    for job in jobs:
        table.add_row(
            ShortPath(job.path or job.id),
            f"{job.articles:,}",
            str(job.attempt),
            Text(printable(outcome_text(job)), no_wrap=True, overflow="ellipsis"),
        )
    return table


class JobTable:
    """A table of jobs: state, file, articles, outcome, id."""

    def __init__(self, jobs: Sequence[JobStatus]) -> None:
        self._batches = jobs

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        is_wide = options.max_width >= _WIDE
        table = Table(box=box.SIMPLE_HEAD)
        table.add_column("state", no_wrap=True)
        table.add_column("articles", justify="right", no_wrap=True)
        table.add_column("try", justify="right", no_wrap=True)
        table.add_column("batch")
        if is_wide:
            table.add_column("outcome", overflow="fold")
            table.add_column("job", no_wrap=True)
        for job in self._batches:
            details = [ShortPath(job.path or "?"), *_details(job)]
            table.add_row(
                Text(job.state, style=_STYLE.get(job.state, "")),
                f"{job.articles:,}",
                str(job.attempt),
                *(details if is_wide else [Group(*details)]),
            )
        yield table


def _details(job: JobStatus) -> Iterable[RenderableType]:
    return (
        Text(printable(outcome_text(job)), overflow="fold"),
        Text(printable(job.id), style="dim", overflow="fold"),
    )


def outcome_text(job: JobStatus) -> str:
    """Return one line on how a job ended, or on its progress."""
    if job.error:
        text = f"{job.error['type']}: {error_text(job.error)}"
        return text if job.retry_in is None else f"{text}; again in {job.retry_in} s"
    if job.summary:
        return f"{job.summary['seconds']:.2f} s, output {job.summary['output']}"
    if job.state is JobState.STARTED and job.bytes_total:
        return f"{job.bytes_done / job.bytes_total:.0%}"
    return ""


def error_text(error: Mapping[str, Any]) -> str:
    """Return the message of a recorded error with its place."""
    return f"{error['message']}{_place(error)}"


def _place(error: Mapping[str, Any]) -> str:
    byte, line, column = (error.get(name) for name in ("byte", "line", "column"))
    if line is not None and column is not None:
        return f" (line {line} column {column}, byte {byte})"
    return "" if byte is None else f" (byte {byte})"


def check_table(results: Sequence[CheckResult]) -> Table:
    """Return the table of ``doctor``."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("check", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("result", overflow="fold")
    for result in results:
        table.add_row(
            result.subject,
            Text(result.verdict, style=_VERDICT_STYLE[result.verdict]),
            Text(printable(result.message)),
        )
    return table


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
