"""The part of S3 that a run uses, on files, for measurements.

The S3 server of the tests reads a whole object for each range of it, so that the time of a large
one is that of the server. This one sends the range from the file. It checks no signature, and its
list of unfinished uploads is empty.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

BUCKET = "bench"
_PIECE = 1 << 20


class Server(ThreadingHTTPServer):
    """Serves the files of a folder as the objects of one bucket."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder = folder


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""

    def do_HEAD(self) -> None:
        self._give(None)

    def do_GET(self) -> None:
        if "uploads" in self._query():
            self._answer(200, b"<ListMultipartUploadsResult></ListMultipartUploadsResult>")
        else:
            found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            self._give((int(found[1]), int(found[2]) + 1) if found else (0, sys.maxsize))

    def do_PUT(self) -> None:
        part = self._query().get("partNumber")
        path = self._path(f".part{int(part[0]):05}" if part else "")
        partial = path.with_name(f"{path.name}.partial")
        with partial.open("wb") as file:
            left = int(self.headers["Content-Length"])
            while left:
                file.write(piece := self.rfile.read(min(left, _PIECE)))
                left -= len(piece)
        partial.replace(path)
        self._answer(200, etag=_etag(path))

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if "uploads" in self._query():
            self._answer(200, _result("Initiate", "<UploadId>1</UploadId>"))
            return
        path = self._path()
        parts = sorted(path.parent.glob(f"{path.name}.part*"))
        with path.open("wb") as file:
            for part in parts:
                with part.open("rb") as piece:
                    shutil.copyfileobj(piece, file, _PIECE)
                part.unlink()
        self._answer(200, _result("Complete", f"<ETag>{_etag(path)}</ETag>"))

    def do_DELETE(self) -> None:
        path = self._path()
        for part in path.parent.glob(f"{path.name}.part*"):
            part.unlink()
        self._answer(204)

    def _query(self) -> dict[str, list[str]]:
        return parse_qs(urlsplit(self.path).query, keep_blank_values=True)

    def _path(self, suffix: str = "") -> Path:
        key = unquote(urlsplit(self.path).path).removeprefix(f"/{BUCKET}/")
        return self.server.folder / (quote(key, safe="") + suffix)

    def _give(self, wanted: tuple[int, int] | None) -> None:
        path = self._path()
        if not path.is_file():
            self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
            return
        size = path.stat().st_size
        begin, end = (0, size) if wanted is None else (wanted[0], min(wanted[1], size))
        self.send_response(206 if "Range" in self.headers else 200)
        self.send_header("Content-Length", str(end - begin))
        self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{size}")
        self.send_header("ETag", _etag(path))
        self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        self.end_headers()
        if wanted is not None:
            with path.open("rb") as file:
                self.connection.sendfile(file, begin, end - begin)

    def _answer(self, status: int, body: bytes = b"", etag: str | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if etag:
            self.send_header("ETag", etag)
        self.end_headers()
        self.wfile.write(body)


def _etag(path: Path) -> str:
    found = path.stat()
    return f'"{found.st_ino:x}-{found.st_mtime_ns:x}"'


def _result(name: str, inner: str) -> bytes:
    kind = f"{name}MultipartUploadResult"
    return f"<{kind}><Bucket>{BUCKET}</Bucket><Key>x</Key>{inner}</{kind}>".encode()


@contextmanager
def running_server(folder: Path) -> Iterator[dict[str, str]]:
    """Run the server in a process of its own; yield the variables with which it is used."""
    command = [sys.executable, "-m", __name__, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield {
                "AWS_ENDPOINT_URL": f"http://127.0.0.1:{int(process.stdout.readline())}",
                "AWS_ACCESS_KEY_ID": "bench",
                "AWS_SECRET_ACCESS_KEY": "bench",
                "AWS_REGION": "us-east-1",
            }
        finally:
            process.kill()


def main() -> None:
    """Serve a folder and print the port."""
    server = Server(Path(os.path.abspath(sys.argv[1])))
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
