"""Producers, a real server, real ``rq worker`` processes, real kills: nothing is lost."""

from __future__ import annotations

import inspect
import json
import os
import pickle
import random
import select
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from redis import Redis
from rq import Queue
from rq.job import Job
from rq.serializers import JSONSerializer
from rq.webhook import Webhook

import worker
from selection import SelectionError
from selection.errors import InputForbiddenError, InputMissingError, OutputIsInputError
from selection.verify import verify_files
from tests.support import batches
from tests.support.process import SECONDS, until
from tests.support.queue_server import Events, Server, Workers, children, kill
from worker.cli.wait import wait_for
from worker.jobs import select_batch
from worker.state.job_call import FUNCTION as JOB_FUNCTION
from worker.state.job_call import JobCall
from worker.state.status import JobStatus, read_jobs

FUNCTION = "worker.jobs.select_batch"


@pytest.fixture
def client(server: Server) -> Redis:
    return server.client()


def enqueue(path: Path, workers: Workers, client: Redis, output: Path | None = None) -> str:
    return worker.enqueue(path, output, connection=client, settings=workers.settings).id


def small(path: Path) -> Path:
    return batches.write(
        path,
        [
            batches.picks_newspaper4k(),
            batches.picks_readability(),
            batches.picks_trafilatura(),
        ],
    )


def running(job: str, workers: Workers, client: Redis) -> JobStatus:
    """Wait until the job reports articles and return its state."""
    seen: list[JobStatus] = []

    def has_articles() -> bool:
        seen[:] = read_jobs(client, workers.settings, [job])
        return bool(seen[0].articles)

    until(has_articles, f"{job} has articles")
    return seen[0]


def is_right(path: Path) -> bool:
    """Check that the output is complete and correct and that no other file is left."""
    output = path.with_name(f"{path.stem}_selected.json")
    verify_files(path, output)
    return not [name for name in os.listdir(path.parent) if name.endswith(".tmp")]


# What works


def test_one_file_from_enqueue_to_output(
    tmp_path: Path, workers: Workers, client: Redis, events: Events
) -> None:
    path = small(tmp_path / "batch.json")
    job = enqueue(path, workers, client)
    workers.start()
    summary = json.loads(events.wait_for(job, "finished")["summary"])
    assert summary["articles"] == 3
    assert summary["picks"] == {"newspaper4k": 1, "readability": 1, "trafilatura": 1}
    assert is_right(path)
    assert events.of(job) == ["queued", "started", "finished"]


@pytest.mark.slow
@pytest.mark.parametrize("processes", [2, 4])
def test_200_files_none_lost_none_twice(
    tmp_path: Path, workers: Workers, client: Redis, events: Events, processes: int
) -> None:
    paths = [small(tmp_path / f"{number}.json") for number in range(200)]
    jobs = {enqueue(path, workers, client) for path in paths}
    assert len(jobs) == 200
    for _ in range(processes):
        workers.start()
    events.wait(lambda seen: sum(entry["event"] == "finished" for entry in seen) == 200)
    assert all(events.of(job) == ["queued", "started", "finished"] for job in jobs)
    assert all(is_right(path) for path in paths)
    counters = {k.decode(): int(v) for k, v in client.hgetall("selection:counters").items()}  # type: ignore[union-attr]
    assert counters["jobs:finished"] == 200
    assert counters["articles"] == 600
    assert counters["picks:readability"] == 200


def test_a_job_by_name_runs_under_a_stock_rq_worker(
    tmp_path: Path, workers: Workers, client: Redis, events: Events
) -> None:
    path = small(tmp_path / "batch.json")
    job = Queue("selection", connection=client).enqueue(FUNCTION, str(path))
    workers.start("--burst", RQ_WORKER_CLASS="")
    events.wait_for(job.id, "finished")
    assert is_right(path)


