"""A worker survives malformed jobs, kills, outages and wrong clocks without losing a job."""

from __future__ import annotations

import json
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from redis.exceptions import RedisError
from rq import Queue, Worker
from rq.command import send_stop_job_command
from rq.job import Job
from rq.serializers import JSONSerializer

import worker
from selection.verify import verify_files
from tests.support import batches
from tests.support.queue_server import Events, Server, Workers, children
from worker.connections import server_time
from worker.local_fleet import server_program
from worker.runtime.recorder import error_as_dict
from worker.runtime.recovery import enqueue_due
from worker.runtime.rq_queue import SelectionQueue
from worker.runtime.rq_worker import _how_it_ended

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


def until(condition: Callable[[], object], seconds: float = 60) -> None:
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


def write(job: str, client: Redis, **fields: Any) -> None:
    """Write fields of a job as another client may."""
    for name, value in fields.items():
        client.hset(f"rq:job:{job}", name, value)


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
    killed.wait(60)
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
    killed.wait(60)
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
    killed.wait(60)
    started = workers.start("--name", name)
    until(lambda: is_idle(client), 20)
    assert started.poll() is None


# Malformed jobs


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
    write(odd, client, **fields)
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


ENTRIES = [b"\xff\xfe", b"a b", b"", b"../x", b"x" * 100_000]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: str(entry[:9]))
def test_an_entry_that_is_not_the_id_of_a_job_is_removed(
    tmp_path: Path, workers: Workers, client: Redis, events: Events, entry: bytes
) -> None:
    client.rpush(QUEUE, entry)
    client.rpush(INTERMEDIATE, entry)
    client.zadd("rq:wip:selection", {entry + b":1": 1, entry: 2})
    client.zadd("rq:scheduled:selection", {entry: 1})
    process = workers.start()
    good = enqueue(small(tmp_path / "good.json"), workers, client)
    events.wait_for(good, "finished", seconds=20)
    until(lambda: not client.exists(QUEUE, INTERMEDIATE, "rq:wip:selection"))
    until(lambda: not client.exists("rq:scheduled:selection"))
    assert process.poll() is None


@pytest.mark.parametrize("place", ["queue", "intermediate", "running", "scheduled"])
def test_a_key_that_is_not_a_job_ends_no_worker(
    tmp_path: Path, workers: Workers, client: Redis, events: Events, place: str
) -> None:
    client.set("rq:job:odd", "text")
    if place == "queue":
        client.rpush(QUEUE, "odd")
    elif place == "intermediate":
        client.rpush(INTERMEDIATE, "odd")
    elif place == "running":
        client.zadd("rq:wip:selection", {"odd:1": 1})
    else:
        client.zadd("rq:scheduled:selection", {"odd": 1})
    process = workers.start()
    good = enqueue(small(tmp_path / "good.json"), workers, client)
    events.wait_for(good, "finished", seconds=20)
    assert process.poll() is None
    until(lambda: not client.exists(QUEUE, INTERMEDIATE, "rq:wip:selection"))
    until(lambda: not client.exists("rq:scheduled:selection"))


def test_an_abandoned_job_with_callbacks_runs_none_of_them(
    tmp_path: Path, workers: Workers, client: Redis, events: Events
) -> None:
    proof = tmp_path / "proof"
    job = by_name(small(tmp_path / "a.json"), client).id
    names = {f"{name}_callback_name": "builtins.open" for name in ("success", "failure", "stopped")}
    write(job, client, **names, status="started")
    client.delete(QUEUE)
    client.zadd("rq:wip:selection", {f"{job}:0123": 1})
    workers.start()
    error = json.loads(events.wait_for(job, "failed", seconds=20)["error"])
    assert error["message"] == "it has a callback"
    assert not proof.exists()


