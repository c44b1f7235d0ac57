"""Two workers and a person select the same batch to the same output at once."""

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

from robustness.batches import Made, made
from robustness.table import Harm, Table
from selection import select_file
from tests.support.queue_server import Workers, children, kill, running_server
from worker.state.job_state import ENDED
from worker.state.status import open_queue, read_jobs

FUNCTION = "worker.jobs.select_batch"
SECONDS = 60
_BATCHES = 4


@dataclass
class Round:
    """One batch, one output, three who write it.

    Attributes:
        old, right: what the output may be: what it was (if it was), what it becomes.
        seen: what else it was, if it ever was.
    """

    path: Path
    old: bytes | None
    right: bytes
    seen: list[str] = field(default_factory=list)

    @property
    def output(self) -> Path:
        """The default one."""
        return self.path.with_name(f"{self.path.stem}_selected.json")

    def look(self) -> None:
        """A reader's look at the output."""
        try:
            content = self.output.read_bytes()
        except FileNotFoundError:
            if self.old is not None:
                self.seen.append("the older output was gone for a while")
            return
        if content not in (self.old, self.right):
            self.seen.append(f"{len(content)} bytes that are no complete output")

    def left_over(self) -> list[str]:
        """What is there beside input and output."""
        return sorted(set(os.listdir(self.path.parent)) - {self.path.name, self.output.name})


def run(table: Table, long: bool, seed: int) -> None:
    """Hundreds of rounds, or dozens in the short form; in every third one of them is killed."""
    randomness = random.Random(seed)
    rounds = 600 if long else 36
    batches = [made(randomness, 150, 200) for _ in range(_BATCHES)]
    table.say(f"together: {rounds} rounds of {len(batches[0].input):,} bytes")
    with tempfile.TemporaryDirectory() as name, running_server() as server:
        Path(name, "batches").mkdir()
        workers = Workers(server, Path(name))
        workers.environment["SELECTION_RETRY_DELAYS"] = "0,0,0"
        processes = [workers.start() for _ in range(2)]
        try:
            for number in range(rounds):
                path = Path(name, "batches", "batch.json")
                victim = number % 3 == 2
                harm = _round(path, batches[number % _BATCHES], workers, randomness, victim)
                table.add(f"together: three at once{', one is killed' if victim else ''}", harm)
            if any(process.poll() is not None for process in processes):
                table.add("together: three at once", Harm(lost="a worker has ended"), tries=0)
        finally:
            workers.stop()


def _round(
    path: Path, batch: Made, workers: Workers, randomness: random.Random, has_victim: bool
) -> Harm:
    path.write_bytes(batch.input)
    turn = Round(path, None, batch.output)
    if randomness.random() < 0.5:
        turn.output.unlink(missing_ok=True)
    elif turn.output.exists():
        turn.old = turn.output.read_bytes()
    settings = workers.settings
    connection = settings.connect()
    queue = open_queue(connection, settings)
    person = subprocess.Popen(
        [sys.executable, "-m", "selection", "run", str(path), "--json"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    # About as long as an interpreter takes to start, so that all three meet.
    time.sleep(randomness.uniform(0, 0.4))
    jobs: list[Job] = [queue.enqueue(FUNCTION, str(path)) for _ in range(2)]
    ids = [job.id for job in jobs]
    kill_at = time.monotonic() + randomness.uniform(0, 0.3) if has_victim else None
    end = time.monotonic() + SECONDS
    while person.poll() is None or any(
        found.state not in ENDED for found in read_jobs(connection, settings, ids)
    ):
        turn.look()
        if kill_at is not None and time.monotonic() > kill_at:
            kill_at = None
            _kill_one(person, workers, randomness)
        if time.monotonic() > end:
            person.kill()
            person.wait(SECONDS)
            return Harm(stuck=f"{person.returncode} {read_jobs(connection, settings, ids)}")
    turn.look()
    return _judge(turn, person.returncode, has_victim, workers, ids)


def _kill_one(person: subprocess.Popen[bytes], workers: Workers, randomness: random.Random) -> None:
    horses = [pid for pid in workers.pids() for pid in children(pid) if _runs_job(pid)]
    kill(randomness.choice([person.pid, *horses]))


def _runs_job(pid: int) -> bool:
    try:
        return os.getpgid(pid) == pid
    except ProcessLookupError:
        return False


def _judge(turn: Round, code: int, has_victim: bool, workers: Workers, ids: list[str]) -> Harm:
    lost = ""
    allowed = (0, -signal.SIGKILL) if has_victim else (0,)
    ended = read_jobs(workers.settings.connect(), workers.settings, ids)
    if code not in allowed:
        lost = f"the person's run ended with {code}"
    elif any(found.state != "finished" for found in ended):
        lost = f"a job did not finish: {ended}"
    elif not turn.output.exists() or turn.output.read_bytes() != turn.right:
        lost = "the output is not the right one"
    if has_victim:
        # What a killed run leaves is removed by the next one.
        select_file(turn.path)
    left = turn.left_over()
    return Harm(lost, "; ".join(turn.seen[:3]), f"{left}" if left else "")
