"""Malformed jobs and keys on the server, which a real worker processes.

After each attack the worker must be alive, the next batch must be selected, and the malformed
job must have ended, with a reason if it failed.
"""

from __future__ import annotations

import json
import pickle
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from redis import Redis
from rq import Queue
from rq.serializers import JSONSerializer

import worker
from robustness.batches import ExpectedBatch, generate
from robustness.table import Effects, Table
from tests.support.queue_server import Server, Workers, children, kill, running_server

_FUNCTION = "worker.jobs.select_batch"
_SECONDS_FOR_ONE, _SHORT = 30.0, 120

_TEXTS = (b"", b"\xff", b"\x80\x05N.", b"{", b"null", b"[]", b'"x"', b"-1", b"1e999", b"9" * 40)
_DEEP = b"[" * 100_000
_META = (
    pickle.dumps({"x": 1}),
    b'{"articles": "12"}',
    b'{"error": "boom"}',
    b'{"worker": 5}',
    b'{"attempt": 1e400, "started_at": "2026-01-01T00:00:00"}',
    b'{"path": "a\\u0000b", "output": "\\ud800"}',
)
_DATA = (
    b'["worker.jobs.select_batch", null, ["a", null, "third"], {}]',
    b'["worker.jobs.select_batch", null, [], {"colour": "blue"}]',
    b'["worker.jobs.select_batch", null, ["a\\u0000b"], {}]',
    b'["worker.jobs.select_batch", null, ["\\ud800"], {}]',
    b'["os.system", null, ["true"], {}]',
)
_FIELDS = (
    *("created_at", "enqueued_at", "started_at", "last_heartbeat", "timeout", "result_ttl"),
    *("failure_ttl", "ttl", "status", "retries_left", "retry_intervals", "number_of_retries"),
    *("dependency_ids", "origin", "description", "worker_name", "webhooks", "enqueue_at_front"),
    *("repeats_left", "repeat_intervals", "group_id", "rate_limit_concurrency", "exc_info"),
    *("success_callback_name", "failure_callback_name", "stopped_callback_timeout"),
)
_PLACES = ("waiting", "moved", "abandoned", "scheduled")


class Target:
    """A server with one worker, which is restarted only after a kill."""

    def __init__(
        self, server: Server, workers: Workers, folder: Path, batch: ExpectedBatch
    ) -> None:
        self._server, self._workers, self._folder, self._batch = server, workers, folder, batch
        self.client: Redis = server.client()
        self.queue = Queue("selection", connection=self.client, serializer=JSONSerializer)
        self._number = 0
        self.process = workers.start()

    def batch(self) -> Path:
        """Write a new batch file and return its path."""
        self._number += 1
        path = self._folder / f"{self._number}.json"
        path.write_bytes(self._batch.input)
        return path

    def check(self, what: str, attacked: str | None) -> Effects:
        """Check the worker, the next batch and the attacked job."""
        path = self.batch()
        job = worker.enqueue(path, connection=self.client, settings=self._workers.settings)
        if not self._until(lambda: self._status(job.id) == "finished"):
            return Effects(stuck=f"{what}: the next batch is {self._status(job.id) or 'missing'}")
        if self.process.poll() is not None:
            self.process = self._workers.start()
            return Effects(lost=f"{what}: the worker ended: {self._workers.log()[-500:]}")
        output = path.with_name(f"{path.stem}_selected.json")
        if output.read_bytes() != self._batch.output:
            return Effects(partial=f"{what}: the next batch's output is not right")
        if attacked is not None and not self._until(lambda: self._is_over(attacked)):
            return Effects(stuck=f"{what}: the job is {self._status(attacked)}")
        return Effects()

    def replace_killed(self) -> None:
        """Kill the worker without its children and start another one."""
        left = children(self.process.pid)
        kill(self.process.pid)
        self.process.wait(60)
        end = time.monotonic() + 5
        while time.monotonic() < end and any(Path(f"/proc/{pid}").exists() for pid in left):
            time.sleep(0.05)
        self.process = self._workers.start()

    def _is_over(self, job: str) -> bool:
        if self._status(job) == "failed":
            meta: Any = self.client.hget(f"rq:job:{job}", "meta")
            return bool(json.loads(meta)["error"]["message"])
        # An expired job has no key, and a job that is readable after all is selected.
        return self._status(job) in ("", "finished")

    def _status(self, job: str) -> str:
        if self.client.type(f"rq:job:{job}") != b"hash":
            return ""
        found: Any = self.client.hget(f"rq:job:{job}", "status")
        return found.decode(errors="replace") if found else ""

    def _until(self, condition: Callable[[], bool]) -> bool:
        end = time.monotonic() + _SECONDS_FOR_ONE
        while not condition():
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        return True


