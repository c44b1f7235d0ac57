"""Malformed jobs and keys on the server, which every command reads.

No command ends with an exception, runs a pickle, prints a control character or a line that is
not UTF-8, or leaves a producer without its job.
"""

from __future__ import annotations

import base64
import json
import os
import pickle
import random
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

from prometheus_client import CollectorRegistry, generate_latest
from redis import Redis

import worker
from robustness.queue_attacks import attacks, field_kind
from robustness.table import Effects, Table
from tests.support.queue_server import SAFE, Server, running_server
from worker.cli.commands import selection_worker
from worker.metrics import QueueCollector
from worker.settings import Settings

_SHORT = 60
_JOB, _WORKER = "malformed", "rq:worker:w"
_KEPT = ("wip", "scheduled", "deferred", "finished", "failed", "canceled")
_QUEUES = ("rq:queue:selection", "rq:queue:selection:intermediate")
_STATES = {"wip": "started", "queue": "queued"}
_COMMANDS = (
    *(["status", "--limit", "0"], ["status", "--limit", "0", "--json"], ["status", _JOB]),
    *(["watch"], ["doctor"], ["doctor", "--json"]),
)
_CHANGES = (["retry", _JOB], ["retry", "--failed"], ["cancel", _JOB])
_CODES = (None, 0, 1, 66)
_TEXTS = (b"", b"\xff", b"\x1b[2J\x07", b"9" * 400, b"-1", b"[]", b"null", b"{", b"x" * 100_000)
_TIMES = (b"2026-01-01T00:00:00", b"0001-01-01T00:00:00+23:00", b"9999-12-31T23:00:00-23:00")
_CONFIGURATIONS = (
    b'{"process": 5, "roots": {"a": 1}, "heartbeat": 1e400}',
    b'{"roots": ["\\ud800"]}',
)
_RESULT = {"seconds": float("nan"), "picks": [1], "output": "\x1b[2J"}


class Boom:
    """An object whose unpickling writes a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (str(self._path), "w")


class Target:
    """A server that the commands read, and the checks of each command."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.client: Redis = server.client()
        self.mark = folder / "mark"
        self._folder = folder
        self._environments = [
            {"RQ_REDIS_URL": server.url, "RQ_WORKER_CLASS": name} for name in (SAFE, "")
        ]

    def check(self, what: str) -> Effects:
        """Run every command that reads jobs, with JSON and with pickled jobs."""
        for environment in self._environments:
            with patch.dict(os.environ, environment):
                for arguments in _COMMANDS:
                    if error := self._error_of(arguments):
                        return Effects(lost=f"{what}: {' '.join(arguments)}: {error}")
                if error := _raised(lambda: generate_latest(_registry(self.client))):
                    return Effects(lost=f"{what}: metrics: {error}")
        return Effects()

    def check_changes(self, what: str) -> Effects:
        """Run every command that changes jobs, with JSON and with pickled jobs."""
        for environment in self._environments:
            with patch.dict(os.environ, environment):
                for arguments in _CHANGES:
                    if error := self._error_of(arguments):
                        return Effects(lost=f"{what}: {' '.join(arguments)}: {error}")
        return Effects()

    def check_enqueueing(self, what: str, field: str, raw: bytes) -> Effects:
        """Corrupt the job of a file and enqueue that file again."""
        path = self._folder / "batch.json"
        path.write_text('{"articles": []}')
        for environment in self._environments:
            settings = Settings.from_environment(environment)
            for state in ("queued", "failed", "finished"):
                job = worker.enqueue(path, connection=self.client, settings=settings)
                self.client.hset(job.key, mapping={"status": state, field: raw})
                again = partial(worker.enqueue, path, connection=self.client, settings=settings)
                if error := _raised(again):
                    return Effects(lost=f"{what}, {state}: enqueue: {error}")
                if not self.client.exists(job.key):
                    return Effects(lost=f"{what}, {state}: enqueue: there is no job")
                self.client.flushall()
        return Effects()

    def _error_of(self, arguments: list[str]) -> str:
        """Run a command; return what is wrong, or ""."""
        printed, codes = StringIO(), []

        def run() -> None:
            with redirect_stdout(printed), redirect_stderr(printed):
                codes.append(selection_worker.main(arguments, standalone_mode=False))

        raised, text = _raised(run), printed.getvalue()
        if raised:
            return raised
        if codes[0] not in _CODES:
            return f"exit code {codes[0]}: {text[-200:]}"
        unprintable = [char for char in text if not char.isprintable() and char != "\n"]
        if unprintable:
            return f"it prints {unprintable[0]!r}"
        return "a pickle was run" if self.mark.exists() else ""


def _raised(action: Callable[[], object]) -> str:
    try:
        action()
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:300]
    return ""


