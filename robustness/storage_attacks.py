"""An S3 server behind a proxy that fails in turn at each request of a run, and under workers."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from robustness.batches import ExpectedBatch, generate, with_article_members
from robustness.table import Effects, Table
from tests.support.object_server import (
    Break,
    ObjectServer,
    Proxy,
    running_object_server,
    running_proxy,
)
from tests.support.queue_server import Workers, children, kill, running_server
from worker.state.job_state import ENDED
from worker.state.status import JobStatus, read_jobs

SECONDS = 90
OLD = b"an older output"
_INPUT, _OUTPUT = "in/a.json", "out/a.json"
_RECORDS = "deterministic-content-selection/uploads/*"
_RUN = [sys.executable, "-m", "selection", "run", "--jobs", "1"]
# Exit codes: input, output, transfer. An input that is refused or missing has the first.
_FAILURES = (66, 73, 74)


@dataclass(frozen=True)
class Fault:
    """What happens at one request; ``begin`` returns it for the process that makes it.

    Attributes:
        name: for the table.
        begin: returns the fault, given the process and what replaces the input.
        codes: the permitted exit codes.
        is_kill: whether only the next run can clean up.
    """

    name: str
    begin: Callable[[Callable[[], int], Callable[[], object]], Break]
    codes: tuple[int, ...] = (0, *_FAILURES)
    is_kill: bool = False


def _signal(pid: Callable[[], int], number: signal.Signals) -> None:
    os.kill(pid(), number)


FAULTS = (
    Fault("503", lambda pid, change: Break("", status=503, code="SlowDown"), (0,)),
    Fault("429", lambda pid, change: Break("", status=429, code="TooManyRequests"), (0,)),
    Fault("no answer", lambda pid, change: Break("", drop=True)),
    Fault("an answer cut", lambda pid, change: Break("", cut=100)),
    Fault("an answer truncated", lambda pid, change: Break("", truncate=100)),
    Fault("a slow answer", lambda pid, change: Break("", before=partial(time.sleep, 1)), (0,)),
    Fault("the input changed", lambda pid, change: Break("", before=change)),
    Fault(
        "SIGTERM",
        lambda pid, change: Break("", before=partial(_signal, pid, signal.SIGTERM)),
        (0, 128 + signal.SIGTERM),
    ),
    Fault(
        "SIGKILL before the request",
        lambda pid, change: Break("", before=partial(_signal, pid, signal.SIGKILL)),
        (-signal.SIGKILL,),
        is_kill=True,
    ),
    Fault(
        "SIGKILL after the request",
        lambda pid, change: Break("", after=partial(_signal, pid, signal.SIGKILL), drop=True),
        (-signal.SIGKILL,),
        is_kill=True,
    ),
)


@dataclass
class Storage:
    """A server behind a proxy, and the environment of the processes that use it."""

    store: ObjectServer
    proxy: Proxy
    cache: Path

    @property
    def environment(self) -> dict[str, str]:
        """The variables that a process needs."""
        return {**os.environ, **self.proxy.environment, "XDG_CACHE_HOME": str(self.cache)}

    def leftovers(self) -> str:
        """Return the unfinished uploads and the records of writers, "" if there are none."""
        records = [path.name for path in self.cache.glob(_RECORDS)]
        uploads = self.store.uploads()
        return f"uploads {uploads}, records {records}" if uploads or records else ""

    def content(self, key: str) -> bytes | None:
        """Return the bytes of an object; None if it does not exist."""
        return self.store.get(key) if key in self.store.keys() else None  # noqa: SIM118


@contextmanager
def storage(folder: Path) -> Iterator[Storage]:
    """Run a server and its proxy."""
    with running_object_server() as store, running_proxy(store) as proxy:
        yield Storage(store, proxy, folder / "cache")


def run(table: Table, long: bool, seed: int) -> None:
    """Inject each fault at each request of a run, then random ones under two workers."""
    randomness = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        with storage(Path(name, "run")) as place:
            _break_everywhere(table, place, randomness, long)
        with storage(Path(name, "queue")) as place:
            _break_workers(table, place, Path(name), randomness, long)


# A run


def _large(randomness: random.Random, megabytes: int) -> ExpectedBatch:
    """Return a batch of several parts that is decided at once: most of it is not a text."""
    return with_article_members(generate(randomness, megabytes, 30), {"html": "x" * 1_000_000})


def _break_everywhere(table: Table, place: Storage, randomness: random.Random, long: bool) -> None:
    batches = [_large(randomness, 18), _large(randomness, 18)]
    place.store.put(_INPUT, batches[0].input)
    code, errors = _select(place, [])
    requests = len(place.proxy.seen)
    if code or place.content(_OUTPUT) != batches[0].output or place.leftovers():
        raise SystemExit(f"storage: the run without a fault went wrong: {code} {errors}")
    table.log(
        f"storage: {requests} requests, {len(FAULTS)} faults, {len(batches[0].input):,} bytes"
    )
    # The short form meets each request with every third fault.
    step = 1 if long else 3
    for number, fault in enumerate(FAULTS):
        for at in range((number + randomness.randrange(step)) % step, requests, step):
            for old in (None, OLD) if long else (randomness.choice((None, OLD)),):
                effects = _with_fault(place, fault, at, batches, old)
                table.add(f"storage: {fault.name}", effects)


def _with_fault(
    place: Storage, fault: Fault, at: int, batches: list[ExpectedBatch], old: bytes | None
) -> Effects:
    place.store.put(_INPUT, batches[0].input)
    if old is None:
        place.store.request("DELETE", f"bucket/{_OUTPUT}")
    else:
        place.store.put(_OUTPUT, old)
    place.proxy.seen.clear()
    code, errors = _select(place, [fault], at, lambda: place.store.put(_INPUT, batches[1].input))
    where = f"at request {at}, {_name(place.proxy, at)}: "
    if code is None:
        return Effects(stuck=where + errors)
    found = place.content(_OUTPUT)
    right = [batch.output for batch in batches]
    lost = partial_output = ""
    if code not in fault.codes or "Traceback" in errors or (code > 0 and not errors):
        lost = f"{where}exit code {code}: {errors}"
    elif code == 0 and found not in right:
        lost = f"{where}the output is not there"
    if found is not None and found not in (old, *right):
        partial_output = f"{where}{len(found):,} bytes"
    if fault.is_kill:
        code, errors = _select(place, [])
        if code or place.content(_OUTPUT) not in right:
            lost = f"{where}the next run: {code}, {errors}"
    left = place.leftovers()
    _clear(place)
    return Effects(lost, partial_output, where + left if left else "")


def _name(proxy: Proxy, at: int) -> str:
    return f"{proxy.seen[at].method} {proxy.seen[at].path}" if at < len(proxy.seen) else "none"


def _clear(place: Storage) -> None:
    place.proxy.breaks.clear()
    for upload in place.store.uploads():
        place.store.request("DELETE", f"bucket/{_OUTPUT}?uploadId={upload}")
    for path in place.cache.glob(_RECORDS):
        path.unlink()


def _select(
    place: Storage, faults: list[Fault], at: int = 0, change: Callable[[], object] = int
) -> tuple[int | None, str]:
    """Run the command with faults at one request; return its exit code and its errors."""
    process: list[subprocess.Popen[str]] = []
    place.proxy.breaks = [fault.begin(lambda: process[0].pid, change) for fault in faults]
    for each in place.proxy.breaks:
        each.skip = at
    process.append(
        subprocess.Popen(
            [*_RUN, f"s3://bucket/{_INPUT}", "-o", f"s3://bucket/{_OUTPUT}"],
            env=place.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
    )
    try:
        _, errors = process[0].communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process[0].kill()
        _, errors = process[0].communicate(timeout=SECONDS)
        return None, errors
    finally:
        place.proxy.breaks = []
    return process[0].returncode, errors


# Workers


@dataclass
class Fleet:
    """Two workers, the jobs of objects, and the random faults.

    Attributes:
        versions: two batches for each object, by its number; the first was there at the start.
    """

    place: Storage
    workers: Workers
    versions: list[tuple[ExpectedBatch, ExpectedBatch]]
    randomness: random.Random
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def keep_running(self) -> None:
        """Start workers in place of those that ended, as a supervisor does."""
        self.running = [process for process in self.running if process.poll() is None]
        while len(self.running) < 2:
            self.running.append(self.workers.start("--with-scheduler"))

    def break_something(self) -> None:
        """Fail some of the next requests, or kill a worker or the process of its job."""
        times, skip = self.randomness.randint(1, 3), self.randomness.randrange(8)
        faults: list[Callable[[], object]] = [
            *(
                partial(self.place.proxy.breaks.append, Break("", skip=skip, times=times, **fault))
                for fault in (
                    {"status": 503, "code": "SlowDown"},
                    {"status": 429, "code": "TooManyRequests"},
                    {"drop": True},
                    {"cut": 100},
                    {"truncate": 100},
                    {"before": partial(time.sleep, 1)},
                )
            ),
            self._change_object,
            self._kill_horse,
            self._kill_worker,
        ]
        self.randomness.choice(faults)()

    def _change_object(self) -> None:
        """Replace an object without an output when its bytes are requested."""
        done = self.place.store.keys()
        numbers = range(len(self.versions))
        if left := [each for each in numbers if _output(each) not in done]:
            number = self.randomness.choice(left)
            content = self.versions[number][1].input
            put = partial(self.place.store.put, _input(number), content)
            self.place.proxy.breaks.append(Break("GET", f"/{_input(number)}", before=put))

    def _kill_horse(self) -> None:
        horses = [child for process in self.running for child in children(process.pid)]
        if horses:
            kill(self.randomness.choice(horses))

    def _kill_worker(self) -> None:
        process = self.randomness.choice(self.running)
        for child in children(process.pid):
            kill(child)
        process.kill()
        process.wait(SECONDS)

    def command(self, *arguments: str) -> list[dict[str, object]]:
        """Run ``selection-worker`` and return its lines."""
        done = subprocess.run(
            [sys.executable, "-m", "worker", *arguments],
            env=self.workers.environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        if "Traceback" in done.stderr:
            raise SystemExit(f"storage: {arguments}: {done.stderr}")
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def _input(number: int) -> str:
    return f"in/{number}.json"


def _output(number: int) -> str:
    return f"out/{number}_selected.json"


def _break_workers(
    table: Table, place: Storage, folder: Path, randomness: random.Random, long: bool
) -> None:
    small, large, seconds = (300, 20, 240) if long else (20, 4, 15)
    versions = [(generate(randomness, 3, 20), generate(randomness, 3, 20)) for _ in range(small)]
    versions += [(_large(randomness, 18), _large(randomness, 18)) for _ in range(large)]
    randomness.shuffle(versions)
    for number, (batch, _) in enumerate(versions):
        place.store.put(_input(number), batch.input)
    row = f"storage: {len(versions)} objects, 2 workers"
    table.log(f"{row}, {seconds} s of faults")
    with running_server() as server:
        workers = Workers(server, folder)
        workers.environment |= place.environment | {
            "RQ_REDIS_URL": server.url,
            "SELECTION_RETRY_DELAYS": "1,1,2,2",
        }
        fleet = Fleet(place, workers, versions, randomness)
        try:
            jobs = fleet.command(
                "enqueue", "s3://bucket/in/", "--output-dir", "s3://bucket/out/", "--json"
            )
            faults = _break_for(fleet, seconds)
            table.log(f"storage: {faults} faults")
            ended = _wait(fleet, [str(job["job"]) for job in jobs])
            fleet.command("retry", "--failed")
            again = _wait(fleet, [str(job["job"]) for job in jobs])
        finally:
            workers.stop()
    if len(jobs) != len(versions):
        table.add(row, Effects(lost=f"{len(jobs)} jobs"), tries=0)
    for first, last in zip(ended, again):
        table.add(row, _check(place, versions, first, last))
    left = place.leftovers()
    table.add(row, Effects(leaked=left), tries=0)


def _break_for(fleet: Fleet, seconds: float) -> int:
    faults = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        fleet.keep_running()
        fleet.break_something()
        faults += 1
        # The pause between two faults.
        threading.Event().wait(fleet.randomness.uniform(0.1, 0.9))
    fleet.place.proxy.breaks.clear()
    return faults


def _wait(fleet: Fleet, jobs: list[str]) -> list[JobStatus]:
    settings = fleet.workers.settings
    connection = settings.connect()
    end = time.monotonic() + 2 * SECONDS
    while True:
        fleet.keep_running()
        found = read_jobs(connection, settings, jobs)
        if all(job.state in ENDED for job in found) or time.monotonic() > end:
            return found
        time.sleep(0.2)


def _check(
    place: Storage,
    versions: list[tuple[ExpectedBatch, ExpectedBatch]],
    first: JobStatus,
    last: JobStatus,
) -> Effects:
    name = (first.path or "?").rpartition("/")[2]
    number = int(name.removesuffix(".json"))
    found = place.content(_output(number))
    right = [version.output for version in versions[number]]
    part = f"{name}: {len(found):,} bytes" if found is not None and found not in right else ""
    if last.state not in ENDED:
        return Effects(partial=part, stuck=f"{name}: {last}")
    is_explained = first.state == "finished" or bool((first.error or {}).get("message"))
    if not is_explained or last.state != "finished" or found not in right:
        return Effects(f"{name}: {first}, {last}, {found in right}", part)
    return Effects(partial=part)
