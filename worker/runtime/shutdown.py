"""Interrupt a running batch when its worker is shut down (a container stop, a scale-down)."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class ShutdownRequested(BaseException):
    """The worker is shutting down, and the time that it gives its batch is over."""


class _Handler:
    """The SIGTERM handler of a job's process."""

    def __init__(self) -> None:
        self._is_requested = False
        self._is_interruptible = False

    def install(self) -> None:
        """Let SIGTERM request the shutdown."""
        signal.signal(signal.SIGTERM, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._is_requested = True
        if self._is_interruptible:
            raise ShutdownRequested

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Let a request interrupt this block only; RQ's writes around it are completed.

        Raises:
            ShutdownRequested: on entry, if it was requested before.
        """
        self._is_interruptible = True
        try:
            if self._is_requested:
                raise ShutdownRequested
            yield
        finally:
            self._is_interruptible = False


handler = _Handler()
