"""Run a command as a whole process and measure it."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROC = Path("/proc")
POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Memory:
    """Of a process and all below it, in megabytes.

    Attributes:
        rss: the sum of each process's own peak; what they share counts once for each.
        pss: the peak of the sum, each shared page divided among those who share it.
        processes: how many there were.
    """

    rss: float
    pss: float
    processes: int


def run(
    command: Sequence[str], output: Path | None = None, environment: Mapping[str, str] | None = None
) -> float:
    """Wall-clock seconds of a command that writes to a file, or nowhere."""
    return _run(command, output, environment, None)


def run_watched(
    command: Sequence[str], environment: Mapping[str, str] | None = None
) -> tuple[float, Memory | None]:
    """The same with the memory, which a little time goes into; None where it cannot be told."""
    watch = _Watch() if (PROC / "self" / "smaps_rollup").exists() else None
    seconds = _run(command, None, environment, watch)
    return seconds, watch.found() if watch else None


def ask(
    command: Sequence[str], environment: Mapping[str, str] | None = None, *, quiet: bool = False
) -> str | None:
    """What a command prints; None if it fails, and then it may say why on standard error."""
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
            # Reads what it says until its end, so that a full pipe does not stop it.
            _, said = process.communicate()
            seconds = time.perf_counter() - began
        finally:
            process.kill()
            process.wait()
            if watch:
                watch.stop()
    if process.returncode:
        raise SystemExit(
            f"{' '.join(command)} ended with {process.returncode}:\n{said.decode(errors='replace')}"
        )
    return seconds


class _Watch:
    """Looks at a process and those below it every 20 ms until it is stopped."""

    def __init__(self) -> None:
        self._peaks: dict[int, int] = {}
        self._pss = 0
        self._stopped = threading.Event()

    def start(self, pid: int) -> None:
        self._thread = threading.Thread(target=self._poll, args=(pid,))
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def found(self) -> Memory:
        kibibyte = 1024 / 1_000_000
        rss = sum(self._peaks.values()) * kibibyte
        return Memory(rss, self._pss * kibibyte, len(self._peaks))

    def _poll(self, root: int) -> None:
        while not self._stopped.wait(POLL_SECONDS):
            pss = 0
            for pid in _tree(root):
                try:
                    # Not the largest seen: before its exec a process has its parent's peak.
                    self._peaks[pid] = _kibibytes(PROC / str(pid) / "status", "VmHWM:")
                    pss += _kibibytes(PROC / str(pid) / "smaps_rollup", "Pss:")
                except (OSError, StopIteration):
                    continue  # It has just ended.
            self._pss = max(self._pss, pss)


def _tree(pid: int) -> Iterator[int]:
    yield pid
    for path in PROC.glob(f"{pid}/task/*/children"):
        try:
            children = path.read_text().split()
        except OSError:
            continue
        for child in children:
            yield from _tree(int(child))


def _kibibytes(path: Path, name: str) -> int:
    return next(
        int(line.split()[1]) for line in path.read_text().splitlines() if line.startswith(name)
    )
