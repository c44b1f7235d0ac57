"""Batches in Azure Blob Storage, on Azurite; what all stores share is in test_object_store.py."""

from __future__ import annotations

import base64
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
from tests.support.azure_server import AzureServer, running_azure_server
from tests.support.command import run
from tests.support.queue_server import Server, Workers
from worker import enqueue


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AzureServer]:
    with running_azure_server(tmp_path_factory.mktemp("azurite")) as store:
        yield store


@pytest.fixture
def azure(running: AzureServer, monkeypatch: pytest.MonkeyPatch) -> AzureServer:
    """Return a store without blobs that the environment names."""
    for key in running.names():
        running.request("DELETE", f"{running.container}/{key}")
    for name, value in running.environment().items():
        monkeypatch.setenv(name, value)
    return running


@pytest.mark.parametrize("size", [1000, RANGE + PART])
def test_a_batch_is_read_in_ranges_and_written_in_blocks(
    azure: AzureServer, tmp_path: Path, size: int
) -> None:
    article = batches.picks_newspaper4k(padding="x" * size)
    content = json.dumps({"articles": [article]}).encode()
    azure.put("in/a.json", content)
    assert select_file("az://box/in/a.json").output == "az://box/in/a_selected.json"
    assert azure.get("in/a_selected.json") == batches.selected(content, tmp_path)
    assert azure.names() == ["in/a.json", "in/a_selected.json"]


def test_the_command_lists_a_folder_and_verifies(azure: AzureServer) -> None:
    content = json.dumps({"articles": [batches.picks_readability()]}).encode()
    for key in ("in/a.json", "in/deep/b.json", "in-other/c.json"):
        azure.put(key, content)
    done = run("run", "az://box/in/", "--recursive", "--output-dir", "az://box/out/", "--json")
    assert done.returncode == 0, done.stderr
    outputs = [json.loads(line)["output"] for line in done.stdout.splitlines()]
    assert outputs == ["az://box/out/a_selected.json", "az://box/out/deep/b_selected.json"]
    assert run("verify", "az://box/in/a.json", outputs[0]).returncode == 0


def test_a_failure_leaves_the_earlier_blob(azure: AzureServer) -> None:
    azure.put("a.json", b'{"articles": [{"padding": "%b"}, }' % (b"x" * (2 * PART)))
    azure.put("b.json", b"before")
    with pytest.raises(InvalidJsonError):
        select_file("az://box/a.json", "az://box/b.json")
    assert azure.get("b.json") == b"before"
    assert azure.names() == ["a.json", "b.json"]


def test_a_blob_that_is_replaced_while_it_is_read_is_an_error(azure: AzureServer) -> None:
    azure.put("a.json", b"a" * (3 * RANGE))
    source = ObjectInput("az://box/a.json")
    assert source.read(1) == b"a"
    azure.put("a.json", b"b" * (3 * RANGE))
    source.seek(2 * RANGE)
    with pytest.raises(InputChangedError):
        source.read(1)


def test_what_does_not_exist_has_an_error_of_its_own(azure: AzureServer) -> None:
    done = run("run", "az://box/none.json")
    assert (done.returncode, "the object does not exist" in done.stderr) == (66, True)
    with pytest.raises(InputBucketMissingError):
        select_file("az://nobox/a.json")
    azure.put("a.json", b'{"articles": []}')
    done = run("run", "az://box/a.json", "-o", "az://nobox/a.json")
    assert (done.returncode, "the bucket to write to does not exist" in done.stderr) == (73, True)


@pytest.mark.parametrize(
    ("batch", "output"),
    [("az://box/a.json", "b.json"), ("az://box/", "out/"), ("a.json", "az://box/b.json")],
)
def test_a_wrong_key_is_an_error_of_the_credentials(
    azure: AzureServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: str, output: str
) -> None:
    azure.put("a.json", b'{"articles": []}')
    (tmp_path / "a.json").write_bytes(b'{"articles": []}')
    monkeypatch.chdir(tmp_path)
    wrong = base64.b64encode(b"the key of another account").decode()
    done = run("run", batch, "-o", output, AZURE_STORAGE_ACCOUNT_KEY=wrong)
    assert (done.returncode, done.stdout) == (77, "")
    assert "the object store refuses the credentials (403 Authorization" in done.stderr
    assert wrong not in done.stderr
    assert azure.names() == ["a.json"]


def test_a_worker_selects_a_blob(
    azure: AzureServer, server: Server, workers: Workers, tmp_path: Path
) -> None:
    content = json.dumps({"articles": [batches.picks_newspaper4k()]}).encode()
    azure.put("a.json", content)
    job = enqueue("az://box/a.json", connection=server.client(), settings=workers.settings)
    workers.start("--burst", **os.environ).wait(60)
    assert job.get_status(refresh=True) == "finished"
    assert azure.get("a_selected.json") == batches.selected(content, tmp_path)
