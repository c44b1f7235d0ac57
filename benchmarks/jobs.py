"""``selection run --jobs 2`` against ``--jobs 1``."""

from __future__ import annotations

import os
from statistics import median

from benchmarks import corpus
from benchmarks.process import run
from benchmarks.product import SAMPLE, has_jobs, selection_run
from benchmarks.result import Goal, Result, Settings, Table

SIZE, QUICK_SIZE = 100_000_000, 5_000_000
GOAL = 1.7
WHAT = "--jobs 2, speed to --jobs 1"

HOW = "Whole processes on one file of {megabytes:.0f} MB, medians of {runs} runs, taken in turn."


def measure(settings: Settings) -> Result:
    """The part of the suite."""
    missing = None
    if not has_jobs():
        missing = "`selection run` has no `--jobs`"
    elif (os.cpu_count() or 1) < 2:
        missing = "this machine has one core"
    if missing:
        return Result("jobs", f"Not available: {missing}.", (), (Goal(WHAT, None, GOAL),))
    batch, output = settings.folder / "jobs.json", settings.folder / "jobs.output"
    size = QUICK_SIZE if settings.quick else SIZE
    corpus.write_repeated(batch, settings.batch or SAMPLE, size)
    found: dict[int, list[float]] = {1: [], 2: []}
    for number in range(settings.runs):
        settings.say(f"jobs: run {number + 1} of {settings.runs}")
        for jobs, seconds in found.items():
            seconds.append(run(selection_run(batch, output, jobs)))
    one, two = (median(seconds) for seconds in found.values())
    megabytes = batch.stat().st_size / 1e6
    rows = ((1, one, megabytes / one, 1.0), (2, two, megabytes / two, one / two))
    table = Table("Jobs", ("jobs", "seconds", "MB a second", "times one"), rows)
    how = HOW.format(megabytes=megabytes, runs=settings.runs)
    return Result("jobs", how, (table,), (Goal(WHAT, one / two, GOAL),))
