"""Malformed jobs, wrong addresses and full servers, and the messages of the commands."""

from __future__ import annotations

import json
import os
import pickle
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
import termios
import time
import zlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from redis import ConnectionPool, Redis
from rq import Queue
from rq.serializers import JSONSerializer

from selection import Extractor
from selection.parallel.cores import usable_cores
from selection.verify import verify_files
from tests.support import batches
from tests.support.command import run_worker
from tests.support.process import SECONDS, killed_after, line_with, until
from tests.support.process import read as read_terminal
from tests.support.queue_server import SAFE, Events, Server, Workers, children, kill, running_server
from worker.address import parse_url
from worker.checks.check_result import CheckResult
from worker.checks.doctor import run_checks
from worker.checks.server_checks import reach
from worker.connections import server_time
from worker.health import is_alive
from worker.metrics import QueueCollector
from worker.settings import Settings, SettingsError
from worker.state.job_state import JobMeta, JobState
from worker.state.records import read_payload
from worker.state.registrations import registration_fields
from worker.state.serialized import Form, read
from worker.state.status import read_backlog, read_workers

# The schema of job.meta


class Boom:
    """Unpickling this would write a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (str(self._path), "w")


@pytest.mark.parametrize("protocol", [1, 2, 3, 4, 5])
def test_meta_is_read_equally_from_json_and_from_every_pickle(protocol: int) -> None:
    meta = {
        "state": "retrying",
        "path": "/data/ä.json",
        "articles": 70_000,
        "picks": {Extractor.READABILITY: 3},
        "started_at": "2026-01-02T03:04:05.678+02:00",
        "error": {"type": "ReadError", "message": "m", "byte": 0, "retryable": True},
        "retry_in": 10,
        "order": [1, 2.5, None, True, (1, 2), b"x", bytearray(b"x"), {1}, frozenset([1])],
    }
    state = JobMeta.from_meta(read(pickle.dumps(meta, protocol)).value)
    del meta["order"]
    assert JobMeta.from_meta(read(json.dumps(meta).encode()).value) == state
    assert (state.state, state.path, state.articles) == (JobState.RETRYING, "/data/ä.json", 70_000)
    assert state.picks == {"readability": 3}
    assert state.started_at == "2026-01-02T01:04:05.678+00:00"
    assert state.error is not None
    assert state.error == {"type": "ReadError", "message": "m", "byte": 0, "retryable": True}
    assert JobMeta.from_meta(state.as_meta()) == state


@pytest.mark.parametrize(
    "odd",
    [
        {"articles": "12"},
        {"articles": 10**400},
        {"articles": True},
        {"bytes_done": -1},
        {"error": "boom"},
        {"error": {"type": 5, "message": "m"}},
        {"worker": 5},
        {"started_at": "2026-01-01T00:00:00"},
        {"updated_at": "0001-01-01T00:00:00+23:00"},
        {"path": "a\0b"},
        {"path": "\ud800"},
        {"picks": [1]},
        {"state": []},
        {"state": "unheard of"},
        ["state"],
        "state",
        None,
    ],
)
def test_malformed_meta_has_the_defaults(odd: object) -> None:
    assert JobMeta.from_meta(odd) == JobMeta()
    assert JobMeta.from_meta(read(json.dumps(odd).encode()).value) == JobMeta()
    assert JobMeta.from_meta(read(pickle.dumps(odd)).value) == JobMeta()


@pytest.mark.parametrize(
    "raw",
    [None, b"", b"{", b"\x80", b"\x80\x05.", b"[" * 99_999, b"9" * 5_000, b"\xff", b"x" * 600_000],
)
def test_bytes_that_are_neither_json_nor_a_pickle_are_unreadable(raw: bytes | None) -> None:
    assert read(raw).form is Form.UNREADABLE
    assert JobMeta.from_meta(read(raw).value) == JobMeta()


def test_a_pickle_is_read_without_running_it(tmp_path: Path) -> None:
    proof = tmp_path / "proof"
    found = read(pickle.dumps({"path": "/a", "other": Boom(proof)}))
    assert found.form is Form.PICKLE
    assert found.value["path"] == "/a"
    assert not proof.exists()


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_the_path_of_a_job_enqueued_by_name_is_found(protocol: int) -> None:
    for path in ("/data/a.json", Path("/data/a.json")):
        call = ("worker.jobs.select_batch", None, (path,), {"output": Path("/out/b.json")})
        for raw in (pickle.dumps(call, protocol), zlib.compress(pickle.dumps(call, protocol))):
            payload = read_payload(raw)
            assert (payload.form, payload.is_ours) == (Form.PICKLE, True)
            assert (payload.path, payload.output) == ("/data/a.json", "/out/b.json")


def test_a_pickle_takes_neither_time_nor_memory_beyond_its_size() -> None:
    many_marks = b"\x80\x04" + b"N" * 130_000 + b"(t" * 60_000 + b"."
    assert read(many_marks).value == []
    # Each round makes a path of the last one, twice.
    doubled = b"\x80\x04\x8c\x01x\x94" + b"".join(
        b"cpathlib\nPath\nh%ch%c\x86R\x94" % (number, number) for number in range(200)
    )
    assert len(str(read(doubled + b".").value)) < 10_000


# Malformed jobs

ODD_FIELDS: list[dict[str, bytes]] = [
    {"meta": b'{"articles": "12", "bytes_done": 1e400}'},
    {"meta": b'{"error": "boom", "worker": 5, "picks": 7}'},
    {"meta": b'{"path": "a\\u0000b", "output": "\\ud800", "error": {"type": 1}}'},
    {"meta": b'{"state": "failed", "error": {"type": "\\u001b[2J", "message": "\\ud800"}}'},
    {"meta": b'{"started_at": "2026-01-01T00:00:00", "updated_at": "yesterday"}'},
    {"meta": b"[" * 100_000},
    {"meta": pickle.dumps({"articles": "12", "worker": Path("/w")})},
    {"data": zlib.compress(b'["worker.jobs.select_batch", null, ["a\\u0000b", "\\ud800"], {}]')},
    {"data": zlib.compress(b'["worker.jobs.select_batch", null, ["a", null, "third"], {}]')},
    {"data": b"\xff", "enqueued_at": b"\xff", "worker_name": b"\xff"},
    {"enqueued_at": b"2026-01-01T00:00:00", "started_at": b"0001-01-01T00:00:00+23:00"},
    {"status": b"\xff", "ended_at": b"9999-12-31T23:59:59-23:00"},
]
REGISTRIES = ("wip", "scheduled", "deferred", "finished", "failed", "canceled")


def leave_malformed_jobs(client: Redis) -> set[str]:
    """Write a job for each malformed field in each place of the queue; return their ids."""
    ids = set()
    for number, fields in enumerate(ODD_FIELDS):
        for place in (*REGISTRIES, "queue"):
            job = f"odd-{number}-{place}"
            state = {"wip": "started", "queue": "queued"}.get(place, place)
            mapping: dict[Any, Any] = {"status": state, **fields}
            client.hset(f"rq:job:{job}", mapping=mapping)
            if place == "queue":
                client.rpush("rq:queue:selection", job)
            else:
                client.zadd(f"rq:{place}:selection", {f"{job}:1" if place == "wip" else job: 1})
            ids.add(job)
    return ids


def test_a_malformed_job_does_not_end_a_command(
    folder: Path, workers: Workers, server: Server
) -> None:
    client = server.client()
    ids = leave_malformed_jobs(client)
    sound = results(workers, "enqueue", folder / "a.json")["a.json"]["job"]

    done = run(workers, "status", "--limit", "0", "--json")
    batches_found = [json.loads(line) for line in done.stdout.splitlines()]
    assert {batch["job"] for batch in batches_found} == {*ids, sound}
    assert [batch["path"] for batch in batches_found if batch["path"]].count(
        str(folder / "a.json")
    ) == 1
    for command in ("status --limit 0", "watch", "doctor", "doctor --json", "status --failed"):
        done = run(workers, *command.split())
        assert done.returncode in (0, 1), done.stderr
        assert done.stderr == ""
        assert done.stdout
        assert all(char.isprintable() or char == "\n" for char in done.stdout)
    registry = CollectorRegistry()
    registry.register(QueueCollector(client, workers.settings))
    shown = generate_latest(registry).decode()
    assert f'selection_queue_jobs{{state="failed"}} {len(ODD_FIELDS)}.0' in shown
    assert "selection_redis_up 1.0" in shown


# JSON and pickles


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two batches."""
    batches.write(tmp_path / "a.json", [batches.picks_newspaper4k()])
    batches.write(tmp_path / "b.json", [batches.picks_readability()] * 2)
    return tmp_path


