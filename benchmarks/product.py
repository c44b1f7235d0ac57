"""The command under test, and the features of the installed version."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from benchmarks.process import output_of

SELECTION = (sys.executable, "-m", "selection")
SAMPLE = Path(__file__).parents[1] / "examples" / "river_plate_extracted.json"
BACKENDS = ("native", "python")


def environment(backend: str) -> Mapping[str, str]:
    """Return the variable that chooses a backend, ``native`` or ``python``."""
    return {"SELECTION_BACKEND": backend}


@cache
def backend_in_use(wanted: str | None = None) -> str | None:
    """Return the backend that the command reports; ``python`` for versions without backends."""
    printed = output_of(
        [*SELECTION, "--version"], environment(wanted) if wanted else None, quiet=True
    )
    if printed is None:
        return None
    found = re.search(r"backend (\w+)", printed)
    used = found[1] if found else "python"
    return used if used in BACKENDS else None


def backends() -> dict[str, bool]:
    """Return the names of the backends and whether each is available."""
    return {name: backend_in_use(name) == name for name in BACKENDS}


@cache
def has_jobs() -> bool:
    """Return whether ``selection run`` has ``--jobs``."""
    return "--jobs" in (output_of([*SELECTION, "run", "--help"]) or "")


def selection_run(batch: Path, output: Path, jobs: int | None = None) -> list[str]:
    """Return the command for one batch; a version without ``--jobs`` is always one process."""
    option = ["--jobs", str(jobs)] if jobs and has_jobs() else []
    return [*SELECTION, "run", str(batch), "-o", str(output), "--json", *option]
