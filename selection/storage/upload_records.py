"""Records of the writers of this machine: which unfinished upload of an object is whose.

A record is a file in the user's cache folder on which its writer holds an exclusive lock
(``flock``), which the system releases with the process. It is made before the upload begins, so
that a writer which is killed at any time has one. Its first line has the uploads of the object
that existed before, its second line, as soon as they are known, those that the writer began:
more than one if the answer to a request was lost and it was sent again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import uuid
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

# The end of the name of a record that is not complete.
_NEW = ".new"


class Record:
    """The record of this process as a writer of an object.

    Without a folder that can be written there is none, and what a kill leaves is aborted only
    when it is old.

    Args:
        url: the URL of the bucket.
        key: the object.
        before: the uploads of other writers.
    """

    def __init__(self, url: str, key: str, before: Iterable[str]) -> None:
        self.path = _folder() / f"{_prefix(url, key)}{uuid.uuid4().hex}"
        self._new = self.path.with_name(f"{self.path.name}{_NEW}")
        self._before = before
        self._file: int | None = None

    def create(self) -> None:
        """Create the file and lock it before it has its name."""
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self._new, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            # Another writer can hold it for the moment in which it checks it.
            fcntl.flock(self._file, fcntl.LOCK_EX)
            self._append(self._before)
            self._new.rename(self.path)

    def add(self, uploads: Iterable[str]) -> None:
        """Record the uploads that the writer began."""
        with suppress(OSError):
            self._append(uploads)

    def _append(self, uploads: Iterable[str]) -> None:
        if self._file is not None:
            os.write(self._file, json.dumps(sorted(uploads)).encode() + b"\n")

    def release(self) -> None:
        """Release the lock: the next writer of the object aborts what this one leaves."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def remove(self) -> None:
        """Remove the file: nothing is left of the writer."""
        for path in (self.path, self._new):
            with suppress(OSError):
                path.unlink()
        self.release()


@dataclass(frozen=True, slots=True)
class Writer:
    """What a record says of its writer.

    Attributes:
        path: the file.
        before: the uploads that the writer found when it began.
        own: the uploads that it began; None if that was not recorded.
        has_ended: whether its process does not exist any more.
    """

    path: Path
    before: frozenset[str]
    own: frozenset[str] | None
    has_ended: bool

    def uploads_among(self, uploads: frozenset[str]) -> frozenset[str]:
        """Return those of an object's uploads that can be this writer's."""
        return uploads & self.own if self.own is not None else uploads - self.before


def writers_of(url: str, key: str) -> list[Writer]:
    """Return the writers of an object that have a record on this machine."""
    found = []
    for path in _folder().glob(f"{_prefix(url, key)}*"):
        with suppress(OSError, ValueError, TypeError):
            has_ended = _has_ended(path)
            # A line is complete or not valid JSON.
            lines = path.read_bytes().splitlines(keepends=True)
            sets = [frozenset(json.loads(line)) for line in lines if line.endswith(b"\n")]
            own = sets[1] if len(sets) > 1 else None
            if path.name.endswith(_NEW):  # it has uploaded nothing yet
                own = frozenset()
            found.append(Writer(path, sets[0] if sets else frozenset(), own, has_ended))
    return found


def _has_ended(path: Path) -> bool:
    file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(file)
    return True


def _folder() -> Path:
    cache_folder = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(cache_folder, "deterministic-content-selection", "uploads")


def _prefix(url: str, key: str) -> str:
    return hashlib.sha256(f"{url}\0{key}".encode()).hexdigest()[:40] + "-"
