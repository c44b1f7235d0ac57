"""Memory of ``selection report`` on a large batch, and the size of its page."""

from __future__ import annotations

from benchmarks import corpus
from benchmarks.process import run_watched
from benchmarks.product import SELECTION
from benchmarks.result import Goal, Result, Settings, Table
from selection.report.write import ROW_LIMIT, TEXT_LIMIT

LIMIT_MB = 150.0
#: Size of the page without its list and its texts, in bytes, at most.
REST = 300_000

HOW = "One process, sampled every 20 ms, on a generated batch a tenth of the largest."


def measure(settings: Settings) -> Result:
    """Measure the report of a generated batch."""
    batch, page = settings.folder / "made.json", settings.folder / "page.html"
    size = settings.largest // 100 if settings.quick else settings.largest // 10
    settings.say(f"report: batch of {size / 1e6:,.0f} MB")
    articles = corpus.write_made(batch, size)
    seconds, memory = run_watched([*SELECTION, "report", str(batch), "-o", str(page)])
    peak = memory.rss if memory else None
    written = page.stat().st_size
    batch.unlink()
    head = ("MB", "articles", "seconds", "peak RSS MB", "page MB")
    row = (size / 1e6, articles, seconds, peak, written / 1e6)
    goals = (
        Goal("peak MB of a report", peak, LIMIT_MB, at_most=True),
        Goal("MB of a page", written / 1e6, (TEXT_LIMIT + ROW_LIMIT + REST) / 1e6, at_most=True),
    )
    return Result("report", HOW, (Table("Report", head, (row,)),), goals)
