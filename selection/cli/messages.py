"""What is told in plain lines, on standard error for the most part, and how far a file is."""

from __future__ import annotations

import shutil
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from selection.batch import Summary
from selection.cli.printable import Report, printable
from selection.errors import SelectionError
from selection.explain import Explanation

if TYPE_CHECKING:
    from selection.report.write import Report as Page

_SECONDS_BETWEEN_LINES = 5.0


_program = "selection"


def name_program(name: str) -> None:
    """Set the name that begins every line."""
    global _program
    _program = name


def log(message: str) -> None:
    """Write a message to standard error: one line, or lines of words on a terminal.

    Where it cannot be written, the work goes on without.
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
    """An error as one line on standard error."""
    log(f"error: {error}")


@contextmanager
def progress(label: str) -> Iterator[Report]:
    """Show how far one file is: a bar on a terminal, a line every few seconds elsewhere."""
    if not sys.stderr.isatty():
        yield _Lines(label)
        return
    # What draws costs a twentieth of a second to import.
    from selection.cli.tables import bar

    with bar(label) as report:
        yield report


class _Lines:
    """Progress for a log."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._began = self._shown = time.monotonic()

    def __call__(self, bytes_done: int, bytes_total: int, articles: int) -> None:
        now = time.monotonic()
        if now - self._shown < _SECONDS_BETWEEN_LINES:
            return
        self._shown = now
        seconds = now - self._began
        left = seconds * (bytes_total - bytes_done) / max(bytes_done, 1)
        log(
            f"{self._label}: {bytes_done / max(bytes_total, 1):.0%}, {articles:,} articles, "
            f"{articles / seconds:,.0f}/s, {left:,.0f} s left"
        )


def log_left_out(paths: Sequence[str]) -> None:
    """What a command leaves out because it is an output by its name, as one line."""
    if len(paths) == 1:
        log(f"{paths[0]}: left out, an output by its name")
    elif paths:
        more = "" if len(paths) == 2 else f" and {len(paths) - 2} more"
        log(f"{', '.join(paths[:2])}{more}: left out, outputs by their names")


def log_warnings(path: str, warnings: Iterable[str]) -> None:
    """What is odd in a batch, a line each."""
    for warning in warnings:
        log(f"warning: {path}: {warning}")


def log_summary(summary: Summary) -> None:
    """A finished batch as one line on standard error, and its warnings."""
    log_warnings(summary.input, summary.warnings)
    picks = ", ".join(f"{name} {count:,}" for name, count in summary.picks.items())
    log(
        f"{summary.input}: done, {summary.articles:,} articles ({picks}), "
        f"{summary.skipped:,} skipped, {summary.seconds:.2f} s, output {summary.output}"
    )


def log_report(page: Page) -> None:
    """A written report as one line on standard error, and its warnings."""
    log_warnings(page.input, page.warnings)
    log(
        f"{page.input}: {page.articles:,} articles, {page.listed:,} listed, "
        f"{page.with_texts:,} with their texts, a page of {page.bytes / 1e6:.1f} MB"
    )


def print_explanation_line(explanation: Explanation) -> None:
    """One article on one line: index, pick, rule, the three scores, id."""
    decision = explanation.decision
    scores = " ".join(
        f"{c.extractor[0]} {'-' if c.score is None else format(c.score, '.4f'):6}"
        for c in decision.candidates
    )
    name = "" if explanation.id is None else printable(explanation.id)
    line = f"{explanation.index:>6} {decision.extractor:<11} {decision.rule:<19} {scores} "
    if sys.stdout.isatty():
        # What draws costs a twentieth of a second to import.
        from selection.cli.tables import shorten

        name = shorten(name, shutil.get_terminal_size().columns - len(line))
    print(line + name)
