"""Each call that a run makes on its files fails in each way, one call per run."""

from __future__ import annotations

import errno
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robustness import preload
from robustness.batches import ExpectedBatch, generate
from robustness.table import Effects, Table
from tests.support.process import killed_after

NEEDED = {"open", "openat", "read", "write", "fsync", "rename", "close", "stat"}
OLD = b"an older output"
SECONDS = 60


@dataclass(frozen=True)
class Fault:
    """A fault at one call; ``what`` is its number in preload.c."""

    name: str
    what: int
    errno: int = 0
    only: tuple[str, ...] = ()
    is_kill: bool = False
    #: The run cannot clean up after this fault; the next run does.
    is_beyond_repair: bool = False


FAULTS = (
    Fault("SIGKILL before the call", 1, is_kill=True),
    Fault("SIGKILL after the call", 2, is_kill=True),
    Fault("ENOSPC", 3, errno.ENOSPC),
    Fault("EIO", 3, errno.EIO),
    Fault("EINTR", 3, errno.EINTR),
    Fault("EIO from the call on", 4, errno.EIO, is_beyond_repair=True),
    Fault("EIO although done", 5, errno.EIO, is_beyond_repair=True),
    Fault("short", 6, only=("read", "write")),
)
NO_FAULT = Fault("none", 0)


class ForkServer:
    """The process of ``fork_server.py``."""

    def __init__(self, library: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "robustness.fork_server"],
            cwd=Path(__file__).parents[1],
            env=preload.environment(library),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def select(self, path: Path, output: Path, piece: int, fault: Fault, at: int) -> dict[str, Any]:
        """Select a batch in a child with one fault; return the response."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {
            "folder": str(path.parent),
            "input": str(path),
            "output": str(output),
            "piece": piece,
            "at": at,
            "what": fault.what,
            "errno": fault.errno,
        }
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        with killed_after(self._process, SECONDS):
            line = self._process.stdout.readline()
        answer: dict[str, Any] = json.loads(line)
        return answer

    def stop(self) -> None:
        """End the process."""
        self._process.communicate(timeout=SECONDS)


@contextmanager
def fork_server() -> Iterator[tuple[ForkServer, Path]]:
    """Start the process with a folder for its batches."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "batches")
        folder.mkdir()
        started = ForkServer(preload.build(Path(name)))
        try:
            yield started, folder
        finally:
            started.stop()


@dataclass(frozen=True)
class Target:
    """A batch on disk, its output, and the size in bytes of reads and writes."""

    batch: ExpectedBatch
    path: Path
    output: Path
    piece: int

    def set_up(self, old: bytes | None) -> None:
        """Write the batch and the older output, if any, and remove all other files."""
        for entry in os.scandir(self.path.parent):
            os.unlink(entry)
        self.path.write_bytes(self.batch.input)
        if old is not None:
            self.output.write_bytes(old)

    def content(self) -> bytes | None:
        """Return the bytes of the output; None if there is none."""
        return self.output.read_bytes() if self.output.exists() else None

    def left_over(self) -> list[str]:
        """Return the names of all files except input and output."""
        known = {self.path.name, self.output.name}
        return sorted(set(os.listdir(self.path.parent)) - known)


def run(table: Table, long: bool, seed: int) -> None:
    """Inject each fault at each call, for a small batch and for one of some hundred kB."""
    randomness = random.Random(seed)
    with fork_server() as (process, folder):
        for articles, words, piece in ((3, 20, 0), (60, 300, 24_000)):
            batch = generate(randomness, articles, words)
            target = Target(batch, folder / "batch.json", folder / "batch_selected.json", piece)
            _kill_everywhere(table, process, target, long)
        if long:
            batch = generate(randomness, 3, 20)
            target = Target(batch, folder / "batch.json", folder / "batch_selected.json", 0)
            _kill_twice(table, process, target)


