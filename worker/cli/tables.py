"""What an operator sees: tables of the queue, of jobs and of findings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from selection.cli.printable import printable
from worker.checks.check_result import Finding
from worker.state.job_state import State
from worker.state.status import Backlog, Batch, Fleet

_STYLE = {
    State.FINISHED: "green",
    State.FAILED: "red",
    State.RETRYING: "yellow",
    State.STARTED: "cyan",
}
_VERDICT_STYLE = {"ok": "green", "warning": "yellow", "fault": "bold red"}

# Below this a row has its file and what happened to it on lines of their own.
_WIDE = 120
_LEAST_OF_A_PATH = 24


class ShortPath:
    """A text, a path for example, that is shortened in the middle to the room that it has."""

    def __init__(self, text: str) -> None:
        self._text = printable(text)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(shortened(self._text, options.max_width), no_wrap=True)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        length = cell_len(self._text)
        return Measurement(min(length, _LEAST_OF_A_PATH), length)


def shortened(text: str, width: int) -> str:
    """Return the text with its middle left out, so that it takes at most ``width`` cells."""
    if cell_len(text) <= width:
        return text
    # The end of a path says more than its beginning.
    room = max(width - 1, 0)
    head = _fitting(text, room // 3)
    tail = _fitting(text[::-1], room - cell_len(head))[::-1]
    return f"{head}…{tail}"


def _fitting(text: str, width: int) -> str:
    """The longest beginning of the text that fits."""
    part = text[:width]
    while cell_len(part) > width:
        part = part[:-1]
    return part


def fleet_view(fleet: Fleet) -> RenderableType:
    """The live view of ``watch``: queue, workers, what runs, what ended last."""
    busy = sum(member.job is not None for member in fleet.workers)
    workers = Text(f"workers {len(fleet.workers)} ({busy} busy)", style="bold")
    ended = {"retrying": fleet.retrying, "failed": fleet.failed, "finished": fleet.finished}
    tables = [_ended(batches, name) for name, batches in ended.items() if batches]
    if fleet.running:
        tables.insert(0, _running(fleet.running, fleet.backlog.now))
    return Group(backlog_lines(fleet.backlog), workers, *tables)


def backlog_lines(backlog: Backlog) -> Text:
    """How much there is to do and how long that takes, on two lines."""
    counts = backlog.counts
    waiting = f"queue {counts[State.QUEUED]:,} waiting"
    if counts[State.QUEUED]:
        waiting += f" (first for {_duration(backlog.oldest_seconds)})"
    others = (State.STARTED, State.SCHEDULED, State.DEFERRED, State.FAILED, State.FINISHED)
    shown = [f"{state} {counts[state]:,}" for state in others if counts[state]]
    text = Text("   ".join([waiting, *shown]), style="bold")
    if backlog.is_suspended:
        text.append("\npaused; selection-worker resume ends it", style="yellow")
    if backlog.rate is not None:
        left = backlog.seconds_left
        end = f", {_duration(left)} left" if left else ""
        text.append(f"\n{60 * backlog.rate:,.1f} jobs a minute lately{end}")
    return text


def _running(batches: Sequence[Batch], now: float) -> Table:
    table = Table(box=box.SIMPLE_HEAD, expand=True, padding=(0, 1, 0, 0))
    table.add_column("running", ratio=3)
    table.add_column("progress", ratio=1)
    for name in ("articles", "per s", "left", "try"):
        table.add_column(name, justify="right", no_wrap=True)
    for batch in batches:
        seconds = batch.seconds(now)
        rate = batch.articles / seconds if seconds else 0.0
        table.add_row(
            ShortPath(batch.path or batch.job),
            ProgressBar(total=float(batch.bytes_total or 1), completed=float(batch.bytes_done)),
            f"{batch.articles:,}",
            f"{rate:,.0f}",
            _time_left(batch, seconds),
            str(batch.attempt),
        )
    return table


def _time_left(batch: Batch, seconds: float) -> str:
    if not batch.bytes_done or not batch.bytes_total:
        return "?"
    return _duration(seconds * (batch.bytes_total - batch.bytes_done) / batch.bytes_done)


def _ended(batches: Sequence[Batch], title: str) -> Table:
    """Jobs in the state that the title names: file and what happened, both on one line."""
    table = Table(box=box.SIMPLE_HEAD, expand=True, padding=(0, 1, 0, 0))
    table.add_column(title, ratio=1)
    table.add_column("articles", justify="right", no_wrap=True)
    table.add_column("try", justify="right", no_wrap=True)
    table.add_column("what happened", ratio=1)
    for batch in batches:
        table.add_row(
            ShortPath(batch.path or batch.job),
            f"{batch.articles:,}",
            str(batch.attempt),
            Text(printable(what_happened(batch)), no_wrap=True, overflow="ellipsis"),
        )
    return table


class BatchTable:
    """Jobs, one a row: state, file, articles, what happened, id."""

    def __init__(self, batches: Sequence[Batch]) -> None:
        self._batches = batches

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        is_wide = options.max_width >= _WIDE
        table = Table(box=box.SIMPLE_HEAD)
        table.add_column("state", no_wrap=True)
        table.add_column("articles", justify="right", no_wrap=True)
        table.add_column("try", justify="right", no_wrap=True)
        table.add_column("batch")
        if is_wide:
            table.add_column("what happened", overflow="fold")
            table.add_column("job", no_wrap=True)
        for batch in self._batches:
            details = [ShortPath(batch.path or "?"), *_details(batch)]
            table.add_row(
                Text(batch.state, style=_STYLE.get(batch.state, "")),
                f"{batch.articles:,}",
                str(batch.attempt),
                *(details if is_wide else [Group(*details)]),
            )
        yield table


def _details(batch: Batch) -> Iterable[RenderableType]:
    return (
        Text(printable(what_happened(batch)), overflow="fold"),
        Text(printable(batch.job), style="dim", overflow="fold"),
    )


def what_happened(batch: Batch) -> str:
    """One line on how a job ended, or how far it is."""
    if batch.error:
        text = f"{batch.error['type']}: {batch.error['message']}{_place(batch.error)}"
        return text if batch.retry_in is None else f"{text}; again in {batch.retry_in} s"
    if batch.summary:
        return f"{batch.summary['seconds']:.2f} s, output {batch.summary['output']}"
    if batch.state is State.STARTED and batch.bytes_total:
        return f"{batch.bytes_done / batch.bytes_total:.0%}"
    return ""


def _place(error: dict[str, object]) -> str:
    byte, line, column = (error.get(name) for name in ("byte", "line", "column"))
    if line is not None and column is not None:
        return f" (line {line} column {column}, byte {byte})"
    return "" if byte is None else f" (byte {byte})"


def findings_table(findings: Sequence[Finding]) -> Table:
    """What ``doctor`` found."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("what", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("finding", overflow="fold")
    for finding in findings:
        table.add_row(
            finding.subject,
            Text(finding.verdict, style=_VERDICT_STYLE[finding.verdict]),
            Text(printable(finding.message)),
        )
    return table


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