def test_ten_producers_at_once_make_one_run(
    tmp_path: Path, workers: Workers, client: Redis, events: Events
) -> None:
    path = small(tmp_path / "batch.json")
    producer = (
        "import sys, worker\n"
        "settings = worker.Settings.from_environment()\n"
        "connection = settings.connect()\n"
        "connection.blpop('go', 60)\n"
        "print(worker.enqueue(sys.argv[1], connection=connection).id)\n"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", producer, str(path)],
            env=workers.environment,
            stdout=subprocess.PIPE,
        )
        for _ in range(10)
    ]
    client.lpush("go", *range(10))
    ids = {process.communicate(timeout=60)[0] for process in processes}
    assert len(ids) == 1
    workers.start("--burst").wait(60)
    job = ids.pop().decode().strip()
    events.wait_for(job, "finished")
    assert events.of(job) == ["queued", "started", "finished"]


def test_a_changed_file_is_a_new_job_and_another_output_too(
    tmp_path: Path, workers: Workers, client: Redis
) -> None:
    path = small(tmp_path / "batch.json")
    first = enqueue(path, workers, client)
    assert enqueue(path, workers, client) == first
    assert enqueue(path, workers, client, tmp_path / "other.json") != first
    batches.write(path, [])
    assert enqueue(path, workers, client) != first


def test_a_finished_job_is_run_again_only_if_its_output_is_gone(
    tmp_path: Path, workers: Workers, client: Redis, events: Events
) -> None:
    path = small(tmp_path / "batch.json")
    job = enqueue(path, workers, client)
    workers.start("--burst").wait(60)
    assert enqueue(path, workers, client) == job
    (tmp_path / "batch_selected.json").unlink()
    assert enqueue(path, workers, client) == job
    workers.start("--burst").wait(60)
    events.wait_for(job, "finished")
    assert events.of(job) == ["queued", "started", "finished"] * 2
    assert is_right(path)


def test_the_producer_checks_before_it_enqueues(
    tmp_path: Path, workers: Workers, client: Redis
) -> None:
    with pytest.raises(InputMissingError):
        enqueue(tmp_path / "missing.json", workers, client)
    path = small(tmp_path / "batch.json")
    with pytest.raises(OutputIsInputError):
        enqueue(path, workers, client, path)
    workers.environment["SELECTION_ROOTS"] = str(tmp_path / "root")
    with pytest.raises(InputForbiddenError):
        enqueue(path, workers, client)
    assert client.keys("rq:job:*") == []


def test_the_timeout_grows_with_the_file(tmp_path: Path, workers: Workers, client: Redis) -> None:
    path = tmp_path / "batch.json"
    path.write_text('{"articles": []' + " " * 3_000_000 + "}")
    job = Job.fetch(
        enqueue(path, workers, client), connection=client, serializer=workers.settings.serializer
    )
    # 120 seconds for any job and 1 for each of 3 megabytes.
    assert job.timeout == 123
    assert (job.result_ttl, job.failure_ttl) == (86_400, 604_800)


def test_the_call_of_a_job_is_defined_as_the_function_is() -> None:
    def parameters(function: Callable[..., object]) -> list[tuple[str, object, object]]:
        found = inspect.signature(function).parameters.values()
        return [(each.name, each.kind, each.default) for each in found]

    assert parameters(JobCall) == parameters(select_batch)
    assert f"{select_batch.__module__}.{select_batch.__qualname__}" == JOB_FUNCTION


# Kinds of failures


def test_bad_data_fails_at_once(
    tmp_path: Path, workers: Workers, client: Redis, events: Events
) -> None:
    path = tmp_path / "bad.json"
    path.write_text('{"articles": [\n{"a": NaN}]}')
    job = enqueue(path, workers, client)
    workers.start("--burst").wait(60)
    error = json.loads(events.wait_for(job, "failed")["error"])
    assert events.of(job) == ["queued", "started", "failed"]
    # Line 2 is {"a": NaN, six characters before the N; line 1 has 15 bytes with its end.
    place = {name: error[name] for name in ("byte", "line", "column", "article")}
    assert place == {"byte": 21, "line": 2, "column": 7, "article": 0}
    assert error["type"] == "NotANumberError"
    assert error["retryable"] is False
    [batch] = wait_for(client, workers.settings, [job])
    assert batch.state == "failed"
    assert batch.error == error
    assert "Traceback" not in workers.log()
    assert os.listdir(tmp_path) == ["bad.json"]


