"""Plain-text messages and progress, mostly on standard error."""

from __future__ import annotations

import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from selection.batch import Summary
from selection.cli.printable import printable
from selection.errors import SelectionError
from selection.explain import Explanation
from selection.nouns import counted
from selection.reader import Progress

if TYPE_CHECKING:
    from selection.export.write import Export
    from selection.report.compare import Comparison
    from selection.report.write import Report

_SECONDS_BETWEEN_LINES = 5.0

_program = "selection"


def name_program(name: str) -> None:
    """Set the program's name, which begins every line."""
    global _program
    _program = name


def log(message: str) -> None:
    """Write a message to standard error, on one line or, on a terminal, wrapped.

    An error while it is written is ignored, so that it does not stop the command.
    """
    text = f"{_program}: {printable(message)}"
    with suppress(OSError):
        if sys.stderr.isatty():
            text = _wrapped(text)
        print(text, file=sys.stderr, flush=True)


def _wrapped(text: str) -> str:
    columns = shutil.get_terminal_size().columns
    # A path stays in one piece, so that it can be copied.
    return textwrap.fill(
        text, columns, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def log_error(error: SelectionError) -> None:
    """Log an error on one line."""
    log(f"error: {error}")


@contextmanager
def progress(label: str) -> Iterator[Callable[[Progress], object]]:
    """Show the progress in one file: a bar on a terminal, a line every few seconds elsewhere.

    Args:
        label: the file's path.

    Returns:
        The function to call with the progress.
    """
    if not sys.stderr.isatty():
        yield _Lines(label)
        return
    # rich takes longer to import than a small batch takes to select.
    from selection.cli.tables import bar

    with bar(label) as show:
        yield show


class _Lines:
    """Logs the progress in one file."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._began = self._shown = time.monotonic()

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if now - self._shown < _SECONDS_BETWEEN_LINES:
            return
        self._shown = now
        seconds = now - self._began
        done, total = progress.bytes_done, progress.bytes_total
        share = "" if total is None else f"{done / max(total, 1):.0%}, "
        left = "" if total is None else f", {seconds * (total - done) / max(done, 1):,.0f} s left"
        rate = f"{counted(progress.articles, 'article')}, {progress.articles / seconds:,.0f}/s"
        log(f"{self._label}: {share}{rate}{left}")


def log_left_out(paths: Sequence[str]) -> None:
    """Log on one line the files that a command leaves out because their names are of outputs."""
    if len(paths) == 1:
        log(f"{paths[0]}: left out, an output by its name")
    elif paths:
        more = "" if len(paths) == 2 else f" and {len(paths) - 2} more"
        log(f"{', '.join(paths[:2])}{more}: left out, outputs by their names")


def log_warnings(path: str, warnings: Iterable[str]) -> None:
    """Log the warnings about a batch, one line each."""
    for warning in warnings:
        log(f"warning: {path}: {warning}")


def log_summary(summary: Summary) -> None:
    """Log a finished batch on one line, after its warnings."""
    log_warnings(summary.input, summary.warnings)
    picks = ", ".join(f"{name} {count:,}" for name, count in summary.picks.items())
    log(
        f"{summary.input}: done, {counted(summary.articles, 'article')} ({picks}), "
        f"{summary.skipped:,} skipped, {summary.seconds:.2f} s, output {summary.output}"
    )


def log_report(report: Report) -> None:
    """Log a written report on one line, after its warnings."""
    # rich takes longer to import than a small batch takes to select.
    from rich.filesize import decimal

    log_warnings(report.input, report.warnings)
    log(
        f"{report.input}: {counted(report.articles, 'article')}, {report.listed:,} listed, "
        f"{report.with_texts:,} with their texts, a page of {decimal(report.bytes)}"
    )


def log_export(table: Export) -> None:
    """Log a written table on one line, and how many of its picks are not those of the rules."""
    batches = counted(table.batches, "batch", "batches")
    parts = [f"{table.output}: {counted(table.rows, 'row')} from {batches}"]
    if table.left_out:
        parts.append(f"{counted(table.left_out, 'article')} left out by their agreement")
    log(", ".join(parts))
    if table.disagreeing:
        rows = counted(table.disagreeing, "row has", "rows have")
        log(f"warning: {rows} a pick that is not that of the rules")


def log_comparison(comparison: Comparison) -> None:
    """Log a written comparison on one line, and picks that are not those of the rules."""
    # rich takes longer to import than a small batch takes to select.
    from rich.filesize import decimal

    log_disagreeing(comparison.old, comparison.statistics.old_disagreeing)
    log_disagreeing(comparison.new, comparison.statistics.new_disagreeing)
    counts = comparison.statistics
    log(
        f"{comparison.old} and {comparison.new}: "
        f"{counted(counts.matched.total(), 'article')} in both, "
        f"{counts.changed:,} changed, {comparison.listed:,} listed, "
        f"{comparison.with_texts:,} with their texts, a page of {decimal(comparison.bytes)}"
    )


def log_disagreeing(path: str, count: int) -> None:
    """Log the number of picks of a batch that are not those of the rules, unless it is 0."""
    if count:
        articles = counted(count, "article has", "articles have")
        log(f"warning: {path}: {articles} a pick that is not that of the rules")


def print_explanation_line(explanation: Explanation) -> None:
    """Print one article on one line: index, pick, rule, the three scores, id."""
    decision = explanation.decision
    scores = " ".join(
        f"{c.extractor[0]} {'-' if c.score is None else format(c.score, '.4f'):6}"
        for c in decision.candidates
    )
    name = "" if explanation.id is None else printable(explanation.id)
    line = f"{explanation.index:>6} {decision.extractor:<11} {decision.rule:<19} {scores} "
    if sys.stdout.isatty():
        # rich takes longer to import than a small batch takes to select.
        from selection.cli.tables import shorten

        name = shorten(name, shutil.get_terminal_size().columns - len(line))
    print(line + name)
