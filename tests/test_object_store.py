"""Batches in object storage: addresses, reading, writing, failures, on a real S3 server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from urllib.parse import unquote

import pytest

from selection.errors import (
    CredentialsError,
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
from selection.storage.names import is_address
from selection.storage.object_address import is_inside_roots, parse_address
from selection.storage.object_input import RANGE, ObjectInput
from selection.storage.object_output import PART, ObjectOutput
from selection.storage.object_store import Fault, bucket_url, fault_of
from tests.support.object_server import (
    KEY_ID,
    SECRET,
    Break,
    ObjectServer,
    Proxy,
    running_object_server,
    running_proxy,
)

ROOTS = ("s3://bucket/in/",)
INPUT = "s3://bucket/in/a.json"
OUTPUT = "s3://bucket/out/a.json"


@pytest.fixture(scope="module")
def running() -> Iterator[ObjectServer]:
    with running_object_server() as server:
        yield server


@pytest.fixture
def server(running: ObjectServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ObjectServer:
    running.reset()
    use(monkeypatch, running.environment())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    running.put("in/a.json", b"0123456789")
    return running


@pytest.fixture
def proxy(server: ObjectServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    with running_proxy(server) as started:
        use(monkeypatch, started.environment)
        yield started


def use(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


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
    assert is_inside_roots(name, ROOTS)
    assert is_inside_roots(name, ("s3://bucket/in",))
    assert is_inside_roots(name, ("s3://bucket",))
    assert is_inside_roots(name, ("/data", "s3://bucket/in/"))
    assert is_inside_roots(name, ())


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
    assert not is_inside_roots(name, ROOTS)


def test_a_local_root_holds_no_object() -> None:
    assert not is_inside_roots(INPUT, ("/", "s3:", "s3:/bucket"))


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


# Reading


def test_an_object_is_read_in_order_and_again(server: ObjectServer) -> None:
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


def test_an_empty_object_has_no_bytes(server: ObjectServer) -> None:
    server.put("in/empty.json", b"")
    source = ObjectInput("s3://bucket/in/empty.json")
    assert (source.size, source.read(10)) == (0, b"")


def test_a_key_can_have_any_letters(server: ObjectServer) -> None:
    server.put("in/ü %41+&=.json", b"abc")
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


def test_a_change_after_the_last_byte_is_an_error(server: ObjectServer) -> None:
    source = ObjectInput(INPUT)
    read_all(source)
    source.check_unchanged()
    server.put("in/a.json", b"9876543210")
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
def test_what_is_not_there_is_final(
    server: ObjectServer, path: str, kind: type[InputError]
) -> None:
    with pytest.raises(kind) as caught:
        ObjectInput(path)
    assert (caught.value.retryable, caught.value.exit_code, caught.value.path) == (False, 66, path)


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
    server: ObjectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(CredentialsError, match="none were found") as caught:
        ObjectInput(INPUT)
    assert not caught.value.retryable


@pytest.mark.slow
def test_a_server_that_does_not_answer_is_retryable(
    server: ObjectServer, monkeypatch: pytest.MonkeyPatch
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


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    message = r"pip install 'deterministic-content-selection\[object-store\]'"
    with pytest.raises(ExtraMissingError, match=message) as caught:
        ObjectInput(INPUT)
    assert (caught.value.retryable, caught.value.exit_code) == (False, 69)


def test_the_meaning_of_other_failures() -> None:
    lost = "Received redirect without LOCATION, this normally indicates"
    assert fault_of(OSError(lost))[0] is Fault.FINAL
    assert fault_of(OSError("status code: 404 <Code>NoSuchUpload</Code>"))[0] is Fault.TRANSIENT
    assert fault_of(OSError("status code: 400 <Code>InvalidRequest</Code>"))[0] is Fault.FINAL


# Writing


@pytest.mark.parametrize("size", [0, 10, PART, 2 * PART + 5], ids=["0", "10", "part", "parts"])
def test_an_output_is_whole(server: ObjectServer, size: int) -> None:
    content = os.urandom(size)
    write(content, ObjectInput(INPUT))
    assert server.get("out/a.json") == content
    assert server.uploads() == []
    assert server.keys() == ["in/a.json", "out/a.json"]


@pytest.mark.parametrize("size", [10, 2 * PART + 5])
def test_a_failed_run_leaves_nothing(server: ObjectServer, size: int) -> None:
    server.put("out/a.json", b"before")

    def interrupted() -> None:
        with ObjectOutput(OUTPUT, ObjectInput(INPUT)) as output:
            output.write((bytes(size),))
            output.write((b"more",))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert server.get("out/a.json") == b"before"
    assert server.uploads() == []


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


def test_an_upload_that_another_run_aborts_is_retryable(server: ObjectServer) -> None:
    def aborted() -> None:
        with ObjectOutput(OUTPUT, ObjectInput(INPUT)) as output:
            output.write((bytes(2 * PART),))
            output.write((bytes(PART),))
            (upload,) = server.uploads()
            server.request("DELETE", f"bucket/out/a.json?uploadId={upload}")

    with pytest.raises(WriteError) as caught:
        aborted()
    assert caught.value.retryable
    assert server.keys() == ["in/a.json"]


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("s3://nobucket/out/a.json", OutputBucketMissingError),
        ("s3://bucket/out/", OutputNameError),
        ("s3://bucket/out/../a.json", OutputNameError),
        (INPUT, OutputIsInputError),
    ],
)
def test_a_wrong_place_is_final(
    server: ObjectServer, path: str, kind: type[SelectionError]
) -> None:
    with pytest.raises(kind) as caught:
        write(b"x", ObjectInput(INPUT), path)
    assert (caught.value.retryable, caught.value.exit_code) == (False, 73)
    assert server.get("in/a.json") == b"0123456789"


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


def writing(server: ObjectServer) -> subprocess.Popen[str]:
    """Start a process that is in the middle of an upload."""
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    assert len(server.uploads()) == 1
    return process


def test_the_next_run_aborts_what_a_killed_writer_left(
    server: ObjectServer, tmp_path: Path
) -> None:
    process = writing(server)
    process.kill()
    process.communicate(timeout=60)
    assert server.keys() == ["in/a.json"]
    write(b"done", ObjectInput(INPUT))
    assert server.get("out/a.json") == b"done"
    assert server.uploads() == []
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


def test_the_upload_of_a_living_writer_stays(server: ObjectServer) -> None:
    process = writing(server)
    write(bytes(2 * PART), ObjectInput(INPUT))
    assert len(server.uploads()) == 1
    process.communicate("\n", timeout=60)
    assert process.returncode == 0
    assert server.get("out/a.json") == bytes(20 << 20) + b"x"
    assert server.uploads() == []


def test_the_upload_of_another_machine_is_aborted_when_it_is_old(
    server: ObjectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Uploads that this machine has no record of; the server says when their part came.
    fresh = server.begin_upload("out/a.json")
    write(b"done", ObjectInput(INPUT))
    assert server.uploads() == [fresh]
    other = server.begin_upload("out/a.json2")
    monkeypatch.setattr("selection.storage.object_uploads._ABANDONED", timedelta(seconds=-5))
    write(b"done", ObjectInput(INPUT))
    assert server.uploads() == [other]


def test_a_writer_need_not_list_uploads(proxy: Proxy) -> None:
    proxy.breaks = [Break("GET", r"\?uploads", status=403, code="AccessDenied", times=9)]
    content = bytes(2 * PART)
    write(content, ObjectInput(INPUT))
    assert proxy.server.get("out/a.json") == content


def test_the_requests_for_uploads_are_signed_as_s3_wants(proxy: Proxy) -> None:
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    write(b"x", ObjectInput(INPUT))
    (seen,) = [each for each in proxy.seen if "?uploads" in each.path]
    assert unquote(seen.path).startswith("/bucket?uploads&prefix=out/a.json&x-id=")
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
