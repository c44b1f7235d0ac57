"""What a signal does while the program starts, before there is anything to clean up."""

from __future__ import annotations

import os
import signal

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def handle(number: signal.Signals, handler: signal._HANDLER) -> None:
    """Install a handler, unless whatever started the process has the signal ignored (nohup)."""
    if signal.getsignal(number) is not signal.SIG_IGN:
        signal.signal(number, handler)


def end_at_once() -> None:
    """Let a signal end the process without a word while there is nothing to clean up."""
    for number in SIGNALS:
        handle(number, _end)


def _end(number: int, frame: object) -> None:
    os._exit(128 + number)
