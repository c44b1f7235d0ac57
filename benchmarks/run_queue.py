"""What the queue costs: ``python benchmarks/run_queue.py [--files 200] [--runs 3]``.

Prints, medians of several runs on a private server:

- seconds from the first enqueue to the last finish for so many small batches, and for as many
  bare RQ jobs that do nothing, under one ``rq worker`` each, per file, and the difference;
- seconds for some larger batches with one and with two workers, and the factor between them.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from redis import Redis
from rq import Queue

import worker
from worker.local import local_queue
from worker.settings import SAFE_WORKER, Settings

SAMPLE = Path(__file__).parents[1] / "examples" / "river_plate_extracted.json"
NOTHING = "builtins.len"
LARGE_FILES, COPIES_IN_LARGE = 8, 60


def small_files(folder: Path, number: int) -> list[Path]:
    """So many copies of the sample."""
    paths = [folder / f"{n}.json" for n in range(number)]
    for path in paths:
        shutil.copy(SAMPLE, path)
    return paths


def large_files(folder: Path) -> list[Path]:
    """Batches with the sample's articles many times."""
    text = SAMPLE.read_text()
    begin = text.index("[", text.index('"articles"')) + 1
    end = text.rindex("]")
    articles = text[begin:end]
    paths = [folder / f"large{n}.json" for n in range(LARGE_FILES)]
    for path in paths:
        path.write_text(text[:begin] + ",".join([articles] * COPIES_IN_LARGE) + text[end:])
    return paths


def wait_for(queue: Queue, jobs: int) -> None:
    """Return when so many jobs have finished; a failed one is an error."""
    while queue.finished_job_registry.get_job_count(cleanup=False) < jobs:
        if queue.failed_job_registry.get_job_count(cleanup=False):
            raise SystemExit("a job failed")
        time.sleep(0.005)


def time_batches(settings: Settings, connection: Redis, paths: list[Path]) -> float:
    """Seconds from the first enqueue to the last finish."""
    queue = Queue(settings.queue, connection=connection, serializer=settings.serializer)
    began = time.perf_counter()
    for path in paths:
        worker.enqueue(path, connection=connection, settings=settings)
    wait_for(queue, len(paths))
    return time.perf_counter() - began


def time_nothing(settings: Settings, connection: Redis, number: int) -> float:
    """The same for bare jobs that do nothing."""
    queue = Queue(settings.queue, connection=connection, serializer=settings.serializer)
    began = time.perf_counter()
    for _ in range(number):
        queue.enqueue(NOTHING, "")
    wait_for(queue, number)
    return time.perf_counter() - began


def measure(files: int, runs: int) -> None:
    """Run all and print the table."""
    seconds: dict[str, list[float]] = {"batches": [], "nothing": [], "one": [], "two": []}
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            small, large = small_files(folder, files), large_files(folder)
            with local_queue(Settings(), 1, SAFE_WORKER) as (settings, _running):
                seconds["batches"].append(time_batches(settings, settings.connect(), small))
            with local_queue(Settings(), 1, "rq.Worker") as (settings, _running):
                seconds["nothing"].append(time_nothing(settings, settings.connect(), files))
            for label, workers in (("one", 1), ("two", 2)):
                for path in large:
                    path.touch()
                with local_queue(Settings(), workers, SAFE_WORKER) as (settings, _running):
                    seconds[label].append(time_batches(settings, settings.connect(), large))
    median = {label: statistics.median(values) for label, values in seconds.items()}
    batches, nothing = (1000 * median[label] / files for label in ("batches", "nothing"))
    print(f"{files} small batches, one worker       {batches:8.2f} ms a file")
    print(f"{files} bare RQ jobs that do nothing    {nothing:8.2f} ms a job")
    print(f"overhead of a small batch          {batches - nothing:8.2f} ms")
    print(f"{LARGE_FILES} larger batches, one worker         {median['one']:8.2f} s")
    print(f"{LARGE_FILES} larger batches, two workers        {median['two']:8.2f} s")
    print(f"factor                             {median['one'] / median['two']:8.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    measure(arguments.files, arguments.runs)


if __name__ == "__main__":
    main()
