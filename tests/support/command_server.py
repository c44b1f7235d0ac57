"""A process that has imported a command and forks for each run of it.

A new interpreter spends most of a short run on its start and its imports. A fork has arguments,
streams, a working directory, an environment and an exit status of its own, as a new process has.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

_ROOT = str(Path(__file__).parents[2])
# With the modules that a command imports only when it needs them.
_IMPORTED = {
    "selection": ["selection.cli.commands", "selection.cli.tables", "selection.report.write"],
    "worker": ["worker.cli.commands", "selection.cli.tables"],
}


class CommandServer:
    """The client's side: the server is a process of its own and ends with this one.

    Args:
        package: ``selection`` or ``worker``.
    """

    def __init__(self, package: str) -> None:
        self._socket, theirs = socket.socketpair()
        with theirs:
            # Pipes, as the streams of most runs: Python keeps what it learns about them.
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, package, str(theirs.fileno())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=[theirs.fileno()],
                cwd=_ROOT,
            )

    def start(
        self,
        arguments: Sequence[str],
        cwd: str,
        environment: dict[str, str],
        descriptors: tuple[int, int, int],
    ) -> int:
        """Start the command with these three streams; return its process id."""
        request = {"arguments": arguments, "cwd": cwd, "environment": environment}
        with tempfile.TemporaryFile("w+") as file:
            json.dump(request, file)
            file.flush()
            socket.send_fds(self._socket, [b"."], [file.fileno(), *descriptors])
            return int(self._line(60))

    def wait(self, seconds: float) -> int:
        """Return the exit code of the command, negative for a signal as in subprocess.

        Raises:
            TimeoutError: the command takes longer.
        """
        return int(self._line(seconds))

    def close(self) -> None:
        """End the server."""
        self._socket.close()
        self._process.communicate(timeout=60)

    def _line(self, seconds: float) -> bytes:
        self._socket.settimeout(seconds)
        line = b""
        while not line.endswith(b"\n"):
            byte = self._socket.recv(1)
            assert byte, self._process.communicate(timeout=60)
            line += byte
        return line


def _serve(package: str, requests: socket.socket) -> None:
    """Fork for each request; report the process id and then the exit code."""
    for module in _IMPORTED[package]:
        importlib.import_module(module)
    # A collection in a fork would write to each of these objects, and so copy its memory.
    gc.freeze()
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, 1, 4)
        if not message:
            return
        child = os.fork()
        if not child:
            requests.close()
            _become(package, *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        requests.sendall(b"%d\n" % child)
        _, status = os.waitpid(child, 0)
        requests.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


def _become(package: str, request: int, *streams: int) -> NoReturn:
    """Run the command in this process, as ``python -m`` does."""
    with os.fdopen(request) as file:
        file.seek(0)
        wanted = json.load(file)
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(wanted["cwd"])
    os.environ.clear()
    os.environ.update(wanted["environment"])
    sys.argv = [os.path.join(_ROOT, package, "__main__.py"), *wanted["arguments"]]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    importlib.import_module(f"{package}.entry").main()
    sys.exit()


if __name__ == "__main__":
    _serve(sys.argv[1], socket.socket(fileno=int(sys.argv[2])))
