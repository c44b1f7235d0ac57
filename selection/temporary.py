"""Temporary files: made so that they can be recognised, removed when their writer is dead.

A run that is killed leaves its temporary file. A later run in the same folder, for whatever
output, removes it if two things are proved:

1. It is one of ours. A name proves nothing, since a batch can have any name. A temporary file
   carries its own inode number in its name from before its first byte is written; a file that
   was copied, moved there or written under such a name has another number. Only a file of no
   bytes at all, left in the moment before, is removed by its name alone: it holds nothing.
2. Its writer is dead. The writer holds an exclusive lock (``flock``), which the system
   releases with the process. Some file systems keep such locks per machine, and a shared
   folder has writers on several: the name therefore also carries a mark of the machine, and a
   file of another machine must not have been written to for a day.

What cannot be proved stays: on a file system without locks, or one that renumbers its inodes.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
import stat
import time
import zlib
from contextlib import suppress

from selection.source import Source, close

# The target's name is cut to this many bytes; some file systems allow 143 for the whole.
_LONGEST_NAME = 80
_NAME = re.compile(
    r"\..*\.(?P<machine>[0-9a-f]{8})-(?P<inode>[0-9a-f]+)-[0-9a-f]{16}\.tmp", re.DOTALL
)
_ATTEMPTS = 16
_DAY = 86_400

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# A pipe that has such a name must not block; some file systems lock only what can be written.
_FOUND = os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC

# When each folder may be swept again, so that large ones are not listed for every file.
_next_sweep: dict[tuple[int, int], float] = {}
_SHARE_OF_TIME = 0.01


def create(folder: int, target: str) -> tuple[int, str]:
    """Create and lock a temporary file that only its owner can open.

    Args:
        folder: a descriptor of the target's folder.
        target: the target's name in there.

    Returns:
        A descriptor for writing and the file's name.

    Raises:
        OSError: it cannot be made there.
    """
    for _ in range(_ATTEMPTS):
        # Another run may remove the file, or look at it, before it is locked.
        with suppress(BlockingIOError, FileNotFoundError):
            return _create(folder, target)
    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def _create(folder: int, target: str) -> tuple[int, str]:
    # Not cut within a character.
    short = os.fsdecode(os.fsencode(target)[:_LONGEST_NAME].decode("utf-8", "ignore").encode())
    token = secrets.token_hex(8)
    first = name = f".{short}.{_machine()}-0-{token}.tmp"
    descriptor: int | None = None
    try:
        descriptor = os.open(first, _NEW, 0o600, dir_fd=folder)
        _lock(descriptor)
        name = f".{short}.{_machine()}-{os.fstat(descriptor).st_ino:x}-{token}.tmp"
        os.rename(first, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        for made in (first, name):
            with suppress(OSError):
                os.unlink(made, dir_fd=folder)
        if descriptor is not None:
            close(descriptor)
        raise
    return descriptor, name


def _lock(descriptor: int) -> None:
    """Lock a new file without waiting; a file system without locks has none."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return


def _machine() -> str:
    """Return a mark of the kernel that keeps the locks; containers on one host share it."""
    try:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            identity = file.read()
    except OSError:
        identity = os.fsencode(os.uname().nodename)
    return f"{zlib.crc32(identity):08x}"


def sweep(folder: int, own: int, source: Source) -> None:
    """Remove the temporary files of dead writers from a folder.

    Args:
        folder: a descriptor of the folder.
        own: a descriptor of a new file in there; its time is the file server's.
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


def _remove_if_abandoned(folder: int, name: str, now: float, source: Source) -> None:
    if not _is_abandoned(_look(folder, name), name, now, source):
        return
    descriptor = os.open(name, _FOUND, dir_fd=folder)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # With the lock no other run removes or renames it: name and open file stay one.
        found = os.fstat(descriptor)
        is_same = os.path.samestat(found, _look(folder, name))
        if is_same and _is_abandoned(found, name, now, source):
            os.unlink(name, dir_fd=folder)
    finally:
        close(descriptor)


def _look(folder: int, name: str) -> os.stat_result:
    return os.stat(name, dir_fd=folder, follow_symlinks=False)


def _is_abandoned(found: os.stat_result, name: str, now: float, source: Source) -> bool:
    """Whether it is one of ours and has no writer, provided that nothing locks it."""
    made = _NAME.fullmatch(name)
    if made is None or not stat.S_ISREG(found.st_mode) or source.is_file(found):
        return False
    is_ours = found.st_ino == int(made["inode"], 16) or found.st_size == 0
    is_local = made["machine"] == _machine()
    return is_ours and (is_local or now - found.st_mtime > _DAY)
