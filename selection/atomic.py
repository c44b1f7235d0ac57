"""The output file: the whole of it or nothing (FR-016, PRD NFR-005)."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import count
from types import TracebackType
from typing import BinaryIO

from selection.errors import (
    OutputError,
    OutputFolderMissingError,
    OutputForbiddenError,
    WriteError,
)
from selection.source import close, is_inside, may_pass

_BUFFER = 1 << 20
_LONGEST_NAME = 200
_SWEPT_SLOTS = 8

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class AtomicFile:
    """A new file that takes its name only when it is complete and on disk.

    Used as a context manager: a clean end puts the file into place, any exception
    (a signal's or a timeout's, too) removes what was written and leaves the target as it
    was. The bytes go to a temporary file beside the target, ``.NAME.0.tmp`` (another number
    if somebody is writing the same target), which is locked as long as its writer lives.
    One without a live writer is removed by the next run for that target.

    All names are looked up in the target's folder as it was opened, so that swapping a link
    on the way to it afterwards changes nothing.

    Args:
        path: the target. Through a symbolic link the file that it names is replaced.
        roots: folders of which one must hold the target, links resolved; none: any place.

    Raises:
        OutputError: the file cannot be made there.
        WriteError: writing it failed.
    """

    def __init__(self, path: str, roots: Sequence[str] = ()) -> None:
        self.path = path
        self._roots = roots
        self._in_place = False

    def __enter__(self) -> AtomicFile:
        # All is made here, not before: a signal between making it and entering would leave it.
        folder, self._name = os.path.split(os.path.realpath(self.path))
        try:
            self._folder = os.open(folder, _FOLDER_FLAGS)
        except OSError as error:
            raise self._output_error(error) from None
        try:
            if not is_inside(self._roots, folder, os.fstat(self._folder)):
                raise OutputForbiddenError(
                    "the output is outside the allowed folders", path=self.path
                )
            self._require_regular_or_absent()
            self._file, self._temporary = _create_temporary(self._folder, self._name)
        except BaseException as error:
            close(self._folder)
            if isinstance(error, OSError):
                raise self._output_error(error) from None
            raise
        return self

    def _require_regular_or_absent(self) -> None:
        try:
            found = os.stat(self._name, dir_fd=self._folder)
        except FileNotFoundError:
            return
        if not stat.S_ISREG(found.st_mode):
            raise OutputError("the output exists and is no regular file", path=self.path)

    def _output_error(self, error: OSError) -> OutputError | WriteError:
        if may_pass(error):
            return self._write_error(error)
        if isinstance(error, FileNotFoundError):
            return OutputFolderMissingError("there is no such folder", path=self.path)
        return OutputError(f"cannot be made: {error.strerror}", path=self.path)

    def write(self, pieces: Iterable[bytes | memoryview]) -> None:
        """Append the pieces, in order."""
        try:
            self._file.writelines(pieces)
        except OSError as error:
            raise self._write_error(error) from None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._commit()
        except OSError as failure:
            raise self._write_error(failure) from None
        finally:
            self._discard_what_is_left()

    def _commit(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        os.replace(self._temporary, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        self._in_place = True
        _sync_folder(self._folder)

    def _discard_what_is_left(self) -> None:
        if not self._in_place:
            with suppress(OSError):
                os.unlink(self._temporary, dir_fd=self._folder)
        # Closing tries to write what is still in the buffer, which may fail again.
        with suppress(OSError):
            self._file.close()
        close(self._folder)

    def _write_error(self, error: OSError) -> WriteError:
        return WriteError(f"writing failed: {error.strerror}", path=self.path)


def _create_temporary(folder: int, name: str) -> tuple[BinaryIO, str]:
    # A name may have 255 bytes; two long names that share these slots do not disturb
    # each other, because only a dead writer's file is removed.
    short = os.fsdecode(os.fsencode(name)[:_LONGEST_NAME].decode("utf-8", "ignore").encode())
    for slot in range(_SWEPT_SLOTS):
        _remove_if_abandoned(folder, f".{short}.{slot}.tmp")
    for slot in count():
        temporary = f".{short}.{slot}.tmp"
        try:
            file = _create_locked(folder, temporary)
        except FileExistsError:
            continue
        except BaseException:
            # It may be there, and then it is nobody's.
            _remove_if_abandoned(folder, temporary)
            raise
        if file is not None:
            return file, temporary
    raise AssertionError("unreachable")


def _create_locked(folder: int, temporary: str) -> BinaryIO | None:
    """The new file, locked; None if another run has swept it before it was locked."""

    def create(name: str, flags: int) -> int:
        # The mode of an ordinary new file: the umask and the folder decide.
        return os.open(name, flags, 0o666, dir_fd=folder)

    # Given an opener, `open` closes what it opened whatever fails after that.
    file = open(temporary, "xb", buffering=_BUFFER, opener=create)  # noqa: SIM115, kept open
    try:
        # Before it is locked, another run may take it for a dead writer's; then it holds the
        # lock for a moment, and the file has no name afterwards.
        _lock(file.fileno(), fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            return file
    except BaseException:
        file.close()
        raise
    file.close()
    return None


def _lock(descriptor: int, how: int) -> bool:
    """Whether the lock was to be had; a file system without locks gives none."""
    try:
        fcntl.flock(descriptor, how)
    except OSError:
        return False
    return True


def _remove_if_abandoned(folder: int, temporary: str) -> None:
    with suppress(OSError):
        descriptor = os.open(temporary, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            # With the lock nobody else removes or renames it, so that the name and the
            # open file stay one.
            if _lock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB) and os.path.samestat(
                os.fstat(descriptor), os.stat(temporary, dir_fd=folder, follow_symlinks=False)
            ):
                os.unlink(temporary, dir_fd=folder)
        finally:
            close(descriptor)


def _sync_folder(folder: int) -> None:
    """Make the new name last; a file system that cannot sync a folder makes it last anyway."""
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
