"""The product by its public face: its command, and what the installed one can do."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from benchmarks.process import ask

SELECTION = (sys.executable, "-m", "selection")
SAMPLE = Path(__file__).parents[1] / "examples" / "river_plate_extracted.json"
BACKENDS = {"native": "native", "pure": "python"}


def environment(backend: str) -> Mapping[str, str]:
    """What chooses a backend, ``native`` or ``pure``."""
    return {"SELECTION_BACKEND": BACKENDS[backend]}


@cache
def backend_in_use(wanted: str | None = None) -> str | None:
    """The backend that the command says it uses; ``pure`` where it knows of none."""
    said = ask([*SELECTION, "--version"], environment(wanted) if wanted else None, quiet=True)
    if said is None:
        return None
    found = re.search(r"backend (\w+)", said)
    used = found[1] if found else "python"
    return next((name for name, value in BACKENDS.items() if value == used), None)


def backends() -> dict[str, bool]:
    """Which backends there are, and whether each can be had here."""
    return {name: backend_in_use(name) == name for name in BACKENDS}


@cache
def has_jobs() -> bool:
    """Whether ``selection run`` has ``--jobs``."""
    return "--jobs" in (ask([*SELECTION, "run", "--help"]) or "")


def selection_run(batch: Path, output: Path, jobs: int | None = None) -> list[str]:
    """The command for one batch; one that has no ``--jobs`` is one process anyway."""
    option = ["--jobs", str(jobs)] if jobs and has_jobs() else []
    return [*SELECTION, "run", str(batch), "-o", str(output), "--json", *option]
