"""What an operator sees: tables of the queue, of jobs and of findings."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from selection.log import printable
from worker.doctor import Finding
from worker.status import Batch, Fleet

_STYLE = {"finished": "green", "failed": "red", "retrying": "yellow", "started": "cyan"}
_VERDICT_STYLE = {"ok": "green", "warning": "yellow", "fault": "bold red"}


def fleet_view(fleet: Fleet) -> RenderableType:
    """The live table of ``watch``: queue, workers, what runs, what ended last."""
    busy = sum(member.job is not None for member in fleet.workers)
    head = Text(
        f"queue {fleet.depth:,} waiting"
        + (f" (first for {_duration(fleet.oldest_seconds)})" if fleet.depth else "")
        + f"   workers {len(fleet.workers)} ({busy} busy)"
        + f"   running {len(fleet.running)}   retrying {len(fleet.retrying)}"
        + f"   finished {fleet.finished_total:,}   failed {fleet.failed_total:,}",
        style="bold",
    )
    return Group(head, _running(fleet.running), *_ended(fleet))


def _running(batches: Sequence[Batch]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, expand=True)
    table.add_column("running", overflow="fold", ratio=3)
    table.add_column("progress", ratio=2)
    for name in ("articles", "per second", "left", "try"):
        table.add_column(name, justify="right")
    table.add_column("worker")
    for batch in batches:
        seconds = batch.seconds
        rate = batch.articles / seconds if seconds else 0.0
        table.add_row(
            Text(printable(batch.path or batch.job)),
            ProgressBar(total=float(batch.bytes_total or 1), completed=float(batch.bytes_done)),
            f"{batch.articles:,}",
            f"{rate:,.0f}",
            _time_left(batch, seconds),
            str(batch.attempt),
            Text((batch.worker or "")[:8]),
        )
    return table


def _time_left(batch: Batch, seconds: float) -> str:
    if not batch.bytes_done or not batch.bytes_total:
        return "?"
    return _duration(seconds * (batch.bytes_total - batch.bytes_done) / batch.bytes_done)


def _ended(fleet: Fleet) -> list[Table]:
    rows = {"retrying": fleet.retrying, "failed": fleet.failed, "finished": fleet.finished}
    return [batch_table(batches, name) for name, batches in rows.items() if batches]


def batch_table(batches: Sequence[Batch], title: str = "batch") -> Table:
    """Jobs, one a row: state, file, articles, what happened."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column(title, overflow="fold")
    table.add_column("state")
    table.add_column("articles", justify="right")
    table.add_column("try", justify="right")
    table.add_column("what happened", overflow="fold")
    table.add_column("job", overflow="fold")
    for batch in batches:
        table.add_row(
            Text(printable(batch.path or "")),
            Text(batch.state, style=_STYLE.get(batch.state, "")),
            f"{batch.articles:,}",
            str(batch.attempt),
            Text(printable(what_happened(batch))),
            Text(batch.job),
        )
    return table


def what_happened(batch: Batch) -> str:
    """One line on how a job ended, or how far it is."""
    if batch.error:
        where = "" if batch.error.get("byte") is None else f" (byte {batch.error['byte']})"
        text = f"{batch.error['type']}: {batch.error['message']}{where}"
        return text if batch.retry_in is None else f"{text}; again in {batch.retry_in} s"
    if batch.summary:
        return f"{batch.summary['seconds']:.2f} s, output {batch.summary['output']}"
    if batch.state == "started" and batch.bytes_total:
        return f"{batch.bytes_done / batch.bytes_total:.0%}"
    return ""


def findings_table(findings: Sequence[Finding]) -> Table:
    """What ``doctor`` found."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("what")
    table.add_column("verdict")
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
