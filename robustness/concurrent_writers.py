"""Two workers and a command write the output of the same batch at the same time."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from rq.job import Job

from robustness.batches import ExpectedBatch, generate
from robustness.table import Effects, Table
from selection import select_file
from tests.support.queue_server import Workers, children, kill, running_server
from worker.state.job_state import ENDED
from worker.state.status import open_queue, read_jobs

FUNCTION = "worker.jobs.select_batch"
SECONDS = 60
_BATCHES = 4


@dataclass
class Writers:
    """One batch and one output that three processes write.

    Attributes:
        path: the batch.
        old: the output before the round; None if there was none.
        right: the expected output.
        seen: descriptions of any other content that was read from the output.
    """

    path: Path
    old: bytes | None
    right: bytes
    seen: list[str] = field(default_factory=list)

    @property
    def output(self) -> Path:
        """The default output of the batch."""
        return self.path.with_name(f"{self.path.stem}_selected.json")

    def look(self) -> None:
        """Read the output and record any content that is neither old nor right."""
        try:
            content = self.output.read_bytes()
        except FileNotFoundError:
            if self.old is not None:
                self.seen.append("the older output was missing for a while")
            return
        if content not in (self.old, self.right):
            self.seen.append(f"{len(content)} bytes that are not a complete output")

    def left_over(self) -> list[str]:
        """Return the names of all files except input and output."""
        return sorted(set(os.listdir(self.path.parent)) - {self.path.name, self.output.name})


def run(table: Table, long: bool, seed: int) -> None:
    """Run 36 rounds, 600 in the long form; kill one of the writers in every third round."""
    randomness = random.Random(seed)
    rounds = 600 if long else 36
    batches = [generate(randomness, 150, 200) for _ in range(_BATCHES)]
    table.log(f"concurrent-writers: {rounds} rounds of {len(batches[0].input):,} bytes")
    with tempfile.TemporaryDirectory() as name, running_server() as server:
        Path(name, "batches").mkdir()
        workers = Workers(server, Path(name))
        workers.environment["SELECTION_RETRY_DELAYS"] = "0,0,0"
        processes = [workers.start() for _ in range(2)]
        try:
            for number in range(rounds):
                path = Path(name, "batches", "batch.json")
                with_kill = number % 3 == 2
                effects = _round(path, batches[number % _BATCHES], workers, randomness, with_kill)
                table.add(
                    f"concurrent-writers: three writers{', one is killed' if with_kill else ''}",
                    effects,
                )
            if any(process.poll() is not None for process in processes):
                table.add(
                    "concurrent-writers: three writers", Effects(lost="a worker has ended"), tries=0
                )
        finally:
            workers.stop()


def _round(
    path: Path, batch: ExpectedBatch, workers: Workers, randomness: random.Random, with_kill: bool
) -> Effects:
    path.write_bytes(batch.input)
    writers = Writers(path, None, batch.output)
    if randomness.random() < 0.5:
        writers.output.unlink(missing_ok=True)
    elif writers.output.exists():
        writers.old = writers.output.read_bytes()
    settings = workers.settings
    connection = settings.connect()
    queue = open_queue(connection, settings)
    command = subprocess.Popen(
        [sys.executable, "-m", "selection", "run", str(path), "--json"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    # The start-up time of an interpreter, so that all three runs overlap.
    time.sleep(randomness.uniform(0, 0.4))
    jobs: list[Job] = [queue.enqueue(FUNCTION, str(path)) for _ in range(2)]
    ids = [job.id for job in jobs]
    kill_at = time.monotonic() + randomness.uniform(0, 0.3) if with_kill else None
    end = time.monotonic() + SECONDS
    while command.poll() is None or any(
        found.state not in ENDED for found in read_jobs(connection, settings, ids)
    ):
        writers.look()
        if kill_at is not None and time.monotonic() > kill_at:
            kill_at = None
            _kill_one(command, workers, randomness)
        if time.monotonic() > end:
            command.kill()
            command.wait(SECONDS)
            return Effects(stuck=f"{command.returncode} {read_jobs(connection, settings, ids)}")
    writers.look()
    return _check(writers, command.returncode, with_kill, workers, ids)


def _kill_one(
    command: subprocess.Popen[bytes], workers: Workers, randomness: random.Random
) -> None:
    horses = [pid for pid in workers.pids() for pid in children(pid) if _runs_job(pid)]
    kill(randomness.choice([command.pid, *horses]))


def _runs_job(pid: int) -> bool:
    try:
        return os.getpgid(pid) == pid
    except ProcessLookupError:
        return False


def _check(
    writers: Writers, code: int, with_kill: bool, workers: Workers, ids: list[str]
) -> Effects:
    lost = ""
    allowed = (0, -signal.SIGKILL) if with_kill else (0,)
    ended = read_jobs(workers.settings.connect(), workers.settings, ids)
    if code not in allowed:
        lost = f"the command ended with {code}"
    elif any(found.state != "finished" for found in ended):
        lost = f"a job did not finish: {ended}"
    elif not writers.output.exists() or writers.output.read_bytes() != writers.right:
        lost = "the output is wrong"
    if with_kill:
        # The next run removes the temporary file of a killed one.
        select_file(writers.path)
    left = writers.left_over()
    return Effects(lost, "; ".join(writers.seen[:3]), f"{left}" if left else "")
