"""Operating the queue: addresses, doctor, health, status, watch, cancel, pause, force."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from rich.console import Console
from rq import Queue
from rq.job import Job
from rq.serializers import JSONSerializer

import worker
from tests.support import batches
from tests.support.command import run_worker
from tests.support.process import line_with, until
from tests.support.queue_server import Events, Server, Workers, children
from worker import health
from worker.address import AddressError, find_address, parse_url
from worker.cli import tables
from worker.processes import identity, is_running
from worker.settings import Settings, SettingsError
from worker.state.job_state import JobState
from worker.state.registrations import WorkerRegistration, registration_fields
from worker.state.status import JobStatus, newest_jobs, read_backlog, read_jobs, read_workers

FUNCTION = "worker.jobs.select_batch"


def run(
    workers: Workers, *arguments: str | Path, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    return run_worker({**workers.environment, **environment}, *arguments, cwd=cwd)


@pytest.fixture
def client(server: Server) -> Redis:
    return server.client()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return batches.write(tmp_path / "a.json", [batches.picks_newspaper4k()])


def enqueue(path: Path, workers: Workers, client: Redis) -> str:
    return worker.enqueue(path, connection=client, settings=workers.settings).id


def findings(workers: Workers, **environment: str) -> dict[str, dict[str, str]]:
    """Run doctor and return its results by subject."""
    done = run(workers, "doctor", "--json", cwd=None, **environment)
    assert "Traceback" not in done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == any(line["verdict"] == "error" for line in lines)
    return {line["subject"]: line for line in lines}


# Addresses


@pytest.mark.parametrize(
    "url",
    [
        "localhost:6379",
        "s3cr",
        "http://:s3cr@localhost",
        " redis://:s3cr@localhost",
        "redis://:s3cr@localhost ",
        "redis://:s3cr @localhost",
        "redis://:s3cr#et@localhost:6379/0",
        "redis://:s3cr/et@localhost:6379/0",
        "redis://:s3cr?et@localhost:6379/0",
        "redis://:s3cr[et@localhost:6379/0",
        "redis://:123/s3cr@localhost",
        "redis://:s3cr@localhost:port/0",
        "redis://:s3cr@localhost:99999/0",
        "redis://:s3cr@localhost:0/0",
        "redis://:s3cr@localhost:6379/abc",
        "redis://:s3cr@localhost:6379/0/1",
        "redis://:s3cr@localhost?db=x",
        "redis://:s3cr@localhost?s3cr=1",
        "redis://:s3cr@localhost?decode_responses=true",
        "redis://:s3cr@localhost?protocol=9",
        "redis://:s3cr@localhost?socket_timeout=s3cr",
        "rediss://:s3cr@localhost?ssl_cert_reqs=s3cr",
        "redis://:s3cr@..:6379",
        "redis://:s3cr@ho%00st",
        "redis://[::1",
        "unix://",
        "unix:///a%00b",
    ],
)
def test_a_malformed_address_is_refused_without_any_part_of_it(url: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings(redis_url=url).connect()
    assert "s3cr" not in str(caught.value)


def test_a_valid_address_is_parsed() -> None:
    address = parse_url("X", "redis://me:p%2Fa%23%40@h:1/2")
    found = (address.username, address.password, address.host, address.port, address.db)
    assert found == ("me", "p/a#@", "h", 1, 2)
    assert "p/a" not in repr(address)
    assert parse_url("X", "unix:///tmp/s?db=3").socket == "/tmp/s"
    assert parse_url("X", "redis://[::1]:7").host == "::1"
    assert find_address(None, {"REDIS_HOST": "h", "REDIS_PORT": "7"}).port == 7


def test_the_port_that_kubernetes_sets_is_explained() -> None:
    with pytest.raises(AddressError, match="Kubernetes"):
        find_address(None, {"REDIS_PORT": "tcp://10.0.0.1:6379"})


@pytest.mark.parametrize("command", ["status", "doctor", "health", "watch", "metrics"])
def test_a_wrong_address_is_wrong_usage_in_every_command(workers: Workers, command: str) -> None:
    done = run(workers, command, RQ_REDIS_URL="redis://:s3cr#et@localhost:6379/0")
    assert done.returncode == 2
    assert "RQ_REDIS_URL is malformed" in done.stderr
    assert "s3cr" not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_a_configuration_in_the_working_directory_is_found(
    tmp_path: Path, workers: Workers, server: Server
) -> None:
    (tmp_path / "mine.py").write_text(f"REDIS_URL = {server.url!r}\n")
    environment = {"RQ_REDIS_URL": "", "RQ_CONFIG": "mine"}
    assert run(workers, "status", cwd=tmp_path, **environment).returncode == 0
    (tmp_path / "mine.py").write_text("REDIS_URL = 'redis://:s3cr#et@h'\n")
    wrong = run(workers, "status", cwd=tmp_path, **environment)
    assert (wrong.returncode, "s3cr" in wrong.stderr) == (2, False)
    (tmp_path / "mine.py").write_text("raise OSError('s3cr')\n")
    broken = run(workers, "status", cwd=tmp_path, **environment)
    assert (broken.returncode, "s3cr" in broken.stderr) == (2, False)


# status


def test_status_shows_the_newest_first_with_a_limit_and_by_state(
    tmp_path: Path, workers: Workers, client: Redis
) -> None:
    names = [f"{number}.json" for number in range(5)]
    for name in names:
        enqueue(batches.write(tmp_path / name, []), workers, client)
    (tmp_path / "bad.json").write_text("[]")
    enqueue(tmp_path / "bad.json", workers, client)
    first = run(workers, "status", "--json", "--limit", "3")
    shown = [Path(json.loads(line)["path"]).name for line in first.stdout.splitlines()]
    assert shown == ["bad.json", "4.json", "3.json"]
    everything = run(workers, "status", "--json", "--limit", "0")
    assert len(everything.stdout.splitlines()) == 6
    workers.start("--burst").wait(60)
    failed = run(workers, "status", "--failed", "--json")
    assert [json.loads(line)["state"] for line in failed.stdout.splitlines()] == ["failed"]
    finished = run(workers, "status", "--state", "finished", "--json")
    assert len(finished.stdout.splitlines()) == 5
    assert "failed 1   finished 5" in run(workers, "status").stdout


def test_jobs_that_others_enqueued_are_shown_as_what_they_are(
    path: Path, workers: Workers, client: Redis
) -> None:
    queue = Queue("selection", connection=client, serializer=JSONSerializer)
    waiting = queue.enqueue(FUNCTION, str(path))
    later = queue.enqueue_in(timedelta(hours=1), FUNCTION, path=str(path))
    after = queue.enqueue(FUNCTION, str(path), depends_on=waiting)
    found = {batch.id: batch for batch in newest_jobs(client, workers.settings)}
    assert {job: batch.state for job, batch in found.items()} == {
        waiting.id: JobState.QUEUED,
        later.id: JobState.SCHEDULED,
        after.id: JobState.DEFERRED,
    }
    assert all(batch.path == str(path) for batch in found.values())


def test_a_job_between_the_queue_and_a_worker_is_shown(
    path: Path, workers: Workers, client: Redis
) -> None:
    job = enqueue(path, workers, client)
    client.lmove("rq:queue:selection", "rq:queue:selection:intermediate")
    assert [batch.id for batch in newest_jobs(client, workers.settings)] == [job]


def test_the_rate_is_that_of_the_latest_events(workers: Workers, client: Redis) -> None:
    (seconds, _) = client.time()
    # 11 jobs in 50 seconds, the last of them just now: 10 intervals of 5 seconds.
    for number in range(11):
        when = f"{(seconds - 50 + 5 * number) * 1000}-1"
        client.xadd("selection:events", {"event": "finished"}, id=when)
    backlog = read_backlog(client, workers.settings)
    assert backlog.rate == pytest.approx(0.2, abs=0.01)
    backlog = replace(backlog, counts={**backlog.counts, JobState.QUEUED: 10}, rate=0.2)
    assert backlog.seconds_left == 50


# cancel, pause, resume, force


def test_cancel_removes_what_waits_and_stops_what_runs(
    tmp_path: Path, path: Path, workers: Workers, client: Redis, events: Events
) -> None:
    long = batches.write_long(tmp_path / "long.json", 4000)
    running, waiting = (enqueue(name, workers, client) for name in (long, path))
    workers.start()
    events.wait_for(running, "started")
    assert run(workers, "cancel", waiting).stdout == f"{waiting}\n"
    events.wait_for(waiting, "canceled")
    assert run(workers, "cancel", running).returncode == 0
    until(
        lambda: read_jobs(client, workers.settings, [running])[0].state is JobState.STOPPED,
        "the running job is stopped",
    )
    again = run(workers, "cancel", running, waiting)
    assert again.returncode == 66
    assert "the job is stopped already" in again.stderr
    assert "the job does not exist" in again.stderr
    assert not (tmp_path / "a_selected.json").exists()


def test_pause_stops_workers_from_taking_jobs_and_resume_ends_it(
    path: Path, workers: Workers, client: Redis, events: Events
) -> None:
    assert run(workers, "pause").returncode == 0
    assert "paused" in run(workers, "status").stdout
    assert findings(workers)["pause"]["verdict"] == "error"
    job = enqueue(path, workers, client)
    workers.start("--burst").wait(60)
    assert read_jobs(client, workers.settings, [job])[0].state is JobState.QUEUED
    assert run(workers, "resume").stdout == "resumed\n"
    assert run(workers, "resume").stdout == "was not paused\n"
    workers.start("--burst").wait(60)
    events.wait_for(job, "finished")


def test_force_selects_a_file_again_that_looks_unchanged(
    path: Path, workers: Workers, client: Redis
) -> None:
    job = enqueue(path, workers, client)
    workers.start("--burst").wait(60)
    same = run(workers, "enqueue", path, "--json")
    assert json.loads(same.stdout)["state"] == "finished"
    forced = json.loads(run(workers, "enqueue", path, "--force", "--json").stdout)
    assert (forced["job"], forced["state"]) == (job, "queued")


def test_waiting_survives_an_outage_of_the_server(
    path: Path, workers: Workers, server: Server
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "worker", "enqueue", str(path), "--wait"],
        env=workers.environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    line_with("queued", process.stderr, process)
    server.kill()
    line_with("waiting", process.stderr, process)
    server.start()
    workers.start("--burst").wait(60)
    process.communicate(timeout=60)
    assert process.returncode == 0


# doctor


def test_doctor_finds_a_server_that_takes_no_jobs(workers: Workers, client: Redis) -> None:
    client.config_set("maxmemory", "1")
    assert "memory is full" in findings(workers)["writing"]["message"]
    client.config_set("maxmemory", "0")
    client.replicaof("localhost", "1")
    assert "read-only replica" in findings(workers)["writing"]["message"]
    client.replicaof("NO", "ONE")
    client.execute_command("ACL", "SETUSER", "default", "resetkeys", "~rq:worker*", "~rq:susp*")  # type: ignore[no-untyped-call]
    assert "ACL forbids" in findings(workers)["writing"]["message"]


def test_doctor_finds_workers_that_differ_from_producers(
    tmp_path: Path, workers: Workers, client: Redis
) -> None:
    workers.start(SELECTION_ROOTS=str(tmp_path))
    until(lambda: read_workers(client, workers.settings), "the worker is registered")
    found = findings(workers)
    assert found["roots"]["message"].startswith(f"SELECTION_ROOTS is {tmp_path} at a worker")
    assert "serializer" not in found
    plain = findings(workers, RQ_WORKER_CLASS="")
    assert "cannot read this producer's pickles" in plain["serializer"]["message"]


def test_doctor_finds_jobs_of_the_wrong_form_and_jobs_that_all_fail(
    tmp_path: Path, path: Path, workers: Workers, client: Redis
) -> None:
    Queue("selection", connection=client).enqueue(FUNCTION, str(path))
    form = findings(workers)["form"]
    assert form["verdict"] == "error"
    assert form["message"].startswith("1 of 1 waiting jobs are pickles, not JSON; producers must")
    assert findings(workers, RQ_WORKER_CLASS="")["form"]["verdict"] == "ok"
    for number in range(3):
        bad = tmp_path / f"bad{number}.json"
        bad.write_text("[]")
        enqueue(bad, workers, client)
    workers.start("--burst").wait(60)
    outcome = findings(workers)["outcomes"]
    assert outcome["verdict"] == "error"
    assert "the last 4 jobs all failed, 3 of them with RootNotObjectError" in outcome["message"]


def test_doctor_finds_an_output_folder_that_cannot_be_written(
    path: Path, workers: Workers, client: Redis
) -> None:
    queue = Queue("selection", connection=client, serializer=JSONSerializer)
    # Not even root makes files there.
    queue.enqueue(FUNCTION, str(path), "/sys/kernel/x.json")
    queue.enqueue(FUNCTION, "a\0b", "\ud800/x")
    found = findings(workers)
    assert found["outputs"]["verdict"] == "error"
    assert found["paths"]["message"] == "not readable from here: a\0b"


# health


def test_health_is_of_a_living_process_and_not_of_a_zombie(workers: Workers) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    ended = os.pidfd_open(process.pid)
    assert select.select([ended], [], [], 60)[0]
    os.close(ended)
    # It has ended, and its parent has not waited for it yet.
    assert not is_running(process.pid)
    assert is_running(os.getpid())
    process.wait(60)
    assert not is_running(process.pid)
    assert not is_running(0)


def test_health_knows_its_own_worker_from_that_of_another_container(
    workers: Workers, client: Redis
) -> None:
    settings = replace(workers.settings, heartbeat=15)
    key = "rq:worker:x"
    fields: dict[Any, Any] = {
        "hostname": socket.gethostname(),
        "pid": os.getpid(),
        "last_heartbeat": "2999-01-01T00:00:00.000000Z",
        **registration_fields(os.getpid(), settings),
    }
    client.sadd("rq:workers:selection", key)
    client.hset(key, mapping=fields)
    assert health.is_alive(settings)
    other = json.loads(fields["selection"]) | {"process": identity(os.getpid()) + "0"}
    client.hset(key, "selection", json.dumps(other))
    assert not health.is_alive(settings)


def test_health_of_a_real_worker(workers: Workers, client: Redis) -> None:
    assert run(workers, "health").returncode == 1
    process = workers.start()
    until(lambda: run(workers, "health").returncode == 0, "the worker is alive")
    process.kill()
    process.wait(60)
    assert run(workers, "health").returncode == 1


def test_the_health_check_imports_neither_rq_nor_the_client_library(workers: Workers) -> None:
    code = (
        "import sys\nsys.argv = ['selection-worker', 'health']\n"
        "from worker.entry import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    print(end.code)\n"
        "print(sorted({'redis', 'rq', 'rich', 'click', 'ijson'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env=workers.environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.splitlines()[-2:] == ["1", "[]"]


def test_a_stock_worker_is_alive_as_long_as_it_is_registered() -> None:
    stock = WorkerRegistration("a", "h", 1, "idle", last_heartbeat=400.0)
    assert stock.is_alive
    assert not replace(stock, heartbeat=15).is_alive
    assert replace(stock, heartbeat=15, last_heartbeat=45.0).is_alive


def test_the_name_of_a_killed_worker_is_free_again_soon(workers: Workers, client: Redis) -> None:
    process = workers.start("--name", "one")
    until(lambda: read_workers(client, workers.settings), "the worker is registered")
    for child in children(process.pid):
        os.kill(child, signal.SIGKILL)
    process.kill()
    process.wait(60)
    client.hset("rq:worker:one", "last_heartbeat", "2026-01-01T00:00:00.000000Z")
    workers.start("--name", "one", "--burst").wait(60)
    assert "There exists an active worker" not in workers.log()


# What is shown


ODD = "/data/\x1b[2J\u202e\n.json"


def test_control_characters_are_escaped_everywhere(workers: Workers, client: Redis) -> None:
    queue = Queue("selection", connection=client, serializer=JSONSerializer)
    meta = {"path": ODD, "worker": ODD, "error": {"type": ODD, "message": ODD}}
    queue.enqueue(FUNCTION, ODD, meta=meta, job_id="x")
    for state, registry in (("started", "wip"), ("failed", "failed"), ("scheduled", "scheduled")):
        job = queue.enqueue(FUNCTION, ODD, meta=meta)
        client.hset(job.key, "status", state)
        client.zadd(f"rq:{registry}:selection", {f"{job.id}:1" if registry == "wip" else job.id: 1})
    for command in (["watch"], ["status"], ["doctor"]):
        done = run(workers, *command)
        assert "Traceback" not in done.stderr
        assert "\x1b" not in done.stdout
        assert "\u202e" not in done.stdout
        assert r"\x1b" in done.stdout


def test_an_error_has_its_line_and_column() -> None:
    error = {"type": "E", "message": "m", "byte": 5, "line": 2, "column": 3}
    assert tables.outcome_text(JobStatus(id="j", state=JobState.FAILED, error=error)) == (
        "E: m (line 2 column 3, byte 5)"
    )


@pytest.mark.parametrize("width", [80, 100, 160])
def test_tables_fit_the_terminal_and_keep_the_end_of_a_path(width: int) -> None:
    console = Console(width=width, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    path = "/data/" + "folder/" * 30 + "end.json"
    error = {"type": "RootNotObjectError", "message": "the root is not an object", "byte": 5}
    batch = JobStatus(
        id="selection-" + "0" * 32, state=JobState.FAILED, path=path, attempt=1, error=error
    )
    console.print(tables.JobTable([batch]))
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= width
    assert any("end.json" in line for line in lines)
    assert any("selection-" + "0" * 32 in line for line in lines)
    console.file.close()


@contextmanager
def terminal(workers: Workers, *arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Run a command on a terminal of 80 columns and 24 lines."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "worker", *arguments],
        env={**workers.environment, "TERM": "xterm", "COLUMNS": "80", "LINES": "24"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    try:
        yield process, ours
    finally:
        process.kill()
        process.wait(60)
        os.close(ours)


def read_until(terminal: int, text: bytes) -> None:
    seen = b""
    while text not in seen:
        assert select.select([terminal], [], [], 30)[0], seen
        seen += os.read(terminal, 65536)


def test_watch_scrolls_and_q_ends_it(tmp_path: Path, workers: Workers, client: Redis) -> None:
    for number in range(30):
        bad = tmp_path / f"bad{number}.json"
        bad.write_text("[]")
        enqueue(bad, workers, client)
    workers.start("--burst").wait(90)
    with terminal(workers, "watch", "--interval", "60") as (process, screen):
        read_until(screen, b"lines 1 to 23 of")
        os.write(screen, b"\x1b[B")
        read_until(screen, b"lines 2 to 24 of")
        os.write(screen, b" ")
        read_until(screen, b"lines 14 to 36 of 36")
        os.write(screen, b"q")
        assert process.wait(30) == 0


# local


def test_local_is_not_misled_by_names_in_the_working_directory(
    tmp_path: Path, workers: Workers
) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    for name in ("queue", "redis", "json", "click", "worker", "selection"):
        (folder / f"{name}.py").write_text("raise SystemExit('the wrong module')\n")
    path = batches.write(tmp_path / "a.json", [batches.picks_newspaper4k()])
    done = run(workers, "local", path, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a_selected.json").exists()


def test_a_job_written_for_stock_workers_is_written_anew(
    path: Path, workers: Workers, client: Redis, events: Events
) -> None:
    plain = replace(workers.settings, worker_class=None)
    job = worker.enqueue(path, connection=client, settings=plain).id
    assert enqueue(path, workers, client) == job
    assert Job.fetch(job, connection=client, serializer=JSONSerializer).args == [str(path), None]
    workers.start("--burst").wait(60)
    events.wait_for(job, "finished")
