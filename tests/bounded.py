"""Waits that end: each one fails after a number of seconds and says what it waited for."""

from __future__ import annotations

import os
import select
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

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


def read(descriptor: int, seconds: float = SECONDS) -> bytes:
    """Read what is there, or wait for it; nothing at the end of the stream."""
    assert select.select([descriptor], [], [], seconds)[0], f"nothing to read in {seconds} s"
    return os.read(descriptor, 65_536)