def attacks() -> Iterator[tuple[str, bytes]]:
    """Yield a field of a job's hash and the malformed value for it."""
    yield from (("meta", raw) for raw in (*_META, *_TEXTS, _DEEP))
    yield from (("data", raw) for raw in (*_DATA, *_TEXTS, _DEEP))
    yield from ((field, raw) for field in _FIELDS for raw in _TEXTS)


def run(table: Table, long: bool, seed: int) -> None:
    """Make some attacks, each in one place; in the long form all in each place."""
    randomness = random.Random(seed)
    with tempfile.TemporaryDirectory() as name, running_server() as server:
        workers = Workers(server, Path(name))
        workers.environment["SELECTION_RETRY_DELAYS"] = "0"
        target = Target(server, workers, Path(name), generate(randomness, 3, 20))
        every = list(attacks())
        if not long:
            every = randomness.sample(every, _SHORT)
        table.log(f"queue-attacks: {len(every)} on a job's fields")
        try:
            for field, raw in every:
                for place in _PLACES if long else [randomness.choice(_PLACES)]:
                    what = f"{field} = {raw[:30]!r}, {place}"
                    table.add(
                        f"queue-attacks: {field_kind(field)}", _one(target, field, raw, place, what)
                    )
            for entry in (b"\xff", b"a b", b"", b"x" * 100_000, b"missing"):
                table.add("queue-attacks: an entry that is not a job", _entry(target, entry))
            for _ in range(20 if long else 4):
                target.replace_killed()
                table.add(
                    "queue-attacks: an idle worker killed", target.check("an idle worker", None)
                )
        finally:
            workers.stop()


def field_kind(field: str) -> str:
    """Return the name of the table's row for a field."""
    return {"meta": "malformed meta", "data": "malformed payload"}.get(field, "malformed fields")


def _one(target: Target, field: str, raw: bytes, place: str, what: str) -> Effects:
    client = target.client
    job = target.queue.create_job(
        _FUNCTION, (str(target.batch()),), timeout=60, failure_ttl=600, result_ttl=600
    )
    job.origin = target.queue.name
    job.save()
    state = {"abandoned": "started", "scheduled": "scheduled"}.get(place, "queued")
    client.hset(job.key, "status", state)
    client.hset(job.key, field, raw)
    if place == "waiting":
        client.rpush(target.queue.key, job.id)
    elif place == "moved":
        client.rpush(target.queue.intermediate_queue_key, job.id)
    elif place == "abandoned":
        client.zadd(target.queue.started_job_registry.key, {f"{job.id}:1": 1})
    else:
        client.zadd(target.queue.scheduled_job_registry.key, {job.id: 1})
    return target.check(what, job.id)


def _entry(target: Target, entry: bytes) -> Effects:
    queue, client = target.queue, target.client
    client.rpush(queue.key, entry)
    client.rpush(queue.intermediate_queue_key, entry)
    client.zadd(queue.started_job_registry.key, {entry: 1, entry + b":1": 1})
    client.zadd(queue.scheduled_job_registry.key, {entry: 1})
    return target.check(f"the entry {entry[:30]!r}", None)
