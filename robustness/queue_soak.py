"""A queue soak: thousands of files in a real queue while workers, server and disk fail."""

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
from robustness.batches import ExpectedBatch, generate, generate_large
from robustness.disk import Disk, small_disk
from robustness.table import Effects, Table
from tests.support.queue_server import Server, Workers, children, kill, running_server
from worker.state.job_state import ENDED
from worker.state.status import JobStatus, read_jobs

# Keys without a lifetime, by design: the names of queues and workers, a capped stream, and
# counters with a fixed number of names. RQ removes dead workers from its sets once their own
# keys have expired.
KEPT = {
    "rq:queues",
    "rq:workers",
    "rq:workers:selection",
    "selection:counters",
    "selection:events",
}
MOST_KEPT_BYTES = 65_536
_READ_AT_ONCE = 300
_MOST_ENQUEUED = 10
_SECONDS_TO_BEGIN = 10
_SECONDS_OF_OUTAGE = 120


@dataclass(frozen=True)
class Form:
    """The numbers of a short or a long run.

    Attributes:
        small: the number of small files.
        large: the number of large files.
        megabytes: the size of a large file.
        seconds: the duration of the faults; files are enqueued during all of it.
        pause: the mean number of seconds between two faults.
        lifetime: seconds that Redis keeps results and failures.
        calm: seconds within which all jobs must end after the last fault.
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
        """The size in MB of a disk with space for all outputs twice."""
        return 2 * (self.large * self.megabytes + self.small // 100 + 8)


SHORT = Form(small=300, large=4, megabytes=8, seconds=20, pause=0.7, lifetime=20, calm=100)
LONG = Form(small=5000, large=20, megabytes=10, seconds=400, pause=1.0, lifetime=60, calm=300)


@dataclass
class File:
    """One batch, its expected output and the state of its job."""

    path: Path
    output: Path
    right: bytes
    job: str | None = None
    ended: JobStatus | None = None


class QueueSoak:
    """The workers, the server, the files, and the faults."""

    def __init__(
        self, server: Server, workers: Workers, disk: Disk, files: list[File], seed: int
    ) -> None:
        self._server = server
        self._workers = workers
        self._disk = disk
        self._files = files
        self._randomness = random.Random(seed)
        self._next_file = 0
        self.ended_by_themselves: list[str] = []
        self._running: list[subprocess.Popen[bytes]] = []
        self._started: dict[int, float] = {}
        for _ in range(4):
            self._start_worker()
        self.faults: dict[str, Callable[[], None]] = {
            "a worker and its batch killed": self._kill_worker,
            "a batch's process killed": self._kill_work_horse,
            "server killed and restarted": self._restart_server,
            "server stopped (SIGSTOP)": self._stop_server,
            "server paused (CLIENT PAUSE)": self._pause_server,
            "connections cut (CLIENT KILL)": self._cut_connections,
            f"disk full, {disk.kind}": self._fill_disk,
        }

    # Producer and observer

    def enqueue(self, file: File) -> None:
        """Enqueue a file and repeat that during an outage; enqueueing twice makes one job."""
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
        """Return the files whose jobs have not ended."""
        return [file for file in self._files if file.job and not file.ended]

    def record_ended(self) -> None:
        """Record the jobs that have ended, for some of the files at a time."""
        files = self.waiting()
        if not files:
            return
        self._next_file %= len(files)
        some = files[self._next_file : self._next_file + _READ_AT_ONCE]
        self._next_file += _READ_AT_ONCE
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
        """Enqueue failed files again, as an operator does after an outage."""
        for file in self._files:
            if file.ended and file.ended.state != "finished" and not file.output.exists():
                file.job = file.ended = None
                self.enqueue(file)

    def events(self) -> dict[str, list[str]]:
        """Return the events of each job, in order."""
        events = defaultdict(list)
        entries: Any = self._client().xrange("selection:events")
        for _, fields in entries:
            events[fields[b"job"].decode()].append(fields[b"event"].decode())
        return events

    def _client(self) -> Redis:
        return self._server.client()

    # Faults

    def replace_workers(self) -> None:
        """Start a worker for each that has ended, as a supervisor does.

        A worker that was not killed is recorded, unless it had just begun: `rq worker` ends
        at once without a server.
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

    def _kill_work_horse(self) -> None:
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
    """Inject faults, wait until all jobs have ended, and check every file and every key."""
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
            _break_and_recover(
                table, form, QueueSoak(server, workers, disk, files, seed), files, seed
            )
            _check_keys(table, form, server.client())
        finally:
            workers.stop()


def _files(folder: Path, output: Path, form: Form, randomness: random.Random) -> list[File]:
    batches: list[ExpectedBatch] = [generate(randomness, 3, 20) for _ in range(form.small)]
    batches += [generate_large(randomness, form.megabytes) for _ in range(form.large)]
    randomness.shuffle(batches)
    files = []
    for number, batch in enumerate(batches):
        path = folder / f"{number}.json"
        path.write_bytes(batch.input)
        files.append(File(path, output / f"{number}.json", batch.output))
    return files


