"""Temporary files: named so that they can be recognised, removed after their writer was killed.

A run that is killed leaves its temporary file. A later run in the same folder, for any output,
removes it if two things are proved:

1. It is a file of this program. The name alone does not prove that, since a batch can have any
   name. The name of a temporary file has its own inode number, from before its first byte is
   written; a file that was copied, moved or written under such a name has another number. Only
   an empty file, which a kill before the rename leaves, is removed by its name alone.
2. Its writer has ended. The writer has an exclusive lock (``flock``), which the system releases
   with the process. Some file systems keep such locks per machine, and a shared folder has
   writers on several: the name therefore also identifies the machine, and a file of another
   machine must not have been written to for a day.

A file for which this cannot be proved is kept, for example on a file system without locks or one
that renumbers inodes.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
import time
import zlib
from contextlib import suppress
from typing import BinaryIO

from selection.storage.input import close
from selection.storage.interface import Input, is_input

# The target's name is cut to this many bytes; some file systems allow 143 for the whole.
_LONGEST_NAME = 80
_NAME = re.compile(
    r"\..*\.(?P<machine>[0-9a-f]{8})-(?P<inode>[0-9a-f]+)-[0-9a-f]{16}\.tmp", re.DOTALL
)
_ATTEMPTS = 16
_DAY = 86_400

# A pipe that has such a name must not block. Some file systems lock only writable files.
_FOUND = os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC

# The earliest time of the next sweep of each folder: a large one is not listed for every file.
_next_sweep: dict[tuple[int, int], float] = {}
_SHARE_OF_TIME = 0.01


class Temporary:
    """A file beside its target that only its owner can open, locked while it is written.

    Args:
        folder: a descriptor of the target's folder.
        target: the target's name in that folder.
        buffer: how many bytes are buffered before they are written.

    Attributes:
        name: the file's name in the folder.
        file: the file, open for writing.
    """

    file: BinaryIO

    def __init__(self, folder: int, target: str, buffer: int) -> None:
        self._folder = folder
        # A name that ends within a character is not UTF-8.
        short = os.fsencode(target)[:_LONGEST_NAME].decode("utf-8", "ignore").encode()
        self._prefix = f".{os.fsdecode(short)}.{_machine()}"
        self._buffer = buffer
        self._first = self.name = ""

    def create(self) -> None:
        """Create the file; from then on :meth:`remove` removes it.

        Raises:
            OSError: it cannot be created there.
        """
        for _ in range(_ATTEMPTS):
            if self._create():
                return
            self.remove()
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    def _create(self) -> bool:
        """Return whether the file exists: another run can remove it before it is locked."""
        # Each name is noted before the file gets it, since a signal can end the run in between.
        token = os.urandom(8).hex()
        self._first = self.name = f"{self._prefix}-0-{token}.tmp"
        self.file = open(  # noqa: SIM115, kept open
            self._first, "xb", buffering=self._buffer, opener=self._open
        )
        if not _lock(self.file.fileno()):
            return False
        self.name = f"{self._prefix}-{os.fstat(self.file.fileno()).st_ino:x}-{token}.tmp"
        try:
            os.rename(self._first, self.name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        except FileNotFoundError:
            return False
        return True

    def _open(self, name: str, flags: int) -> int:
        return os.open(name, flags | os.O_NOFOLLOW, 0o600, dir_fd=self._folder)

    def rename(self, target: str) -> bool:
        """Rename the file; return False if another file has its temporary name."""
        now = _look(self._folder, self.name)
        if not os.path.samestat(now, os.fstat(self.file.fileno())):
            return False
        os.replace(self.name, target, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        return True

    def remove(self) -> None:
        """Remove the file under its temporary names, if it has one, and close it."""
        for name in {self._first, self.name}:
            with suppress(OSError):
                os.unlink(name, dir_fd=self._folder)
        # Without an open file there is nothing to close; closing flushes the buffer and can fail.
        with suppress(AttributeError, OSError):
            self.file.close()


def _lock(descriptor: int) -> bool:
    """Lock a new file without waiting; return False if another run has the lock."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # On a file system without locks nothing is swept either.
        return True
    return True


def _machine() -> str:
    """Return an identifier of the kernel that keeps the locks; containers on a host share it."""
    try:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            identity = file.read()
    except OSError:
        identity = os.fsencode(os.uname().nodename)
    return f"{zlib.crc32(identity):08x}"


def sweep(folder: int, own: int, source: Input) -> None:
    """Remove the temporary files of writers that were killed from a folder.

    Args:
        folder: a descriptor of the folder.
        own: a descriptor of a new file in it, whose time is that of the file server.
        source: the input, which is never removed.
    """
    with suppress(OSError):
        found = os.fstat(folder)
        began = time.monotonic()
        if began < _next_sweep.get((found.st_dev, found.st_ino), began):
            return
        now = os.fstat(own).st_mtime
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if _NAME.fullmatch(entry.name)]
        for name in names:
            with suppress(OSError):
                _remove_if_abandoned(folder, name, now, source)
        ended = time.monotonic()
        _next_sweep[found.st_dev, found.st_ino] = ended + (ended - began) / _SHARE_OF_TIME


def _remove_if_abandoned(folder: int, name: str, now: float, source: Input) -> None:
    if not _is_abandoned(_look(folder, name), name, now, source):
        return
    descriptor = os.open(name, _FOUND, dir_fd=folder)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # No other run removes or renames a locked file, so the name stays that of the open file.
        found = os.fstat(descriptor)
        is_same = os.path.samestat(found, _look(folder, name))
        if is_same and _is_abandoned(found, name, now, source):
            os.unlink(name, dir_fd=folder)
    finally:
        close(descriptor)


def _look(folder: int, name: str) -> os.stat_result:
    return os.stat(name, dir_fd=folder, follow_symlinks=False)


def _is_abandoned(found: os.stat_result, name: str, now: float, source: Input) -> bool:
    """Return whether a file that is not locked is a temporary file whose writer has ended."""
    made = _NAME.fullmatch(name)
    if made is None or not stat.S_ISREG(found.st_mode) or is_input(source, found):
        return False
    is_ours = found.st_ino == int(made["inode"], 16) or found.st_size == 0
    is_local = made["machine"] == _machine()
    return is_ours and (is_local or now - found.st_mtime > _DAY)
