"""Azurite, the Blob Storage server that Microsoft gives for tests, run as a process."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from email.utils import formatdate
from functools import cache
from pathlib import Path
from urllib.parse import quote
from urllib.request import Request, urlopen
from xml.etree import ElementTree

from tests.support.process import SECONDS, line_with

# The account and the key of every Azurite, as documented.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
VERSION = "3.37.0"
_FOLDER = Path(__file__).parents[2] / "build" / "azurite"
MISSING = (
    f"no Azurite: install it (npm install --prefix build/azurite azurite@{VERSION}), which needs "
    "Node.js"
)


@cache
def azurite() -> str | None:
    """Find the program: one on PATH, or that of the folder ``build``."""
    own = _FOLDER / "node_modules" / ".bin" / "azurite-blob"
    return shutil.which("azurite-blob") or (str(own) if own.exists() else None)


class AzureServer:
    """A server with one container, seen without the code under test."""

    def __init__(self, port: int, container: str = "box") -> None:
        self.url = f"http://127.0.0.1:{port}/{ACCOUNT}"
        self.container = container
        self.request("PUT", container, {"restype": "container"})

    def request(
        self, method: str, path: str, query: Mapping[str, str] | None = None, body: bytes = b""
    ) -> bytes:
        """Send a request with the account's signature and return the answer's body."""
        query = query or {}
        headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
        if body:
            headers["x-ms-blob-type"] = "BlockBlob"
        kind = "application/octet-stream" if body else ""
        signed = [method, "", "", str(len(body) or ""), "", kind, *[""] * 6]
        signed += [f"{name}:{value}" for name, value in sorted(headers.items())]
        signed += [f"/{ACCOUNT}/{ACCOUNT}/{quote(path)}"]
        signed += [f"{name}:{value}" for name, value in sorted(query.items())]
        digest = hmac.new(base64.b64decode(KEY), "\n".join(signed).encode(), hashlib.sha256)
        signature = base64.b64encode(digest.digest()).decode()
        headers |= {"Authorization": f"SharedKey {ACCOUNT}:{signature}"}
        if body:
            headers["Content-Type"] = kind
        words = "&".join(f"{name}={value}" for name, value in query.items())
        url = f"{self.url}/{quote(path)}?{words}"
        request = Request(url, data=body or None, method=method, headers=headers)
        with urlopen(request, timeout=SECONDS) as answer:
            return bytes(answer.read())

    def put(self, key: str, content: bytes) -> None:
        self.request("PUT", f"{self.container}/{key}", body=content)

    def get(self, key: str) -> bytes:
        return self.request("GET", f"{self.container}/{key}")

    def names(self) -> list[str]:
        """Return the names of all blobs that are visible."""
        answer = self.request("GET", self.container, {"restype": "container", "comp": "list"})
        # The answer has a byte order mark.
        found = ElementTree.fromstring(answer.decode("utf-8-sig"))
        return [name.text or "" for name in found.iterfind("Blobs/Blob/Name")]

    def environment(self) -> dict[str, str]:
        """Return the variables with which a program uses the server."""
        return {
            "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
            "AZURE_STORAGE_ACCOUNT_KEY": KEY,
            "AZURE_STORAGE_ENDPOINT": self.url,
        }


@contextmanager
def running_azure_server(folder: Path) -> Iterator[AzureServer]:
    """Run a server with its data in a folder; it is gone afterwards."""
    program = azurite()
    assert program is not None, MISSING
    process = subprocess.Popen(
        # The version of the requests is the library's, and newer than the server at times.
        [program, "--blobPort", "0", "--silent", "--skipApiVersionCheck", "--location", folder],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "AZURITE_TELEMETRY": "false"},
    )
    try:
        line = line_with("successfully listens on", process.stdout, process)
        found = re.search(r":(\d+)\s*$", line)
        assert found is not None, line
        yield AzureServer(int(found[1]))
    finally:
        process.kill()
        process.wait(SECONDS)
        assert process.stdout is not None
        process.stdout.close()