def test_a_refused_job_keeps_its_reason_and_is_counted(
    tmp_path: Path, workers: Workers, client: Redis, events: Events
) -> None:
    pickled = Queue("selection", connection=client).enqueue(FUNCTION, str(tmp_path / "a.json"))
    workers.start()
    error = json.loads(events.wait_for(pickled.id, "failed", seconds=20)["error"])
    assert error == {
        "type": "JobRefusedError",
        "message": "its payload is not JSON; enqueue it with "
        "RQ_WORKER_CLASS=worker.SelectionWorker",
        "retryable": False,
    }
    until(lambda: status(pickled.id, client) == "failed")
    # Not in the intermediate queue, from where it would be put back or fail again.
    assert client.lrange(INTERMEDIATE, 0, -1) == []
    # Two more rounds of maintenance.
    good = enqueue(small(tmp_path / "good.json"), workers, client)
    events.wait_for(good, "finished", seconds=20)
    assert meta(pickled.id, client)["error"] == error
    found = counters(client)
    assert (found["jobs:failed"], found["failures:JobRefusedError"]) == (1, 1)
    assert events.of(pickled.id) == ["failed"]
    assert client.ttl(f"rq:job:{pickled.id}") > 0


def test_a_stopped_job_is_an_event_and_is_counted(
    tmp_path: Path, workers: Workers, client: Redis, events: Events
) -> None:
    job = enqueue(batches.write_long(tmp_path / "long.json", 1200), workers, client)
    process = workers.start()
    events.wait_for(job, "started")
    until(lambda: _stop(job, client))
    events.wait_for(job, "stopped", seconds=20)
    until(lambda: status(job, client) == "stopped")
    assert counters(client)["jobs:stopped"] == 1
    assert meta(job, client)["state"] == "stopped"
    assert process.poll() is None
    assert "job stopped" in workers.log()
    assert not (tmp_path / "long_selected.json").exists()


def _stop(job: str, client: Redis) -> bool:
    if status(job, client) == "started":
        send_stop_job_command(client, job, JSONSerializer)
    return status(job, client) == "stopped"


# Jobs without an owner


@pytest.mark.parametrize("state", ["queued", "scheduled", "started"])
def test_a_job_that_nothing_owns_any_more_is_found_and_run(
    tmp_path: Path, workers: Workers, client: Redis, events: Events, state: str
) -> None:
    job = enqueue(small(tmp_path / "a.json"), workers, client)
    client.delete(QUEUE)
    client.hset(f"rq:job:{job}", "status", state)
    workers.start()
    events.wait_for(job, "finished", seconds=30)
    assert events.of(job) == ["queued", "queued", "started", "finished"]
    assert "nothing owned it" in workers.log()
    until(lambda: not client.exists("selection:stale:selection"))


def test_enqueueing_a_job_that_nothing_owns_puts_it_back(
    tmp_path: Path, workers: Workers, client: Redis
) -> None:
    path = small(tmp_path / "a.json")
    job = enqueue(path, workers, client)
    client.delete(QUEUE)
    write(job, client, enqueued_at="2026-01-01T00:00:00.000000Z")
    assert enqueue(path, workers, client) == job
    assert client.lrange(QUEUE, 0, -1) == [job.encode()]
    # It has an owner now, so it stays one.
    assert enqueue(path, workers, client) == job
    assert client.lrange(QUEUE, 0, -1) == [job.encode()]


@pytest.mark.parametrize("state", ["failed", "canceled", "stopped"])
def test_enqueueing_a_job_that_is_over_and_in_no_registry_works(
    tmp_path: Path, workers: Workers, client: Redis, events: Events, state: str
) -> None:
    path = small(tmp_path / "a.json")
    job = enqueue(path, workers, client)
    client.delete(QUEUE)
    client.hset(f"rq:job:{job}", "status", state)
    assert enqueue(path, workers, client) == job
    assert client.lrange(QUEUE, 0, -1) == [job.encode()]
    workers.start()
    events.wait_for(job, "finished", seconds=20)


