"""Run a command as a whole process and measure it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """Wall-clock seconds and the process's largest resident set in megabytes."""

    seconds: float
    megabytes: float


def measure(command: Sequence[str]) -> Measured:
    """Run it to its end; a failure ends the benchmark."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    # Linux counts in kibibytes, macOS in bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    return Measured(seconds, usage.ru_maxrss * unit / 1_000_000)


def selection_run(batch: str, output: str) -> list[str]:
    """The product's command for one batch."""
    return [sys.executable, "-m", "selection", "run", batch, "-o", output, "--json"]
