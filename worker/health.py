"""Whether a worker on this host is alive: the health check of its container.

It runs every few seconds beside each worker. So it imports next to nothing and speaks the
server's protocol itself: the client library alone takes longer to import than the check.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from worker.address import Address
from worker.processes import identity, runs
from worker.settings import Settings, SettingsError
from worker.state.registrations import WORKERS_OF_QUEUE, Member, read_member

_SECONDS = 5
_MOST_BYTES = 1 << 20


class HealthError(Exception):
    """The server cannot be asked; the message is for a person."""


def main() -> int:
    """Print whether a worker of this host is alive and return the exit code."""
    try:
        alive = is_alive(Settings.from_variables(os.environ))
    except SettingsError as error:
        print(f"selection-worker: error: {error}", file=sys.stderr)
        return 2
    except HealthError as error:
        print(f"selection-worker: error: {error}", file=sys.stderr)
        return 69
    print("alive" if alive else "no worker of this host has given a sign of life lately")
    return 0 if alive else 1


def is_alive(settings: Settings) -> bool:
    """Return whether a worker of this host and queue gave a sign of life lately and still runs.

    The sign is written by the worker's main loop over its connection, so it proves that the
    loop runs and the server answers. A worker that was killed a moment ago has left a sign but
    not a process, and one of another container may have the same host name and process number.

    Raises:
        HealthError: the server cannot be asked.
        SettingsError: its address cannot be used.
    """
    host = socket.gethostname()
    members = _members(settings)
    return any(member.host == host and member.is_alive and _is_here(member) for member in members)


def _is_here(member: Member) -> bool:
    if not runs(member.pid):
        return False
    found = identity(member.pid)
    return not member.process or not found or member.process == found


def _members(settings: Settings) -> list[Member]:
    address = settings.address()
    if address is None or not address.is_plain:
        from redis.exceptions import RedisError

        from worker.state.status import read_workers

        try:
            return read_workers(settings.connect(), settings)
        except RedisError as error:
            raise HealthError(str(error)) from None
    try:
        with _connected(address) as server:
            keys = server.ask("SMEMBERS", WORKERS_OF_QUEUE % settings.queue)
            seconds, _ = server.ask("TIME")
            members = [_member(server, key, int(seconds)) for key in keys]
    except (OSError, ValueError) as error:
        raise HealthError(f"the server cannot be reached: {error}") from None
    return [member for member in members if member]


def _member(server: _Server, key: bytes, now: int) -> Member | None:
    texts = [part.decode("utf-8", "replace") for part in server.ask("HGETALL", key)]
    return read_member(key.decode("utf-8", "replace"), dict(zip(texts[::2], texts[1::2])), now)


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
                server.ask("AUTH", *filter(None, [address.username]), address.password)
            if address.db:
                server.ask("SELECT", str(address.db))
            yield server


class _Server:
    """The part of the protocol (RESP 2) that the check needs."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def ask(self, *words: str | bytes) -> list[bytes]:
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