@pytest.mark.parametrize("raw", [{"status": "queued"}, {"data": pickle.dumps(1), "status": "odd"}])
def test_enqueueing_where_something_else_has_the_key_ends(
    tmp_path: Path, workers: Workers, client: Redis, events: Events, raw: dict[str, Any]
) -> None:
    path = small(tmp_path / "a.json")
    job = enqueue(path, workers, client)
    client.delete(QUEUE, f"rq:job:{job}")
    write(job, client, **raw)
    assert enqueue(path, workers, client) == job
    assert client.lrange(QUEUE, 0, -1) == [job.encode()]
    workers.start()
    events.wait_for(job, "finished", seconds=20)


def test_the_running_job_of_a_lost_registry_is_not_run_twice(
    tmp_path: Path, workers: Workers, client: Redis, events: Events
) -> None:
    path = batches.write_long(tmp_path / "long.json", 4000)
    job = enqueue(path, workers, client)
    workers.start()
    workers.start()
    events.wait_for(job, "started")
    client.delete("rq:wip:selection")
    events.wait_for(job, "finished", seconds=90)
    assert events.of(job) == ["queued", "started", "finished"]


# Outages and stops


@pytest.mark.parametrize("how", ["killed", "frozen"])
@pytest.mark.parametrize("busy", [False, True], ids=["idle", "busy"])
def test_a_stop_does_not_wait_for_a_server_that_is_away(
    tmp_path: Path,
    server: Server,
    workers: Workers,
    client: Redis,
    events: Events,
    how: str,
    busy: bool,
) -> None:
    workers.environment["SELECTION_GRACE"] = "1"
    process = workers.start()
    until(lambda: is_idle(client))
    if busy:
        job = enqueue(batches.write_long(tmp_path / "long.json", 1200), workers, client)
        events.wait_for(job, "started")
    _take_away(server, how)
    process.terminate()
    # The grace, ten seconds to hand the batch back, and what it takes to give up.
    assert ended(process, 30) < (20 if busy else 8)
    assert process.returncode == 0
    assert "Traceback" not in workers.log()
    _bring_back(server, how)
    if busy:
        workers.start()
        events = Events(server.client())
        events.wait_for(job, "finished", seconds=60)
        verify_files(tmp_path / "long.json", tmp_path / "long_selected.json")


def _take_away(server: Server, how: str) -> None:
    if how == "killed":
        server.kill()
    else:
        server.signal(signal.SIGSTOP)


def _bring_back(server: Server, how: str) -> None:
    if how == "killed":
        server.start()
    else:
        server.signal(signal.SIGCONT)


def test_a_server_that_comes_back_empty_knows_its_workers_again(
    tmp_path: Path, server: Server, workers: Workers, client: Redis
) -> None:
    process = workers.start()
    until(lambda: is_idle(client))
    client.flushall()
    until(lambda: len(Worker.all(queue=Queue("selection", connection=client))) == 1)
    [found] = Worker.all(queue=Queue("selection", connection=client))
    assert (found.pid, found.get_state()) == (process.pid, "idle")
    assert found.birth_date is not None
    assert client.ttl(found.key) > 0
    job = enqueue(small(tmp_path / "a.json"), workers, client)
    Events(server.client()).wait_for(job, "finished", seconds=20)


@pytest.mark.parametrize("refusal", ["OOM", "READONLY", "MISCONF", "NOREPLICAS"])
def test_a_server_that_takes_no_writes_is_waited_for(
    tmp_path: Path,
    server: Server,
    workers: Workers,
    client: Redis,
    events: Events,
    refusal: str,
) -> None:
    process = workers.start()
    until(lambda: is_idle(client))
    _refuse_writes(server, client, refusal)
    with pytest.raises(RedisError):
        client.set("key", "value")
    until(lambda: "waiting for the server" in workers.log())
    assert process.poll() is None
    _take_writes(client)
    job = enqueue(small(tmp_path / "a.json"), workers, client)
    events.wait_for(job, "finished", seconds=30)
    assert process.poll() is None
    assert "Traceback" not in workers.log()


