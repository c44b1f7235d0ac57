"""Compressed inputs and outputs, around an input or output that has the compressed bytes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from types import TracebackType

from selection.errors import CompressedDataError
from selection.storage.compression import Format
from selection.storage.interface import READ_SIZE, Input, Output

# What a member is first fed, then twice as much each time. Of what is behind its end the libraries
# make a copy, which for members of a few bytes would take most of the time.
_FIRST_PIECE = 1 << 10

# zlib and the others compress small pieces one by one, at the cost of a call for each.
_PIECE = 1 << 16

_NOT_NUL = re.compile(rb"[^\0]")


class CompressedInput:
    """The decompressed bytes of an input, in bounded memory.

    A file is one member or several, one after another. Anything else behind a member is an error,
    except for the NUL bytes that the format allows.

    Args:
        source: the input with the compressed bytes, at its beginning.
        format: its format.

    Attributes:
        path, status, version: of ``source``.
        size: None, since it is known only at the end.
        format: as given.

    Raises:
        ExtraMissingError: the library for the format is not installed.
    """

    size = None

    def __init__(self, source: Input, format: Format) -> None:
        self.path: str = source.path
        self.status: os.stat_result | None = source.status
        self.version = source.version
        self.format: Format | None = format
        self._format = format
        self._source = source
        self._errors = format.errors()
        self._restart()

    def _restart(self) -> None:
        self._position = 0  # in the decompressed bytes
        self._taken = 0  # how many compressed bytes were read
        self._chunk = b""  # the last bytes that were read
        self._fed = 0  # how many of them were fed to members
        self._begin_member()
        self._is_at_end = False

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` decompressed bytes, none at the end.

        Raises:
            CompressedDataError: the compressed data is damaged or incomplete.
            TransferError: reading failed.
        """
        while not self._is_at_end:
            if self._member.eof:
                self._next_member()
                continue
            data = b""
            if self._member.needs_input:
                data = self._next_bytes()
                if not data:
                    raise self._error(f"truncated at byte {self._taken:,}")
            try:
                output = self._member.decompress(data, size)
            except self._errors as error:
                raise self._error(f"{_reason(error)}, before byte {self._taken:,}") from None
            if output:
                self._position += len(output)
                return output
        return b""

    def seek(self, offset: int, /) -> None:
        """Continue at an offset in the decompressed bytes, by decompressing up to it.

        Raises:
            CompressedDataError, TransferError: as :meth:`read`.
        """
        # A decompressor that failed cannot continue, not even one that gave nothing yet.
        if offset < self._position or offset == 0:
            self._source.seek(0)
            self._restart()
        while self._position < offset and self.read(min(READ_SIZE, offset - self._position)):
            pass

    def check_unchanged(self) -> None:
        """Prove that the compressed input did not change; see :class:`Input`."""
        self._source.check_unchanged()

    def close(self) -> None:
        """Close the compressed input."""
        self._source.close()

    def _begin_member(self) -> None:
        self._member = self._format.decompressor()
        self._piece = _FIRST_PIECE

    def _next_bytes(self) -> bytes:
        if self._fed == len(self._chunk):
            self._read_chunk()
        data = self._chunk[self._fed : self._fed + self._piece]
        self._fed += len(data)
        self._piece = min(2 * self._piece, READ_SIZE)
        return data

    def _read_chunk(self) -> bool:
        """Read the next bytes; return False at the end of the input."""
        self._chunk = self._source.read(READ_SIZE)
        self._taken += len(self._chunk)
        self._fed = 0
        return bool(self._chunk)

    def _next_member(self) -> None:
        """Begin the member that follows, or find the end of the input."""
        # The end of a member is in the last piece that it was fed.
        self._fed -= len(self._member.unused_data)
        nuls = self._skip_nuls() if self._format.padding else 0
        longest = max(map(len, self._format.magic))
        while len(self._chunk) - self._fed < longest and (more := self._source.read(longest)):
            self._taken += len(more)
            self._chunk = self._chunk[self._fed :] + more
            self._fed = 0
        start = self._taken - (len(self._chunk) - self._fed)
        is_end = self._fed == len(self._chunk)
        # gzip(1) accepts NUL bytes only at the end, xz(1) between streams, too.
        is_allowed = nuls == 0 or (nuls % self._format.padding == 0)
        is_between = not is_end and nuls > 0 and self._format.padding == 1
        if not is_end and not self._chunk.startswith(self._format.magic, self._fed):
            raise self._error(f"trailing data at byte {start:,}")
        if not is_allowed or is_between:
            raise self._error(f"trailing NUL bytes at byte {start - nuls:,}")
        if is_end:
            self._is_at_end = True
        else:
            self._begin_member()

    def _skip_nuls(self) -> int:
        """Skip NUL bytes behind a member; return their number."""
        nuls = 0
        while self._fed < len(self._chunk) or self._read_chunk():
            first = _NOT_NUL.search(self._chunk, self._fed)
            end = first.start() if first else len(self._chunk)
            nuls += end - self._fed
            self._fed = end
            if first:
                break
        return nuls

    def _error(self, reason: str) -> CompressedDataError:
        return CompressedDataError(
            f"the file is not valid {self._format.name} data: {reason}; fetch it again",
            path=self.path,
        )


def _reason(error: Exception) -> str:
    """Return a library's message in the style of the other errors."""
    reason = str(error).rstrip(".").partition(": ")
    text = reason[2] or reason[0] or "damaged"
    return text[0].lower() + text[1:]


class CompressedOutput:
    """Compresses what is written into another output, as one member.

    Args:
        output: the output for the compressed bytes.
        format: the format to write.
        level: the compression level; None: the format's default.

    Raises:
        CompressionLevelError: the format does not have the level.
        ExtraMissingError: the library for the format is not installed.
    """

    def __init__(self, output: Output, format: Format, level: int | None = None) -> None:
        self.path: str = output.path
        self._output = output
        self._compressor = format.compressor_for(level)
        self._pieces: list[bytes | memoryview] = []
        self._size = 0

    def __enter__(self) -> CompressedOutput:
        self._output.__enter__()
        return self

    def write(self, pieces: Iterable[bytes | memoryview]) -> None:
        """Append the pieces, in order."""
        for piece in pieces:
            self._pieces.append(piece)
            self._size += len(piece)
        if self._size >= _PIECE:
            self._compress()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self._output.__exit__(kind, error, trace)
            return
        try:
            self._compress()
            self._output.write((self._compressor.flush(),))
        except BaseException as failure:
            self._output.__exit__(type(failure), failure, failure.__traceback__)
            raise
        self._output.__exit__(None, None, None)

    def _compress(self) -> None:
        data = self._compressor.compress(b"".join(self._pieces))
        self._pieces = []
        self._size = 0
        if data:
            self._output.write((data,))
