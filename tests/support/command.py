"""The commands ``selection`` and ``selection-worker``, run as processes."""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from threading import Lock

from tests.support.command_server import CommandServer
from tests.support.process import SECONDS

SELECTION = [sys.executable, "-m", "selection"]

# Python reads these at its start.
_OF_THE_INTERPRETER = ("PYTHON", "LC_", "LANG")
_in_use = Lock()

# Permissions do not bind root, so the child gives that up before it becomes the command. What the
# user cannot read is imported before.
_WITHOUT_ROOT = """
import os, shutil, sys
import selection.report.write, selection.cli.report_folder
from selection.cli.commands import main
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
main()
"""
_ROOT = Path(__file__).parents[2]


def run(
    *arguments: str | Path, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run ``selection`` with more variables of the environment; return how it ended."""
    if any(name.startswith(_OF_THE_INTERPRETER) for name in environment):
        return subprocess.run(
            [*SELECTION, *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=cwd,
            env={**os.environ, **environment},
            timeout=SECONDS,
        )
    return _as_text(run_package("selection", arguments, cwd, {**os.environ, **environment}))


def run_without_root(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run ``selection`` as a user whom permissions bind; return how it ended."""
    return subprocess.run(
        [sys.executable, "-c", _WITHOUT_ROOT, *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
        timeout=SECONDS,
    )


def run_worker(
    environment: Mapping[str, str], *arguments: str | Path, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run ``selection-worker`` in an environment; return how it ended."""
    return _as_text(run_package("worker", arguments, cwd, environment))


def piped(data: bytes, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run ``selection`` with these bytes in a pipe at standard input; return how it ended."""
    return run_package("selection", arguments, None, os.environ, data)


def run_package(
    package: str,
    arguments: Sequence[str | Path],
    cwd: Path | None,
    environment: Mapping[str, str],
    data: bytes = b"",
) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a fork, with pipes at its streams; return how it ended.

    Raises:
        TimeoutError: it took more than a minute and was killed.
    """
    words = list(map(str, arguments))
    with ExitStack() as stack, _in_use:
        pipes = [os.pipe() for _ in range(3)]
        (stdin, source), (out, stdout), (error, stderr) = pipes
        try:
            child = _server(package).start(
                words, str(cwd or Path.cwd()), dict(environment), (stdin, stdout, stderr)
            )
        finally:
            for descriptor in (stdin, stdout, stderr):
                os.close(descriptor)
        threads = stack.enter_context(ThreadPoolExecutor(3))
        threads.submit(_write, source, data)
        shown, errors = threads.submit(_read, out), threads.submit(_read, error)
        try:
            code = _server(package).wait(SECONDS)
        except TimeoutError:
            os.kill(child, signal.SIGKILL)  # the pipes end
            _server(package).wait(SECONDS)
            raise
        return subprocess.CompletedProcess(
            [package, *words], code, shown.result(SECONDS), errors.result(SECONDS)
        )


@cache
def _server(package: str) -> CommandServer:
    server = CommandServer(package)
    atexit.register(server.close)
    return server


def _read(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def _write(descriptor: int, data: bytes) -> None:
    with os.fdopen(descriptor, "wb", buffering=0) as file:
        try:
            while data:
                data = data[file.write(data) :]
        except BrokenPipeError:
            pass


def _as_text(done: subprocess.CompletedProcess[bytes]) -> subprocess.CompletedProcess[str]:
    out, error = done.stdout.decode(), done.stderr.decode()
    return subprocess.CompletedProcess(done.args, done.returncode, out, error)


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        shell=True,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )


def picks(path: Path) -> list[str]:
    return [article["selected_extractor"] for article in json.loads(path.read_text())["articles"]]