def _refuse_writes(server: Server, client: Redis, refusal: str) -> None:
    if refusal == "OOM":
        client.config_set("maxmemory", "1")
    elif refusal == "READONLY":
        client.replicaof("127.0.0.1", "1")
    elif refusal == "NOREPLICAS":
        client.config_set("min-replicas-to-write", "1")
    else:
        # A folder in the place of the file that the server saves.
        (Path(server.socket).parent / "dump.rdb" / "x").mkdir(parents=True)
        client.config_set("save", "3600 1")
        client.bgsave()
        until(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "err")


def _take_writes(client: Redis) -> None:
    client.config_set("maxmemory", "0")
    client.config_set("min-replicas-to-write", "0")
    client.config_set("stop-writes-on-bgsave-error", "no")
    client.replicaof("no", "one")


# What is logged, and timeouts


def test_every_line_is_json_where_json_is_asked_for(
    tmp_path: Path, workers: Workers, client: Redis, events: Events
) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("[]")
    process = workers.start(SELECTION_LOG="json", SELECTION_GRACE="0")
    events.wait_for(enqueue(small(tmp_path / "a.json"), workers, client), "finished")
    events.wait_for(enqueue(bad, workers, client), "failed")
    long = enqueue(batches.write_long(tmp_path / "long.json", 1200), workers, client)
    events.wait_for(long, "started")
    process.terminate()
    assert process.wait(30) == 0
    lines = [json.loads(line) for line in workers.log().splitlines()]
    assert all({"at", "level", "event"} <= line.keys() for line in lines)
    assert {"rq.worker", "rq.scheduler"} <= {line.get("logger") for line in lines}
    [requeued] = [line for line in lines if line["event"] == "job requeued"]
    assert (requeued["job"], requeued["reason"]) == (long, "its worker is shut down")


LOST_EXCEPTION = """
import os, signal
from worker import Settings, log_format
from worker.runtime.shutdown import ShutdownRequested, handler

class Signals:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        for _ in range(1000):
            pass

log_format.set_up(Settings(log="json"))
handler.install()
try:
    with handler.interruptible():
        Signals()
        print("discarded")
        handler.raise_if_requested()
except ShutdownRequested:
    print("raised")
"""


def test_a_shutdown_request_survives_a_discarded_exception() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOST_EXCEPTION], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.splitlines() == ["discarded", "raised"]
    [line] = map(json.loads, done.stderr.splitlines())
    assert (line["event"], line["error"]) == ("unexpected error", "ShutdownRequested: ")
    assert "Signals.__del__" in line["subject"]


def test_a_job_by_name_has_the_timeout_of_the_settings(
    tmp_path: Path, workers: Workers, client: Redis, events: Events
) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"articles": []' + " " * 3_000_000 + "}")
    plain, own = by_name(path, client), by_name(path, client, job_timeout=77)
    workers.start(SELECTION_TIMEOUT="50", SELECTION_TIMEOUT_PER_MB="2")
    for job in (plain, own):
        events.wait_for(job.id, "finished")
    # 50 seconds for any job and 2 for each of 3 megabytes.
    assert client.hget(f"rq:job:{plain.id}", "timeout") == b"56"
    assert client.hget(f"rq:job:{own.id}", "timeout") == b"77"


def test_an_error_without_a_message_gets_one() -> None:
    assert "out of memory" in error_as_dict(MemoryError())["message"]
    assert error_as_dict(KeyError())["message"] == "KeyError"


# Clocks


AHEAD = """
import sys, time
real = time.time
time.time = lambda: real() + float(sys.argv[1])
import datetime
class Ahead(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return super().now(tz) + datetime.timedelta(seconds=float(sys.argv[1]))
datetime.datetime = Ahead
from rq.cli import main
main(["worker", "selection"])
"""


