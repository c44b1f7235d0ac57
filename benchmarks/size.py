"""Memory and time of ``selection run`` against the size of the file and of its articles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks import corpus
from benchmarks.growth import exponent
from benchmarks.process import Memory, run_watched
from benchmarks.product import has_jobs, selection_run
from benchmarks.result import Cell, Goal, Result, Settings, Table

SMALLEST = 10_000_000
LIMIT_MB, LIMIT_EXPONENT = 80.0, 1.1
ARTICLE_BYTES = (10_000, 100_000, 1_000_000, 10_000_000)
#: Bytes of JSON of a generated article per word of its body.
BYTES_A_WORD = 32

HOW = (
    "Generated files, whole processes, one run each, sampled every 20 ms. Peak RSS is the sum of "
    "the peaks of all processes, shared pages counted in each. Peak PSS is the largest sum at one "
    "time, with each shared page divided among the processes that share it. The memory that counts "
    "is RSS for one process and PSS for several. The exponent is that of the seconds, less "
    "those for a batch without articles, against the size: 1 is linear."
)


@dataclass(frozen=True, slots=True)
class _Run:
    size: int
    articles: int
    seconds: float
    memory: Memory | None

    @property
    def peak(self) -> float | None:
        return self.memory.peak if self.memory else None


def measure(settings: Settings) -> Result:
    """Measure files and articles of increasing size."""
    jobs = (1, None) if has_jobs() else (1,)
    by_file = {number: [] for number in jobs}  # type: dict[int | None, list[_Run]]
    rows: list[tuple[Cell, ...]] = []
    goals: list[Goal] = []
    start = {number: _run(settings, 0, None, number).seconds for number in jobs}
    sizes = _sizes(min(settings.largest, 20_000_000) if settings.quick else settings.largest)
    for size in sizes:
        for number in jobs:
            settings.log(f"size: file of {size / 1e6:,.0f} MB, {_name(number)}")
            by_file[number].append(_run(settings, size, None, number))
    for number, runs in by_file.items():
        rows += [(_name(number), *_cells(one)) for one in runs]
        peaks = [one.peak for one in runs if one.peak is not None]
        highest = max(peaks) if peaks else None
        goals.append(Goal(f"peak MB, any file, {_name(number)}", highest, LIMIT_MB, at_most=True))
        goals.append(_growth(f"seconds to size of file, {_name(number)}", runs, start[number]))
    if not has_jobs():
        rows.append(("--jobs by default", *[None] * 6))

    article_rows: list[tuple[Cell, ...]] = []
    by_article = []
    whole = 2_000_000 if settings.quick else 20_000_000
    for size in ARTICLE_BYTES[: 3 if settings.quick else 4]:
        settings.log(f"size: articles of {size / 1e6:g} MB")
        one = _run(settings, whole, size // BYTES_A_WORD, 1)
        by_article.append(one)
        article_rows.append((one.size / one.articles / 1000, *_cells(one)))
    each = [
        _Run(
            one.size // one.articles,
            1,
            (one.seconds - start[1]) / one.articles,
            one.memory,
        )
        for one in by_article
    ]
    goals.append(_growth("seconds to size of article", each, 0.0))
    head = ("MB", "articles", "seconds", "MB a second", "peak RSS MB", "peak PSS MB")
    tables = (
        Table("By size of the file", ("", *head), tuple(rows)),
        Table("By size of an article", ("kB an article", *head), tuple(article_rows)),
    )
    return Result("size", HOW, tables, tuple(goals))


def _run(settings: Settings, size: int, words: int | None, jobs: int | None) -> _Run:
    batch, output = settings.folder / "generated.json", settings.folder / "generated.output"
    if size:
        articles = corpus.write_generated(batch, size, words)
    else:
        corpus.write(batch, [])
        articles = 0
    seconds, memory = run_watched(selection_run(batch, output, jobs))
    found = _Run(batch.stat().st_size, articles, seconds, memory)
    batch.unlink()
    output.unlink()
    return found


def _sizes(largest: int) -> list[int]:
    sizes = [SMALLEST]
    while sizes[-1] * 10 < largest:
        sizes.append(sizes[-1] * 10)
    return [size for size in sizes if size < largest] + [largest]


def _growth(what: str, runs: Sequence[_Run], start: float) -> Goal:
    working = [(one.size, one.seconds - start) for one in runs if one.seconds > start]
    known = len(working) > 1
    slope = exponent(*zip(*working)) if known else None
    return Goal(f"exponent of {what}", slope, LIMIT_EXPONENT, at_most=True)


def _cells(one: _Run) -> tuple[Cell, ...]:
    megabytes = one.size / 1e6
    memory = (one.memory.rss, one.memory.pss) if one.memory else (None, None)
    return (megabytes, one.articles, one.seconds, megabytes / one.seconds, *memory)


def _name(jobs: int | None) -> str:
    return f"--jobs {jobs}" if jobs else "--jobs by default"
