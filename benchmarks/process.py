"""Run a command as a whole process and measure it."""

from __future__ import annotations

import os
import re
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[1]
SAMPLE_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of a process and its descendants, in megabytes.

    Attributes:
        rss: the sum of the peaks of all processes; a shared page counts once for each.
        pss: the peak of the sum; a shared page is divided among its processes.
        processes: the number of processes.
    """

    rss: float
    pss: float
    processes: int

    @property
    def peak(self) -> float:
        """The memory that counts: RSS of one process, PSS of several."""
        return self.rss if self.processes == 1 else self.pss


def run(
    command: Sequence[str], output: Path | None = None, environment: Mapping[str, str] | None = None
) -> float:
    """Run a command and return its wall-clock seconds; discard its output without a file."""
    return _run(command, output, environment, None)


def run_watched(
    command: Sequence[str],
    environment: Mapping[str, str] | None = None,
    output: Path | None = None,
) -> tuple[float, Memory | None]:
    """Run a command and return its seconds and memory; discard its output without a file.

    The sampling takes a little time. The memory is None on other systems than Linux.
    """
    watch = _Watch() if psutil.LINUX else None
    seconds = _run(command, output, environment, watch)
    return seconds, watch.found() if watch else None


def output_of(
    command: Sequence[str], environment: Mapping[str, str] | None = None, *, quiet: bool = False
) -> str | None:
    """Run a command and return what it prints; None if it fails."""
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if quiet else None,
        text=True,
    )
    return None if done.returncode else done.stdout


def _run(
    command: Sequence[str],
    output: Path | None,
    environment: Mapping[str, str] | None,
    watch: _Watch | None,
) -> float:
    with open(output or os.devnull, "wb") as stdout:
        began = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **(environment or {})},
            stdout=stdout,
            stderr=subprocess.PIPE,
        )
        try:
            if watch:
                watch.start(process.pid)
            # Reads until the end, so that a full pipe does not stop the command.
            _, messages = process.communicate()
            seconds = time.perf_counter() - began
        finally:
            process.kill()
            process.wait()
            if watch:
                watch.stop()
    if process.returncode:
        text = messages.decode(errors="replace")
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}:\n{text}")
    return seconds


class _Watch:
    """Samples the memory of a process and its descendants every 20 ms until it is stopped."""

    def __init__(self) -> None:
        self._peaks: dict[int, int] = {}
        self._pss = 0
        self._stopped = threading.Event()

    def start(self, pid: int) -> None:
        self._thread = threading.Thread(target=self._sample, args=(psutil.Process(pid),))
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def found(self) -> Memory:
        return Memory(sum(self._peaks.values()) / 1e6, self._pss / 1e6, len(self._peaks))

    def _sample(self, root: psutil.Process) -> None:
        while not self._stopped.wait(SAMPLE_SECONDS):
            pss = 0
            # A process may end at any moment.
            with suppress(psutil.Error):
                for process in (root, *root.children(recursive=True)):
                    with suppress(psutil.Error, OSError):
                        # The latest, not the largest: before its exec a process has the peak of
                        # its parent.
                        self._peaks[process.pid] = _peak_rss(process.pid)
                        pss += process.memory_full_info().pss
            self._pss = max(self._pss, pss)


def _peak_rss(pid: int) -> int:
    """Return the kernel's peak of the RSS in bytes, which psutil does not report."""
    status = Path(f"/proc/{pid}/status").read_text()
    # A process that has ended and is not yet waited for has none.
    found = re.search(r"VmHWM:\s*(\d+) kB", status)
    if found is None:
        raise psutil.NoSuchProcess(pid)
    return 1024 * int(found[1])