def run(
    workers: Workers, *arguments: str | Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    return run_worker({**workers.environment, **environment}, *arguments)


def results(workers: Workers, *arguments: str | Path, **environment: str) -> dict[str, Any]:
    """Run a command with --json; return its rows by batch name or subject."""
    lines = map(json.loads, run(workers, *arguments, "--json", **environment).stdout.splitlines())
    return {Path(line.get("path") or line.get("subject")).name: line for line in lines}


@pytest.mark.parametrize(("before", "after"), [("", SAFE), (SAFE, "")])
def test_after_a_change_of_the_form_every_command_works(
    folder: Path, workers: Workers, events: Events, before: str, after: str
) -> None:
    workers.environment["RQ_WORKER_CLASS"] = before
    jobs = results(workers, "enqueue", folder)
    assert sorted(jobs) == ["a.json", "b.json"]
    workers.environment["RQ_WORKER_CLASS"] = after

    assert run(workers, "watch").returncode == 0
    found = results(workers, "status")
    assert [found[name]["state"] for name in ("a.json", "b.json")] == ["queued", "queued"]
    forms = results(workers, "doctor")["form"]
    assert forms["verdict"] == "error"
    was, wanted = ("pickles", "JSON") if after else ("JSON", "pickles")
    assert forms["message"].startswith(f"2 of 2 waiting jobs are {was}, not {wanted}; ")
    assert "RQ_WORKER_CLASS=worker.SelectionWorker" in forms["message"]
    assert "enqueue their files again" in forms["message"]

    # The same job, written anew.
    again = results(workers, "enqueue", folder / "a.json")["a.json"]
    assert again["job"] == jobs["a.json"]["job"]
    workers.start()
    events.wait_for(again["job"], "finished")
    # A SelectionWorker refuses the other for good; a stock worker tries it again and again.
    job, state = jobs["b.json"]["job"], "failed" if after else "retrying"
    until(lambda: results(workers, "status", job)["b.json"]["state"] == state, f"it is {state}")
    forms = results(workers, "doctor")["form"]
    kind = "failed" if after else "delayed"
    assert forms["message"].startswith(f"1 of 1 {kind} jobs are {was}, not {wanted}; ")
    run(workers, *(["retry", job] if after else ["enqueue", str(folder / "b.json")]))
    events.wait_for(job, "finished")
    assert verify_files(folder / "b.json", folder / "b_selected.json").articles == 2


def test_no_command_runs_a_pickle_that_was_left_on_the_server(
    tmp_path: Path, workers: Workers, server: Server
) -> None:
    client, proof = server.client(), tmp_path / "proof"
    boom = pickle.dumps(Boom(proof))
    fields: dict[Any, Any] = {"data": zlib.compress(boom), "meta": boom, "status": "failed"}
    client.hset("rq:job:x", mapping=fields)
    client.zadd("rq:failed:selection", {"x": 1})
    client.rpush("rq:queue:selection", "x")
    workers.environment["RQ_WORKER_CLASS"] = ""
    for command in ("status", "watch", "doctor", "retry --failed", "status x", "cancel x"):
        done = run(workers, *command.split())
        assert (done.returncode in (0, 1, 66), "Traceback" in done.stderr) == (True, False)
    assert not proof.exists()
    assert client.exists("rq:job:x")
    message = results(workers, "doctor")["form"]["message"]
    # A pickle, though not of a call.
    assert "1 of 1" in message
    pickle.loads(boom).close()
    assert proof.exists()


# The server's address

SECRET = "Tr0ub4dor"
WRONG = [
    *("localhost:6379", "localhost", "redis:/localhost", "http://localhost", "REDIS://h", " "),
    *(f"redis://:{SECRET}{char}x@localhost:6379/0" for char in "/#?[] "),
    *(f"redis://u:{SECRET}{text}@localhost/0" for text in ("//x", "?db=1", "%00", "\n", "\x1b")),
    *(f"redis://:{SECRET}@localhost:{port}/0" for port in ("port", "0", "-1", "65536", "6379 ")),
    *(f"redis://:{SECRET}@localhost/{db}" for db in ("zero", "0/1", "-1", "0?db=x")),
    *(f"redis://:{SECRET}@{host}" for host in ("[::1", "[zz]:6379", "local host", "..", "a" * 300)),
    f"redis://{SECRET}/rest@localhost",
    f"redis://localhost/0?unknown={SECRET}",
    f"redis://localhost/0?socket_timeout={SECRET}",
    f"redis+sentinel://:{SECRET}@localhost",
    f"rediss://localhost/0?ssl_cert_reqs={SECRET}",
    *("unix://", f"unix://:{SECRET}@", f"unix://:{SECRET}@/s?db=x"),
]
WRONG_ENVIRONMENTS: list[dict[str, str]] = [
    *({"RQ_REDIS_URL": value} for value in WRONG),
    *({"RQ_REDIS_URL": "", "REDIS_URL": value} for value in WRONG[:9]),
    {"RQ_REDIS_URL": "", "REDIS_PORT": "tcp://10.0.0.1:6379"},
    {"RQ_REDIS_URL": "", "REDIS_PORT": "65536"},
    {"RQ_REDIS_URL": "", "REDIS_DB": "zero"},
    {"RQ_REDIS_URL": "", "REDIS_HOST": "a b"},
    {"RQ_REDIS_URL": "", "RQ_CONFIG": "no_such_module"},
]


@pytest.mark.parametrize("environment", WRONG_ENVIRONMENTS, ids=map(str, WRONG_ENVIRONMENTS))
def test_an_address_that_cannot_be_used_is_one_sentence_without_the_password(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as caught:
        Settings.from_environment().connect()
    message = str(caught.value)
    assert next(name for name, value in environment.items() if value) in message or (
        "the server's address" in message
    )
    assert SECRET[:3] not in message
    assert message.isprintable()
    # Nothing of it is in the exceptions that a traceback would show.
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("command", ["status", "doctor", "health", "pause", "enqueue a.json"])
def test_a_wrong_address_is_wrong_usage_for_every_command(command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "worker", *command.split()],
        env={**os.environ, "RQ_REDIS_URL": f"redis://:{SECRET}#x@localhost:6379/0"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("selection-worker: error: RQ_REDIS_URL is malformed: ")
    assert done.stderr.count("\n") == 1
    assert SECRET[:3] not in done.stderr


def test_a_valid_address_is_parsed_as_the_client_library_does() -> None:
    for url in (
        "redis://localhost",
        "redis://u:p%23%2F%3F%5Bx@h:7000/3",
        "redis://:pass@word:x@[::1]:7000/?db=4",
        "unix://u:p@/run/s?db=2",
        "unix:///run/s",
    ):
        found, expected = parse_url("X", url), ConnectionPool.from_url(url).connection_kwargs
        assert found.db == int(expected.get("db", 0))
        assert found.username == expected.get("username")
        assert found.password == expected.get("password")
        if "path" in expected:
            assert found.socket == expected["path"]
        else:
            assert (found.host, found.port) == (expected["host"], expected.get("port", 6379))


def test_a_module_in_the_working_directory_works_for_workers_and_commands(
    folder: Path, workers: Workers, server: Server
) -> None:
    (folder / "queueconf.py").write_text(f"REDIS_URL = {server.url!r}\n")
    # RQ looks there last, so that this is not what its imports find.
    (folder / "json.py").write_text("raise SystemExit('the wrong json')\n")
    environment = {**workers.environment, "RQ_CONFIG": "queueconf"}
    del environment["RQ_REDIS_URL"]
    programs = Path(sys.executable).parent

    def start(*arguments: str) -> str:
        done = subprocess.run(
            [programs / arguments[0], *arguments[1:]],
            env=environment,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "queued" in start("selection-worker", "enqueue", "a.json")
    (folder / "json.py").unlink()  # a worker's own imports would find it
    start("rq", "worker", "--burst", "selection")
    assert json.loads(start("selection-worker", "status", "--json"))["state"] == "finished"


# What doctor finds


def findings(settings: Settings) -> dict[str, CheckResult]:
    """Run doctor and return its results by subject."""
    return {finding.subject: finding for finding in run_checks(settings)}


def is_fault(finding: CheckResult, *words: str) -> bool:
    """Whether it is one, and says all this."""
    return finding.verdict == "error" and all(word in finding.message for word in words)


def test_doctor_finds_a_server_that_takes_no_jobs(server: Server, workers: Workers) -> None:
    client, settings = server.client(), workers.settings
    assert findings(settings)["writing"].verdict == "ok"
    client.config_set("maxmemory", "1")
    assert is_fault(findings(settings)["writing"], "memory is full", "maxmemory")
    client.config_set("maxmemory", "0")
    client.config_set("min-replicas-to-write", "1")
    assert is_fault(findings(settings)["writing"], "too few replicas")
    client.config_set("min-replicas-to-write", "0")
    client.replicaof("127.0.0.1", "1")
    assert is_fault(findings(settings)["writing"], "read-only replica", "primary")
    client.replicaof("no", "one")
    reads = ["+@read", "+@connection", "+info", "+time", "+@transaction"]
    may: dict[str, Any] = {"enabled": True, "passwords": ["+p"], "channels": ["*"]}
    client.acl_setuser("reader", commands=reads, keys=["*"], **may)
    as_reader = replace(settings, redis_url=server.url.replace("//", "//reader:p@"))
    assert is_fault(findings(as_reader)["writing"], "ACL")
    # It must not be able to write events, either.
    client.acl_setuser("half", commands=["+@all"], keys=["rq:*"], **may)
    half = replace(settings, redis_url=server.url.replace("//", "//half:p@"))
    assert is_fault(findings(half)["writing"], "ACL", "selection:events")
    wrong = replace(settings, redis_url=server.url.replace("//", "//reader:wrong@"))
    assert list(findings(wrong)) == ["redis"]
    assert is_fault(findings(wrong)["redis"], "password")
    assert findings(settings)["writing"].verdict == "ok"
    assert client.dbsize() == 0  # nothing of the trials is left


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cluster_enabled": "yes", "appendonly": "no"}, ("cluster mode",)),
        ({"rename_command": "HELLO "}, ("too old", "6.2")),
    ],
)
def test_doctor_finds_a_server_that_does_not_fit(
    options: dict[str, str], words: Sequence[str]
) -> None:
    with running_server(**options) as unfit:
        settings = Settings.from_environment({"RQ_REDIS_URL": unfit.url})
        found = findings(settings)
    # The other checks would only repeat it.
    assert list(found) == ["redis"]
    assert is_fault(found["redis"], *words)


def test_doctor_finds_a_version_of_the_server_that_is_too_old(server: Server) -> None:
    class Old(Redis):
        def info(self, *_: Any, **__: Any) -> Any:
            return {"redis_version": "6.0.16"}

    [finding] = reach(Old(unix_socket_path=server.socket))
    assert is_fault(finding, "6.0.16", "6.2 is the oldest")


def test_doctor_finds_workers_that_differ_from_the_producer(
    tmp_path: Path, workers: Workers, server: Server
) -> None:
    client = server.client()
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    settings = replace(workers.settings, roots=(str(here),))
    process = workers.start(SELECTION_ROOTS=str(there))
    until(lambda: read_workers(client, settings), "the worker registers")
    found = findings(settings)
    assert found["roots"].verdict == "warning"
    assert f"{there} at a worker and {here} here" in found["roots"].message
    assert "serializer" not in found
    assert "roots" not in findings(replace(settings, roots=(str(there),)))
    plain = replace(settings, worker_class=None)
    assert is_fault(
        findings(plain)["serializer"], "1 SelectionWorker cannot", f"RQ_WORKER_CLASS={SAFE}"
    )
    kill(process.pid)

    workers.start(RQ_WORKER_CLASS="")
    until(lambda: client.scard("rq:workers:selection") == 2, "the second worker registers")
    assert is_fault(
        findings(settings)["serializer"], "1 stock RQ worker cannot", f"RQ_WORKER_CLASS={SAFE}"
    )


def test_doctor_finds_workers_with_an_rq_that_is_too_old(workers: Workers, server: Server) -> None:
    client = server.client()
    now = datetime.now(UTC).isoformat()
    fields: dict[Any, Any] = {"version": "2.6.1", "last_heartbeat": now, "state": "idle"}
    client.hset("rq:worker:old", mapping=fields)
    client.sadd("rq:workers:selection", "rq:worker:old")
    assert is_fault(findings(workers.settings)["versions"], "RQ 2.6.1", "install RQ 3")


def test_doctor_finds_that_the_workers_are_paused(
    folder: Path, workers: Workers, events: Events
) -> None:
    client = Redis.from_url(workers.environment["RQ_REDIS_URL"])

    def states() -> list[str]:
        return [member.state for member in read_workers(client, workers.settings)]

    workers.start()
    until(lambda: states() == ["idle"], "the worker is idle")
    assert "resume" in run(workers, "pause").stdout
    assert is_fault(findings(workers.settings)["pause"], "selection-worker resume")
    for command in ("status", "watch"):
        assert "paused; selection-worker resume ends it" in run(workers, command).stdout
    job = results(workers, "enqueue", folder / "a.json")["a.json"]["job"]
    until(lambda: states() == ["suspended"], "the worker gives the job back and waits")
    assert client.llen("rq:queue:selection") == 1
    assert run(workers, "resume").stdout == "resumed\n"
    assert run(workers, "resume").stdout == "was not paused\n"
    assert "pause" not in findings(workers.settings)
    events.wait_for(job, "finished")


def test_doctor_finds_jobs_that_all_fail(tmp_path: Path, workers: Workers, events: Events) -> None:
    for number in range(3):
        (tmp_path / f"{number}.json").write_text("[]")
    client = Redis.from_url(workers.environment["RQ_REDIS_URL"])
    workers.start()
    results(workers, "enqueue", tmp_path)
    until(lambda: client.zcard("rq:failed:selection") == 3, "all have failed")
    outcome = findings(workers.settings)["outcomes"]
    assert is_fault(outcome, "the last 3 jobs all failed", "3 of them with RootNotObjectError")
    batches.write(tmp_path / "good.json", [])
    job = results(workers, "enqueue", tmp_path / "good.json")["good.json"]["job"]
    until(lambda: client.zscore("rq:finished:selection", job) is not None, "the good one ends")
    found = findings(workers.settings)["outcomes"]
    assert (found.verdict, found.message) == ("ok", "3 of the last 4 jobs failed")


def test_doctor_finds_a_disk_without_room_for_an_output(tmp_path: Path, workers: Workers) -> None:
    size = 1 << 43
    assert shutil.disk_usage(tmp_path).free < size
    batches.write(tmp_path / "a.json", [])
    assert results(workers, "enqueue", tmp_path / "a.json")
    assert findings(workers.settings)["outputs"].verdict == "ok"
    with (tmp_path / "long.json").open("wb") as file:
        file.truncate(size)  # it takes no room itself
    assert results(workers, "enqueue", tmp_path / "long.json")
    assert is_fault(
        findings(workers.settings)["outputs"],
        f"{tmp_path} does not have space for",
        f"{size:,} bytes",
    )


def test_doctor_finds_a_folder_of_outputs_that_cannot_be_written(
    tmp_path: Path, workers: Workers
) -> None:
    batches.write(tmp_path / "a.json", [])
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    for folder in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        folder.chmod(0o755)
    assert results(workers, "enqueue", tmp_path / "a.json", "--output-dir", closed)
    script = """
import os
from worker import Settings
from worker.checks.queue_checks import jobs
settings = Settings.from_environment()
connection = settings.connect()
connection.ping()
if os.getuid() == 0:
    os.setuid(65534)  # root can write everywhere
print([f.message for f in jobs(connection, settings) if f.subject == "outputs"])
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=workers.environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.stdout == f"{[f'{closed} cannot be written from here']}\n"


# Many jobs


def leave_jobs(client: Redis, place: str, state: str, amount: int, hour: int) -> list[str]:
    """Write jobs that ended at intervals of a second; return their ids, the last one first."""
    ids = [f"{state}-{number}" for number in range(amount)]
    with client.pipeline(transaction=False) as pipeline:
        for number, job in enumerate(ids):
            when = f"2026-01-01T{hour:02}:{number // 60:02}:{number % 60:02}.000000Z"
            mapping: dict[Any, Any] = {"status": state, "enqueued_at": when}
            pipeline.hset(f"rq:job:{job}", mapping=mapping)
            if place == "queue":
                pipeline.rpush("rq:queue:selection", job)
            else:
                pipeline.zadd(f"rq:{place}:selection", {job: number + 1})
        pipeline.execute()
    return ids[::-1]


def test_status_shows_the_newest_and_reads_no_others(server: Server, workers: Workers) -> None:
    client = server.client()
    finished = leave_jobs(client, "finished", "finished", 1500, 1)
    failed = leave_jobs(client, "failed", "failed", 800, 2)
    stopped = leave_jobs(client, "failed", "stopped", 2, 3)
    queued = leave_jobs(client, "queue", "queued", 900, 4)

    def shown(*arguments: str) -> list[str]:
        done = run(workers, "status", "--json", *arguments)
        assert done.returncode == 0
        return [json.loads(line)["job"] for line in done.stdout.splitlines()]

    client.config_resetstat()
    assert shown() == queued[:20]
    calls: Any = client.info("commandstats")
    assert calls["cmdstat_hmget"]["calls"] <= 4 * 20
    assert shown("--failed", "--limit", "3") == failed[:3]
    assert shown("--state", "stopped") == stopped
    assert shown("--state", "finished", "--failed", "--limit", "801") == [*failed, finished[0]]
    assert len(shown("--limit", "0")) == 1500 + 800 + 2 + 900
    done = run(workers, "status", "--state", "canceled")
    assert done.stdout.startswith("queue 900 waiting (first for ")
    assert done.stdout.endswith("   failed 802   finished 1,500\n")
    client.config_resetstat()
    assert run(workers, "watch").returncode == 0
    calls = client.info("commandstats")
    assert calls["cmdstat_hmget"]["calls"] < 1000


def test_deferred_and_scheduled_jobs_are_not_retries(
    folder: Path, workers: Workers, server: Server
) -> None:
    queue = Queue("selection", connection=server.client(), serializer=JSONSerializer)
    name, paths = "worker.jobs.select_batch", [str(folder / "a.json"), str(folder / "b.json")]
    first = queue.enqueue(name, paths[0], job_id="first")
    queue.enqueue(name, path=paths[1], output="/c.json", depends_on=first, job_id="second")
    queue.enqueue_in(timedelta(hours=1), name, paths[1], job_id="third")

    def found() -> dict[str, Any]:
        lines = run(workers, "status", "--json").stdout.splitlines()
        return {batch["job"]: batch for batch in map(json.loads, lines)}

    before = found()
    assert {job: (batch["state"], batch["path"]) for job, batch in before.items()} == {
        "first": ("queued", paths[0]),
        "second": ("deferred", paths[1]),
        "third": ("scheduled", paths[1]),
    }
    assert before["second"]["output"] == "/c.json"
    assert findings(workers.settings)["deferred"].message == "1 job waits for another"
    shown = run(workers, "watch").stdout
    assert "queue 1 waiting" in shown
    assert "scheduled 1   deferred 1" in shown
    assert "retrying" not in shown

    workers.environment["SELECTION_RETRY_DELAYS"] = "300"
    path = batches.write(folder / "late.json", [])
    late = results(workers, "enqueue", path)["late.json"]["job"]
    path.unlink()
    workers.start()
    until(lambda: found()[late]["state"] == "retrying", "the missing file is tried again later")
    assert found()["third"]["state"] == "scheduled"
    shown = run(workers, "watch").stdout
    assert "late.json" in shown[shown.index("retrying") :]


# Rates, durations and places


def test_the_queue_has_a_rate_and_a_time_left(workers: Workers, server: Server) -> None:
    client, settings = server.client(), workers.settings
    leave_jobs(client, "queue", "queued", 3, 1)
    assert read_backlog(client, settings).seconds_left is None
    now = round(1000 * server_time(client))
    # An old one does not count, and neither does another event.
    for ago, event in ((9000, "finished"), (40, "finished"), (30, "failed"), (20, "finished")):
        fields: dict[Any, Any] = {"event": event}
        client.xadd("selection:events", fields, id=f"{now - 1000 * ago}-0")
    backlog = read_backlog(client, settings)
    # One more in the 40 seconds since the first.
    assert backlog.rate == pytest.approx(1 / 40, rel=0.1)
    assert backlog.seconds_left == pytest.approx(120, rel=0.1)
    for command in ("status", "watch"):
        shown = run(workers, command).stdout
        assert re.search(r"1\.[3-6] jobs a minute recently, (1:5\d|2:\d\d) left", shown), shown
    counters: dict[Any, Any] = {"durations:0.1": 2, "durations:5.0": 3, "milliseconds": 9500}
    client.hset("selection:counters", mapping=counters)
    registry = CollectorRegistry()
    registry.register(QueueCollector(client, settings))

    def sample(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(name, labels)

    assert sample("selection_queue_jobs_per_second") == pytest.approx(1 / 40, rel=0.1)
    assert sample("selection_queue_seconds_left") == pytest.approx(120, rel=0.1)
    buckets = {bound: sample("selection_duration_seconds_bucket", le=bound) for bound in BOUNDS}
    assert list(buckets.values()) == [2, 2, 2, 5, 5, 5, 5, 5, 5, 5]
    assert sample("selection_duration_seconds_count") == 5
    assert sample("selection_duration_seconds_sum") == 9.5
    assert sample("selection_jobs_total", outcome="stopped") == 0


BOUNDS = ("0.1", "0.5", "1.0", "5.0", "10.0", "30.0", "60.0", "300.0", "1800.0", "+Inf")


def test_a_failure_has_its_line_and_column(tmp_path: Path, workers: Workers) -> None:
    path = tmp_path / "bad.json"
    path.write_text('{"articles": [\n  {"id": 1},\n  x]}')
    workers.start()
    done = run(workers, "enqueue", path, "--wait")
    assert done.returncode == 65
    assert "line 3 column 3, byte 30)" in done.stdout
    assert "line 3 column 3, byte 30)" in run(workers, "watch").stdout
    assert all(line.startswith("selection-worker: ") for line in done.stderr.splitlines())


@pytest.mark.slow
def test_files_in_the_working_directory_are_not_imported_by_a_local_queue(folder: Path) -> None:
    for name in ("queue", "redis", "json", "click", "worker", "selection", "rq"):
        (folder / f"{name}.py").write_text(f"raise SystemExit('the wrong {name}')\n")
    done = subprocess.run(
        [Path(sys.executable).parent / "selection-worker", "local", "b.json", "--json"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert "the wrong" not in done.stdout + done.stderr
    assert json.loads(done.stdout)["state"] == "finished"
    assert (folder / "b_selected.json").exists()


# Commands


def test_a_job_that_waits_or_runs_can_be_canceled(
    tmp_path: Path, workers: Workers, events: Events, server: Server
) -> None:
    batches.write(tmp_path / "waits.json", [])
    batches.write_long(tmp_path / "runs.json", 2000)
    waits = results(workers, "enqueue", tmp_path / "waits.json")["waits.json"]["job"]
    assert run(workers, "cancel", waits).stdout == f"{waits}\n"
    assert events.wait_for(waits, "canceled")["path"] == str(tmp_path / "waits.json")
    done = run(workers, "cancel", waits)
    assert (done.returncode, done.stdout) == (66, "")
    assert "the job does not exist" in done.stderr
    assert server.client().llen("rq:queue:selection") == 0

    workers.start()
    runs = results(workers, "enqueue", tmp_path / "runs.json")["runs.json"]["job"]
    events.wait_for(runs, "started")
    assert run(workers, "cancel", runs).returncode == 0
    events.wait_for(runs, "stopped")
    until(lambda: results(workers, "status", runs)["runs.json"]["state"] == "stopped", "it stops")
    done = run(workers, "cancel", runs)
    assert (done.returncode, "the job is stopped already" in done.stderr) == (66, True)
    # The worker goes on, and the next run of the same output removes what this one left.
    again = results(workers, "enqueue", tmp_path / "waits.json")["waits.json"]["job"]
    events.wait_for(again, "finished")
    assert not (tmp_path / "runs_selected.json").exists()


def test_force_selects_a_file_again_that_looks_unchanged(
    tmp_path: Path, workers: Workers, events: Events
) -> None:
    path = batches.write(tmp_path / "a.json", [batches.picks_newspaper4k()])
    before = path.stat()
    workers.start()
    first = results(workers, "enqueue", path, "--wait")["a.json"]
    content = path.read_bytes().replace(b'"articles"', b'"articleS"')
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert results(workers, "enqueue", path, "--wait")["a.json"]["state"] == "finished"
    forced = results(workers, "enqueue", path, "--wait", "--force")["a.json"]
    assert (forced["job"], forced["state"]) == (first["job"], "failed")
    events.wait_for(first["job"], "failed")
    expected = ["queued", "started", "finished", "queued", "started", "failed"]
    assert events.of(first["job"]) == expected


def test_waiting_survives_an_outage_of_the_server(
    folder: Path, workers: Workers, server: Server, events: Events
) -> None:
    workers.start()
    waiting = subprocess.Popen(
        [sys.executable, "-m", "worker", "enqueue", folder / "a.json", "--wait", "--json"],
        env={**workers.environment, "SELECTION_QUEUE": "elsewhere"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    line_with("queued", waiting.stderr, waiting)
    server.kill()
    line_with("cannot be reached; waiting", waiting.stderr, waiting)
    time.sleep(12)  # the length of the outage is what is tested
    assert waiting.poll() is None
    server.start()
    elsewhere = subprocess.Popen(
        [sys.executable, "-m", "rq.cli", "worker", "--burst", "elsewhere"],
        env=workers.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    output, _ = waiting.communicate(timeout=SECONDS)
    assert elsewhere.wait(SECONDS) == 0
    assert (waiting.returncode, json.loads(output)["state"]) == (0, "finished")


# watch on a terminal


def test_watch_fits_a_small_terminal_scrolls_and_ends_with_q(
    workers: Workers, server: Server
) -> None:
    client = server.client()
    for job in leave_jobs(client, "failed", "failed", 40, 1):
        error = {"type": "X", "message": f"\x1b]0;owned\x07 {'long ' * 40}"}
        meta = {"path": f"/data/\x1b[2J{'deep/' * 30}{job}.json", "error": error}
        client.hset(f"rq:job:{job}", "meta", json.dumps(meta))
    terminal, other = pty.openpty()
    termios.tcsetwinsize(other, (24, 80))
    process = subprocess.Popen(
        [sys.executable, "-m", "worker", "watch", "--interval", "0.2"],
        env={**workers.environment, "TERM": "xterm", "COLUMNS": "", "LINES": ""},
        stdin=other,
        stdout=other,
        stderr=other,
    )
    os.close(other)
    seen, after = b"", 0

    def until_shown(text: bytes) -> None:
        """Read until the text is shown after the last one that was waited for."""
        nonlocal seen, after
        while text not in seen[after:]:
            seen += read_terminal(terminal)
        after = seen.index(text, after)

    with killed_after(process):
        until_shown(b"arrows scroll, q ends")
        assert b"lines 1 to 23 of" in seen
        assert b"failed-39.json" in seen
        os.write(terminal, b"j")
        until_shown(b"lines 2 to 24 of")
        os.write(terminal, b" ")
        until_shown(b"failed-0.json")
        until_shown(b"lines 24 to 46 of 46")
        # Several keys at once, as one that is held down sends them.
        os.write(terminal, b"kk\x1b[5~\x1b[5~")
        until_shown(b"lines 1 to 23 of")
        os.write(terminal, b"q")
        assert process.wait(SECONDS) == 0
    os.close(terminal)
    assert b"\x1b]0;" not in seen
    assert b"\\x1b]0;owned" in seen
    assert b"\x1b[2J" not in seen
    # Each job is one line of at most 80 cells.
    for line in re.split(r"\r\n|\x1b\[H", seen.decode()):
        assert len(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line)) <= 80


# The health check


def test_a_zombie_is_not_alive(workers: Workers, server: Server) -> None:
    process = workers.start()
    client, settings = server.client(), workers.settings
    until(lambda: read_workers(client, settings), "the worker registers")
    assert is_alive(settings)
    assert run(workers, "health").stdout == "alive\n"
    process.kill()
    stat = Path(f"/proc/{process.pid}/stat")
    until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "Z", "it is a zombie")
    # Its last sign of life is not old yet.
    assert not is_alive(settings)


def test_a_worker_that_hangs_is_not_alive(workers: Workers, server: Server) -> None:
    process = workers.start()
    client, settings = server.client(), workers.settings
    until(lambda: read_workers(client, settings), "the worker registers")
    process.send_signal(signal.SIGSTOP)
    until(lambda: not is_alive(settings), "it is silent for three heartbeats")
    done = run(workers, "health")
    assert (done.returncode, done.stdout.startswith("no worker of this host")) == (1, True)
    process.send_signal(signal.SIGCONT)
    until(lambda: is_alive(settings), "it gives a sign of life again")


def test_a_worker_elsewhere_with_the_same_host_name_and_number_is_not_this_one(
    workers: Workers, server: Server
) -> None:
    client, settings = server.client(), workers.settings
    pid = os.getpid()
    mine = registration_fields(pid, settings)
    fields: dict[Any, Any] = {
        **mine,
        "hostname": socket.gethostname(),
        "pid": pid,
        "state": "idle",
        "last_heartbeat": datetime.now(UTC).isoformat(),
    }
    client.sadd("rq:workers:selection", "rq:worker:w")
    client.hset("rq:worker:w", mapping=fields)
    assert is_alive(settings)
    facts = json.loads(mine["selection"])
    boot, namespace, number, start = facts["process"].split()
    for other in (
        f"{boot[::-1]} {namespace} {number} {start}",
        f"{boot} pid:[1] {number} {start}",
        f"{boot} {namespace} {number} 1",
    ):
        client.hset("rq:worker:w", "selection", json.dumps(facts | {"process": other}))
        assert not is_alive(settings)
    client.hset("rq:worker:w", "hostname", "elsewhere")
    assert not is_alive(settings)


def test_the_health_check_imports_next_to_nothing(workers: Workers, server: Server) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "worker", "health"],
        env=workers.environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 1
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "worker.health" in imported
    assert not imported & {"redis", "rq", "click", "rich", "ijson", "asyncio", "logging"}


# Clocks and cores


def test_a_reader_whose_clock_is_wrong_sees_the_workers(workers: Workers, server: Server) -> None:
    client = server.client()
    workers.start()
    until(lambda: read_workers(client, workers.settings), "the worker registers")
    wrong = """
import sys, time, datetime
real = datetime.datetime
class Wrong(real):
    @classmethod
    def now(cls, tz=None):
        return super().now(tz) + datetime.timedelta(seconds=float(sys.argv[1]))
datetime.datetime = Wrong
time.time = lambda: real.now().timestamp() + float(sys.argv[1])
from worker import health, settings
from worker.state import status
found = settings.Settings.from_environment()
print(len(status.read_workers(found.connect(), found)), health.is_alive(found))
"""
    for seconds in ("60", "-60", "0"):
        seen = subprocess.run(
            [sys.executable, "-c", wrong, seconds],
            env=workers.environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        assert (seen.stdout, seen.stderr) == ("1 True\n", "")


@pytest.mark.slow
def test_a_job_has_no_more_processes_than_there_are_cores(tmp_path: Path) -> None:
    path = batches.write_long(tmp_path / "long.json", 300)
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"from worker.jobs import select_batch; select_batch({str(path)!r})",
        ],
        env={**os.environ, "SELECTION_JOBS": "40"},
    )
    most = 0
    with killed_after(process):
        while process.poll() is None:
            most = max(most, len(children(process.pid)))
            time.sleep(0.01)
    assert process.returncode == 0
    assert most <= usable_cores()
    assert verify_files(str(path), str(tmp_path / "long_selected.json")).articles == 300
