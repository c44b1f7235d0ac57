"""The live view of ``watch`` on a terminal, which scrolls and ends with q."""

from __future__ import annotations

import os
import re
import select
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.segment import Segment, SegmentLines
from rich.text import Text

from worker.cli import tables
from worker.state.status import Fleet

_QUIT = ("q", "Q")
# The escape sequences of the keys, and the lines or pages that each scrolls.
_LINES = {"\x1b[A": -1, "\x1bOA": -1, "k": -1, "\x1b[B": 1, "\x1bOB": 1, "j": 1}
_PAGES = {"\x1b[5~": -1, "b": -1, "\x1b[6~": 1, " ": 1}
_KEY = re.compile(r"\x1b\[[0-9;]*[~A-Za-z]|\x1bO[A-Z]|.", re.DOTALL)


def watch_fleet(screen: Console, read: Callable[[], Fleet], interval: float) -> None:
    """Draw what ``read`` returns every ``interval`` seconds until q is pressed."""
    top = 0
    with _keys() as wait, Live(console=screen, screen=True, auto_refresh=False) as live:
        while True:
            lines = screen.render_lines(tables.fleet_view(read()), pad=False)
            until = time.monotonic() + interval
            while (seconds := until - time.monotonic()) > 0:
                room = max(screen.height - 1, 1)
                top = max(min(top, len(lines) - room), 0)
                live.update(_page(lines, top, room), refresh=True)
                for key in wait(seconds):
                    if key in _QUIT:
                        return
                    top += _LINES.get(key, 0) + room * _PAGES.get(key, 0)


def _page(lines: list[list[Segment]], top: int, room: int) -> Group:
    shown = lines[top : top + room]
    where = f"lines {top + 1} to {top + len(shown)} of {len(lines)}; arrows scroll, q ends"
    return Group(SegmentLines(shown, new_lines=True), Text(where, style="reverse", end=""))


@contextmanager
def _keys() -> Iterator[Callable[[float], list[str]]]:
    """Yield a function that waits some seconds for keys and returns what each of them sends."""
    if not sys.stdin.isatty():
        yield _no_key
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)

    def wait(seconds: float) -> list[str]:
        if not select.select([terminal], [], [], seconds)[0]:
            return []
        # A key that is kept down is sent several times at once.
        sent = os.read(terminal, 1024).decode("ascii", "replace")
        return _KEY.findall(sent) or _no_key(seconds)

    tty.setcbreak(terminal)
    try:
        yield wait
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _no_key(seconds: float) -> list[str]:
    time.sleep(seconds)
    return []
