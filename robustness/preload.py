"""Builds ``preload.c``, the library that injects faults into a process."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

_SOURCE = Path(__file__).with_name("preload.c")


def build(folder: Path) -> Path:
    """Compile the library into a folder and return its path."""
    compiler = os.environ.get("CC") or "cc"
    if not shutil.which(compiler):
        raise SystemExit(f"{compiler} is needed to build {_SOURCE.name}: install gcc")
    library = folder / "preload.so"
    flags = ["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    command = [compiler, *flags, "-o", str(library), str(_SOURCE), "-ldl"]
    subprocess.run(command, check=True, timeout=60)
    return library


def environment(library: Path, **more: str) -> dict[str, str]:
    """Return the environment of a process that loads the library."""
    return {**os.environ, "LD_PRELOAD": str(library), **more}
