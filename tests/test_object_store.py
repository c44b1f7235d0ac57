"""Batches in object storage: addresses, reading, writing, failures, on a real S3 store."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from urllib.parse import unquote

import pytest
from redis import Redis

from selection import select_file
from selection.cli.plan import plan
from selection.errors import (
    CredentialsError,
    EndpointError,
    ExtraMissingError,
    InputBucketMissingError,
    InputChangedError,
    InputDeniedError,
    InputError,
    InputForbiddenError,
    InputNameError,
    InputNotFileError,
    InputObjectMissingError,
    OutputBucketMissingError,
    OutputDeniedError,
    OutputForbiddenError,
    OutputIsInputError,
    OutputNameError,
    ReadError,
    SelectionError,
    WriteError,
)
from selection.storage.address import is_address
from selection.storage.object_address import parse_address
from selection.storage.object_input import RANGE, ObjectInput
from selection.storage.object_output import PART, ObjectOutput
from selection.storage.object_store import Fault, bucket_url, fault_of
from selection.storage.object_uploads import Uploads
from selection.storage.roots import is_address_inside
from tests.support.command import run
from tests.support.object_server import (
    KEY_ID,
    SECRET,
    Break,
    ObjectServer,
    Proxy,
)
from tests.support.process import line_with, until
from tests.support.queue_server import Server, Workers, children, kill
from worker import Settings, SettingsError, enqueue

# One process has them all: the server takes seconds to start.
pytestmark = pytest.mark.xdist_group("object store")

ROOTS = ("s3://bucket/in/",)
INPUT = "s3://bucket/in/a.json"
OUTPUT = "s3://bucket/out/a.json"


@pytest.fixture
def client(server: Server) -> Redis:
    return server.client()


def read_all(source: ObjectInput, size: int = 1 << 18) -> bytes:
    return b"".join(iter(lambda: source.read(size), b""))


def write(content: bytes, source: ObjectInput, path: str = OUTPUT) -> None:
    with ObjectOutput(path, source) as output:
        for begin in range(0, len(content), 1 << 20):
            output.write((content[begin : begin + (1 << 20)],))


# Addresses


def test_an_address_has_a_scheme_a_bucket_and_a_key() -> None:
    address = parse_address("s3://bucket/in/a b%41.json")
    assert (address.scheme, address.bucket, address.key) == ("s3", "bucket", "in/a b%41.json")
    assert str(address) == "s3://bucket/in/a b%41.json"
    assert not address.is_folder
    assert parse_address("az://container/in/").is_folder
    assert parse_address("gs://bucket").is_folder


@pytest.mark.parametrize(
    ("name", "expected"),
    [("s3://b/a", True), ("S3://b/a", True), ("az://b/a", True), ("s3:/b/a", False), ("a", False)],
)
def test_an_address_is_recognized_by_its_scheme(name: str, expected: bool) -> None:
    assert is_address(name) is expected


@pytest.mark.parametrize(
    "name",
    [
        "S3://bucket/in/a.json",
        "http://bucket/in/a.json",
        "s3:///in/a.json",
        "s3://key:secret@bucket/in/a.json",
        "s3://host:9000/bucket/in/a.json",
        "s3://bucket/in//a.json",
        "s3://bucket//in/a.json",
        "s3://bucket/in/a.json?versionId=1",
        "s3://bucket/in/a.json#x",
        "s3://bucket/in/a\n.json",
        "s3://bucket/in/a\udcff.json",
        "s3://bucket/in\\..\\a.json",
        "s3://bucket/" + "k" * 1025,
    ],
)
def test_an_address_with_two_readings_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"address|bucket|key"):
        parse_address(name)


@pytest.mark.parametrize("name", ["s3://bucket/in/a.json", "s3://bucket/in/b/c.json"])
def test_a_root_holds_what_is_below_it(name: str) -> None:
    assert is_address_inside(ROOTS, name)
    assert is_address_inside(("s3://bucket/in",), name)
    assert is_address_inside(("s3://bucket",), name)
    assert is_address_inside(("/data", "s3://bucket/in/"), name)
    assert is_address_inside((), name)


@pytest.mark.parametrize(
    "name",
    [
        "s3://bucket/in",
        "s3://bucket/in-other/a.json",
        "s3://bucket/IN/a.json",
        "s3://bucket/out/a.json",
        "s3://bucket/in/../out/a.json",
        "s3://bucket/in/./a.json",
        "s3://bucket/in/%2e%2e/out/a.json",
        "s3://bucket/in/%2E./out/a.json",
        "s3://bucket/in/%252e%252e/out/a.json",
        "s3://bucket/in/%2e%2e%2fout/a.json",
        "s3://bucket/in/..%5cout/a.json",
        "s3://bucket/%69n/a.json",
        "s3://bucket-other/in/a.json",
        "s3://Bucket/in/a.json",
        "s3://bucket.host.example/in/a.json",
        "s3://bucket@host.example/in/a.json",
        "s3://host.example:443/bucket/in/a.json",
        "gs://bucket/in/a.json",
        "az://bucket/in/a.json",
        "S3://bucket/in/a.json",
        "https://bucket.s3.amazonaws.com/in/a.json",
        "s3://bucket/in/a.json?x=/../..",
        "s3://bucket/in//a.json",
        "/bucket/in/a.json",
    ],
)
def test_nothing_passes_the_fence(name: str) -> None:
    assert not is_address_inside(ROOTS, name)


def test_a_local_root_holds_no_object() -> None:
    assert not is_address_inside(("/", "s3:", "s3:/bucket"), INPUT)


@pytest.mark.parametrize(
    ("variables", "url"),
    [
        ({}, "https://s3.us-east-1.amazonaws.com/b"),
        ({"AWS_DEFAULT_REGION": "eu-west-1"}, "https://s3.eu-west-1.amazonaws.com/b"),
        ({"AWS_REGION": "eu-west-3"}, "https://s3.eu-west-3.amazonaws.com/b"),
        ({"AWS_ENDPOINT_URL": "http://minio:9000/"}, "http://minio:9000/b"),
        ({"AWS_ENDPOINT_URL": "http://a", "AWS_ENDPOINT_URL_S3": "http://s"}, "http://s/b"),
        (
            {"AWS_ENDPOINT": "http://b.host", "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "true"},
            "http://b.host",
        ),
    ],
)
def test_the_endpoint_comes_from_the_usual_variables(variables: dict[str, str], url: str) -> None:
    assert bucket_url("b", variables) == url


@pytest.mark.parametrize(
    "endpoint",
    [
        *("localhost:9000", "minio", "not a URL", "ftp://host", "http://", "http://:9000"),
        *("http://host:99999", "http://host:0", "http://host:x", "http://ho st", "http://hóst"),
        *("http://key:hidden@host", "http://host?hidden", "http://host#hidden", "http://[::1"),
    ],
)
def test_an_endpoint_that_is_not_a_url_is_final_and_is_not_shown(
    endpoint: str, store: ObjectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", endpoint)
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", endpoint)
    for path, name in (
        (INPUT, "AWS_ENDPOINT_URL"),
        ("az://c/a", "AZURE_STORAGE_ENDPOINT"),
        ("gs://c/a", "STORAGE_EMULATOR_HOST"),
    ):
        with pytest.raises(EndpointError, match=name) as caught:
            ObjectInput(path)
        assert (caught.value.retryable, caught.value.exit_code) == (False, 68)
        assert endpoint not in caught.value.message
        assert "hidden" not in caught.value.message


# Reading


@pytest.mark.parametrize("other", [{}, {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}])
def test_the_endpoint_of_s3_alone_is_used_for_every_request(
    other: dict[str, str], store: ObjectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    for name, value in {"AWS_ENDPOINT_URL_S3": store.url, **other}.items():
        monkeypatch.setenv(name, value)
    # The library adds the key to the variable's value: this one would be in the bucket "inner".
    store.request("PUT", "inner")
    store.request("PUT", "inner/a.json", b"of another bucket")
    store.put("inner/a.json", b"right")
    source = ObjectInput("s3://bucket/inner/a.json")
    assert read_all(source) == b"right"
    content = bytes(PART + 1)
    write(content, source)
    assert store.get("out/a.json") == content
    assert store.uploads() == []


def test_the_output_is_not_the_input_if_the_endpoint_is_one_bucket(
    store: ObjectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"{store.url}/bucket")
    monkeypatch.setenv("AWS_VIRTUAL_HOSTED_STYLE_REQUEST", "true")
    store.put("in/a.json", b"content")
    source = ObjectInput(INPUT)
    with pytest.raises(OutputIsInputError):
        write(b"new", source, "s3://another/in/a.json")
    write(b"new", source, "s3://another/in/b.json")
    assert (store.get("in/a.json"), store.get("in/b.json")) == (b"content", b"new")


@pytest.mark.parametrize("key", ["in/x//b.json", "in/x/../b.json", "in/./b.json"])
def test_a_folder_with_a_key_that_cannot_be_listed_is_final(key: str, store: ObjectServer) -> None:
    store.put("in/a.json", b"{}")
    store.put(key, b"{}")
    done = run("run", "s3://bucket/in/", "--recursive")
    assert done.returncode == 66
    assert "s3://bucket/in/: the folder cannot be listed" in done.stderr


def test_an_object_is_read_in_order_and_again(store: ObjectServer) -> None:
    source = ObjectInput(INPUT, ROOTS)
    assert (source.size, source.status) == (10, None)
    assert [source.read(4), source.read(4), source.read(4), source.read(4)] == [
        b"0123",
        b"4567",
        b"89",
        b"",
    ]
    source.seek(0)
    assert read_all(source) == b"0123456789"
    source.seek(7)
    assert read_all(source) == b"789"
    source.check_unchanged()
    source.close()


def test_an_empty_object_has_no_bytes(store: ObjectServer) -> None:
    store.put("in/empty.json", b"")
    source = ObjectInput("s3://bucket/in/empty.json")
    assert (source.size, source.read(10)) == (0, b"")


def test_a_key_can_have_any_letters(store: ObjectServer) -> None:
    store.put("in/ü %41+&=.json", b"abc")
    assert read_all(ObjectInput("s3://bucket/in/ü %41+&=.json")) == b"abc"


def test_ranges_of_one_version_are_read_one_ahead(proxy: Proxy) -> None:
    content = os.urandom(2 * RANGE + 5)
    proxy.server.put("in/a.json", content)
    source = ObjectInput(INPUT)
    assert source.read(1) == content[:1]
    source.close()  # it waits for the range that is on its way
    ranges = [s.headers["range"] for s in proxy.seen if s.method == "GET"]
    assert ranges == [f"bytes=0-{RANGE - 1}", f"bytes={RANGE}-{2 * RANGE - 1}"]
    source.seek(0)
    assert read_all(source) == content
    tags = {s.headers.get("if-match") for s in proxy.seen if s.method == "GET"}
    assert len(tags) == 1
    assert tags != {None}


@pytest.mark.parametrize("new", [b"x" * (RANGE + 5), b"short"])
def test_a_change_between_two_ranges_is_an_error(proxy: Proxy, new: bytes) -> None:
    proxy.server.put("in/a.json", b"a" * (RANGE + 5))
    proxy.breaks = [Break("GET", skip=1, before=lambda: proxy.server.put("in/a.json", new))]
    source = ObjectInput(INPUT)
    with pytest.raises(InputChangedError, match="changed, replaced or removed"):
        read_all(source)


def test_an_object_that_is_removed_meanwhile_has_changed(proxy: Proxy) -> None:
    proxy.server.put("in/a.json", b"a" * (RANGE + 5))
    remove = Break("GET", skip=1, before=lambda: proxy.server.request("DELETE", "bucket/in/a.json"))
    proxy.breaks = [remove]
    source = ObjectInput(INPUT)
    with pytest.raises(InputChangedError):
        read_all(source)
    with pytest.raises(InputChangedError):
        source.check_unchanged()


def test_a_change_after_the_last_byte_is_an_error(store: ObjectServer) -> None:
    source = ObjectInput(INPUT)
    read_all(source)
    source.check_unchanged()
    store.put("in/a.json", b"9876543210")
    with pytest.raises(InputChangedError):
        source.check_unchanged()


@pytest.mark.parametrize(
    "fault",
    [
        Break("GET", status=503, code="SlowDown", times=2),
        Break("GET", status=429, times=2),
        Break("GET", status=500, code="InternalError"),
        Break("GET", cut=3),
        Break("HEAD", status=503, times=2),
    ],
    ids=lambda fault: f"{fault.method}-{fault.status or 'cut'}",
)
def test_a_transient_failure_is_tried_again(proxy: Proxy, fault: Break) -> None:
    proxy.breaks = [fault]
    assert read_all(ObjectInput(INPUT)) == b"0123456789"
    assert proxy.count(fault.method) > 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Break("GET", status=503, code="SlowDown", times=99), "503 SlowDown"),
        (Break("GET", status=429, times=99), "429"),
        (Break("GET", cut=0, times=99), "the connection failed or timed out"),
    ],
    ids=["503", "429", "cut"],
)
def test_a_failure_that_stays_is_retryable(proxy: Proxy, fault: Break, words: str) -> None:
    proxy.breaks = [fault]
    source = ObjectInput(INPUT)
    with pytest.raises(ReadError, match=words) as caught:
        read_all(source)
    assert (caught.value.retryable, caught.value.exit_code) == (True, 74)
    assert proxy.count("GET") < 20


def test_a_truncated_range_is_an_error(proxy: Proxy) -> None:
    proxy.breaks = [Break("GET", truncate=3)]
    with pytest.raises(ReadError):
        read_all(ObjectInput(INPUT))


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("s3://bucket/in/none.json", InputObjectMissingError),
        ("s3://nobucket/in/a.json", InputBucketMissingError),
        ("s3://bucket/in/", InputNotFileError),
        ("s3://bucket/in/../a.json", InputNameError),
    ],
)
def test_what_is_not_there_is_final(store: ObjectServer, path: str, kind: type[InputError]) -> None:
    with pytest.raises(kind) as caught:
        ObjectInput(path)
    assert (caught.value.retryable, caught.value.exit_code, caught.value.path) == (False, 66, path)


@pytest.mark.parametrize(
    ("path", "advice"),
    [
        ("s3://bucket", "name an object, s3://bucket/KEY, or a folder, s3://bucket/"),
        ("s3://bucket/in", "the address of a folder ends in /"),
        ("s3://bucket/in/*.json", "name several objects, or a folder with / at its end"),
        ("s3://bucket/in/?.json", "name several objects, or a folder with / at its end"),
    ],
)
def test_an_address_of_another_form_has_advice(store: ObjectServer, path: str, advice: str) -> None:
    done = run("run", path)
    assert (done.returncode, done.stdout) == (66, "")
    assert done.stderr.startswith(f"selection: error: {path}: ")
    assert advice in done.stderr
    # What the advice names; a key can have the letters of a pattern.
    store.put("in/a.json", SAMPLE)
    assert run("run", "s3://bucket/in/").returncode == 0
    store.put("in/*.json", SAMPLE)
    assert run("run", "s3://bucket/in/a.json", "s3://bucket/in/*.json").returncode == 0


@pytest.mark.parametrize(
    ("status", "code", "kind", "exit_code"),
    [
        (403, "AccessDenied", InputDeniedError, 66),
        (403, "InvalidAccessKeyId", CredentialsError, 77),
        (403, "SignatureDoesNotMatch", CredentialsError, 77),
        (400, "ExpiredToken", CredentialsError, 77),
        (401, "", CredentialsError, 77),
    ],
)
def test_a_refusal_is_final_and_keeps_secrets(
    proxy: Proxy, status: int, code: str, kind: type[SelectionError], exit_code: int
) -> None:
    proxy.breaks = [Break(method, status=status, code=code, times=9) for method in ("HEAD", "GET")]
    with pytest.raises(kind) as caught:
        ObjectInput(INPUT)
    assert (caught.value.retryable, caught.value.exit_code) == (False, exit_code)
    assert code in str(caught.value) or kind is InputDeniedError
    for secret in (KEY_ID, SECRET, "Signature=", "127.0.0.1"):
        assert secret not in str(caught.value)


@pytest.mark.slow
def test_missing_credentials_are_final(
    store: ObjectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(CredentialsError, match="none were found") as caught:
        ObjectInput(INPUT)
    assert not caught.value.retryable


@pytest.mark.slow
def test_a_server_that_does_not_answer_is_retryable(
    store: ObjectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    with pytest.raises(ReadError, match="the connection failed"):
        ObjectInput(INPUT)


def test_a_signal_interrupts_a_request_that_hangs(proxy: Proxy) -> None:
    go_on = threading.Event()

    def hang() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        go_on.wait(30)

    proxy.breaks = [Break("GET", before=hang)]
    source = ObjectInput(INPUT)
    with pytest.raises(KeyboardInterrupt):
        source.read(1)
    assert not go_on.is_set()
    go_on.set()
    source.close()


def test_an_object_outside_the_roots_is_not_asked_for(proxy: Proxy) -> None:
    with pytest.raises(InputForbiddenError):
        ObjectInput(INPUT, ("s3://bucket/in-other/",))
    assert proxy.seen == []


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    message = r"pip install 'deterministic-content-selection\[object-store\]'"
    with pytest.raises(ExtraMissingError, match=message) as caught:
        ObjectInput(INPUT)
    assert (caught.value.retryable, caught.value.exit_code) == (False, 69)
    local = tmp_path / "a.json"
    local.write_bytes(SAMPLE)
    with pytest.raises(ExtraMissingError, match=message):
        select_file(local, OUTPUT)
    (error,) = plan(["s3://bucket/in/"]).errors
    assert isinstance(error, ExtraMissingError)


def test_the_meaning_of_other_failures() -> None:
    lost = "Received redirect without LOCATION, this normally indicates"
    assert fault_of(OSError(lost))[0] is Fault.FINAL
    assert fault_of(OSError("status code: 404 <Code>NoSuchUpload</Code>"))[0] is Fault.TRANSIENT
    assert fault_of(OSError("status code: 400 <Code>InvalidRequest</Code>"))[0] is Fault.FINAL


@pytest.mark.parametrize(
    ("code", "message", "fault"),
    [
        ("AuthenticationFailed", "Server failed to authenticate the request.", Fault.CREDENTIALS),
        # Of Azurite, and of Azure.
        ("AuthorizationFailure", "Server failed to authenticate the request.", Fault.CREDENTIALS),
        ("AuthorizationFailure", "This request is not authorized.", Fault.DENIED),
        ("AuthorizationPermissionMismatch", "Not with this permission.", Fault.DENIED),
    ],
)
def test_a_refusal_of_azure_is_one_of_the_key_or_of_a_permission(
    code: str, message: str, fault: Fault
) -> None:
    body = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>"
    refused = OSError(f"Server returned non-2xx status code: 403 Forbidden: {body}")
    assert fault_of(refused) == (fault, f"403 {code}")


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ("Name or service not known", Fault.ENDPOINT),  # Linux
        ("nodename nor servname provided, or not known", Fault.ENDPOINT),  # macOS
        ("Temporary failure in name resolution", Fault.TRANSIENT),
    ],
)
def test_a_host_that_does_not_exist_is_not_a_name_server_that_fails(
    words: str, fault: Fault
) -> None:
    found = fault_of(OSError(f"error sending request\n\nDebug source:\ndns error: {words}"))
    assert found[0] is fault


FORKED = f"""
import os
from selection.storage.object_input import ObjectInput
ObjectInput({INPUT!r})
if os.fork() == 0:
    try:
        ObjectInput({INPUT!r})
    except RuntimeError as error:
        print(error, flush=True)
    os._exit(0)