@pytest.mark.parametrize("seconds", [60, -60])
def test_a_clock_that_is_wrong_runs_no_batch_twice(
    tmp_path: Path, workers: Workers, client: Redis, events: Events, seconds: int
) -> None:
    path = batches.write_long(tmp_path / "long.json", 4000)
    job = enqueue(path, workers, client)
    right = workers.start()
    events.wait_for(job, "started")
    wrong = subprocess.Popen(
        [sys.executable, "-c", AHEAD, str(seconds)],
        env=workers.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: client.scard("rq:workers:selection") == 2)
        events.wait_for(job, "finished", seconds=90)
        # The sign of life is the server's time.
        now = server_time(client)
        for found in Worker.all(queue=Queue("selection", connection=client)):
            assert found.last_heartbeat is not None
            assert abs(found.last_heartbeat.timestamp() - now) < 30
    finally:
        wrong.terminate()
        wrong.wait(30)
    assert right.poll() is None
    assert events.of(job) == ["queued", "started", "finished"]
    assert counters(client)["jobs:finished"] == 1


def test_two_schedulers_enqueue_a_job_once(tmp_path: Path, workers: Workers, client: Redis) -> None:
    queue = SelectionQueue("selection", connection=client, serializer=JSONSerializer)
    job = enqueue(small(tmp_path / "a.json"), workers, client)
    client.delete(QUEUE)
    client.hset(f"rq:job:{job}", "status", "scheduled")
    registry = queue.scheduled_job_registry
    due = server_time(client) - 1
    client.zadd(registry.key, {job: due, "gone": due, "later": due + 3600})
    threads = [threading.Thread(target=enqueue_due, args=(queue, registry)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert client.lrange(QUEUE, 0, -1) == [job.encode()]
    assert client.zrange(registry.key, 0, -1) == [b"later"]


# Sentinel


@contextmanager
def sentinel(folder: Path) -> Iterator[tuple[int, Path]]:
    """Run a server and a sentinel; the server's port, and RQ's module of settings."""
    ports = [_free_port() for _ in range(2)]
    configuration = folder / "sentinel.conf"
    configuration.write_text(
        f"port {ports[1]}\nsentinel monitor mymaster 127.0.0.1 {ports[0]} 1\n", encoding="ascii"
    )
    module = folder / "sentinel_settings.py"
    module.write_text(
        f"SENTINEL = {{'INSTANCES': [('127.0.0.1', {ports[1]})], 'MASTER_NAME': 'mymaster'}}\n"
    )
    commands = [
        [server_program(), "--port", str(ports[0]), "--dir", str(folder), "--save", ""],
        [server_program(), str(configuration), "--sentinel"],
    ]
    processes = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in commands]
    try:
        for port in ports:
            until(Redis(port=port).ping)
        yield ports[0], module
    finally:
        for process in processes:
            process.kill()
            process.wait(60)


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def test_a_worker_behind_a_sentinel_works_and_ends_at_once(
    tmp_path: Path, workers: Workers
) -> None:
    with sentinel(tmp_path) as (port, module):
        workers.environment |= {
            "RQ_REDIS_URL": "",
            "RQ_CONFIG": module.stem,
            "PYTHONPATH": f"{tmp_path}:{Path(worker.__file__).parents[1]}",
        }
        process = workers.start()
        client = Redis(port=port, socket_timeout=None)
        job = by_name(small(tmp_path / "a.json"), client).id
        Events(client).wait_for(job, "finished", seconds=20)
        until(lambda: is_idle(client))
        process.terminate()
        assert ended(process, 30) < 8
        assert process.returncode == 0
        assert "Traceback" not in workers.log()


def test_the_end_of_a_process_is_named() -> None:
    how = _how_it_ended(None)
    assert how == "the process that ran it did not end within its timeout and was killed"
    assert "killed (-9)" in _how_it_ended(signal.SIGKILL)
    assert "SIGSEGV (-11)" in _how_it_ended(signal.SIGSEGV)
    # An exit code is in the second byte of a status.
    assert "exit code 3" in _how_it_ended(3 << 8)
