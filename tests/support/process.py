"""Waits that end: each one fails after a number of seconds and says what it waited for."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

SECONDS = 60
_PAUSE = 0.01


def until(
    is_done: Callable[[], object],
    what: str,
    process: subprocess.Popen[bytes] | subprocess.Popen[str] | None = None,
    seconds: float = SECONDS,
) -> None:
    """Wait until a condition holds.

    Args:
        is_done: the condition, tried about a hundred times a second.
        what: the condition in words, for the failure.
        process: the process that brings it about; its end is a failure, too.
        seconds: the bound.
    """
    end = time.monotonic() + seconds
    while not is_done():
        assert process is None or process.poll() is None, f"the process ended before {what}"
        assert time.monotonic() < end, f"not after {seconds} s: {what}"
        time.sleep(_PAUSE)


def line_with(
    text: str, stream: IO[str] | None, process: subprocess.Popen[str], seconds: float = SECONDS
) -> str:
    """Read a process's lines up to the first that contains a text; return that line.

    A process that takes longer is killed, which ends its stream.
    """
    assert stream is not None
    seen = []
    with killed_after(process, seconds):
        for line in iter(stream.readline, ""):
            if text in line:
                return line
            seen.append(line)
    raise AssertionError(f"no line with {text!r} in {seconds} s: {''.join(seen)}")


@contextmanager
def killed_after(
    process: subprocess.Popen[bytes] | subprocess.Popen[str], seconds: float = SECONDS
) -> Iterator[None]:
    """Kill a process if the block takes longer, so that every read of its pipes ends."""
    timer = threading.Timer(seconds, process.kill)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def frozen_while_it_writes(
    start: Callable[[], subprocess.Popen[Any]], target: Path
) -> subprocess.Popen[Any]:
    """Start a run and stop it (SIGSTOP) while its temporary file for ``target`` exists.

    The input of a run is finite: a run that ends before it is stopped is started again.
    """
    temporaries = f".{target.stem}*.tmp"
    for _ in range(10):
        process = start()
        until(partial(_writes_or_ended, process, target.parent, temporaries), "a run writes")
        if process.poll() is None:
            process.send_signal(signal.SIGSTOP)
            # WNOWAIT leaves the exit status of a process that has ended to Popen.
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            if process.poll() is None and any(target.parent.glob(temporaries)):
                return process
            process.kill()
        process.communicate(timeout=SECONDS)
        for pattern in ("*_selected.json", temporaries):
            for left in target.parent.glob(pattern):
                left.unlink()
    raise AssertionError("each run ended before it could be stopped")


def _writes_or_ended(process: subprocess.Popen[Any], folder: Path, temporaries: str) -> bool:
    return process.poll() is not None or any(folder.glob(temporaries))


def read(descriptor: int, seconds: float = SECONDS) -> bytes:
    """Read available bytes, or wait for them; return b"" at the end of the stream."""
    assert select.select([descriptor], [], [], seconds)[0], f"nothing to read in {seconds} s"
    return os.read(descriptor, 65_536)