os.wait()
"""


def test_a_forked_process_is_refused_and_does_not_wait_for_ever(store: ObjectServer) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=60
    )
    assert "start it with spawn" in done.stdout


# Writing


@pytest.mark.parametrize("size", [0, 10, PART, 2 * PART + 5], ids=["0", "10", "part", "parts"])
def test_an_output_is_whole(store: ObjectServer, size: int) -> None:
    content = os.urandom(size)
    write(content, ObjectInput(INPUT))
    assert store.get("out/a.json") == content
    assert store.uploads() == []
    assert store.keys() == ["in/a.json", "out/a.json"]


@pytest.mark.parametrize("size", [10, 2 * PART + 5])
def test_a_failed_run_leaves_nothing(store: ObjectServer, size: int) -> None:
    store.put("out/a.json", b"before")

    def interrupted() -> None:
        with ObjectOutput(OUTPUT, ObjectInput(INPUT)) as output:
            output.write((bytes(size),))
            output.write((b"more",))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert store.get("out/a.json") == b"before"
    assert store.uploads() == []


def test_a_part_that_fails_is_sent_again(proxy: Proxy) -> None:
    proxy.breaks = [
        Break("POST", r"\?uploads", status=503, code="SlowDown"),
        Break("PUT", "partNumber=2", status=503, code="SlowDown", times=2),
        Break("PUT", "partNumber=1", cut=0),
    ]
    content = os.urandom(2 * PART + 5)
    write(content, ObjectInput(INPUT))
    assert proxy.server.get("out/a.json") == content
    assert proxy.server.uploads() == []


@pytest.mark.slow
@pytest.mark.parametrize("method", ["PUT", "POST"])
def test_parts_that_cannot_be_sent_end_the_run(proxy: Proxy, method: str) -> None:
    path = "partNumber" if method == "PUT" else "uploadId="
    proxy.breaks = [Break(method, path, status=503, code="SlowDown", times=99)]
    with pytest.raises(WriteError, match="503 SlowDown") as caught:
        write(bytes(2 * PART + 5), ObjectInput(INPUT))
    assert (caught.value.retryable, caught.value.exit_code) == (True, 74)
    assert proxy.server.uploads() == []
    assert proxy.server.keys() == ["in/a.json"]


@pytest.mark.slow
def test_an_upload_that_another_run_aborts_is_retryable(store: ObjectServer) -> None:
    def aborted() -> None:
        with ObjectOutput(OUTPUT, ObjectInput(INPUT)) as output:
            output.write((bytes(2 * PART),))
            output.write((bytes(PART),))
            (upload,) = store.uploads()
            # The server fails if an upload is aborted while it receives a part.
            until(lambda: len(store.parts("out/a.json", upload)) == 3, "all parts are uploaded")
            store.request("DELETE", f"bucket/out/a.json?uploadId={upload}")

    with pytest.raises(WriteError) as caught:
        aborted()
    assert caught.value.retryable
    assert store.keys() == ["in/a.json"]


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("s3://nobucket/out/a.json", OutputBucketMissingError),
        ("s3://bucket/out/", OutputNameError),
        ("s3://bucket/out/../a.json", OutputNameError),
        (INPUT, OutputIsInputError),
    ],
)
def test_a_wrong_place_is_final(store: ObjectServer, path: str, kind: type[SelectionError]) -> None:
    with pytest.raises(kind) as caught:
        write(b"x", ObjectInput(INPUT), path)
    assert (caught.value.retryable, caught.value.exit_code) == (False, 73)
    assert store.get("in/a.json") == b"0123456789"


def test_a_denied_output_is_final(proxy: Proxy) -> None:
    proxy.breaks = [Break("PUT", status=403, code="AccessDenied", times=9)]
    with pytest.raises(OutputDeniedError) as caught:
        write(b"x", ObjectInput(INPUT))
    assert (caught.value.retryable, caught.value.exit_code) == (False, 73)


def test_an_output_outside_the_roots_is_not_asked_for(proxy: Proxy) -> None:
    source = ObjectInput(INPUT)
    before = len(proxy.seen)
    with pytest.raises(OutputForbiddenError), ObjectOutput(OUTPUT, source, ROOTS):
        pass
    assert len(proxy.seen) == before


# What killed writers leave

KILLED = f"""
import os, signal
from selection.storage.object_input import ObjectInput
from selection.storage.object_output import ObjectOutput
with ObjectOutput({OUTPUT!r}, ObjectInput({INPUT!r})) as output:
    output.write((bytes(20 << 20),))
    output.write((b"x",))
    output._wait()
    print("ready", flush=True)
    input()
