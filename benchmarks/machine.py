"""The description of the machine, without its name."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path


def machine() -> str:
    """Return processor, cores, system and Python in one line."""
    cores = os.cpu_count() or 1
    system = _value(Path("/etc/os-release"), r'PRETTY_NAME="?([^"\n]+)') or platform.system()
    return (
        f"{_processor()}, {cores} core{'s' if cores > 1 else ''}, {system} "
        f"on {platform.machine()}, "
        f"{platform.python_implementation()} {platform.python_version()}"
    )


def _processor() -> str:
    named = _value(Path("/proc/cpuinfo"), r"model name\s*: (.+)")
    return named or platform.processor() or "unknown processor"


def _value(path: Path, pattern: str) -> str | None:
    try:
        found = re.search(pattern, path.read_text())
    except OSError:
        return None
    return found[1] if found else None
