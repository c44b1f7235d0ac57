"""Progress bar and tables, drawn by rich."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.table import Table
from rich.text import Text

from selection.batch import Summary
from selection.cli.printable import printable
from selection.explain import Explanation, arithmetic, sentences
from selection.model import Candidate, Extractor, Rule
from selection.nouns import counted
from selection.reader import Progress

_SECONDS_BETWEEN_REDRAWS = 0.1

# The table of outputs. On a terminal with less room for a path it is a list.
_NUMBERS = ("articles", *Extractor, "skipped", "seconds")
_GAP = "  "  # between columns: a cell's padding and the box
_LEAST_PATH = 30
# The widths of the parts of the bar.
_WIDTH_OF_BAR, _LEAST_LABEL = 14, 12
_WIDTH_WITHOUT_LABEL = 66
_LEFT_OUT = "..."


@contextmanager
def bar(label: str) -> Iterator[Callable[[Progress], object]]:
    """Show the progress in one file as a bar.

    Args:
        label: the file's path.

    Returns:
        The function to call with the progress.
    """
    terminal = Console(stderr=True)
    room = max(terminal.width - _WIDTH_WITHOUT_LABEL, _LEAST_LABEL)
    bars = Bars(
        TextColumn("{task.description}", markup=False),
        BarColumn(_WIDTH_OF_BAR),
        DownloadColumn(),
        TextColumn("{task.fields[articles]:,} articles, {task.fields[rate]:,.0f}/s"),
        TimeRemainingColumn(),
        console=terminal,
        transient=True,
    )
    with bars:
        task = bars.add_task(shorten(printable(label), room), total=None, articles=0, rate=0.0)
        began = time.monotonic()
        shown = 0.0

        def show(progress: Progress) -> None:
            nonlocal shown
            now = time.monotonic()
            is_end = progress.bytes_done == progress.bytes_total
            if now - shown >= _SECONDS_BETWEEN_REDRAWS or is_end:
                shown = now
                bars.update(
                    task,
                    completed=progress.bytes_done,
                    total=progress.bytes_total,
                    articles=progress.articles,
                    rate=progress.articles / max(now - began, 1e-9),
                )

        yield show


def print_summaries(summaries: Sequence[Summary], *, failed: int = 0, unchanged: int = 0) -> None:
    """Print the outputs of a run with their picks, the total and the picks per rule.

    Args:
        summaries: of the batches that were selected.
        failed, unchanged: numbers of the other batches, for the total.
    """
    rows = [_Row(printable(s.output), s.picks, s.articles, s.skipped, s.seconds) for s in summaries]
    total = None
    if len(rows) > 1 or failed or unchanged:
        total = _total(rows, failed, unchanged)
    wide = console(max(len(row.label) for row in rows))
    room = wide.width - _width_of_numbers([*rows, total] if total else rows)
    if room < _LEAST_PATH:
        _print_stacked(wide, [*rows, total] if total else rows)
    else:
        wide.print(_table(rows, total, room))
    rules = Counter[str]()
    for summary in summaries:
        rules += Counter(summary.rules)
    by_rule = Table(box=box.SIMPLE_HEAD)
    by_rule.add_column("rule")
    by_rule.add_column("picks", justify="right")
    for rule in Rule:
        by_rule.add_row(rule, f"{rules[rule]:,}")
    wide.print(by_rule)


@dataclass(frozen=True, slots=True)
class _Row:
    label: str
    picks: Mapping[Extractor, int]
    articles: int
    skipped: int
    seconds: float

    def numbers(self) -> list[str]:
        """Return the cells of the columns behind the path."""
        counts = (self.articles, *(self.picks[name] for name in Extractor), self.skipped)
        return [*(f"{count:,}" for count in counts), f"{self.seconds:.2f}"]


def _total(rows: Sequence[_Row], failed: int, unchanged: int) -> _Row:
    parts = [f"{len(rows)} selected"]
    parts += [f"{failed} failed"] if failed else []
    parts += [f"{unchanged} unchanged"] if unchanged else []
    return _Row(
        f"total ({', '.join(parts)})",
        {name: sum(row.picks[name] for row in rows) for name in Extractor},
        sum(row.articles for row in rows),
        sum(row.skipped for row in rows),
        sum(row.seconds for row in rows),
    )


def _width_of_numbers(rows: Sequence[_Row]) -> int:
    columns = zip(_NUMBERS, *(row.numbers() for row in rows))
    return sum(max(map(len, column)) + len(_GAP) for column in columns) + 2 * len(_GAP)


def _table(rows: Sequence[_Row], total: _Row | None, room: int) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("output", no_wrap=True)
    for name in _NUMBERS:
        table.add_column(name, justify="right", no_wrap=True)
    for row in [*rows, total] if total else rows:
        if row is total:
            table.add_section()
        table.add_row(Text(shorten(row.label, room)), *row.numbers())
    return table


def _print_stacked(narrow: Console, rows: Sequence[_Row]) -> None:
    narrow.print()
    for row in rows:
        picks = ", ".join(f"{name} {row.picks[name]:,}" for name in Extractor)
        narrow.print(Text(shorten(row.label, narrow.width)))
        _print_indented(narrow, f"{counted(row.articles, 'article')}: {picks}", 4)
        _print_indented(narrow, f"{row.skipped:,} skipped, {row.seconds:.2f} s", 4)


def _print_indented(where: Console, text: str, columns: int) -> None:
    where.print(Padding(Text(text), (0, 0, 0, columns), expand=False))


def shorten(text: str, columns: int) -> str:
    """Cut out the middle of a text that is wider than a number of columns."""
    if cell_len(text) <= columns:
        return text
    # The end of a path is more specific than its beginning.
    room = max(columns - len(_LEFT_OUT), 0)
    beginning = _fitting(text, room // 3)
    end = _fitting(text[::-1], room - cell_len(beginning))[::-1]
    return (beginning + _LEFT_OUT + end)[: max(columns, 0)]


def _fitting(text: str, columns: int) -> str:
    """Return the longest beginning of a text that fits into a number of columns."""
    part = text[:columns]
    while cell_len(part) > columns:
        part = part[:-1]
    return part


def print_explanation(explanation: Explanation) -> None:
    """Print an article's decision, step by step."""
    decision = explanation.decision
    wide = console()
    wide.print(Text(_heading(explanation)))
    wide.print(_candidates(explanation))
    for candidate in decision.candidates:
        if candidate.shared is not None and decision.consensus is not None:
            calculation = arithmetic(candidate, decision.consensus)
            _print_indented(wide, f"Score of {candidate.extractor}: {calculation}", 2)
    for sentence in sentences(decision):
        _print_indented(wide, sentence, 2)
    wide.print()


