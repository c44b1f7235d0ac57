"""``selection run --jobs 2`` against ``--jobs 1`` and against two runs at the same time."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median

from benchmarks import corpus
from benchmarks.process import ROOT, run
from benchmarks.product import SAMPLE, SELECTION, has_jobs, selection_run
from benchmarks.result import Cell, Goal, Result, Settings, Table
from selection.decide import Pick
from selection.model import Extractor, Rule
from selection.storage.input import InputFile
from selection.stream.parts import Gap
from selection.stream.splice import insert_pick
from selection.stream.split import unparsed_parts

SIZE, QUICK_SIZE = 180_000_000, 5_000_000
FILES, QUICK_FILES, FILE_SIZE = 400, 8, 500_000
GOAL = 0.9
MAIN_GOAL = 400.0
WHATS = ("one file, --jobs 2, speed to the ceiling", "many files, --jobs 2, speed to the ceiling")
MAIN = "MB a second that the main process splits, splices and writes"

HOW = (
    "Whole processes on one file of {megabytes:.0f} MB and on {files} files of 0.5 MB, medians of "
    "{runs} runs, taken in turn. The ceiling is what two runs with one job each do at once in the "
    "same time. The last table is the speed of the work that only the main process does: read, "
    "find boundaries, parse between articles, splice and write to nowhere."
)


def measure(settings: Settings) -> Result:
    """Measure one large file, many small ones, and the main process."""
    missing = None
    if not has_jobs():
        missing = "`selection run` has no `--jobs`"
    elif (os.cpu_count() or 1) < 2:
        missing = "this machine has one core"
    if missing:
        missed = tuple(Goal(what, None, GOAL) for what in WHATS)
        return Result("jobs", f"Not available: {missing}.", (), missed)
    source = settings.batch or SAMPLE
    large = settings.folder / "jobs.json"
    corpus.write_repeated(large, source, QUICK_SIZE if settings.quick else SIZE)
    small = []
    for number in range(QUICK_FILES if settings.quick else FILES):
        small.append(settings.folder / f"small{number}.json")
        corpus.write_repeated(small[-1], source, FILE_SIZE)

    def large_file(jobs: int, copy: int = 0) -> list[str]:
        return selection_run(large, settings.folder / f"jobs{copy}.output", jobs)

    def small_files(jobs: int, copy: int = 0) -> list[str]:
        folder = settings.folder / f"jobs{copy}"
        files = map(str, small)
        return [
            *SELECTION,
            "run",
            *files,
            "--output-dir",
            str(folder),
            "--jobs",
            str(jobs),
            "--json",
        ]

    megabytes = large.stat().st_size / 1e6
    rows: list[tuple[Cell, ...]] = []
    goals: list[Goal] = []
    for what, command in zip(WHATS, (large_file, small_files)):
        one, two, both = _seconds(settings, what, command)
        rows.append((what.partition(",")[0], one, two, both, one / two, 2 * one / both))
        goals.append(Goal(what, both / (2 * two), GOAL))
    head = ("what", "one job", "two jobs", "two runs at once", "times one", "ceiling")
    main = megabytes / _main_seconds(large)
    goals.append(Goal(MAIN, main, MAIN_GOAL))
    tables = (
        Table("Jobs", head, tuple(rows)),
        Table("Main process", ("MB a second",), ((main,),)),
    )
    how = HOW.format(megabytes=megabytes, files=len(small), runs=settings.runs)
    return Result("jobs", how, tables, tuple(goals))


def _seconds(
    settings: Settings, what: str, command: Callable[[int, int], Sequence[str]]
) -> tuple[float, float, float]:
    one, two, both = [], [], []
    for number in range(settings.runs):
        settings.log(f"{what}: run {number + 1} of {settings.runs}")
        one.append(run(command(1, 0)))
        two.append(run(command(2, 0)))
        both.append(_at_once([command(1, 0), command(1, 1)]))
    return median(one), median(two), median(both)


def _at_once(commands: Sequence[Sequence[str]]) -> float:
    began = time.perf_counter()
    quiet = {"cwd": ROOT, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    processes = [subprocess.Popen(command, **quiet) for command in commands]  # type: ignore[call-overload]
    codes = [process.wait() for process in processes]
    if any(codes):
        raise SystemExit(f"two runs at once ended with {codes}")
    return time.perf_counter() - began


def _main_seconds(path: Path) -> float:
    """CPU seconds of a run's main process if others decide every article."""
    pick = Pick(Extractor.NEWSPAPER4K, Rule.SCORE, 0)
    began = time.process_time()
    with closing(InputFile(str(path))) as source, open(os.devnull, "wb") as output:
        for part in unparsed_parts(source):
            if isinstance(part, Gap):
                output.write(part.raw)
            else:
                output.writelines(insert_pick(part.raw, pick.extractor, pick.spans))
    return time.process_time() - began
