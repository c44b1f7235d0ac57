"""The cost of the queue per file, and the speed-up by a second worker."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from redis import Redis
from rq import Queue

import worker
from benchmarks import corpus
from benchmarks.product import SAMPLE
from benchmarks.result import Result, Settings, Table
from worker.local_fleet import local_queue
from worker.settings import SELECTION_WORKER
from worker.settings import Settings as QueueSettings

NOTHING = "builtins.len"
LARGE_FILES, COPIES_IN_LARGE = 8, 60
SMALL_FILES, RUNS = 100, 3

HOW = (
    "A private server on this machine. Milliseconds from the first enqueue to the last finish for "
    "{small} copies of the sample with one worker, and for as many empty RQ jobs, divided by their "
    "number; seconds for {large} larger batches with one worker and with two. Medians of {runs}."
)


def _small_files(folder: Path, number: int) -> list[Path]:
    """Write ``number`` copies of the sample."""
    paths = [folder / f"{n}.json" for n in range(number)]
    for path in paths:
        shutil.copy(SAMPLE, path)
    return paths


def _large_files(folder: Path) -> list[Path]:
    """Write batches that repeat the sample's articles."""
    articles = json.loads(SAMPLE.read_bytes())["articles"] * COPIES_IN_LARGE
    paths = [folder / f"large{n}.json" for n in range(LARGE_FILES)]
    for path in paths:
        corpus.write(path, articles)
    return paths


def _wait_for(queue: Queue, jobs: int) -> None:
    """Wait until ``jobs`` jobs have finished; exit if one fails."""
    while queue.finished_job_registry.get_job_count(cleanup=False) < jobs:
        if queue.failed_job_registry.get_job_count(cleanup=False):
            raise SystemExit("a job failed")
        time.sleep(0.005)


def time_batches(settings: QueueSettings, connection: Redis, paths: Sequence[str | Path]) -> float:
    """Return the seconds from the first enqueue to the last finish."""
    queue = Queue(settings.queue, connection=connection, serializer=settings.serializer)
    began = time.perf_counter()
    for path in paths:
        worker.enqueue(path, connection=connection, settings=settings)
    _wait_for(queue, len(paths))
    return time.perf_counter() - began


def _time_nothing(settings: QueueSettings, connection: Redis, number: int) -> float:
    """Return the same seconds for jobs that do nothing."""
    queue = Queue(settings.queue, connection=connection, serializer=settings.serializer)
    began = time.perf_counter()
    for _ in range(number):
        queue.enqueue(NOTHING, "")
    _wait_for(queue, number)
    return time.perf_counter() - began


def measure(settings: Settings) -> Result:
    """Measure small batches, empty jobs and large batches."""
    runs, files = (1, 10) if settings.quick else (RUNS, SMALL_FILES)
    seconds: dict[str, list[float]] = {"batches": [], "nothing": [], "one": [], "two": []}
    for number in range(runs):
        settings.log(f"fleet: run {number + 1} of {runs}")
        with tempfile.TemporaryDirectory(dir=settings.folder) as name:
            folder = Path(name)
            small, large = _small_files(folder, files), _large_files(folder)
            with local_queue(QueueSettings(), 1, SELECTION_WORKER) as (own, _running):
                seconds["batches"].append(time_batches(own, own.connect(), small))
            with local_queue(QueueSettings(), 1, "rq.Worker") as (own, _running):
                seconds["nothing"].append(_time_nothing(own, own.connect(), files))
            for label, workers in (("one", 1), ("two", 2)):
                for path in large:
                    path.touch()
                with local_queue(QueueSettings(), workers, SELECTION_WORKER) as (own, _running):
                    seconds[label].append(time_batches(own, own.connect(), large))
    found = {label: median(values) for label, values in seconds.items()}
    batches, nothing = (1000 * found[label] / files for label in ("batches", "nothing"))
    rows = (
        ("small batch, ms", batches),
        ("empty RQ job, ms", nothing),
        ("difference, ms", batches - nothing),
        ("larger batches, one worker, s", found["one"]),
        ("larger batches, two workers, s", found["two"]),
        ("times one worker", found["one"] / found["two"]),
    )
    how = HOW.format(small=files, large=LARGE_FILES, runs=runs)
    return Result("fleet", how, (Table("Fleet", ("what", "measured"), rows),))