def _calls(process: ForkServer, target: Target) -> list[str]:
    """Return the names of the calls of a run without a fault, in order."""
    target.set_up(None)
    answer = process.select(target.path, target.output, target.piece, NO_FAULT, 0)
    if answer["ended"] != "ok" or target.content() != target.batch.output:
        raise SystemExit(f"kill: the run without a fault went wrong: {answer}")
    names: list[str] = [name.removesuffix("64") for name in answer["calls"]]
    missing = {need for need in NEEDED if not any(name.startswith(need) for name in names)}
    if missing:
        raise SystemExit(f"kill: Python's calls are not seen here: {', '.join(sorted(missing))}")
    return names


def _kill_everywhere(table: Table, process: ForkServer, target: Target, long: bool) -> None:
    calls = _calls(process, target)
    table.log(f"kill: {len(calls)} calls, {len(FAULTS)} faults, {len(target.batch.input):,} bytes")
    for fault in FAULTS:
        for at, call in enumerate(calls, start=1):
            if fault.only and call not in fault.only:
                continue
            for old in (None, OLD) if long else (None, OLD)[at % 2 :][:1]:
                table.add(
                    f"kill: {fault.name}", _run_with_fault(process, target, fault, at, call, old)
                )


def _run_with_fault(
    process: ForkServer, target: Target, fault: Fault, at: int, call: str, old: bytes | None
) -> Effects:
    target.set_up(old)
    answer = process.select(target.path, target.output, target.piece, fault, at)
    where = f"call {at}, {call}, {'no output yet' if old is None else 'an older output'}"
    ended = answer["ended"]
    lost = partial = leaked = ""
    if ended == "stuck":
        return Effects(stuck=where)
    content = target.content()
    if content not in (old, target.batch.output):
        partial = f"{where}: the output is neither absent, old nor complete"
    if target.path.read_bytes() != target.batch.input:
        lost = f"{where}: the input was changed"
    if fault.is_kill != (ended == "killed"):
        lost = f"{where}: ended {ended} {answer.get('message', '')}"
    elif ended in ("untyped", "crashed"):
        lost = f"{where}: {answer.get('message', ended)}"
    elif ended == "typed" and not answer["retryable"]:
        lost = f"{where}: {answer['type']} is final, and the next try would be right"
    elif ended == "ok" and content != target.batch.output:
        lost = f"{where}: succeeded without a right output"
    if not fault.is_kill:
        if answer["descriptors"]:
            leaked = f"{where}: {answer['descriptors']} descriptors"
        if target.left_over() and not fault.is_beyond_repair and not call.startswith("unlink"):
            leaked = f"{where}: {target.left_over()}"
    again = _next_run(process, target, where)
    return Effects(lost or again.lost, partial, leaked or again.leaked, again.stuck)


def _next_run(process: ForkServer, target: Target, where: str) -> Effects:
    """Check that the next run is right and removes the files of the earlier one."""
    answer = process.select(target.path, target.output, target.piece, NO_FAULT, 0)
    if answer["ended"] == "stuck":
        return Effects(stuck=f"{where}: the next run")
    if answer["ended"] != "ok" or target.content() != target.batch.output:
        return Effects(lost=f"{where}: the next run: {answer}")
    if target.left_over():
        return Effects(leaked=f"{where}: after the next run: {target.left_over()}")
    return Effects()


def _kill_twice(table: Table, process: ForkServer, target: Target) -> None:
    """Kill a run at each call, and the run that cleans up after it at each call, too."""
    kill = FAULTS[0]
    calls = len(_calls(process, target))
    for first in range(1, calls + 1):
        # The second run makes more calls: it opens and removes the file of the first one.
        for second in range(1, calls + 6):
            target.set_up(OLD)
            for at in (first, second):
                process.select(target.path, target.output, target.piece, kill, at)
            where = f"calls {first} and {second}"
            partial = ""
            if target.content() not in (OLD, target.batch.output):
                partial = f"{where}: the output is neither old nor complete"
            again = _next_run(process, target, where)
            table.add("kill: twice", Effects(again.lost, partial, again.leaked, again.stuck))
