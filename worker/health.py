"""The health check of a worker's container: whether a worker on this host is alive.

It runs every few seconds beside each worker, so it imports little and implements the server's
protocol itself: the import of the client library alone takes longer than the check.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from worker.address import Address
from worker.processes import identity, is_running
from worker.settings import Settings, SettingsError
from worker.state.registrations import WORKERS_OF_QUEUE, WorkerRegistration, read_registration

_SECONDS = 5
_MOST_BYTES = 1 << 20


class HealthError(Exception):
    """The server cannot be reached; the message gives the reason."""


def main() -> int:
    """Print the state of this host's worker and return the exit code: 0, 1, 2 or 69."""
    try:
        alive = is_alive(Settings.from_variables(os.environ))
    except SettingsError as error:
        print(f"selection-worker: error: {error}", file=sys.stderr)
        return 2
    except HealthError as error:
        print(f"selection-worker: error: {error}", file=sys.stderr)
        return 69
    print("alive" if alive else "no worker of this host has sent a heartbeat recently")
    return 0 if alive else 1


def is_alive(settings: Settings) -> bool:
    """Return True if a worker of this host and queue has sent a heartbeat and still runs.

    The worker's main loop writes the heartbeat over its connection, so it proves that the
    loop runs and the server answers. A killed worker has a recent heartbeat but no process,
    and one of another container can have the same host name and process number.

    Raises:
        HealthError: the server cannot be reached.
        SettingsError: its address cannot be used.
    """
    host = socket.gethostname()
    workers = _registrations(settings)
    return any(worker.host == host and worker.is_alive and _is_here(worker) for worker in workers)


def _is_here(worker: WorkerRegistration) -> bool:
    if not is_running(worker.pid):
        return False
    found = identity(worker.pid)
    return not worker.process or not found or worker.process == found


def _registrations(settings: Settings) -> list[WorkerRegistration]:
    address = settings.address()
    if address is None or not address.is_basic:
        from redis.exceptions import RedisError

        from worker.state.status import read_workers

        try:
            return read_workers(settings.connect(), settings)
        except RedisError as error:
            raise HealthError(str(error)) from None
    try:
        with _connected(address) as server:
            keys = server.call("SMEMBERS", WORKERS_OF_QUEUE % settings.queue)
            seconds, _ = server.call("TIME")
            workers = [_registration(server, key, int(seconds)) for key in keys]
    except (OSError, ValueError) as error:
        raise HealthError(f"the server cannot be reached: {error}") from None
    return [worker for worker in workers if worker]


def _registration(server: _Server, key: bytes, now: int) -> WorkerRegistration | None:
    texts = [part.decode("utf-8", "replace") for part in server.call("HGETALL", key)]
    return read_registration(
        key.decode("utf-8", "replace"), dict(zip(texts[::2], texts[1::2])), now
    )


@contextmanager
def _connected(address: Address) -> Iterator[_Server]:
    if address.socket:
        connection = socket.socket(socket.AF_UNIX)
    else:
        connection = socket.create_connection((address.host, address.port), _SECONDS)
    with connection:
        connection.settimeout(_SECONDS)
        if address.socket:
            connection.connect(address.socket)
        with connection.makefile("rwb") as stream:
            server = _Server(cast(BinaryIO, stream))
            if address.password is not None:
                server.call("AUTH", *filter(None, [address.username]), address.password)
            if address.db:
                server.call("SELECT", str(address.db))
            yield server


class _Server:
    """The part of the protocol (RESP 2) that the check needs."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def call(self, *words: str | bytes) -> list[bytes]:
        """Send a command and return the items of its answer.

        Raises:
            OSError, ValueError: the server is gone, refuses, or sends something else.
        """
        encoded = [word.encode() if isinstance(word, str) else word for word in words]
        self._stream.write(b"*%d\r\n" % len(encoded))
        for word in encoded:
            self._stream.write(b"$%d\r\n%b\r\n" % (len(word), word))
        self._stream.flush()
        kind, value = self._line()
        if kind == b"*":
            return list(self._items(int(value)))
        return [value]

    def _items(self, count: int) -> Iterable[bytes]:
        for _ in range(count):
            _, length = self._line()
            size = int(length)
            if not 0 <= size <= _MOST_BYTES:
                raise ValueError("it does not answer like Redis")
            yield self._stream.read(size + 2)[:-2]

    def _line(self) -> tuple[bytes, bytes]:
        line = self._stream.readline(_MOST_BYTES)
        if not line.endswith(b"\r\n"):
            raise ValueError("it closes the connection")
        kind, value = line[:1], line[1:-2]
        if kind == b"-":
            raise ValueError(value.decode("utf-8", "replace"))
        return kind, value
