"""A small file system that the suite can fill and empty."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from robustness import preload

_PIECE = b"\0" * 65_536


class Disk(Protocol):
    """A folder, the environment of the processes that write to it, and its two states."""

    folder: Path
    environment: dict[str, str]
    kind: str

    def fill(self) -> None: ...

    def empty(self) -> None: ...


class Mounted:
    """A file system in memory that a file fills."""

    kind = "a real file system"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment: dict[str, str] = {}
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        """Write until no space is left."""
        with self._ballast.open("wb", buffering=0) as file:
            try:
                while file.write(_PIECE):
                    pass
            except OSError:
                pass

    def empty(self) -> None:
        """Free the space again."""
        self._ballast.unlink(missing_ok=True)


class Simulated:
    """A folder in which the preloaded library makes writes fail with ENOSPC."""

    kind = "simulated by preload.c"

    def __init__(self, folder: Path, library: Path) -> None:
        self.folder = folder
        self._flag = folder.with_name("disk-is-full")
        self.environment = {"LD_PRELOAD": str(library), "FAULTS_DISK_FULL": str(self._flag)}

    def fill(self) -> None:
        """Make every write to a file fail."""
        self._flag.touch()

    def empty(self) -> None:
        """Let writes succeed again."""
        self._flag.unlink(missing_ok=True)


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Disk]:
    """Mount a file system of that size, or simulate one if mounting is not permitted."""
    place = folder / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(place)]
    if os.getuid() == 0 and _succeeds(mount):
        try:
            yield Mounted(place)
        finally:
            subprocess.run(["umount", "-l", str(place)], check=True, timeout=60)
    else:
        yield Simulated(place, preload.build(folder))


def _succeeds(command: list[str]) -> bool:
    return subprocess.run(command, stderr=subprocess.DEVNULL, timeout=60).returncode == 0
