"""Thousands of files through a real queue while everything around them breaks."""

from __future__ import annotations

import math
import random
import signal
import subprocess
import tempfile
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redis import Redis
from redis.exceptions import RedisError

import worker
from robustness.batches import Made, made, made_large
from robustness.disk import Disk, small_disk
from robustness.table import Harm, Table
from tests.support.queue_server import Server, Workers, children, kill, running_server
from worker.state.job_state import ENDED
from worker.state.status import JobStatus, read_jobs

# What Redis keeps without a lifetime, by design: the names of queues and of workers, a stream
# with a cap and counters with a fixed number of names. RQ takes dead workers out of its sets
# once their own keys have expired.
KEPT = {
    "rq:queues",
    "rq:workers",
    "rq:workers:selection",
    "selection:counters",
    "selection:events",
}
MOST_KEPT_BYTES = 65_536
_LOOKED_AT = 300
_AT_ONCE = 10
_SECONDS_TO_BEGIN = 10
_SECONDS_OF_OUTAGE = 120


@dataclass(frozen=True)
class Form:
    """How much of it.

    Attributes:
        small, large: files, and how many megabytes a large one has.
        seconds: of faults; files are enqueued all the while.
        pause: seconds between two faults, on average.
        lifetime: of results and failures in Redis.
        calm: seconds in which everything must have ended after the last fault.
    """

    small: int
    large: int
    megabytes: int
    seconds: int
    pause: float
    lifetime: int
    calm: int

    @property
    def disk(self) -> int:
        """Megabytes that hold all outputs twice."""
        return 2 * (self.large * self.megabytes + self.small // 100 + 8)


SHORT = Form(small=300, large=4, megabytes=8, seconds=20, pause=0.7, lifetime=20, calm=100)
LONG = Form(small=5000, large=20, megabytes=10, seconds=400, pause=1.0, lifetime=60, calm=300)


@dataclass
class File:
    """One batch and what became of it."""

    path: Path
    output: Path
    right: bytes
    job: str | None = None
    ended: JobStatus | None = None


class Soak:
    """The fleet, the files, and what is done to them."""

    def __init__(
        self, server: Server, workers: Workers, disk: Disk, files: list[File], seed: int
    ) -> None:
        self._server = server
        self._workers = workers
        self._disk = disk
        self._files = files
        self._randomness = random.Random(seed)
        self._looked_at = 0
        self.ended_by_themselves: list[str] = []
        self._running: list[subprocess.Popen[bytes]] = []
        self._started: dict[int, float] = {}
        for _ in range(4):
            self._start_worker()
        self.faults: dict[str, Callable[[], None]] = {
            "a worker and its batch killed": self._kill_worker,
            "a batch's process killed": self._kill_horse,
            "server killed and restarted": self._restart_server,
            "server stopped (SIGSTOP)": self._stop_server,
            "server paused (CLIENT PAUSE)": self._pause_server,
            "connections cut (CLIENT KILL)": self._cut_connections,
            f"disk full, {disk.kind}": self._fill_disk,
        }

    # Producer and onlooker

    def enqueue(self, file: File) -> None:
        """As a producer does who does not give up; enqueueing twice makes one job."""
        end = time.monotonic() + _SECONDS_OF_OUTAGE
        while file.job is None:
            try:
                job = worker.enqueue(
                    file.path,
                    file.output,
                    connection=self._client(),
                    settings=self._workers.settings,
                )
                file.job = job.id
            except RedisError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    def waiting(self) -> list[File]:
        """Enqueued and not over."""
        return [file for file in self._files if file.job and not file.ended]

    def look(self) -> None:
        """Note what has ended; some of the files at a time."""
        files = self.waiting()
        if not files:
            return
        self._looked_at %= len(files)
        some = files[self._looked_at : self._looked_at + _LOOKED_AT]
        self._looked_at += _LOOKED_AT
        try:
            found = read_jobs(
                self._client(), self._workers.settings, [file.job for file in some if file.job]
            )
        except RedisError:
            return
        for file, batch in zip(some, found):
            if batch.state in ENDED:
                file.ended = batch

    def retry_failed(self) -> None:
        """Enqueue again, as an operator does when the faults are over."""
        for file in self._files:
            if file.ended and file.ended.state != "finished" and not file.output.exists():
                file.job = file.ended = None
                self.enqueue(file)

    def events(self) -> dict[str, list[str]]:
        """What was told of each job, in order."""
        told = defaultdict(list)
        entries: Any = self._client().xrange("selection:events")
        for _, fields in entries:
            told[fields[b"job"].decode()].append(fields[b"event"].decode())
        return told

    def _client(self) -> Redis:
        return self._server.client()

    # Faults

    def replace_workers(self) -> None:
        """Start one for each that is gone, as a supervisor does.

        One that was not killed is noted, unless it had just begun: `rq worker` ends at once
        where there is no server.
        """
        for process in [p for p in self._running if p.poll() is not None]:
            age = time.monotonic() - self._started.pop(process.pid)
            if process.returncode != -signal.SIGKILL and age > _SECONDS_TO_BEGIN:
                tail = self._workers.log()[-3000:]
                self.ended_by_themselves.append(f"a worker ended, {process.returncode}: {tail}")
            self._running.remove(process)
            self._start_worker()

    def _start_worker(self) -> None:
        process = self._workers.start()
        self._running.append(process)
        self._started[process.pid] = time.monotonic()

    def _kill_worker(self) -> None:
        process = self._randomness.choice(self._running)
        for child in children(process.pid):
            kill(child)
        process.kill()
        process.wait(_SECONDS_TO_BEGIN)

    def _kill_horse(self) -> None:
        horses = [child for p in self._running for child in children(p.pid)]
        if horses:
            kill(self._randomness.choice(horses))

    def _restart_server(self) -> None:
        self._server.kill()
        time.sleep(self._randomness.uniform(0, 1))
        self._server.start()

    def _stop_server(self) -> None:
        self._server.signal(signal.SIGSTOP)
        time.sleep(self._randomness.uniform(0.2, 3))
        self._server.signal(signal.SIGCONT)

    def _pause_server(self) -> None:
        self._client().client_pause(self._randomness.randrange(200, 2000))

    def _cut_connections(self) -> None:
        self._client().client_kill_filter(_type="normal")

    def _fill_disk(self) -> None:
        self._disk.fill()
        time.sleep(self._randomness.uniform(0.5, 2))
        self._disk.empty()


def run(table: Table, long: bool, seed: int) -> None:
    """Break things, then let it become calm and look at every file and every key."""
    form = LONG if long else SHORT
    with (
        tempfile.TemporaryDirectory() as name,
        running_server() as server,
        small_disk(Path(name), form.disk) as disk,
    ):
        files = _files(Path(name), disk.folder, form, random.Random(seed))
        workers = Workers(server, Path(name))
        workers.environment |= {
            "SELECTION_RESULT_TTL": str(form.lifetime),
            "SELECTION_FAILURE_TTL": str(form.lifetime),
            "SELECTION_RETRY_DELAYS": "1,2,4",
            "SELECTION_EVENTS": "1000000",
            **disk.environment,
        }
        try:
            _soak(table, form, Soak(server, workers, disk, files, seed), files, seed)
            _judge_keys(table, form, server.client())
        finally:
            workers.stop()


def _files(folder: Path, output: Path, form: Form, randomness: random.Random) -> list[File]:
    batches: list[Made] = [made(randomness, 3, 20) for _ in range(form.small)]
    batches += [made_large(randomness, form.megabytes) for _ in range(form.large)]
    randomness.shuffle(batches)
    files = []
    for number, batch in enumerate(batches):
        path = folder / f"{number}.json"
        path.write_bytes(batch.input)
        files.append(File(path, output / f"{number}.json", batch.output))
    return files


def _soak(table: Table, form: Form, soak: Soak, files: list[File], seed: int) -> None:
    row = f"queue: {len(files):,} files, 4 workers"
    randomness = random.Random(seed)
    table.say(f"{row}, {form.seconds} s of faults")
    rest = deque(files)
    to_try = deque[str]()
    tried = 0
    began = fault_at = time.monotonic()
    # However slow the machine is, every fault is tried.
    while (passed := time.monotonic() - began) < form.seconds or tried < len(soak.faults):
        due = len(files) * min(1, passed / form.seconds) - (len(files) - len(rest))
        for _ in range(min(_AT_ONCE, math.ceil(due))):
            soak.enqueue(rest.popleft())
        if time.monotonic() >= fault_at:
            if not to_try:
                to_try.extend(randomness.sample(list(soak.faults), len(soak.faults)))
            name = to_try.popleft()
            soak.faults[name]()
            tried += 1
            table.among(f"queue: {name}", row)
            fault_at = time.monotonic() + randomness.uniform(0, 2 * form.pause)
        soak.replace_workers()
        soak.look()
    for file in rest:
        soak.enqueue(file)
    _wait(form, soak)
    _tell(table, files)
    first = [file.ended for file in files]
    soak.retry_failed()
    _wait(form, soak)
    table.add(row, tries=0)
    events = soak.events()
    for file, end in zip(files, first):
        table.add(row, _judge(file, end, events[file.job or ""]))
    left = [entry.name for entry in files[0].output.parent.iterdir() if entry.name[0] == "."]
    table.add(row, Harm(leaked=f"{left}" if left else ""), tries=0)
    for what in soak.ended_by_themselves:
        table.add(row, Harm(lost=what), tries=0)


def _wait(form: Form, soak: Soak) -> None:
    end = time.monotonic() + form.calm
    while soak.waiting() and time.monotonic() < end:
        soak.replace_workers()
        soak.look()
        time.sleep(0.1)


def _tell(table: Table, files: list[File]) -> None:
    ends = Counter(
        "running" if file.ended is None else (file.ended.error or {}).get("type", file.ended.state)
        for file in files
    )
    table.say("queue: " + ", ".join(f"{number:,} {end}" for end, number in ends.most_common()))


def _judge(file: File, first: JobStatus | None, events: list[str]) -> Harm:
    """``first``: how it ended among the faults; ``file.ended``: after a retry, if it failed."""
    content = file.output.read_bytes() if file.output.exists() else None
    partial = "" if content in (None, file.right) else f"{file.path.name}: {len(content or b'')}"
    if first is None or file.ended is None:
        return Harm(partial=partial, stuck=f"{file.path.name}, {file.job}: {first}, {events}")
    if first.state == "failed" and not (first.error or {}).get("message"):
        return Harm(f"{file.path.name} failed without a reason: {first}", partial)
    # A run that was given up too early and finished yet has its lifetime counted from then on,
    # and may be gone before the run that replaced it ends.
    has_finished = file.ended.state == "finished" or "finished" in events
    if not has_finished or content != file.right:
        return Harm(f"{file.path.name}: {file.ended}, {events}, {content == file.right}", partial)
    return Harm(partial=partial)


def _judge_keys(table: Table, form: Form, client: Redis) -> None:
    """When the lifetimes are over nothing is kept but what is kept by design."""
    table.say(f"queue: waiting {form.lifetime} s for lifetimes to end")
    end = time.monotonic() + form.lifetime + 15
    while (left := _keys_for_ever(client)) and time.monotonic() < end:
        time.sleep(0.5)
    size: Any = sum(client.memory_usage(key, samples=0) or 0 for key in KEPT - {"selection:events"})
    row = "queue: keys of Redis without a lifetime"
    table.add(row, tries=len(KEPT) + len(left))
    for key in left:
        table.add(row, Harm(leaked=f"{key} ({client.type(key)!r})"), tries=0)
    if size > MOST_KEPT_BYTES:
        table.add(row, Harm(leaked=f"what is kept by design has {size:,} bytes"), tries=0)


def _keys_for_ever(client: Redis) -> list[str]:
    keys = [key.decode() for key in client.scan_iter(count=1000)]
    return sorted(key for key in keys if key not in KEPT and client.ttl(key) == -1)
