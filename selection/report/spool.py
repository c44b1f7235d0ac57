"""Keep, of a stream of pieces, those that matter most and fit into so many bytes."""

from __future__ import annotations

import heapq
import tempfile
from collections.abc import Container, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import IO

from selection.errors import WriteError

_Slot = tuple[float, int, int, int]


class Shelf:
    """Pieces of bytes by rank, in a temporary file of their own.

    What is kept does not depend on the order of arrival but for pieces that are larger than
    the whole limit. Memory grows with the number of pieces kept, not with their size. On disk
    there are never more than four times the limit.

    Args:
        limit: how many bytes may be kept.

    Raises:
        WriteError: there is no place for the file.

    Attributes:
        left_out: how many pieces were refused or had to go.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: list[_Slot] = []  # a heap, the first to go on top
        self._size = 0
        self._written = 0
        self._bar: tuple[float, int] | None = None  # the most that had to go
        with _telling():
            self._file = _temporary_file()
        self.left_out = 0

    def __enter__(self) -> Shelf:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # What is still in the buffer is not wanted any more, even if there is room for it.
        with suppress(OSError):
            self._file.close()

    def __len__(self) -> int:
        return len(self._kept)

    def wants(self, rank: float, index: int) -> bool:
        """Whether a piece of that rank can be kept if it is small; if not, it is left out."""
        if self._limit and (self._bar is None or (rank, -index) > self._bar):
            return True
        self.left_out += 1
        return False

    def put(self, rank: float, index: int, piece: bytes) -> None:
        """Keep a piece that is wanted, if need be in place of lesser ones.

        Args:
            rank: the higher, the longer it is kept; of equals the one of the lower index.
            index: where it stands among the pieces given back.

        Raises:
            WriteError: there is no space for it.
        """
        if len(piece) > self._limit:
            self.left_out += 1
            return
        with _telling():
            self._file.write(piece)
        heapq.heappush(self._kept, (rank, -index, self._written, len(piece)))
        self._written += len(piece)
        self._size += len(piece)
        while self._size > self._limit:
            lowest, place, _, size = heapq.heappop(self._kept)
            self._size -= size
            self._bar = lowest, place
            self.left_out += 1
        if self._written > 2 * self._limit:
            self._compact()

    def indexes(self) -> set[int]:
        """The indexes of what is kept."""
        return {-place for _, place, _, _ in self._kept}

    def retain(self, indexes: Container[int]) -> None:
        """Drop all pieces but those of these indexes."""
        kept = [slot for slot in self._kept if -slot[1] in indexes]
        self.left_out += len(self._kept) - len(kept)
        self._size = sum(size for _, _, _, size in kept)
        heapq.heapify(kept)
        self._kept = kept

    def pieces(self) -> Iterator[tuple[int, bytes]]:
        """What is kept, by index: index and piece.

        Raises:
            WriteError: there is no space for what was kept last.
        """
        for _, place, offset, size in sorted(self._kept, key=lambda slot: -slot[1]):
            yield -place, self._read(offset, size)

    def _read(self, offset: int, size: int) -> bytes:
        with _telling():
            self._file.seek(offset)
            return self._file.read(size)

    def _compact(self) -> None:
        """Put what is kept, in the order it stands in, into a new file."""
        kept: list[_Slot] = []
        written = 0
        with _telling():
            file = _temporary_file()
            for rank, place, offset, size in sorted(self._kept, key=lambda slot: slot[2]):
                file.write(self._read(offset, size))
                kept.append((rank, place, written, size))
                written += size
        self._file.close()
        heapq.heapify(kept)
        self._file, self._kept, self._written = file, kept, written


def _temporary_file() -> IO[bytes]:
    return tempfile.TemporaryFile()


@contextmanager
def _telling() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WriteError(f"a temporary file: writing failed: {error.strerror}") from None
