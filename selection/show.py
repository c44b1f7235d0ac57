"""What a person sees on a terminal: the bar, the tables."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

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
from selection.explain import Explanation, arithmetic, sentences
from selection.log import Report, printable
from selection.rules import Candidate, Extractor, Rule

_SECONDS_BETWEEN_REDRAWS = 0.1


@contextmanager
def bar(label: str) -> Iterator[Report]:
    """Show how far one file is."""
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


class _Console(Console):
    def on_broken_pipe(self) -> None:
        # rich would exit with 1; the commands have an exit code for it.
        raise BrokenPipeError


def console(longest_path: int = 0) -> Console:
    """A terminal of its own width; a file or a pipe is so wide that nothing is folded."""
    return _Console(width=None if sys.stdout.isatty() else 200 + longest_path, highlight=False)
