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
        self.raise_if_requested()

    def raise_if_requested(self) -> None:
        """Interrupt the block again if the exception of the signal handler was lost.

        Python discards an exception that is raised while a ``__del__`` method runs.

        Raises:
            ShutdownRequested: the shutdown is requested, and the block is interruptible.
        """
        if self._is_requested and self._is_interruptible:
            raise ShutdownRequested

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Let a request interrupt this block only; RQ's writes around it are completed.

        Raises:
            ShutdownRequested: on entry, if it was requested before.
        """
        self._is_interruptible = True
        try:
            self.raise_if_requested()
            yield
        finally:
            self._is_interruptible = False


handler = _Handler()
