"""A real S3 server, run as a process, and a proxy before it that breaks requests."""

from __future__ import annotations

import http.client
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote, urlsplit
from urllib.request import Request, urlopen
from xml.etree import ElementTree

from tests.support.process import SECONDS, line_with

# Keys that moto accepts as any others.
KEY_ID = "AKIATESTKEY"
SECRET = "secret-of-the-tests"
# moto wants a name and checks no signature.
_CREDENTIAL = f"AWS4-HMAC-SHA256 Credential={KEY_ID}/20260101/us-east-1/s3/aws4_request"


class ObjectServer:
    """A server with one bucket, seen without the code under test."""

    def __init__(self, port: int, bucket: str = "bucket") -> None:
        self.port = port
        self.bucket = bucket
        self.url = f"http://127.0.0.1:{port}"

    def request(self, method: str, path: str, body: bytes | None = None) -> bytes:
        """Send a request, which needs no signature here, and return the answer's body."""
        # Without a type, urllib sends a form, which the server would take apart.
        headers = {"Content-Type": "application/octet-stream", "Authorization": _CREDENTIAL}
        request = Request(f"{self.url}/{path}", data=body, method=method, headers=headers)
        with urlopen(request, timeout=SECONDS) as answer:
            return bytes(answer.read())

    def reset(self) -> None:
        """Remove everything and create the bucket."""
        self.request("POST", "moto-api/reset")
        self.request("PUT", self.bucket)

    def put(self, key: str, content: bytes) -> None:
        self.request("PUT", f"{self.bucket}/{quote(key)}", content)

    def get(self, key: str) -> bytes:
        return self.request("GET", f"{self.bucket}/{quote(key)}")

    def keys(self) -> list[str]:
        """Return the names of all objects."""
        return _texts(self.request("GET", f"{self.bucket}?list-type=2"), "Contents", "Key")

    def uploads(self) -> list[str]:
        """Return the ids of the unfinished uploads."""
        return _texts(self.request("GET", f"{self.bucket}?uploads"), "Upload", "UploadId")

    def parts(self, key: str, upload: str) -> list[str]:
        """Return the numbers of the parts that an unfinished upload has."""
        answer = self.request("GET", f"{self.bucket}/{quote(key)}?uploadId={upload}")
        return _texts(answer, "Part", "PartNumber")

    def begin_upload(self, key: str) -> str:
        """Begin an upload with one part and leave it; return its id."""
        answer = self.request("POST", f"{self.bucket}/{quote(key)}?uploads", b"")
        upload = ElementTree.fromstring(answer).findtext("{*}UploadId", "")
        self.request("PUT", f"{self.bucket}/{quote(key)}?partNumber=1&uploadId={upload}", b"part")
        return upload

    def environment(self, port: int | None = None) -> dict[str, str]:
        """Return the variables with which a program uses the server, or a proxy's port."""
        return {
            "AWS_ACCESS_KEY_ID": KEY_ID,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port or self.port}",
        }


def _texts(answer: bytes, element: str, name: str) -> list[str]:
    found = ElementTree.fromstring(answer).iterfind(f"{{*}}{element}")
    return [each.findtext(f"{{*}}{name}", "") for each in found]


@contextmanager
def running_object_server() -> Iterator[ObjectServer]:
    """Run a server of its own process, which is gone afterwards."""
    process = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        line = line_with("Running on", process.stderr, process)
        # The log of its requests must not fill the pipe.
        threading.Thread(target=_drain, args=(process,), daemon=True).start()
        found = re.search(r":(\d+)", line.partition("//")[2])
        assert found is not None, line
        server = ObjectServer(int(found[1]))
        server.reset()
        yield server
    finally:
        process.kill()
        process.wait(SECONDS)


def _drain(process: subprocess.Popen[str]) -> None:
    assert process.stderr is not None
    with process.stderr:
        for _ in process.stderr:
            pass


@dataclass
class Seen:
    """A request that the proxy received."""

    method: str
    path: str
    headers: dict[str, str]


@dataclass
class Break:
    """What the proxy does with the requests that match, a number of times.

    Attributes:
        method: of the requests; any, if empty.
        path: a pattern that is searched in path and query.
        status: answer this, with ``code`` as S3 gives it, and do not forward.
        cut: send this number of bytes of the answer's body, and close the connection.
        truncate: send this number of bytes of the body as if they were all.
        drop: close the connection in place of the answer.
        before, after: called before the request is forwarded, after it was answered by the server.
        skip: how many matching requests are forwarded first.
    """

    method: str
    path: str = ""
    status: int | None = None
    code: str = ""
    cut: int | None = None
    truncate: int | None = None
    drop: bool = False
    before: Callable[[], object] | None = None
    after: Callable[[], object] | None = None
    skip: int = 0
    times: int = 1