"""


def writing(store: ObjectServer) -> subprocess.Popen[str]:
    """Start a process that is in the middle of an upload."""
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    line_with("ready", process.stdout, process)
    assert len(store.uploads()) == 1
    return process


def test_the_next_run_aborts_what_a_killed_writer_left(store: ObjectServer, tmp_path: Path) -> None:
    process = writing(store)
    process.kill()
    process.communicate(timeout=60)
    assert store.keys() == ["in/a.json"]
    write(b"done", ObjectInput(INPUT))
    assert store.get("out/a.json") == b"done"
    assert store.uploads() == []
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


def test_the_next_run_aborts_the_upload_of_a_writer_that_was_killed_as_it_began(
    proxy: Proxy, tmp_path: Path
) -> None:
    # Each writer lists the uploads before its own begins, and then to know its own.
    started: list[subprocess.Popen[bytes]] = []
    proxy.breaks = [Break("GET", r"\?uploads", skip=1, before=lambda: started[0].kill())]
    process = subprocess.Popen([sys.executable, "-c", KILLED], stdin=subprocess.PIPE)
    started.append(process)
    process.communicate(timeout=60)
    assert len(proxy.server.uploads()) == 1
    write(b"done", ObjectInput(INPUT))
    assert proxy.server.uploads() == []
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


def test_an_upload_that_is_begun_twice_since_an_answer_was_lost_is_aborted(
    proxy: Proxy, tmp_path: Path
) -> None:
    proxy.breaks = [Break("POST", r"\?uploads", drop=True)]
    content = os.urandom(2 * PART + 5)
    write(content, ObjectInput(INPUT))
    assert proxy.count("POST", r"\?uploads") == 2
    assert proxy.server.get("out/a.json") == content
    assert proxy.server.uploads() == []
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


def test_both_uploads_of_a_failed_writer_are_aborted(proxy: Proxy) -> None:
    proxy.breaks = [Break("POST", r"\?uploads", drop=True)]

    def interrupted() -> None:
        with ObjectOutput(OUTPUT, ObjectInput(INPUT)) as output:
            output.write((bytes(2 * PART),))
            output.write((b"more",))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert proxy.count("POST", r"\?uploads") == 2
    assert proxy.server.uploads() == []


def test_the_upload_of_a_living_writer_stays(store: ObjectServer) -> None:
    process = writing(store)
    write(bytes(2 * PART), ObjectInput(INPUT))
    assert len(store.uploads()) == 1
    process.communicate("\n", timeout=60)
    assert process.returncode == 0
    assert store.get("out/a.json") == bytes(20 << 20) + b"x"
    assert store.uploads() == []


def test_the_upload_of_another_machine_is_aborted_when_it_is_old(
    store: ObjectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Uploads that this machine has no record of; the server says when their part came.
    fresh = store.begin_upload("out/a.json")
    write(b"done", ObjectInput(INPUT))
    assert store.uploads() == [fresh]
    other = store.begin_upload("out/a.json2")
    monkeypatch.setattr("selection.storage.object_uploads._ABANDONED", timedelta(seconds=-5))
    write(b"done", ObjectInput(INPUT))
    assert store.uploads() == [other]


def test_uploads_that_do_not_fit_in_one_answer_are_aborted(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = proxy.server.begin_upload("out/a.json+1")  # "+" is another letter in a query
    own = [proxy.server.begin_upload("out/a.json") for _ in range(5)]
    last = proxy.server.begin_upload("out/a.json2")
    proxy.uploads = 2
    assert Uploads(parse_address(OUTPUT)).ids() == frozenset(own)
    assert proxy.count("GET", r"\?uploads") == 4
    monkeypatch.setattr("selection.storage.object_uploads._ABANDONED", timedelta(seconds=-5))
    write(b"done", ObjectInput(INPUT))
    assert sorted(proxy.server.uploads()) == sorted([other, last])


@pytest.mark.slow
def test_the_last_part_of_a_long_upload_says_that_its_writer_lives(
    store: ObjectServer,
) -> None:
    upload = store.begin_upload("out/a.json")
    for number in range(2, 1003):
        place = f"bucket/out/a.json?partNumber={number}&uploadId={upload}"
        store.request("PUT", place, b"part")
    uploads = Uploads(parse_address(OUTPUT))
    assert len(uploads.parts(upload)) == 1002


def test_a_writer_need_not_list_uploads(proxy: Proxy) -> None:
    proxy.breaks = [Break("GET", r"\?uploads", status=403, code="AccessDenied", times=9)]
    content = bytes(2 * PART)
    write(content, ObjectInput(INPUT))
    assert proxy.server.get("out/a.json") == content


def test_the_requests_for_uploads_are_signed_as_s3_wants(proxy: Proxy) -> None:
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    for _ in range(2):
        proxy.server.begin_upload("out/a.json")
    proxy.uploads = 1
    write(b"x", ObjectInput(INPUT))
    first, second = [each for each in proxy.seen if "?uploads" in each.path]
    assert unquote(first.path).startswith("/bucket?uploads&prefix=out/a.json&x-id=")
    assert "&key-marker=out%2Fa.json&upload-id-marker=" in second.path
    for seen in (first, second):
        headers = {name.lower(): value for name, value in seen.headers.items()}
        signed = headers["authorization"].split("SignedHeaders=")[1].split(",")[0].split(";")
        # S3 decodes each value and encodes it again.
        url = f"http://127.0.0.1:{proxy.port}{seen.path.replace('x-id=/', 'x-id=%2F')}"
        request = AWSRequest("GET", url)
        for name in signed:
            request.headers[name] = headers[name]
        request.context["timestamp"] = headers["x-amz-date"]
        signer = S3SigV4Auth(Credentials(KEY_ID, SECRET), "s3", "us-east-1")
        request.context["payload_signing_enabled"] = True
        canonical = signer.canonical_request(request)
        signature = signer.signature(signer.string_to_sign(request, canonical), request)
        assert headers["authorization"].endswith(f"Signature={signature}")


# Local files

LOCAL = """
import sys
from selection import select_file
select_file(sys.argv[1], sys.argv[2])
names = {name.partition(".")[0] for name in sys.modules}
print(sorted(names & {"obstore", "socket", "ssl", "http", "urllib3", "boto3"}))
print(sorted(name for name in sys.modules if "storage.object" in name))
"""


def test_a_run_on_local_files_imports_nothing_of_this(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"articles": [{"newspaper4k": {"text": "a b c d e f"}}]}')
    done = subprocess.run(
        [sys.executable, "-c", LOCAL, path, tmp_path / "b.json"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == ("[]\n[]\n", "")


# Commands and jobs


def large() -> bytes:
    """Return a batch of some 12 MB, which is two parts."""
    words = " ".join(f"w{number}" for number in range(20_000))
    return json.dumps({"articles": [{"newspaper4k": {"text": words}}] * 90}).encode()


SAMPLE = b'{"articles": [{"id": "1", "newspaper4k": {"text": "a b c d e f"}}]}'
PICK = b'{"articles": [{"id": "1", "newspaper4k": {"text": "a b c d e f"}'
PICKED = PICK + b', "selected_extractor": "newspaper4k"}]}'


@pytest.fixture
def batches(store: ObjectServer) -> ObjectServer:
    store.put("in/a.json", SAMPLE)
    store.put("in/b/c.json", SAMPLE)
    store.put("in/b/.hidden/d.json", SAMPLE)
    store.put("in/b/c_selected.json", PICKED)
    store.put("in-other/e.json", SAMPLE)
    return store


def test_an_object_is_selected_beside_itself(batches: ObjectServer) -> None:
    done = run("run", INPUT)
    assert (done.returncode, batches.get("in/a_selected.json")) == (0, PICKED)
    verified = run("verify", INPUT, "s3://bucket/in/a_selected.json")
    assert verified.returncode == 0, verified.stderr
    explained = run("explain", INPUT, "--json")
    assert json.loads(explained.stdout)["extractor"] == "newspaper4k"


def test_files_and_objects_mix(batches: ObjectServer, tmp_path: Path) -> None:
    local = tmp_path / "a.json"
    local.write_bytes(SAMPLE)
    assert run("run", local, "-o", "s3://bucket/out/x.json").returncode == 0
    assert batches.get("out/x.json") == PICKED
    assert run("run", INPUT, "-o", tmp_path / "b.json").returncode == 0
    assert (tmp_path / "b.json").read_bytes() == PICKED
    assert run("report", INPUT, "-o", tmp_path / "r.html").returncode == 0
    assert (tmp_path / "r.html").stat().st_size > 10_000
    assert run("report", INPUT).returncode == 0
    assert b"<html" in batches.get("in/a_report.html")


@pytest.mark.parametrize(
    ("source", "target"), [("s3", "s3"), ("s3", "local"), ("local", "s3")], ids=" to ".join
)
@pytest.mark.slow
def test_if_changed_keeps_the_outputs_of_unchanged_objects(
    source: str, target: str, batches: ObjectServer, tmp_path: Path
) -> None:
    local_input, local_output = tmp_path / "a.json", tmp_path / "b.json"
    name = INPUT if source == "s3" else str(local_input)
    output = "s3://bucket/out/b.json" if target == "s3" else str(local_output)

    def change(content: bytes) -> None:
        batches.put("in/a.json", content)
        local_input.write_bytes(content)
        os.utime(local_input, ns=(len(content), len(content)))  # not just now

    def is_kept() -> bool:
        done = run("run", name, "-o", output, "--if-changed", "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout).get("unchanged", False) is True

    change(SAMPLE)
    assert [is_kept(), is_kept()] == [False, True]
    change(SAMPLE + b"\n")
    assert [is_kept(), is_kept()] == [False, True]
    assert (batches.get("out/b.json") if target == "s3" else local_output.read_bytes()) == (
        PICKED + b"\n"
    )
    if target == "s3":
        batches.put("out/b.json", PICKED)
        assert [is_kept(), is_kept()] == [False, True]
        batches.request("DELETE", "bucket/out/b.json")
    else:
        local_output.unlink()
    assert [is_kept(), is_kept()] == [False, True]


def test_an_object_made_of_a_file_that_was_changed_just_before_is_made_again(
    batches: ObjectServer, tmp_path: Path
) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(SAMPLE)
    later = time.time_ns() + 3600 * 10**9  # whatever the time that passes until the run
    os.utime(path, ns=(later, later))
    for _ in range(2):
        done = run("run", path, "-o", OUTPUT, "--if-changed", "--json")
        assert json.loads(done.stdout)["articles"] == 1


def test_a_folder_of_objects_keeps_its_folders(batches: ObjectServer) -> None:
    done = run("run", "s3://bucket/in/", "-r", "--output-dir", "s3://bucket/out/", "--json")
    assert done.returncode == 0, done.stderr
    outputs = [json.loads(line)["output"] for line in done.stdout.splitlines()]
    assert outputs == ["s3://bucket/out/a_selected.json", "s3://bucket/out/b/c_selected.json"]
    assert batches.get("out/b/c_selected.json") == PICKED


def test_a_folder_of_objects_is_listed_to_any_depth_only_when_asked(
    batches: ObjectServer, tmp_path: Path
) -> None:
    done = run("run", "s3://bucket/in/", "-o", f"{tmp_path}/")
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.glob("*.json")] == ["a_selected.json"]
    missing = run("run", "s3://bucket/none/")
    assert (missing.returncode, "no *.json" in missing.stderr) == (66, True)
    assert run("run", "s3://nobucket/in/").returncode == 66


def test_a_bad_object_leaves_no_output(batches: ObjectServer) -> None:
    batches.put("in/bad.json", b'{"articles": [{}, x]}')
    done = run("run", "s3://bucket/in/bad.json")
    assert (done.returncode, "line 1 column 19" in done.stderr) == (65, True)
    assert "in/bad_selected.json" not in batches.keys()  # noqa: SIM118, a method of its own


@pytest.mark.slow
def test_a_large_object_is_decided_by_several_processes(batches: ObjectServer) -> None:
    batches.put("in/large.json", large())
    done = run("run", "s3://bucket/in/large.json", "--jobs", "2")
    assert done.returncode == 0, done.stderr
    picked = json.loads(batches.get("in/large_selected.json"))["articles"]
    assert [each["selected_extractor"] for each in picked] == ["newspaper4k"] * 90
    assert batches.uploads() == []


def test_a_job_reads_and_writes_objects(
    batches: ObjectServer, workers: Workers, client: Redis
) -> None:
    settings = replace(workers.settings, roots=("s3://bucket/in/",))
    first = enqueue(INPUT, connection=client, settings=settings)
    assert enqueue(INPUT, connection=client, settings=settings).id == first.id
    variables = {**os.environ, "SELECTION_ROOTS": "s3://bucket/in/"}
    workers.start("--burst", **variables).wait(60)
    assert batches.get("in/a_selected.json") == PICKED
    assert first.get_status(refresh=True) == "finished"
    assert SECRET.encode() not in b"".join(
        client.dump(key) or b"" for key in client.scan_iter(count=1000)
    )
    batches.put("in/a.json", SAMPLE + b"\n")
    assert enqueue(INPUT, connection=client, settings=settings).id != first.id


@pytest.mark.slow
@pytest.mark.parametrize("is_worker_killed", [False, True], ids=["its process", "all processes"])
def test_a_job_that_is_killed_in_the_middle_of_an_upload_is_done_again(
    is_worker_killed: bool, batches: ObjectServer, proxy: Proxy, workers: Workers, client: Redis
) -> None:
    batches.put("in/large.json", large())
    is_there, go_on = threading.Event(), threading.Event()

    def hang() -> None:
        is_there.set()
        go_on.wait(60)

    proxy.breaks = [Break("PUT", "partNumber=2", before=hang)]
    settings = workers.settings
    job = enqueue("s3://bucket/in/large.json", connection=client, settings=settings)
    worker = workers.start("--with-scheduler", **os.environ)
    assert is_there.wait(60)
    # The work-horse leads a process group of its own; the scheduler does not.
    (horse,) = [pid for pid in children(worker.pid) if os.getpgid(pid) == pid]
    until(batches.uploads, "the upload is listed")
    kill(horse)
    if is_worker_killed:
        for child in children(worker.pid):
            kill(child)
        worker.kill()
        worker.wait(60)
        worker = workers.start("--with-scheduler", **os.environ)
    go_on.set()
    until(lambda: job.get_status(refresh=True) == "finished", "the job is done again", worker)
    picked = json.loads(batches.get("in/large_selected.json"))["articles"]
    assert [each["selected_extractor"] for each in picked] == ["newspaper4k"] * 90
    assert [key for key in batches.keys() if "large" in key] == [  # noqa: SIM118
        "in/large.json",
        "in/large_selected.json",
    ]
    assert batches.uploads() == []


def test_a_job_outside_the_allowed_addresses_is_refused(
    batches: ObjectServer, workers: Workers, client: Redis, tmp_path: Path
) -> None:
    settings = replace(workers.settings, roots=("s3://bucket/in/",))
    with pytest.raises(InputForbiddenError):
        enqueue("s3://bucket/in-other/e.json", connection=client, settings=settings)
    with pytest.raises(OutputForbiddenError):
        enqueue(INPUT, OUTPUT, connection=client, settings=settings)
    (tmp_path / "a.json").write_bytes(SAMPLE)
    with pytest.raises(InputForbiddenError):
        enqueue(tmp_path / "a.json", connection=client, settings=settings)


def test_roots_can_be_addresses() -> None:
    both = Settings.from_variables({"SELECTION_ROOTS": "/data:s3://bucket/in/:az://c/:/more"})
    assert both.roots == ("/data", "s3://bucket/in/", "az://c/", "/more")
    with pytest.raises(SettingsError, match="SELECTION_ROOTS"):
        Settings.from_variables({"SELECTION_ROOTS": "s3://bucket/in/../"})
