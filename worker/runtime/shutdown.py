"""Giving a running batch back when the worker must stop (a container stop, a scale-down)."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class HandBack(BaseException):
    """The worker must stop, and the time that it gave the batch is over."""


class _Orders:
    """What the parent process wants of this work-horse."""

    def __init__(self) -> None:
        self._wanted = False
        self._interruptible = False

    def listen(self) -> None:
        """From now on SIGTERM means: give the batch back."""
        signal.signal(signal.SIGTERM, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._wanted = True
        if self._interruptible:
            raise HandBack

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Only within this may the order interrupt; what RQ writes around it is left whole."""
        self._interruptible = True
        try:
            if self._wanted:
                raise HandBack
            yield
        finally:
            self._interruptible = False


orders = _Orders()
