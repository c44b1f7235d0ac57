"""The input file: opened once, read in order, proved unchanged."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress

from selection.errors import (
    InputChangedError,
    InputDeniedError,
    InputError,
    InputForbiddenError,
    InputMissingError,
    InputNameError,
    InputNotFileError,
    ReadError,
)
from selection.storage.roots import is_file_inside
from selection.storage.transient import is_transient

#: Device, inode, size and time of the last change of a file.
Identity = tuple[int, int, int, int]


class InputFile:
    """A local file, open for reading.

    Args:
        path: the file, as the caller named it.
        roots: folders of which one must hold the file, links resolved; none: any place.

    Raises:
        InputError: it does not exist, cannot be read, is not a regular file, is outside the
            roots or has a name that is not UTF-8.
        ReadError: it cannot be opened now.

    Attributes:
        path: as given.
        status: of the file when it was opened.
        size: its number of bytes then.
        format: None.
        identity: what must not change while the file is read.
    """

    format = None

    def __init__(self, path: str, roots: Sequence[str] = ()) -> None:
        self.path = path
        if fault := fault_of_name(path):
            raise InputNameError(fault)
        try:
            # Without O_NONBLOCK, opening a pipe would wait for a writer.
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise _refusal(error, path) from None
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise _not_a_file(found, path)
            if not is_file_inside(roots, path, found):
                raise InputForbiddenError("the file is outside the allowed folders", path=path)
            self._file = os.fdopen(descriptor, "rb", buffering=0)
        except BaseException as error:
            close(descriptor)
            if isinstance(error, OSError):
                raise _refusal(error, path) from None
            raise
        self.status = found
        self.size = found.st_size
        self.identity = _identity(found)

    @property
    def version(self) -> tuple[str, ...]:
        """Size and time of the last change."""
        return str(self.size), str(self.status.st_mtime_ns)

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes, none at the end of the file."""
        try:
            return self._file.read(size) or b""
        except OSError as error:
            raise self._read_error(error) from None

    def seek(self, offset: int, /) -> None:
        """Continue reading at an offset."""
        try:
            self._file.seek(offset)
        except OSError as error:
            raise self._read_error(error) from None

    def read_at(self, offset: int, size: int) -> bytes:
        """Read ``size`` bytes at an offset, or fewer at the end of the file."""
        pieces: list[bytes] = []
        try:
            # Linux reads at most 2 GiB at once.
            while size > 0 and (piece := os.pread(self._file.fileno(), size, offset)):
                pieces.append(piece)
                offset += len(piece)
                size -= len(piece)
        except OSError as error:
            raise self._read_error(error) from None
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _read_error(self, error: OSError) -> ReadError:
        return ReadError(f"reading failed: {error.strerror}", path=self.path)

    def check_unchanged(self) -> None:
        """Prove that the file is the one that was opened and has not been written to."""
        try:
            now = {_identity(os.stat(self.path)), _identity(os.fstat(self._file.fileno()))}
        except OSError as error:
            if is_transient(error):
                raise self._read_error(error) from None
            now = set()
        if now != {self.identity}:
            raise InputChangedError(
                "the file was changed, replaced or removed while it was read; run again",
                path=self.path,
            )

    def close(self) -> None:
        """Close the file and ignore errors, which do not affect the bytes that were read."""
        with suppress(OSError):
            self._file.close()


def fault_of_name(path: str) -> str | None:
    """Return why a file name cannot be written as UTF-8 text, None if it can."""
    if "\0" in path:
        return "a file name cannot have a NUL character"
    name: str | bytes = path
    try:
        name = os.fsencode(path)
        name.decode("utf-8")
    except UnicodeEncodeError as error:
        if not "\ud800" <= path[error.start] <= "\udfff":
            return (
                f"{path!a} cannot be a file name here, where names are {error.encoding}; "
                "set PYTHONUTF8=1"
            )
        return f"the file's name is not UTF-8: {name!a}; rename it"
    except UnicodeDecodeError:
        return f"the file's name is not UTF-8: {name!a}; rename it"
    return None


def _identity(found: os.stat_result) -> Identity:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def close(descriptor: int) -> None:
    """Close a descriptor and ignore errors.

    Linux releases the descriptor even if the system call fails.
    """
    with suppress(OSError):
        os.close(descriptor)


def _not_a_file(found: os.stat_result, path: str) -> InputNotFileError:
    what = "a folder" if stat.S_ISDIR(found.st_mode) else "not a regular file"
    return InputNotFileError(f"the input is {what}; name a JSON file", path=path)


def _refusal(error: OSError, path: str) -> InputError | ReadError:
    if is_transient(error):
        # Opening a socket, or a device without a driver, fails with a transient error, too.
        with suppress(OSError):
            found = os.stat(path)
            if not stat.S_ISREG(found.st_mode):
                return _not_a_file(found, path)
        return ReadError(f"cannot be opened: {error.strerror}", path=path)
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return InputMissingError("the file does not exist", path=path)
    if isinstance(error, PermissionError):
        return InputDeniedError("the file cannot be read; check its permissions", path=path)
    return InputError(f"cannot be opened: {error.strerror}", path=path)
