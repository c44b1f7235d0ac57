"""Standard input, named pipes and process substitutions as inputs; standard output as an output.

A pipe can be read only once, and the exact place of an error is found by reading again. What was
read is therefore kept in a temporary file without a name, which the system removes with the
process. It needs free space for the whole input in the folder of temporary files (``TMPDIR``), in
the compressed form if the input is compressed. Memory stays bounded.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import IO

from selection.errors import InputError, InputNotFileError, OutputError, ReadError, WriteError
from selection.storage.input import close
from selection.storage.interface import READ_SIZE
from selection.storage.names import STANDARD_STREAM, is_standard_input

# As much is kept in memory before a temporary file is used.
_IN_MEMORY = 1 << 20

_STANDARD_INPUT = 0

_WHITE_SPACE = b" \t\r\n"
_NEAR = 64


class PipeInput:
    """An input that is read once and kept in a temporary file.

    Args:
        path: ``-`` for standard input, or the name of a FIFO.

    Attributes:
        path: as given.
        size, format: None.
        status: of the file that standard input is redirected from, None for a pipe.
        version: empty, since nothing is known of a pipe before it is read.

    Raises:
        InputError: it cannot be opened.
    """

    size = None
    format = None
    version: tuple[str, ...] = ()

    def __init__(self, path: str) -> None:
        self.path = path
        self._descriptor = _open(path)
        found = os.fstat(self._descriptor)
        self.status = found if stat.S_ISREG(found.st_mode) else None
        self._copy: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115
        self._copied = 0
        self._position = 0

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes, none at the end.

        Raises:
            ReadError: reading failed.
            WriteError: there is no space for the temporary file.
        """
        if self._position < self._copied:
            with _temporary_file_errors():
                self._copy.seek(self._position)
                data = self._copy.read(min(size, self._copied - self._position))
            self._position += len(data)
            return data
        try:
            data = os.read(self._descriptor, size)
        except OSError as error:
            raise ReadError(f"reading failed: {error.strerror}", path=self.path) from None
        with _temporary_file_errors():
            self._copy.seek(self._copied)
            self._copy.write(data)
        self._copied += len(data)
        self._position = self._copied
        return data

    def seek(self, offset: int, /) -> None:
        """Continue reading at an offset.

        Raises:
            ReadError, WriteError: as :meth:`read`.
        """
        self._position = min(offset, self._copied)
        while self._position < offset and self.read(min(READ_SIZE, offset - self._position)):
            pass

    def check_unchanged(self) -> None:
        """Do nothing: what was read from a pipe cannot change."""

    def close(self) -> None:
        """Close the pipe and the temporary file."""
        self._copy.close()
        if self._descriptor != _STANDARD_INPUT:
            close(self._descriptor)


def _open(path: str) -> int:
    if is_standard_input(path):
        if sys.__stdin__ is None:
            raise InputError("standard input is closed", path=path)
        return _STANDARD_INPUT
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise InputError(f"cannot be opened: {error.strerror}", path=path) from None
    if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        return descriptor
    close(descriptor)
    raise InputNotFileError("this is not a pipe any more; run again", path=path)


class StandardOutput:
    """Standard output as an output, which cannot be atomic.

    The end of what was written is kept back until the context ends without an error: the last
    character that is not white space and every closing brace directly before it. So the output of
    a run that failed ends before the brace that closes the batch or its last line.
    """

    path = STANDARD_STREAM

    def __enter__(self) -> StandardOutput:
        if sys.__stdout__ is None:
            raise OutputError("standard output is closed", path=self.path)
        self._kept: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY)
        self._is_anything_kept = False
        self._file = io.BufferedWriter(io.FileIO(os.dup(1), "wb"), READ_SIZE)
        return self

    def write(self, pieces: Iterable[bytes | memoryview]) -> None:
        """Append the pieces, in order.

        Raises:
            BrokenPipeError: the reader closed the pipe.
            WriteError: writing failed.
        """
        with self._errors():
            for piece in pieces:
                if end := _releasable(piece):
                    self._release()
                    self._file.write(piece[:end])
                if end < len(piece):
                    self._kept.write(piece[end:])
                    self._is_anything_kept = True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            with self._errors():
                if kind is None:
                    self._release()
                elif not issubclass(kind, Exception):
                    # A signal ends the run; to write the buffer could wait for the reader forever.
                    self._file.raw.close()
                self._file.close()
        except BaseException:
            if kind is None:
                raise
        finally:
            self._kept.close()

    def _release(self) -> None:
        if not self._is_anything_kept:
            return
        self._kept.seek(0)
        while data := self._kept.read(READ_SIZE):
            self._file.write(data)
        self._kept.seek(0)
        self._kept.truncate()
        self._is_anything_kept = False

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise
            raise WriteError(f"writing failed: {error.strerror}", path=self.path) from None


def _releasable(piece: bytes | memoryview) -> int:
    """Return how many bytes of a piece end in a character that can be followed by an error."""
    for tail in (bytes(piece[-_NEAR:]), bytes(piece)):
        body = tail.rstrip(_WHITE_SPACE)[:-1].rstrip(_WHITE_SPACE + b"}")
        if body:
            return len(piece) - len(tail) + len(body)
    return 0


@contextmanager
def _temporary_file_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WriteError(
            f"the temporary file for a pipe: {error.strerror}; set TMPDIR to a folder with space"
        ) from None
