"""The number of cores that this process can use."""

from __future__ import annotations

import os


def usable_cores() -> int:
    """Return the number of cores that this process can use, at least 1."""
    try:
        # Fewer than the machine has in a container or under taskset; not on macOS.
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
