"""A worker process survives odd jobs, kills, outages and clocks, and no job is lost by them."""

from __future__ import annotations

import json
import os
import pickle
import select
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import batches
import pytest
from fleet import Events, Server, Workers, children
from redis import Redis
from redis.exceptions import RedisError
from rq import Queue
from rq.job import Job
from rq.serializers import JSONSerializer

import worker
from selection.verify import verify_files

FUNCTION = "worker.jobs.select_batch"
QUEUE, INTERMEDIATE = "rq:queue:selection", "rq:queue:selection:intermediate"


@pytest.fixture
def client(server: Server) -> Redis:
    return server.client()


def small(path: Path) -> Path:
    return batches.write(path, [batches.picks_newspaper4k(), batches.picks_trafilatura()])


def enqueue(path: Path, workers: Workers, client: Redis) -> str:
    return worker.enqueue(path, connection=client, settings=workers.settings).id


def by_name(path: Path, client: Redis, **options: Any) -> Job:
    queue = Queue("selection", connection=client, serializer=JSONSerializer)
    return queue.enqueue(FUNCTION, str(path), **options)


def until(condition: Callable[[], object], seconds: float = 30) -> None:
    """Look again and again until the condition holds."""
    end = time.monotonic() + seconds
    while True:
        with suppress(RedisError):
            if condition():
                return
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def ended(process: subprocess.Popen[bytes], seconds: float) -> float:
    """Wait for a process to end; how long it took."""
    began = time.monotonic()
    process.wait(seconds)
    return time.monotonic() - began


def is_idle(client: Redis) -> bool:
    """Whether a worker waits in a blocking move, so that a job comes to it at once."""
    return any(entry["cmd"] == "blmove" for entry in client.client_list())


def status(job: str, client: Redis) -> str:
    found: Any = client.hget(f"rq:job:{job}", "status")
    return found.decode() if found else ""


def meta(job: str, client: Redis) -> dict[str, Any]:
    raw: Any = client.hget(f"rq:job:{job}", "meta")
    found: dict[str, Any] = json.loads(raw)
    return found


def counters(client: Redis) -> dict[str, int]:
    found: Any = client.hgetall("selection:counters")
    return {name.decode(): int(count) for name, count in found.items()}


# Kills


def test_no_child_survives_a_killed_worker_and_its_next_job_is_run_at_once(
    tmp_path: Path, workers: Workers, client: Redis, events: Events
) -> None:
    killed = workers.start()
    until(lambda: children(killed.pid) and is_idle(client))
    ends = [os.pidfd_open(child) for child in children(killed.pid)]
    assert ends
    killed.kill()
    killed.wait()
    for end in ends:
        assert select.select([end], [], [], 10)[0], "a child survived its worker"
        os.close(end)
    job = enqueue(small(tmp_path / "a.json"), workers, client)
    # The socket of the killed worker has gone with it, so no server moves the job there.
    assert client.lrange(INTERMEDIATE, 0, -1) == []
    workers.start()
    events.wait_for(job, "finished", seconds=20)
    assert events.of(job) == ["queued", "started", "finished"]


def test_the_process_of_a_job_ends_with_its_worker(
    tmp_path: Path, workers: Workers, client: Redis, events: Events
) -> None:
    path = batches.write_long(tmp_path / "long.json", 1200)
    job = enqueue(path, workers, client)
    killed = workers.start()
    events.wait_for(job, "started")
    ends = [os.pidfd_open(child) for child in children(killed.pid)]
    assert len(ends) == 2
    killed.kill()
    killed.wait()
    for end in ends:
        assert select.select([end], [], [], 10)[0], "a child survived its worker"
        os.close(end)
    workers.start()
    events.wait_for(job, "finished")
    assert events.of(job) == ["queued", "started", "retrying", "started", "finished"]
    verify_files(path, tmp_path / "long_selected.json")