@pytest.mark.slow
def test_a_missing_file_is_tried_four_times_with_growing_delay(
    tmp_path: Path, workers: Workers, client: Redis, events: Events
) -> None:
    path = small(tmp_path / "batch.json")
    workers.environment["SELECTION_RETRY_DELAYS"] = "1,1,2"
    job = enqueue(path, workers, client)
    path.unlink()
    workers.start()
    events.wait_for(job, "failed")
    assert events.of(job) == ["queued", *["started", "retrying"] * 3, "started", "failed"]
    assert [e["delay"] for e in events.seen if e["event"] == "retrying"] == ["1", "1", "2"]


def test_a_file_that_comes_late_is_selected_on_the_next_try(
    tmp_path: Path, workers: Workers, client: Redis, events: Events
) -> None:
    path = small(tmp_path / "batch.json")
    job = enqueue(path, workers, client)
    content = path.read_bytes()
    path.unlink()
    workers.start()
    events.wait_for(job, "retrying")
    path.write_bytes(content)
    events.wait_for(job, "finished")
    assert events.of(job) == ["queued", "started", "retrying", "started", "finished"]
    assert is_right(path)


def test_a_path_outside_the_roots_fails_at_once(
    tmp_path: Path, workers: Workers, client: Redis, events: Events
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    outside = small(tmp_path / "outside.json")
    (root / "link.json").symlink_to(outside)
    inside = small(root / "inside.json")
    queue = Queue("selection", connection=client, serializer=JSONSerializer)
    refused = [
        queue.enqueue(FUNCTION, str(outside)),
        queue.enqueue(FUNCTION, str(root / "link.json")),
        queue.enqueue(FUNCTION, str(root / ".." / "outside.json")),
        queue.enqueue(FUNCTION, str(inside), str(tmp_path / "stolen.json")),
    ]
    allowed = queue.enqueue(FUNCTION, str(inside))
    workers.start("--burst", SELECTION_ROOTS=str(root)).wait(60)
    events.wait_for(allowed.id, "finished")
    kinds = [json.loads(events.wait_for(job.id, "failed")["error"])["type"] for job in refused]
    assert kinds == ["InputForbiddenError"] * 3 + ["OutputForbiddenError"]
    assert all(events.of(job.id) == ["started", "failed"] for job in refused)
    assert sorted(os.listdir(tmp_path)) == ["outside.json", "root"]


def test_a_job_that_takes_too_long_is_tried_again_and_leaves_nothing(
    tmp_path: Path, workers: Workers, client: Redis, events: Events
) -> None:
    path = batches.write_long(tmp_path / "long.json", 4000)
    workers.environment |= {
        "SELECTION_TIMEOUT": "1",
        "SELECTION_TIMEOUT_PER_MB": "0.0001",
        "SELECTION_RETRY_DELAYS": "0",
    }
    job = enqueue(path, workers, client)
    workers.start()
    error = json.loads(events.wait_for(job, "failed")["error"])
    assert error["type"] == "JobTimeoutException"
    assert events.of(job) == ["queued", "started", "retrying", "started", "failed"]
    assert os.listdir(tmp_path) == ["long.json"]


def test_a_full_disk_is_tried_again_and_leaves_nothing(
    tmp_path: Path, workers: Workers, client: Redis, events: Events
) -> None:
    path = batches.write_long(tmp_path / "long.json", 50)
    workers.environment["SELECTION_RETRY_DELAYS"] = "0"
    job = enqueue(path, workers, client)
    # A limit on the size of files, for this worker and the processes of its jobs.
    limited = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
        "from rq.cli import main\n"
        "main(['worker', 'selection', '--burst'])\n"
    )
    subprocess.run(
        [sys.executable, "-c", limited], env=workers.environment, timeout=60, capture_output=True
    )
    assert json.loads(events.wait_for(job, "retrying")["error"])["type"] == "WriteError"
    assert json.loads(events.wait_for(job, "failed")["error"])["retryable"] is True
    assert os.listdir(tmp_path) == ["long.json"]


