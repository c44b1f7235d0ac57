"""Compressed files, JSON Lines and objects in the queue, with real workers of both classes."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from rq import Queue
from rq.serializers import JSONSerializer

from selection import errors, select_file
from selection.errors import InputForbiddenError
from tests.support.command import run
from tests.support.object_server import KEY_ID, SECRET, Break, ObjectServer, Proxy
from tests.support.process import SECONDS
from tests.support.queue_server import Server, Workers
from worker import enqueue

LINE = b'{"id": "1", "newspaper4k": {"text": "a b c d e f"}}\n'
PICKED_LINE = LINE[:-2] + b', "selected_extractor": "newspaper4k"}\n'
BATCH = b'{"articles": [' + LINE.rstrip() + b"]}"
PICKED = b'{"articles": [' + PICKED_LINE.rstrip() + b"]}"

#: Names with their bytes, and the names of their outputs with theirs, decompressed.
INPUTS = {
    "a.json": BATCH,
    "b.json.gz": gzip.compress(BATCH),
    "c.jsonl": LINE,
    "d.jsonl.gz": gzip.compress(LINE),
    "e.json": gzip.compress(BATCH),
}
OUTPUTS = {
    "a_selected.json": PICKED,
    "b_selected.json.gz": PICKED,
    "c_selected.jsonl": PICKED_LINE,
    "d_selected.jsonl.gz": PICKED_LINE,
    "e_selected.json": PICKED,
}
FUNCTION = "worker.jobs.select_batch"
Place = tuple[str, Callable[[str], bytes]]


@pytest.fixture
def client(server: Server) -> Redis:
    return server.client()


def decompressed(data: bytes) -> bytes:
    return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data


def worker_command(workers: Workers, *arguments: str) -> list[dict[str, object]]:
    done = subprocess.run(
        [sys.executable, "-m", "worker", *arguments, "--json"],
        capture_output=True,
        text=True,
        env=workers.environment,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(params=["folder", "bucket"])
def place(request: pytest.FixtureRequest, store: ObjectServer, tmp_path: Path) -> Place:
    """Return a folder or an address with the inputs, and what reads an output there."""
    if request.param == "bucket":
        for name, data in INPUTS.items():
            store.put(f"forms/{name}", data)
        return "s3://bucket/forms/", lambda name: store.get(f"forms/{name}")
    for name, data in INPUTS.items():
        (tmp_path / name).write_bytes(data)
    return f"{tmp_path}/", lambda name: (tmp_path / name).read_bytes()


@pytest.mark.parametrize("worker_class", ["worker.SelectionWorker", ""], ids=["ours", "stock"])
def test_every_form_is_a_job_with_one_id_that_is_shown(
    place: Place, worker_class: str, workers: Workers
) -> None:
    root, read = place
    workers.environment |= {"SELECTION_ROOTS": root, "RQ_WORKER_CLASS": worker_class}
    first = worker_command(workers, "enqueue", root)
    assert [job["path"] for job in first] == [root + name for name in INPUTS]
    ids = [job["job"] for job in first]
    assert [job["job"] for job in worker_command(workers, "enqueue", root)] == ids
    assert workers.start("--burst").wait(SECONDS) == 0, workers.log()
    assert {name: decompressed(read(name)) for name in OUTPUTS} == OUTPUTS
    shown = {job["job"]: job for job in worker_command(workers, "status")}
    assert {job["state"] for job in shown.values()} == {"finished"}
    assert {shown[each]["path"]: shown[each]["summary"]["output"] for each in ids} == {  # type: ignore[index]
        root + path: root + output for path, output in zip(INPUTS, OUTPUTS)
    }
    # Finished jobs whose outputs exist are not enqueued again.
    again = worker_command(workers, "enqueue", root)
    assert [(job["job"], job["state"]) for job in again] == [(each, "finished") for each in ids]


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz"])
@pytest.mark.parametrize("worker_class", ["worker.SelectionWorker", ""], ids=["ours", "stock"])
def test_workers_copy_and_count_bad_lines_of_objects_if_they_are_set_to(
    suffix: str, worker_class: str, store: ObjectServer, workers: Workers
) -> None:
    compress = gzip.compress if suffix.endswith(".gz") else bytes
    store.put(f"lines/x{suffix}", compress(LINE + b"[bad\r\n\n" + LINE))
    workers.environment |= {
        "SELECTION_ROOTS": "s3://bucket/lines/",
        "RQ_WORKER_CLASS": worker_class,
    }
    address = f"s3://bucket/lines/x{suffix}"
    worker_command(workers, "enqueue", address)
    assert workers.start("--burst").wait(SECONDS) == 0
    (failed,) = worker_command(workers, "status")
    assert failed["state"] == "failed"
    error: Any = failed["error"]
    # Behind the first line, which has 52 bytes.
    assert (error["type"], error["line"], error["byte"]) == ("LineNotObjectError", 2, 52)
    assert store.keys() == ["in/a.json", f"lines/x{suffix}"]
    worker_command(workers, "enqueue", address)
    assert workers.start("--burst", SELECTION_SKIP_BAD_LINES="1").wait(SECONDS) == 0
    output = store.get(f"lines/x_selected{suffix}")
    assert decompressed(output) == PICKED_LINE + b"[bad\r\n\n" + PICKED_LINE, workers.log()
    (finished,) = worker_command(workers, "status")
    summary: Any = finished["summary"]
    assert (summary["articles"], summary["skipped"]) == (2, 1)


# Each with the requests that the store refuses and its answer, or other variables.
REFUSALS: dict[str, tuple[list[Break], dict[str, str], str, int, str]] = {
    "denied input": (
        [Break(method, "/in/a", 403, "AccessDenied", times=99) for method in ("HEAD", "GET")],
        {},
        "InputDeniedError",
        66,
        "check the permissions",
    ),
    "missing bucket": (
        [Break(method, "/in/a", 404, "NoSuchBucket", times=99) for method in ("HEAD", "GET")],
        {},
        "InputBucketMissingError",
        66,
        "the bucket does not exist",
    ),
    "denied output": (
        [Break("PUT", status=403, code="AccessDenied", times=99)],
        {},
        "OutputDeniedError",
        73,
        "may not be written",
    ),
    "wrong credentials": (
        [Break("", status=403, code="SignatureDoesNotMatch", times=99)],
        {},
        "CredentialsError",
        77,
        "refuses the credentials",
    ),
    "not a URL": (
        [],
        {"AWS_ENDPOINT_URL": f"http://user:{SECRET}@host"},
        "EndpointError",
        68,
        "AWS_ENDPOINT_URL is not the URL",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_of_the_store_ends_a_job_at_once_and_shows_no_secret(
    name: str, proxy: Proxy, workers: Workers, client: Redis
) -> None:
    breaks, variables, kind, exit_code, words = REFUSALS[name]
    proxy.server.put("in/a.json", BATCH)
    enqueue("s3://bucket/in/a.json", connection=client, settings=workers.settings)
    proxy.breaks = [replace(each) for each in breaks]
    # In burst mode a worker does not wait for a retry.
    workers.environment |= proxy.environment
    assert workers.start("--burst", **variables).wait(SECONDS) == 0
    (job,) = worker_command(workers, "status")
    error: Any = job["error"]
    assert (job["state"], error["type"]) == ("failed", kind), error
    assert words in error["message"]
    assert getattr(errors, kind).exit_code == exit_code
    assert proxy.server.keys() == ["in/a.json"]
    stored = b"".join(client.dump(key) or b"" for key in client.scan_iter(count=1000))
    for secret in (SECRET, KEY_ID, "Signature="):
        assert secret not in workers.log()
        assert secret.encode() not in stored
        assert secret not in json.dumps(job)


def test_enqueueing_an_object_reads_none_of_its_bytes(
    proxy: Proxy, workers: Workers, client: Redis
) -> None:
    proxy.server.put("forms/b.json.gz", INPUTS["b.json.gz"])
    enqueue("s3://bucket/forms/b.json.gz", connection=client, settings=workers.settings)
    assert {each.method for each in proxy.seen} == {"HEAD"}


def test_a_run_reads_each_range_once(proxy: Proxy) -> None:
    proxy.server.put("forms/b.json.gz", INPUTS["b.json.gz"])
    select_file("s3://bucket/forms/b.json.gz", jobs=2)
    assert proxy.count("GET", r"b\.json\.gz") == 1


def test_an_object_outside_the_roots_is_not_asked_for_by_a_pool_either(proxy: Proxy) -> None:
    proxy.server.put("forms/a.json", BATCH)
    with pytest.raises(InputForbiddenError):
        select_file("s3://bucket/forms/a.json", roots=("s3://bucket/in/",), jobs=2)
    assert proxy.seen == []


def test_the_timeout_counts_the_megabytes_of_the_decompressed_batch(
    store: ObjectServer, workers: Workers, client: Redis, tmp_path: Path
) -> None:
    settings = replace(workers.settings, timeout=100, timeout_per_mb=10.0)
    # 3 MB, which are taken for 15 MB of JSON: 100 s and 15 times 10 s.
    (tmp_path / "x.json.gz").write_bytes(bytes(3_000_000))
    assert enqueue(tmp_path / "x.json.gz", connection=client, settings=settings).timeout == 250
    (tmp_path / "x.json").write_bytes(bytes(3_000_000))
    assert enqueue(tmp_path / "x.json", connection=client, settings=settings).timeout == 130
    store.put("forms/x.json.zst", bytes(3_000_000))
    job = enqueue("s3://bucket/forms/x.json.zst", connection=client, settings=settings)
    assert job.timeout == 250


def test_a_job_by_name_has_the_timeout_of_its_object(
    store: ObjectServer, workers: Workers, client: Redis
) -> None:
    store.put("forms/b.json.gz", gzip.compress(BATCH) + bytes(2_000_000))
    queue = Queue("selection", connection=client, serializer=JSONSerializer)
    job = queue.enqueue(FUNCTION, "s3://bucket/forms/b.json.gz")
    limits = {"SELECTION_TIMEOUT": "100", "SELECTION_TIMEOUT_PER_MB": "10"}
    assert workers.start("--burst", **limits).wait(SECONDS) == 0
    assert store.get("forms/b_selected.json.gz"), workers.log()
    assert client.hget(job.key, "timeout") == b"200"


def test_objects_of_a_pool_are_each_selected_by_one_process(store: ObjectServer) -> None:
    # Together they are worth a pool, and each alone is not.
    batch = BATCH[:-3] + b', "html": "' + b"x" * 3_000_000 + b'"}]}'
    for number in range(4):
        store.put(f"forms/{number}.json", batch)
    done = run("run", "s3://bucket/forms/", "--jobs", "2", "--json")
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["articles"] for line in done.stdout.splitlines()] == [1, 1, 1, 1]
    assert store.uploads() == []
