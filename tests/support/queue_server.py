"""A real server and real workers, which can be killed, and their events."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from redis import Redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry

from tests.support.process import SECONDS
from worker import Settings
from worker.local_fleet import server_program

SAFE = "worker.SelectionWorker"


class Server:
    """A private server with an append-only file, which survives :meth:`kill`."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self.socket = f"{folder}/s"
        self.url = f"unix://{self.socket}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, **others: str) -> None:
        """Start the server and wait until it answers; ``others`` are additional options."""
        options = {
            "port": "0",
            "unixsocket": self.socket,
            "dir": self._folder,
            "save": "",
            "appendonly": "yes",
            # A killed process keeps what it wrote; only a machine that fails does not.
            "appendfsync": "no",
            "maxmemory-policy": "noeviction",
            **{name.replace("_", "-"): value for name, value in others.items()},
        }
        arguments = [
            part for name, value in options.items() for part in (f"--{name}", *value.split(" "))
        ]
        self._process = subprocess.Popen(
            [server_program(), *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        patience = Retry(ConstantBackoff(0.05), 200)
        # Without HELLO, which a test may have disabled.
        Redis(unix_socket_path=self.socket, retry=patience, protocol=2).ping()

    def client(self) -> Redis:
        """Connect without a timeout, so that a command can block."""
        return Redis(unix_socket_path=self.socket, socket_timeout=None)

    def signal(self, number: signal.Signals) -> None:
        """Send the server a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        """Kill the server, as in a crash."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(SECONDS)


@contextmanager
def running_server(**others: str) -> Iterator[Server]:
    """Start a server and remove it afterwards; ``others`` are additional options."""
    folder = tempfile.mkdtemp(prefix="t-", dir="/tmp")  # a socket's path must be short
    started = Server(folder)
    try:
        started.start(**others)
        yield started
    finally:
        started.kill()
        shutil.rmtree(folder)


class Workers:
    """Real ``rq worker`` processes."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.environment = {
            **os.environ,
            "RQ_REDIS_URL": server.url,
            "RQ_WORKER_CLASS": SAFE,
            "SELECTION_HEARTBEAT": "1",
            "SELECTION_RETRY_DELAYS": "1,1,1",
            "SELECTION_STATUS_INTERVAL": "0.05",
        }
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def settings(self) -> Settings:
        """The settings of a producer in the same environment."""
        return Settings.from_environment(self.environment)

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
        """Start one worker; its log goes to :meth:`log`."""
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "rq.cli", "worker", *arguments, "selection"],
                env={**self.environment, **environment},
                stdout=log,
                stderr=log,
            )
        self._processes.append(process)
        return process

    def pids(self) -> list[int]:
        """Return the processes of the running workers."""
        return [process.pid for process in self._processes if process.poll() is None]

    def log(self) -> str:
        """Return the log of all workers."""
        return self._log.read_text(errors="replace")

    @property
    def _log(self) -> Path:
        return self._folder / "workers.log"

    def stop(self) -> None:
        """Kill the remaining workers with the processes of their jobs."""
        for process in self._processes:
            for child in children(process.pid):
                kill(child)
            process.kill()
            process.wait(SECONDS)


def children(pid: int) -> list[int]:
    """Return the children of a process."""
    tasks = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in tasks.read_text().split()] if tasks.exists() else []


def kill(pid: int) -> None:
    """Send SIGKILL to a process, if it exists."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


class Events:
    """A reader of the stream of events that waits for new entries."""

    def __init__(self, connection: Redis) -> None:
        self._connection = connection
        self._last = "0"
        self.seen: list[dict[str, str]] = []

    def wait(
        self, enough: Callable[[list[dict[str, str]]], bool], seconds: float = SECONDS
    ) -> None:
        """Read events until ``enough`` is true of those seen, at most ``seconds`` in all."""
        end = time.monotonic() + seconds
        while not enough(self.seen):
            left = max(1, round((end - time.monotonic()) * 1000))
            answer: Any = self._connection.xread({"selection:events": self._last}, block=left)
            assert answer, f"not enough in {seconds} s: {self.seen}"
            for _, entries in answer:
                for number, fields in entries:
                    self._last = number
                    self.seen.append({k.decode(): v.decode() for k, v in fields.items()})

    def wait_for(self, job: str, event: str, seconds: float = SECONDS) -> dict[str, str]:
        """Read until an event of a job and return the entry."""
        self.wait(lambda seen: _has(seen, job, event), seconds)
        return next(entry for entry in reversed(self.seen) if _is(entry, job, event))

    def wait_for_start(self, job: str, number: int) -> None:
        """Read until the job was started ``number`` times."""
        self.wait(lambda seen: sum(_is(entry, job, "started") for entry in seen) >= number)

    def of(self, job: str) -> list[str]:
        """Return the events of one job, in order."""
        return [entry["event"] for entry in self.seen if entry["job"] == job]


def _is(entry: dict[str, str], job: str, event: str) -> bool:
    return entry["job"] == job and entry["event"] == event


def _has(seen: list[dict[str, str]], job: str, event: str) -> bool:
    return any(_is(entry, job, event) for entry in seen)
