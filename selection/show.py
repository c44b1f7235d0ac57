"""What a person sees: progress, tables and errors, on a terminal or in a log."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Protocol

from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bars
from rich.table import Table
from rich.text import Text

from selection.batch import Summary
from selection.errors import SelectionError
from selection.explain import Explanation, arithmetic, sentences
from selection.rules import Candidate, Extractor, Rule

if TYPE_CHECKING:
    from selection.report import Report as Page

_SECONDS_BETWEEN_LINES = 5.0
_SECONDS_BETWEEN_REDRAWS = 0.1


class Report(Protocol):
    """Told how far a file is: bytes done, bytes in all, articles so far."""

    def __call__(self, bytes_done: int, bytes_total: int, articles: int) -> object: ...


def printable(text: str) -> str:
    """The text with everything escaped that a terminal would obey or cannot show.

    Names and titles come from the web or from a disk; a control character in one must not
    move the cursor, and a lone surrogate must not raise.
    """
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def log(message: str) -> None:
    """One line on standard error; where that cannot be written, the work goes on without."""
    with suppress(OSError):
        print(f"selection: {printable(message)}", file=sys.stderr, flush=True)


def log_error(error: SelectionError) -> None:
    """An error as one line on standard error."""
    log(f"error: {error}")


@contextmanager
def progress(label: str) -> Iterator[Report]:
    """Show how far one file is: a bar on a terminal, a line every few seconds elsewhere."""
    if not sys.stderr.isatty():
        yield _Lines(label)
        return
    bars = Bars(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TextColumn("{task.fields[articles]:,} articles, {task.fields[rate]:,.0f}/s"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bars:
        task = bars.add_task(printable(label), total=None, articles=0, rate=0.0)
        began = time.monotonic()
        shown = 0.0

        def report(bytes_done: int, bytes_total: int, articles: int) -> None:
            nonlocal shown
            now = time.monotonic()
            if now - shown >= _SECONDS_BETWEEN_REDRAWS or bytes_done == bytes_total:
                shown = now
                rate = articles / max(now - began, 1e-9)
                bars.update(
                    task, completed=bytes_done, total=bytes_total, articles=articles, rate=rate
                )

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


def log_summary(summary: Summary) -> None:
    """A finished batch as one line on standard error."""
    picks = ", ".join(f"{name} {count:,}" for name, count in summary.picks.items())
    log(
        f"{summary.input}: done, {summary.articles:,} articles ({picks}), "
        f"{summary.skipped:,} skipped, {summary.seconds:.2f} s, output {summary.output}"
    )


def log_report(page: Page) -> None:
    """A written report as one line on standard error."""
    log(
        f"{page.input}: {page.articles:,} articles, {page.listed:,} listed, "
        f"{page.with_texts:,} with their texts, a page of {page.bytes / 1e6:.1f} MB"
    )


def print_summaries(summaries: Sequence[Summary]) -> None:
    """The table at the end of a run."""
    table = Table(box=box.SIMPLE_HEAD, show_footer=len(summaries) > 1)
    total = Counter[str]()
    rules = Counter[str]()
    for summary in summaries:
        total += Counter(summary.picks)
        rules += Counter(summary.rules)
    articles = sum(summary.articles for summary in summaries)
    skipped = sum(summary.skipped for summary in summaries)
    seconds = sum(summary.seconds for summary in summaries)
    table.add_column("output", footer="total", overflow="fold")
    table.add_column("articles", f"{articles:,}", justify="right")
    for extractor in Extractor:
        table.add_column(extractor, f"{total[extractor]:,}", justify="right")
    table.add_column("skipped", f"{skipped:,}", justify="right")
    table.add_column("seconds", f"{seconds:.2f}", justify="right")
    for summary in summaries:
        table.add_row(
            Text(printable(summary.output)),
            f"{summary.articles:,}",
            *(f"{summary.picks[extractor]:,}" for extractor in Extractor),
            f"{summary.skipped:,}",
            f"{summary.seconds:.2f}",
        )
    by_rule = Table(box=box.SIMPLE_HEAD)
    by_rule.add_column("rule")
    by_rule.add_column("picks", justify="right")
    for rule in Rule:
        by_rule.add_row(rule, f"{rules[rule]:,}")
    wide = console(max(len(summary.output) for summary in summaries))
    wide.print(table)
    wide.print(by_rule)


def print_explanation(explanation: Explanation) -> None:
    """One article's decision, step by step."""
    decision = explanation.decision
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("candidate")
    table.add_column("state")
    for name in ("tokens", "shingles", "shared", "coverage", "support"):
        table.add_column(name, justify="right")
    table.add_column("score")
    for candidate in decision.candidates:
        table.add_row(
            Text(candidate.extractor, style="bold" if _picked(candidate, explanation) else ""),
            candidate.state,
            f"{candidate.tokens:,}",
            f"{candidate.shingles:,}",
            *_compared(candidate, decision.consensus),
        )
    wide = console()
    wide.print(Text(_heading(explanation)))
    wide.print(table)
    for sentence in sentences(decision):
        wide.print(Text(f"  {sentence}"))
    wide.print()


def _picked(candidate: Candidate, explanation: Explanation) -> bool:
    return candidate.extractor is explanation.decision.extractor


def _compared(candidate: Candidate, consensus: int | None) -> Iterable[str]:
    if candidate.shared is None or consensus is None:
        return ["-"] * 4
    return [
        f"{candidate.shared:,}",
        f"{candidate.coverage or 0.0:.4f}",
        f"{candidate.support or 0.0:.4f}",
        arithmetic(candidate, consensus),
    ]


def _heading(explanation: Explanation) -> str:
    name = "" if explanation.id is None else f", id {printable(explanation.id)}"
    return f"Article {explanation.index}{name}"


def print_explanation_line(explanation: Explanation) -> None:
    """One article on one line: index, pick, rule, the three scores, id."""
    decision = explanation.decision
    scores = "  ".join(
        f"{c.extractor[0]} {'-' if c.score is None else format(c.score, '.4f'):6}"
        for c in decision.candidates
    )
    name = "" if explanation.id is None else printable(explanation.id)
    print(
        f"{explanation.index:>7}  {decision.extractor:<11}  {decision.rule:<19}  {scores}  {name}"
    )


def console(longest_path: int = 0) -> Console:
    """A terminal of its own width; a file or a pipe is so wide that nothing is folded."""
    return Console(width=None if sys.stdout.isatty() else 200 + longest_path, highlight=False)