def test_an_output_folder_that_cannot_be_written_is_final(
    tmp_path: Path, workers: Workers, client: Redis, events: Events
) -> None:
    path = small(tmp_path / "batch.json")
    # Root can write to every folder except those in /proc.
    job = enqueue(path, workers, client, Path("/proc/selected.json"))
    workers.start("--burst").wait(60)
    [batch] = wait_for(client, workers.settings, [job])
    assert batch.error is not None
    assert batch.error["type"] in ("OutputError", "OutputFolderMissingError")
    assert os.listdir(tmp_path) == ["batch.json"]


def test_a_malformed_call_fails_without_a_retry(
    tmp_path: Path, workers: Workers, client: Redis, events: Events
) -> None:
    path = small(tmp_path / "batch.json")
    queue = Queue("selection", connection=client, serializer=JSONSerializer)
    wrong = [
        queue.enqueue(FUNCTION),
        queue.enqueue(FUNCTION, None),
        queue.enqueue(FUNCTION, str(path), None, "more"),
        queue.enqueue(FUNCTION, str(path), colour="blue"),
        queue.enqueue(FUNCTION, "/" + "x" * 5000),
        queue.enqueue(FUNCTION, "a\0b"),
        queue.enqueue(FUNCTION, "\ud800"),
    ]
    right = queue.enqueue(FUNCTION, path=str(path), meta={"attempt": "mine", "order": 66})
    workers.start("--burst").wait(60)
    events.wait_for(right.id, "finished")
    assert set(queue.failed_job_registry.get_job_ids()) == {job.id for job in wrong}
    assert not any(entry["event"] == "retrying" for entry in events.seen)
    right = Job.fetch(right.id, connection=client, serializer=JSONSerializer)
    assert right.meta["order"] == 66
    assert right.meta["attempt"] == 1
    assert is_right(path)


# Kills


@pytest.mark.slow
def test_a_killed_process_or_worker_at_any_moment_loses_nothing(
    tmp_path: Path, workers: Workers, client: Redis, events: Events
) -> None:
    path = batches.write_long(tmp_path / "long.json", 1200)
    workers.environment["SELECTION_RETRY_DELAYS"] = ",".join("0" * 20)
    job = enqueue(path, workers, client)
    randomness = random.Random(2)
    for whole_worker in (False, True, False, True, False):
        process = workers.start()
        events.wait_for_start(job, 1 + events.of(job).count("started"))
        # At a random moment of the run: after a number of reads of its progress.
        for _ in range(randomness.randrange(40)):
            client.hget(f"rq:job:{job}", "meta")
        victims = children(process.pid)
        if whole_worker:
            kill(process.pid)
        for victim in victims:
            kill(victim)
        kill(process.pid)
        process.wait(SECONDS)
    workers.start()
    events.wait_for(job, "finished", seconds=90)
    assert is_right(path)
    assert sorted(os.listdir(tmp_path)) == ["long.json", "long_selected.json"]


