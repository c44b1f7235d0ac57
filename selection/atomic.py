"""The output file: the whole of it or nothing (FR-016, PRD NFR-005)."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from itertools import count
from types import TracebackType

from selection.errors import OutputError, WriteError

_BUFFER = 1 << 20
_LONGEST_NAME = 200
_SWEPT_SLOTS = 8


class AtomicFile:
    """A new file that takes its name only when it is complete and on disk.

    Used as a context manager: a clean end puts the file into place, any exception
    (a signal's or a timeout's, too) removes what was written and leaves the target as it
    was. The bytes go to a temporary file beside the target, ``.NAME.0.tmp`` (another number
    if somebody is writing the same target), which is locked as long as its writer lives.
    One without a live writer is removed by the next run for that target.

    Args:
        path: the target. Through a symbolic link the file that it names is replaced.

    Raises:
        OutputError: the file cannot be made there.
        WriteError: writing it failed.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._target = os.path.realpath(path)
        try:
            if not stat.S_ISREG(os.stat(self._target).st_mode):
                raise OutputError("the output exists and is no regular file", path=path)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise OutputError(f"cannot be made: {error.strerror}", path=path) from None
        try:
            descriptor, self._temporary = _create_temporary(self._target)
        except OSError as error:
            raise OutputError(f"cannot be made: {error.strerror}", path=path) from None
        self._file = os.fdopen(descriptor, "wb", buffering=_BUFFER)

    def write(self, pieces: Iterable[bytes]) -> None:
        """Append the pieces, in order."""
        try:
            self._file.writelines(pieces)
        except OSError as error:
            raise self._write_error(error) from None

    def __enter__(self) -> AtomicFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            try:
                self._commit()
            except OSError as failure:
                self._discard()
                raise self._write_error(failure) from None
            except BaseException:
                self._discard()
                raise
        else:
            self._discard()

    def _commit(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        os.replace(self._temporary, self._target)
        self._file.close()
        _sync_folder(os.path.dirname(self._target))

    def _discard(self) -> None:
        with suppress(OSError):
            os.unlink(self._temporary)
        # Closing tries to write what is still in the buffer, which may fail again.
        with suppress(OSError):
            self._file.close()

    def _write_error(self, error: OSError) -> WriteError:
        return WriteError(f"writing failed: {error.strerror}; no output is left", path=self.path)


def _create_temporary(target: str) -> tuple[int, str]:
    folder, name = os.path.split(target)
    # A name may have 255 bytes; two long names that share these slots do not disturb
    # each other, because only a dead writer's file is removed.
    short = os.fsencode(name)[:_LONGEST_NAME].decode("utf-8", "ignore")
    prefix = os.path.join(folder, f".{short}.")
    for slot in range(_SWEPT_SLOTS):
        _remove_if_abandoned(f"{prefix}{slot}.tmp")
    for slot in count():
        temporary = f"{prefix}{slot}.tmp"
        try:
            # The mode of an ordinary new file: the umask and the folder decide.
            descriptor = os.open(
                temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666
            )
        except FileExistsError:
            continue
        _lock(descriptor)
        # Before it was locked, another run may have taken it for a dead writer's.
        if os.fstat(descriptor).st_nlink:
            return descriptor, temporary
        os.close(descriptor)
    raise AssertionError("unreachable")


def _lock(descriptor: int) -> bool:
    """Whether the lock was to be had; a file system without locks gives none."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_if_abandoned(temporary: str) -> None:
    with suppress(OSError):
        descriptor = os.open(temporary, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            # With the lock nobody else removes or renames it, so that the name and the
            # open file stay one.
            if _lock(descriptor) and os.path.samestat(os.fstat(descriptor), os.stat(temporary)):
                os.unlink(temporary)
        finally:
            os.close(descriptor)


def _sync_folder(folder: str) -> None:
    """Make the new name last; where folders cannot be opened or synced, it lasts without."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except PermissionError:
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)