def _break_and_recover(
    table: Table, form: Form, queue_soak: QueueSoak, files: list[File], seed: int
) -> None:
    row = f"queue-soak: {len(files):,} files, 4 workers"
    randomness = random.Random(seed)
    table.log(f"{row}, {form.seconds} s of faults")
    rest = deque(files)
    to_try = deque[str]()
    tried = 0
    began = fault_at = time.monotonic()
    # Every fault is tried, also on a slow machine.
    while (passed := time.monotonic() - began) < form.seconds or tried < len(queue_soak.faults):
        due = len(files) * min(1, passed / form.seconds) - (len(files) - len(rest))
        for _ in range(min(_MOST_ENQUEUED, math.ceil(due))):
            queue_soak.enqueue(rest.popleft())
        if time.monotonic() >= fault_at:
            if not to_try:
                to_try.extend(randomness.sample(list(queue_soak.faults), len(queue_soak.faults)))
            name = to_try.popleft()
            queue_soak.faults[name]()
            tried += 1
            table.among(f"queue-soak: {name}", row)
            fault_at = time.monotonic() + randomness.uniform(0, 2 * form.pause)
        queue_soak.replace_workers()
        queue_soak.record_ended()
    for file in rest:
        queue_soak.enqueue(file)
    _wait(form, queue_soak)
    _log_ends(table, files)
    first = [file.ended for file in files]
    queue_soak.retry_failed()
    _wait(form, queue_soak)
    table.add(row, tries=0)
    events = queue_soak.events()
    for file, end in zip(files, first):
        table.add(row, _check(file, end, events[file.job or ""]))
    left = [entry.name for entry in files[0].output.parent.iterdir() if entry.name[0] == "."]
    table.add(row, Effects(leaked=f"{left}" if left else ""), tries=0)
    for what in queue_soak.ended_by_themselves:
        table.add(row, Effects(lost=what), tries=0)


def _wait(form: Form, queue_soak: QueueSoak) -> None:
    end = time.monotonic() + form.calm
    while queue_soak.waiting() and time.monotonic() < end:
        queue_soak.replace_workers()
        queue_soak.record_ended()
        time.sleep(0.1)


def _log_ends(table: Table, files: list[File]) -> None:
    ends = Counter(
        "running" if file.ended is None else (file.ended.error or {}).get("type", file.ended.state)
        for file in files
    )
    table.log("queue-soak: " + ", ".join(f"{number:,} {end}" for end, number in ends.most_common()))


def _check(file: File, first: JobStatus | None, events: list[str]) -> Effects:
    """Check a file by its state during the faults (``first``) and after a retry."""
    content = file.output.read_bytes() if file.output.exists() else None
    partial = "" if content in (None, file.right) else f"{file.path.name}: {len(content or b'')}"
    if first is None or file.ended is None:
        return Effects(partial=partial, stuck=f"{file.path.name}, {file.job}: {first}, {events}")
    if first.state == "failed" and not (first.error or {}).get("message"):
        return Effects(f"{file.path.name} failed without a reason: {first}", partial)
    # The lifetime of a run that was taken for dead and finished starts at that finish, and it
    # may expire before the replacement ends.
    has_finished = file.ended.state == "finished" or "finished" in events
    if not has_finished or content != file.right:
        return Effects(
            f"{file.path.name}: {file.ended}, {events}, {content == file.right}", partial
        )
    return Effects(partial=partial)


def _check_keys(table: Table, form: Form, client: Redis) -> None:
    """Check that Redis keeps only the keys in KEPT after all lifetimes."""
    table.log(f"queue-soak: waiting {form.lifetime} s for lifetimes to end")
    # A job that two workers ran, of which one was killed, can begin again when that is found.
    end = time.monotonic() + form.calm + form.lifetime
    while (left := _keys_for_ever(client)) and time.monotonic() < end:
        time.sleep(0.5)
    size: Any = sum(client.memory_usage(key, samples=0) or 0 for key in KEPT - {"selection:events"})
    row = "queue-soak: keys of Redis without a lifetime"
    table.add(row, tries=len(KEPT) + len(left))
    for key in left:
        table.add(row, Effects(leaked=f"{key}: {_content(client, key)}"), tries=0)
    if size > MOST_KEPT_BYTES:
        table.add(row, Effects(leaked=f"the keys without a lifetime have {size:,} bytes"), tries=0)


def _content(client: Redis, key: str) -> str:
    kind: Any = client.type(key)
    if kind != b"zset":
        return repr(kind)
    members: Any = client.zrange(key, 0, -1, withscores=True)
    return ", ".join(f"{name.decode()} {score - time.time():+.0f} s" for name, score in members)


def _keys_for_ever(client: Redis) -> list[str]:
    keys = [key.decode() for key in client.scan_iter(count=1000)]
    return sorted(key for key in keys if key not in KEPT and client.ttl(key) == -1)
