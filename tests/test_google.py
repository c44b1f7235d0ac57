"""Batches in Google Cloud Storage; what all stores share is in test_object_store.py.

The requests are those of Google's XML protocol, which the server of the S3 tests answers, too, if a
proxy replaces their authorization.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from selection import select_file
from selection.errors import InputBucketMissingError, InputChangedError, InvalidJsonError
from selection.storage.object_input import RANGE, ObjectInput
from selection.storage.object_output import PART
from tests.support import batches
from tests.support.command import run
from tests.support.object_server import Break, ObjectServer, Proxy, running_proxy
from tests.support.queue_server import Server, Workers
from worker import enqueue


@pytest.fixture
def google(object_server: ObjectServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """Empty the server, and use it as an emulator of Google's."""
    object_server.reset()
    with running_proxy(object_server, signs=True) as started:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{started.port}")
        yield started


@pytest.mark.parametrize("size", [1000, RANGE + PART])
def test_a_batch_is_read_in_ranges_and_written_in_parts(
    google: Proxy, tmp_path: Path, size: int
) -> None:
    article = batches.picks_newspaper4k(padding="x" * size)
    content = json.dumps({"articles": [article]}).encode()
    google.server.put("in/a.json", content)
    assert select_file("gs://bucket/in/a.json").output == "gs://bucket/in/a_selected.json"
    assert google.server.get("in/a_selected.json") == batches.selected(content, tmp_path)
    assert google.server.keys() == ["in/a.json", "in/a_selected.json"]
    assert google.server.uploads() == []
    # Two whole parts of padding, and one of the rest.
    assert google.count("PUT", "uploadId=") == (3 if size > PART else 0)


def test_the_command_lists_a_folder_and_verifies(google: Proxy) -> None:
    content = json.dumps({"articles": [batches.picks_readability()]}).encode()
    for key in ("in/a.json", "in/deep/b.json", "in-other/c.json"):
        google.server.put(key, content)
    done = run(
        "run", "gs://bucket/in/", "--recursive", "--output-dir", "gs://bucket/out/", "--json"
    )
    assert done.returncode == 0, done.stderr
    outputs = [json.loads(line)["output"] for line in done.stdout.splitlines()]
    assert outputs == ["gs://bucket/out/a_selected.json", "gs://bucket/out/deep/b_selected.json"]
    assert run("verify", "gs://bucket/in/a.json", outputs[0]).returncode == 0


@pytest.mark.slow
def test_a_failure_leaves_the_earlier_object(google: Proxy) -> None:
    google.server.put("a.json", b'{"articles": [{"padding": "%b"}, }' % (b"x" * (2 * PART)))
    google.server.put("b.json", b"before")
    with pytest.raises(InvalidJsonError):
        select_file("gs://bucket/a.json", "gs://bucket/b.json")
    assert google.server.get("b.json") == b"before"
    assert google.server.keys() == ["a.json", "b.json"]


def test_an_object_that_is_replaced_while_it_is_read_is_an_error(google: Proxy) -> None:
    google.server.put("a.json", b"a" * (3 * RANGE))
    source = ObjectInput("gs://bucket/a.json")
    assert source.read(1) == b"a"
    google.server.put("a.json", b"b" * (3 * RANGE))
    source.seek(2 * RANGE)
    with pytest.raises(InputChangedError):
        source.read(1)


@pytest.mark.parametrize(
    ("status", "times", "exit_code"), [(401, 20, 77), (403, 20, 66), (429, 3, 0)]
)
def test_refused_credentials_and_permissions_are_final_and_a_limit_is_not(
    google: Proxy, status: int, times: int, exit_code: int
) -> None:
    google.server.put("a.json", b'{"articles": []}')
    google.breaks.append(Break("", "bucket/a", status=status, times=times))
    assert run("run", "gs://bucket/a.json").returncode == exit_code


def test_what_does_not_exist_has_an_error_of_its_own(google: Proxy) -> None:
    assert run("run", "gs://bucket/none.json").returncode == 66
    with pytest.raises(InputBucketMissingError):
        select_file("gs://nobucket/a.json")
    google.server.put("a.json", b'{"articles": []}')
    assert run("run", "gs://bucket/a.json", "-o", "gs://nobucket/a.json").returncode == 73


def test_a_worker_selects_an_object(
    google: Proxy, server: Server, workers: Workers, tmp_path: Path
) -> None:
    content = json.dumps({"articles": [batches.picks_newspaper4k()]}).encode()
    google.server.put("a.json", content)
    job = enqueue("gs://bucket/a.json", connection=server.client(), settings=workers.settings)
    workers.start("--burst", **os.environ).wait(60)
    assert job.get_status(refresh=True) == "finished"
    assert google.server.get("a_selected.json") == batches.selected(content, tmp_path)