def _candidates(explanation: Explanation) -> Table:
    # With one space between columns it fits 80 columns with numbers of seven digits.
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("candidate", no_wrap=True)
    table.add_column("state", no_wrap=True)
    for name in ("tokens", "shingles", "shared", "coverage", "support", "score"):
        table.add_column(name, justify="right", no_wrap=True)
    for candidate in explanation.decision.candidates:
        table.add_row(
            Text(candidate.extractor, style="bold" if _picked(candidate, explanation) else ""),
            candidate.state,
            f"{candidate.tokens:,}",
            f"{candidate.shingles:,}",
            *_compared(candidate),
        )
    return table


def _picked(candidate: Candidate, explanation: Explanation) -> bool:
    return candidate.extractor is explanation.decision.extractor


def _compared(candidate: Candidate) -> Iterable[str]:
    if candidate.shared is None:
        return ["-"] * 4
    shares = (candidate.coverage, candidate.support, candidate.score)
    return [f"{candidate.shared:,}", *(f"{share or 0.0:.4f}" for share in shares)]


def _heading(explanation: Explanation) -> str:
    name = "" if explanation.id is None else f", id {printable(explanation.id)}"
    return f"Article {explanation.index}{name}"


class _Console(Console):
    def on_broken_pipe(self) -> None:
        # rich exits with 1; the commands have an exit code for a closed pipe.
        raise BrokenPipeError


def console(longest_path: int = 0) -> Console:
    """Return a console as wide as the terminal, or as ``COLUMNS`` says.

    Without it, that of a file or a pipe does not wrap lines.

    Args:
        longest_path: number of characters of the longest path that is printed.
    """
    is_known = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal()
    return _Console(width=None if is_known else 200 + longest_path, highlight=False)
