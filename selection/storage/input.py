"""The input file: opened once, read in order, proved unchanged."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Protocol

from selection.errors import (
    OUT_OF_MEMORY,
    DataError,
    InputChangedError,
    InputDeniedError,
    InputError,
    InputForbiddenError,
    InputMissingError,
    InputNameError,
    InputNotFileError,
    OutOfMemoryError,
    ReadError,
)
from selection.storage.transient import is_transient

READ_SIZE = 1 << 18

#: Device, inode, size and time of the last change of a file.
Identity = tuple[int, int, int, int]


class Readable(Protocol):
    """A binary file that can be read again from its beginning."""

    def read(self, size: int, /) -> bytes: ...

    def seek(self, offset: int, /) -> object: ...


class Source:
    """A batch's file, open for reading.

    Args:
        path: the file, as the caller named it.
        roots: folders of which one must hold the file, links resolved; none: any place.

    Raises:
        InputError: it is missing, may not be read, is not a regular file, is outside the
            roots or has a name that is not UTF-8.
        ReadError: it cannot be opened now.

    Attributes:
        path: as given.
        found: what it was when it was opened.
        size: its bytes then.
        identity: what must stay as it is while the file is read.
    """

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
            if not is_inside(roots, path, found):
                raise InputForbiddenError("this file is outside the allowed folders", path=path)
            self._file = os.fdopen(descriptor, "rb", buffering=0)
        except BaseException as error:
            close(descriptor)
            if isinstance(error, OSError):
                raise _refusal(error, path) from None
            raise
        self.found = found
        self.size = found.st_size
        self.identity = _identity(found)

    def read(self, size: int, /) -> bytes:
        """Up to ``size`` bytes; none at the end of the file."""
        try:
            return self._file.read(size) or b""
        except OSError as error:
            raise self._read_error(error) from None

    def seek(self, offset: int, /) -> None:
        """Go on reading from an offset."""
        try:
            self._file.seek(offset)
        except OSError as error:
            raise self._read_error(error) from None

    def read_at(self, offset: int, size: int) -> bytes:
        """Read ``size`` bytes at an offset, or fewer at the end of the file."""
        pieces: list[bytes] = []
        try:
            # The system reads 2 GB at once at the most.
            while size > 0 and (piece := os.pread(self._file.fileno(), size, offset)):
                pieces.append(piece)
                offset += len(piece)
                size -= len(piece)
        except OSError as error:
            raise self._read_error(error) from None
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _read_error(self, error: OSError) -> ReadError:
        return ReadError(f"reading failed: {error.strerror}", path=self.path)

    def is_file(self, found: os.stat_result) -> bool:
        """Whether that is the same file, under whatever name."""
        return (found.st_dev, found.st_ino) == self.identity[:2]

    @contextmanager
    def unchanging(self) -> Iterator[None]:
        """Raise InputChangedError in the end if the file was changed within.

        Whatever seems wrong with the data of a file that was changed is the change's doing.
        """
        try:
            yield
        except DataError:
            self._check_unchanged()
            raise
        self._check_unchanged()

    def _check_unchanged(self) -> None:
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

    def __enter__(self) -> Source:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        if isinstance(error, MemoryError):
            raise OutOfMemoryError(OUT_OF_MEMORY, path=self.path) from None

    def close(self) -> None:
        """Close the file; an error is ignored, because what was read is right all the same."""
        with suppress(OSError):
            self._file.close()


def line_and_column(source: Readable, byte: int) -> tuple[int, int]:
    """Line and column, both from 1, of an offset; a column is a character of UTF-8."""
    source.seek(0)
    line = column = 1
    while byte > 0 and (chunk := source.read(min(byte, READ_SIZE))):
        byte -= len(chunk)
        newline = chunk.rfind(b"\n")
        if newline >= 0:
            line += chunk.count(b"\n")
            column = 1
        column += sum(value & 0xC0 != 0x80 for value in chunk[newline + 1 :])
    return line, column


def fault_of_name(path: str) -> str | None:
    """What is wrong with a name that no UTF-8 text, such as a summary, can carry."""
    if "\0" in path:
        return "a file name cannot have a NUL character"
    name: str | bytes = path
    try:
        name = os.fsencode(path)
        name.decode("utf-8")
    except UnicodeEncodeError as error:
        if not "\ud800" <= path[error.start] <= "\udfff":
            return f"names are {error.encoding} in this process, not so {path!a}; set PYTHONUTF8=1"
        return f"the file's name is not UTF-8: {name!a}; rename it"
    except UnicodeDecodeError:
        return f"the file's name is not UTF-8: {name!a}; rename it"
    return None


def is_inside(roots: Sequence[str], path: str, opened: os.stat_result) -> bool:
    """Whether what was opened under a name lies in one of the roots; without roots it does.

    The name is resolved after opening, and what it then leads to must be what was opened:
    a link that is swapped in between is refused, whichever way it is swapped.

    Raises:
        OSError: it cannot be looked at now.
    """
    if not roots:
        return True
    real = _real(path)
    if real is None or not os.path.samestat(opened, real[1]):
        return False
    folders = [found[0] for root in roots if (found := _real(root))]
    return any(os.path.commonpath([folder, real[0]]) == folder for folder in folders)


def _real(path: str) -> tuple[str, os.stat_result] | None:
    """The path without links, and what is there; None if nothing is."""
    try:
        # Without `strict`, an error would be hidden and a link be left in the path.
        real = os.path.realpath(path, strict=True)
        return real, os.lstat(real)
    except OSError as error:
        if is_transient(error):
            raise
        return None


def _identity(found: os.stat_result) -> Identity:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def close(descriptor: int) -> None:
    """Close a descriptor and ignore errors: Linux releases it even if close() fails."""
    with suppress(OSError):
        os.close(descriptor)


def _not_a_file(found: os.stat_result, path: str) -> InputNotFileError:
    what = "a folder" if stat.S_ISDIR(found.st_mode) else "not a regular file"
    return InputNotFileError(f"this is {what}; name a JSON file", path=path)


def _refusal(error: OSError, path: str) -> InputError | ReadError:
    if is_transient(error):
        # A socket and a device without a driver answer as a file server that restarts does.
        with suppress(OSError):
            found = os.stat(path)
            if not stat.S_ISREG(found.st_mode):
                return _not_a_file(found, path)
        return ReadError(f"cannot be opened: {error.strerror}", path=path)
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return InputMissingError("there is no such file", path=path)
    if isinstance(error, PermissionError):
        return InputDeniedError("this file may not be read; check its permissions", path=path)
    return InputError(f"cannot be opened: {error.strerror}", path=path)
