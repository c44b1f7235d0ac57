"""``selection run`` and a worker on objects of increasing size, against local files."""

from __future__ import annotations

import filecmp
import resource
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks import corpus
from benchmarks.object_server import BUCKET, running_server
from benchmarks.process import Memory, run_watched
from benchmarks.product import SELECTION
from benchmarks.result import Cell, Goal, Result, Settings, Table

SIZES, QUICK_SIZES = (64_000_000, 256_000_000), (2_000_000,)
GROWTH_LIMIT = 1.25  # the number of parts of 8 MiB on their way varies
SPEED = "speed of the largest object against download, run, upload"
OBJECT, FETCHED = "run, object", "download, run, upload"
LOCAL, WORKER, LOCAL_WORKER = "run, local file", "worker, object", "worker, local file"

#: Copies an object to a file, selects and copies the output to an object.
FETCH = f"""
import subprocess, sys
import obstore
from obstore.store import S3Store
store = S3Store({BUCKET!r}, client_options={{"allow_http": True}})
batch, output = sys.argv[1:3]
with open(batch, "wb") as file:
    for piece in obstore.get(store, "batch.json").stream():
        file.write(piece)
subprocess.run([*sys.argv[3:], batch, "-o", output], check=True)
with open(output, "rb") as file:
    obstore.put(store, "output.json", file)
"""
HOW = (
    "Generated batches in a server of the S3 protocol on this machine, which sends and stores "
    "files, so that nothing of a network is measured. One process decides. One run each, the "
    "smallest the median of {runs}. Seconds are those of the whole command, of a worker those of "
    "the job. CPU seconds and memory are those of the command without the server of the objects: "
    "peak RSS of one process, peak PSS of several (the server of the queue, the worker and its "
    "work-horse)."
)


@dataclass(frozen=True, slots=True)
class _Run:
    way: str
    megabytes: float
    seconds: float
    cpu: float
    memory: Memory | None

    @property
    def peak(self) -> float | None:
        return self.memory.peak if self.memory else None

    def cells(self) -> tuple[Cell, ...]:
        rate = self.megabytes / self.seconds
        return self.megabytes, self.way, self.seconds, rate, self.cpu, self.peak


def measure(settings: Settings) -> Result:
    """Measure each way on each size."""
    runs = _runs(settings)
    first = {one.way: one for one in reversed(runs)}
    last = {one.way: one for one in runs}
    goals = [Goal(SPEED, last[FETCHED].seconds / last[OBJECT].seconds, 1.0)]
    for way in (OBJECT, WORKER):
        high, low = last[way].peak, first[way].peak
        growth = high / low if high and low else None
        what = f"peak memory of the largest object to the smallest, {way}"
        goals.append(Goal(what, growth, GROWTH_LIMIT, at_most=True))
    head = ("MB", "way", "seconds", "MB a second", "CPU seconds", "peak MB")
    table = Table("Object storage", head, tuple(one.cells() for one in runs))
    return Result("storage", HOW.format(runs=settings.runs), (table,), tuple(goals))


def _runs(settings: Settings) -> list[_Run]:
    sizes = QUICK_SIZES if settings.quick else (*SIZES, settings.largest)
    found: list[_Run] = []
    folder = settings.folder / "objects"
    folder.mkdir()
    with running_server(folder) as environment:
        for size in sizes:
            corpus.write_generated(folder / "batch.json", size)
            runs = settings.runs if size == sizes[0] else 1
            for number in range(runs):
                settings.log(f"storage: {size / 1e6:,.0f} MB, run {number + 1} of {runs}")
                found += _ways(settings.folder, folder / "batch.json", environment)
    shutil.rmtree(folder)
    return _medians(found)


def _ways(folder: Path, source: Path, environment: Mapping[str, str]) -> list[_Run]:
    """Run each way once on a batch of the server; local files are in the folder."""
    megabytes = source.stat().st_size / 1e6
    address = f"s3://{BUCKET}/batch.json"
    local, output = folder / "local.json", folder / "local_selected.json"
    shutil.copyfile(source, local)
    one_process = [*SELECTION, "run", "--jobs", "1", "--json"]
    fetch = [sys.executable, "-c", FETCH, str(folder / "fetched.json"), str(output), *one_process]
    commands = {
        LOCAL: [*one_process, str(local), "-o", str(output)],
        OBJECT: [*one_process, address],
        FETCHED: fetch,
        LOCAL_WORKER: [sys.executable, "-m", "benchmarks.one_job", str(local)],
        WORKER: [sys.executable, "-m", "benchmarks.one_job", address],
    }
    found = []
    for way, command in commands.items():
        printed = folder / "printed"
        before = _cpu_seconds()
        seconds, memory = run_watched(command, environment, printed)
        cpu = _cpu_seconds() - before
        if way in (WORKER, LOCAL_WORKER):
            seconds = float(printed.read_text())
        found.append(_Run(way, megabytes, seconds, cpu, memory))
    own, fetched = source.with_name("batch_selected.json"), source.with_name("output.json")
    if not filecmp.cmp(own, fetched, shallow=False):
        raise SystemExit("the outputs of the ways differ")
    for path in (local, output, folder / "fetched.json"):
        path.unlink()
    return found


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _medians(runs: Sequence[_Run]) -> list[_Run]:
    """Return one run for each size and way, with the median of the seconds."""
    by_kind: dict[tuple[float, str], list[_Run]] = {}
    for one in runs:
        by_kind.setdefault((one.megabytes, one.way), []).append(one)
    return [
        _Run(
            way,
            megabytes,
            median(one.seconds for one in same),
            median(one.cpu for one in same),
            same[0].memory,
        )
        for (megabytes, way), same in by_kind.items()
    ]