def _registry(client: Redis) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(QueueCollector(client, Settings.from_environment()))
    return registry


def run(table: Table, long: bool, seed: int) -> None:
    """Write some malformed values in every place; in the long form all of them."""
    randomness = random.Random(seed)
    with tempfile.TemporaryDirectory() as name, running_server() as server:
        target = Target(server, Path(name))
        every = [*attacks(), *_pickles(target.mark)]
        if not long:
            every = [*randomness.sample(every, _SHORT), *_pickles(target.mark)]
        table.log(f"reading-attacks: {len(every)} on a job's fields")
        for field, raw in every:
            what = f"{field} = {raw[:30]!r}"
            row = f"reading-attacks: {field_kind(field)}"
            _place(target.client, {field: raw})
            table.add(row, target.check(what))
            table.add(row, target.check_changes(what))
            target.client.flushall()
            table.add(row, target.check_enqueueing(what, field, raw))
        for what, leave in _others(target.mark):
            leave(target.client)
            table.add(
                "reading-attacks: malformed registrations, results and events", target.check(what)
            )
            target.client.flushall()


def _pickles(mark: Path) -> Iterator[tuple[str, bytes]]:
    boom = Boom(mark)
    for protocol in (2, 5):
        yield "meta", pickle.dumps({"state": "failed", "path": boom}, protocol)
        call = pickle.dumps(("worker.jobs.select_batch", None, (boom,), {}), protocol)
        yield from (("data", call), ("data", zlib.compress(call)))


def _place(client: Redis, fields: dict[str, bytes]) -> None:
    """Write a job into every list and registry, each with an id of its own."""
    for place in (*_KEPT, "queue"):
        name = _JOB if place == "failed" else f"{_JOB}-{place}"
        status = _STATES.get(place, place)
        valid: dict[str, Any] = {
            "status": status,
            "origin": "selection",
            "enqueued_at": "2026-01-01T00:00:00.000000Z",
            "data": zlib.compress(b'["worker.jobs.select_batch", null, ["/a.json"], {}]'),
            "meta": b"{}",
        }
        mapping: dict[Any, Any] = valid | fields
        client.hset(f"rq:job:{name}", mapping=mapping)
        if place == "queue":
            for key in _QUEUES:
                client.rpush(key, name)
        else:
            client.zadd(f"rq:{place}:selection", {f"{name}:1" if place == "wip" else name: 1})


def _others(mark: Path) -> Iterator[tuple[str, Callable[[Redis], object]]]:
    """Yield descriptions of malformed keys and functions that write them."""
    for name in ("pid", "hostname", "state", "version", "last_heartbeat", "selection"):
        for raw in (*_TEXTS, *_TIMES, *_CONFIGURATIONS):
            yield f"worker {name} = {raw[:30]!r}", partial(_register, fields={name: raw})
    for raw in _TEXTS:
        yield f"key of a worker {raw[:30]!r}", partial(_add_worker, key=raw)
        yield f"entry {raw[:30]!r}", partial(_add_entries, entry=raw)
        yield f"event and counter {raw[:30]!r}", partial(_add_event, raw=raw)
    results = (*_TEXTS, json.dumps(_RESULT).encode(), pickle.dumps(Boom(mark)))
    for raw in results:
        for form in (raw, base64.b64encode(raw), base64.b64encode(zlib.compress(raw))):
            yield f"result {form[:30]!r}", partial(_add_results, raw=form)


def _register(client: Redis, fields: dict[str, bytes]) -> None:
    valid = {"birth": b"x", "last_heartbeat": b"2026-01-01T00:00:00.000000Z", "state": b"busy"}
    mapping: dict[Any, Any] = valid | fields
    client.hset(_WORKER, mapping=mapping)
    _add_worker(client, _WORKER)


def _add_worker(client: Redis, key: str | bytes) -> None:
    client.sadd("rq:workers:selection", key)


def _add_event(client: Redis, raw: bytes) -> None:
    fields: dict[Any, Any] = {"event": raw, raw or b"x": b"1"}
    client.xadd("selection:events", fields)
    counters: dict[Any, Any] = {b"jobs:" + raw: b"1", b"articles": raw, raw: raw}
    client.hset("selection:counters", mapping=counters)


def _add_entries(client: Redis, entry: bytes) -> None:
    for key in _QUEUES:
        client.rpush(key, entry)
    for place in _KEPT:
        client.zadd(f"rq:{place}:selection", {entry: 1, entry + b":1": 2})


def _add_results(client: Redis, raw: bytes) -> None:
    _place(client, {})
    for name in (_JOB, f"{_JOB}-finished"):
        fields: dict[Any, Any] = {"return_value": raw, "exc_string": raw, "type": raw}
        client.xadd(f"rq:results:{name}", fields)