def test_a_job_that_a_killed_worker_has_moved_is_put_back_soon(
    tmp_path: Path, workers: Workers, client: Redis, events: Events
) -> None:
    job = by_name(small(tmp_path / "a.json"), client).id
    # As a worker leaves it that is killed between the move and the run.
    client.lmove(QUEUE, INTERMEDIATE)
    workers.start()
    events.wait_for(job, "finished", seconds=20)
    assert events.of(job) == ["started", "finished"]
    assert client.lrange(INTERMEDIATE, 0, -1) == []


@pytest.mark.parametrize("name", ["mine"])
def test_the_name_of_a_killed_worker_is_free_at_once(
    workers: Workers, client: Redis, name: str
) -> None:
    killed = workers.start("--name", name)
    until(lambda: is_idle(client))
    killed.kill()
    killed.wait()
    started = workers.start("--name", name)
    until(lambda: is_idle(client), 20)
    assert started.poll() is None


# Odd jobs


ODD_META = [
    pickle.dumps({"x": 1}),
    b"[1, 2]",
    b'"text"',
    b"{",
    b"\xff\xfe",
    b'{"articles": "12"}',
    b'{"error": "boom"}',
    b'{"worker": 5}',
    b'{"attempt": -1, "started_at": "2026-01-01T00:00:00"}',
    b'{"path": "a\\u0000b", "output": "\\ud800"}',
]


@pytest.mark.parametrize("raw", ODD_META)
def test_meta_that_cannot_be_read_ends_no_worker_and_the_batch_is_selected(
    tmp_path: Path, workers: Workers, client: Redis, events: Events, raw: bytes
) -> None:
    job = enqueue(small(tmp_path / "a.json"), workers, client)
    client.hset(f"rq:job:{job}", "meta", raw)
    process = workers.start()
    events.wait_for(job, "finished", seconds=20)
    until(lambda: status(job, client) == "finished")
    assert process.poll() is None
    found = meta(job, client)
    assert (found["state"], found["attempt"]) == ("finished", 1)


ODD_FIELDS: list[dict[str, Any]] = [
    {"timeout": "soon"},
    {"created_at": "yesterday"},
    {"retries_left": "many"},
    {"retry_intervals": "{}"},
    {"retry_intervals": '["a"]'},
    {"status": "odd"},
    {"description": b"\xff"},
    {"result_ttl": "x"},
    {"dependency_ids": "{"},
    {"data": b"\x80\x05N."},
    {"data": b"{}"},
    {"data": b'["worker.jobs.select_batch", null, ["a", null, "third"], {}]'},
    {"data": b'["worker.jobs.select_batch", null, [], {"path": "a", "colour": "b"}]'},
    {"data": b'["worker.jobs.select_batch", null, [["list"]], {}]'},
]


@pytest.mark.parametrize("abandoned", [False, True], ids=["queued", "abandoned"])
@pytest.mark.parametrize("fields", ODD_FIELDS, ids=lambda fields: str(fields)[:50])
def test_a_job_that_cannot_be_read_fails_with_a_reason_and_ends_no_worker(
    tmp_path: Path,
    workers: Workers,
    client: Redis,
    events: Events,
    fields: dict[str, Any],
    abandoned: bool,
) -> None:
    odd = by_name(small(tmp_path / "odd.json"), client).id
    client.hset(f"rq:job:{odd}", mapping={**fields})  # type: ignore[arg-type]
    if abandoned:
        client.hset(f"rq:job:{odd}", "status", fields.get("status", "started"))
        client.delete(QUEUE)
        client.zadd("rq:wip:selection", {f"{odd}:0123": 1})
    process = workers.start()
    error = json.loads(events.wait_for(odd, "failed", seconds=20)["error"])
    good = enqueue(small(tmp_path / "good.json"), workers, client)
    events.wait_for(good, "finished", seconds=20)
    assert process.poll() is None
    assert (error["retryable"], bool(error["message"])) == (False, True)
    assert status(odd, client) == "failed"
    assert client.zscore("rq:failed:selection", odd) is not None