def test_a_worker_that_is_killed_while_it_looks_for_abandoned_jobs_stops_others_for_a_minute(
    workers: Workers, client: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RQ_REDIS_URL", workers.environment["RQ_REDIS_URL"])
    killed, other = (worker.SelectionWorker(["selection"], connection=client) for _ in range(2))
    assert killed.queues[0].acquire_maintenance_lock()
    assert not other.queues[0].acquire_maintenance_lock()
    key = killed.queues[0].registry_cleaning_key
    assert 0 < client.ttl(key) <= 60
    client.delete(key)
    assert other.queues[0].acquire_maintenance_lock()


def test_what_is_known_of_a_killed_worker_ends_though_its_key_came_back_without_a_lifetime(
    workers: Workers, client: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RQ_REDIS_URL", workers.environment["RQ_REDIS_URL"])
    killed, other = (worker.SelectionWorker(["selection"], connection=client) for _ in range(2))
    client.sadd("rq:workers", killed.key)
    # Its key has expired while the server was out of reach; it says what it does, and is killed.
    killed.set_state("busy")
    assert client.ttl(killed.key) == -1
    other.run_maintenance_tasks()
    # RQ's lifetime of a worker that is silent, and a minute.
    assert 0 < client.ttl(killed.key) <= 480


def test_a_batch_that_always_kills_its_process_fails_with_a_reason(
    tmp_path: Path, workers: Workers, client: Redis, events: Events
) -> None:
    path = batches.write_long(tmp_path / "long.json", 1200)
    workers.environment["SELECTION_RETRY_DELAYS"] = "0,0"
    job = enqueue(path, workers, client)
    process = workers.start()
    for run in range(1, 4):
        events.wait_for_start(job, run)
        [horse] = [pid for pid in children(process.pid) if _runs_job(pid)]
        kill(horse)
    error = json.loads(events.wait_for(job, "failed")["error"])
    assert error["type"] == "WorkerKilledError"
    assert "-9" in error["message"]
    assert events.of(job) == ["queued", *["started", "retrying"] * 2, "started", "failed"]
    [batch] = wait_for(client, workers.settings, [job])
    assert batch.state == "failed"
    assert batch.error == error


def test_the_pool_ends_with_the_process_that_runs_the_batch(
    tmp_path: Path, workers: Workers, client: Redis, events: Events
) -> None:
    path = batches.write_long(tmp_path / "long.json", 1200)
    workers.environment |= {"SELECTION_JOBS": "2", "SELECTION_RETRY_DELAYS": "0"}
    job = enqueue(path, workers, client)
    process = workers.start()
    events.wait_for_start(job, 1)
    [horse] = [pid for pid in children(process.pid) if _runs_job(pid)]
    until(lambda: len(children(horse)) == 1, "a worker process of the pool runs", process)
    ends = [os.pidfd_open(child) for child in children(horse)]
    os.kill(horse, signal.SIGKILL)
    for end in ends:
        # Readable when the process has ended.
        assert select.select([end], [], [], 60)[0]
        os.close(end)
    events.wait_for(job, "finished")
    assert is_right(path)


def _runs_job(pid: int) -> bool:
    """Whether a worker's child is its work-horse and not its scheduler."""
    # A work-horse leads a process group of its own; the scheduler is in its parent's.
    return os.getpgid(pid) == pid


@pytest.mark.slow
def test_the_server_is_killed_and_restarted_while_jobs_run_and_wait(
    tmp_path: Path, server: Server, workers: Workers, client: Redis, events: Events
) -> None:
    long = batches.write_long(tmp_path / "long.json", 600)
    paths = [long, *(small(tmp_path / f"{number}.json") for number in range(5))]
    jobs = [enqueue(path, workers, client) for path in paths]
    workers.start()
    workers.start()
    events.wait_for(jobs[0], "started")
    server.kill()
    server.start()
    again = Events(server.client())
    for job in jobs:
        again.wait_for(job, "finished", seconds=90)
    assert all(is_right(path) for path in paths)


@pytest.mark.slow
def test_a_server_that_is_gone_never_fails_the_selection(
    tmp_path: Path, server: Server, workers: Workers, client: Redis, events: Events
) -> None:
    path = batches.write_long(tmp_path / "long.json", 600)
    job = enqueue(path, workers, client)
    workers.start()
    running(job, workers, client)
    server.signal(signal.SIGSTOP)
    output = tmp_path / "long_selected.json"
    until(output.exists, "the output is there")
    server.signal(signal.SIGCONT)
    events.wait_for(job, "finished")
    assert events.of(job) == ["queued", "started", "finished"]
    assert is_right(path)


# Shutdown


@pytest.mark.slow
def test_a_stopped_worker_finishes_its_batch_in_the_grace_period(
    tmp_path: Path, workers: Workers, client: Redis, events: Events
) -> None:
    path = batches.write_long(tmp_path / "long.json", 300)
    job = enqueue(path, workers, client)
    process = workers.start()
    events.wait_for(job, "started")
    process.terminate()
    assert process.wait(60) == 0
    events.wait_for(job, "finished")
    assert is_right(path)


@pytest.mark.slow
def test_a_stopped_worker_requeues_a_long_batch(
    tmp_path: Path, workers: Workers, client: Redis, events: Events
) -> None:
    path = batches.write_long(tmp_path / "long.json", 1200)
    job = enqueue(path, workers, client)
    process = workers.start(SELECTION_GRACE="0")
    events.wait_for(job, "started")
    process.terminate()
    assert process.wait(60) == 0
    events.wait_for(job, "handed_back")
    assert os.listdir(tmp_path) == ["long.json"]
    assert Queue("selection", connection=client).get_job_ids() == [job]
    [batch] = read_jobs(client, workers.settings, [job])
    assert (batch.state, batch.error) == ("queued", None)
    workers.start()
    events.wait_for(job, "finished")
    assert events.of(job) == ["queued", "started", "handed_back", "started", "finished"]
    assert is_right(path)


# Status


@pytest.mark.slow
def test_a_running_job_reports_its_progress(
    tmp_path: Path, workers: Workers, client: Redis, events: Events
) -> None:
    path = batches.write_long(tmp_path / "long.json", 2000)
    job = enqueue(path, workers, client)
    workers.start()
    batch = running(job, workers, client)
    started = events.wait_for(job, "started")
    assert batch.state == "started"
    assert batch.bytes_total == path.stat().st_size
    assert 0 < batch.bytes_done < batch.bytes_total
    assert 0 < batch.articles < 2000
    assert batch.picks is not None
    assert sum(batch.picks.values()) == batch.articles
    assert batch.worker == started["worker"]
    assert batch.attempt == 1
    [batch] = wait_for(client, workers.settings, [job])
    assert batch.articles == 2000
    assert batch.bytes_done == batch.bytes_total


def test_the_stream_is_capped(tmp_path: Path, workers: Workers, client: Redis) -> None:
    workers.environment["SELECTION_EVENTS"] = "100"
    path = small(tmp_path / "batch.json")
    for number in range(400):
        enqueue(path, workers, client, tmp_path / f"{number}.json")
    # The cap is approximate: the server drops whole nodes of 100 entries.
    assert int(client.xlen("selection:events")) <= 200


# Security


class Boom:
    """Unpickling this would write a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (str(self._path), "w")


def test_forged_jobs_are_refused_and_the_worker_lives_on(
    tmp_path: Path, workers: Workers, client: Redis, events: Events
) -> None:
    proof = tmp_path / "proof"
    path = small(tmp_path / "batch.json")
    queue = Queue("selection", connection=client, serializer=JSONSerializer)
    pickled = Queue("selection", connection=client).enqueue(FUNCTION, str(path))
    client.hset(f"rq:job:{pickled.id}", "data", pickle.dumps(Boom(proof)))
    client.hset(f"rq:job:{pickled.id}", "meta", pickle.dumps(Boom(proof)))
    client.hdel(f"rq:job:{pickled.id}", "description")
    other = queue.enqueue("os.system", f"touch {proof}")
    callback = queue.enqueue(FUNCTION, str(path))
    client.hset(f"rq:job:{callback.id}", "success_callback_name", "os.system")
    hook = Webhook("http://127.0.0.1:9/", "finished")
    webhook = queue.enqueue(FUNCTION, str(path), webhooks=[hook])
    strange = queue.enqueue(FUNCTION, str(path), {"not": "a path"})
    good = enqueue(path, workers, client)

    process = workers.start()
    events.wait_for(good, "finished")
    assert process.poll() is None
    assert not proof.exists()
    refused = [pickled.id, other.id, callback.id, webhook.id, strange.id]
    assert set(queue.failed_job_registry.get_job_ids()) == set(refused)
    log = workers.log()
    assert log.count("job refused") == 5
    assert all(job in log for job in refused)
    for job in refused:
        error = json.loads(events.wait_for(job, "failed")["error"])
        assert (error["type"], error["retryable"]) == ("JobRefusedError", False)
    assert Counter(entry["job"] for entry in events.seen) == {good: 3} | dict.fromkeys(refused, 1)


def test_a_forged_job_does_not_pass_for_the_producers(
    tmp_path: Path, workers: Workers, client: Redis
) -> None:
    path = small(tmp_path / "batch.json")
    job = enqueue(path, workers, client)
    data = client.hget(f"rq:job:{job}", "data")
    assert isinstance(data, bytes)
    fetched = Job.fetch(job, connection=client, serializer=JSONSerializer)
    assert (fetched.func_name, fetched.args) == (FUNCTION, [str(path), None])


def test_an_error_that_is_not_the_files_fault_is_a_selection_error(tmp_path: Path) -> None:
    with pytest.raises(SelectionError):
        worker.enqueue(tmp_path / "missing.json")