@dataclass
class Proxy:
    """A proxy before a server, in threads of this process.

    Attributes:
        signs: whether it replaces the authorization of a request by one that the server accepts.
        uploads: the number of unfinished uploads in an answer, as of S3; the server gives all.
    """

    server: ObjectServer
    signs: bool = False
    uploads: int | None = None
    port: int = 0
    breaks: list[Break] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def environment(self) -> dict[str, str]:
        return self.server.environment(self.port)

    def count(self, method: str, path: str = "") -> int:
        """Return how many such requests came."""
        return sum(each.method == method and bool(re.search(path, each.path)) for each in self.seen)

    def take(self, method: str, path: str) -> Break | None:
        """Return what to do with a request."""
        with self._lock:
            for each in self.breaks:
                if each.method in (method, "") and re.search(each.path, path) and each.times:
                    if each.skip:
                        each.skip -= 1
                        continue
                    each.times -= 1
                    return each
        return None


@contextmanager
def running_proxy(server: ObjectServer, *, signs: bool = False) -> Iterator[Proxy]:
    """Run a proxy, which is gone afterwards."""
    proxy = Proxy(server, signs)
    handler = type("Handler", (_Handler,), {"proxy": proxy})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as listener:
        listener.daemon_threads = True
        proxy.port = listener.server_port
        thread = threading.Thread(target=listener.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            listener.shutdown()
            thread.join(SECONDS)


def _some_uploads(content: bytes, path: str, size: int) -> bytes:
    """Return the part of a list of uploads that S3 gives: those behind the markers of a request.

    Uploads of one key are in the order in which they began, here the one of the server.
    """
    query = parse_qs(urlsplit(path).query)
    root = ElementTree.fromstring(content)
    uploads = sorted(root.iterfind("{*}Upload"), key=lambda each: each.findtext("{*}Key", ""))
    names = [tuple(each.findtext(f"{{*}}{n}", "") for n in ("Key", "UploadId")) for each in uploads]
    marker = tuple(query.get(name, [""])[0] for name in ("key-marker", "upload-id-marker"))
    begin = names.index(marker) + 1 if any(marker) else 0
    for each in (*uploads[:begin], *uploads[begin + size :]):
        root.remove(each)
    if names[begin + size :]:
        (truncated,) = root.iterfind("{*}IsTruncated")
        truncated.text = "true"
        for name, text in zip(("NextKeyMarker", "NextUploadIdMarker"), names[begin + size - 1]):
            ElementTree.SubElement(root, name).text = text
    return ElementTree.tostring(root)


class _Handler(BaseHTTPRequestHandler):
    proxy: Proxy

    def handle_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.proxy.seen.append(Seen(self.command, self.path, dict(self.headers)))
        fault = self.proxy.take(self.command, self.path) or Break(self.command)
        if fault.before:
            fault.before()
        if fault.status is not None:
            answer = f"<Error><Code>{fault.code}</Code></Error>".encode()
            self._send(fault.status, {}, answer, Break(self.command))
        else:
            self._forward(body, fault)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_any  # noqa: N815

    def _forward(self, body: bytes, fault: Break) -> None:
        upstream = http.client.HTTPConnection("127.0.0.1", self.proxy.server.port, timeout=SECONDS)
        headers = dict(self.headers)
        if self.proxy.signs:
            headers = {**headers, "authorization": _CREDENTIAL}
        try:
            upstream.request(self.command, self.path, body, headers)
            answer = upstream.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException):
            # The server is stopped; its client sees the same.
            self.close_connection = True
            return
        finally:
            upstream.close()
        if self.proxy.uploads and self.command == "GET" and "?uploads" in self.path:
            content = _some_uploads(content, self.path, self.proxy.uploads)
        if fault.after:
            fault.after()
        if fault.drop:
            self.close_connection = True
            return
        self._send(answer.status, dict(answer.getheaders()), content, fault)

    def _send(self, status: int, headers: dict[str, str], content: bytes, fault: Break) -> None:
        if fault.truncate is not None:
            content = content[: fault.truncate]
        length = headers.get("Content-Length") if self.command == "HEAD" else None
        # The client can have closed the connection.
        with suppress(OSError):
            self.send_response(status)
            for name, value in headers.items():
                if name.lower() not in ("content-length", "connection", "transfer-encoding"):
                    self.send_header(name, value)
            self.send_header("Content-Length", length or str(len(content)))
            self.send_header("Connection", "close")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content[: fault.cut])
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""
