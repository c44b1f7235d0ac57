"""Keep the highest-ranked pieces of a stream within a number of bytes."""

from __future__ import annotations

import heapq
import tempfile
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import IO

from selection.errors import WriteError

_Slot = tuple[float, int, int, int]


class RankedSpool:
    """Keep the highest-ranked pieces of bytes in a temporary file.

    The order of arrival makes no difference, except for pieces that are larger than the limit.
    Memory grows with the number of kept pieces, not with their size. The file and its
    replacement (see :meth:`put`) never take more than four times the limit on disk.

    Args:
        limit: the number of bytes to keep.

    Raises:
        WriteError: the file cannot be created.

    Attributes:
        left_out: the number of pieces that were refused or dropped.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: list[_Slot] = []  # a heap, the lowest rank first
        self._size = 0
        self._written = 0
        self._bar: tuple[float, int] | None = None  # the highest rank that was dropped
        with _write_errors():
            self._file = _temporary_file()
        self.left_out = 0

    def __enter__(self) -> RankedSpool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Closing flushes the buffer; its content is not needed any more, nor is an error.
        with suppress(OSError):
            self._file.close()

    def __len__(self) -> int:
        return len(self._kept)

    def wants(self, rank: float, index: int) -> bool:
        """Return whether a piece of that rank can be kept, and count it as left out if not.

        Args:
            rank, index: as for :meth:`put`.
        """
        if self._limit and (self._bar is None or (rank, -index) > self._bar):
            return True
        self.left_out += 1
        return False

    def put(self, rank: float, index: int, piece: bytes) -> None:
        """Add a piece and drop the lowest-ranked pieces above the limit.

        A file of twice the limit is replaced by one that contains only the kept pieces.

        Args:
            rank: the higher it is, the longer the piece is kept; of equal ranks the lower
                index is kept.
            index: the place of the piece in :meth:`pieces`.
            piece: its bytes; a piece larger than the limit is left out.

        Raises:
            WriteError: the file cannot be written.
        """
        if len(piece) > self._limit:
            self.left_out += 1
            return
        with _write_errors():
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
        """Return the indexes of the kept pieces."""
        return {-place for _, place, _, _ in self._kept}

    def retain(self, indexes: Container[int]) -> None:
        """Drop all pieces except those of these indexes."""
        kept = [slot for slot in self._kept if -slot[1] in indexes]
        self.left_out += len(self._kept) - len(kept)
        self._size = sum(size for _, _, _, size in kept)
        heapq.heapify(kept)
        self._kept = kept

    def pieces(self) -> Iterator[tuple[int, bytes]]:
        """Return index and bytes of the kept pieces, in the order of their indexes.

        Raises:
            WriteError: the last pieces cannot be written from the buffer, or the file not read.
        """
        for _, place, offset, size in sorted(self._kept, key=lambda slot: -slot[1]):
            yield -place, self._read(offset, size)

    def _read(self, offset: int, size: int) -> bytes:
        with _write_errors():
            self._file.seek(offset)
            return self._file.read(size)

    def _compact(self) -> None:
        """Copy the kept pieces, in the order of the file, into a new file."""
        kept: list[_Slot] = []
        written = 0
        with _write_errors():
            file = _temporary_file()
            for rank, place, offset, size in sorted(self._kept, key=lambda slot: slot[2]):
                file.write(self._read(offset, size))
                kept.append((rank, place, written, size))
                written += size
        self._file.close()
        heapq.heapify(kept)
        self._file, self._kept, self._written = file, kept, written


def put_row_and_text(
    rows: RankedSpool,
    texts: RankedSpool,
    rank: float,
    index: int,
    row: Callable[[], bytes],
    text: Callable[[], bytes] | None,
) -> None:
    """Add the row of an article and, if the row is kept, its text.

    Args:
        rows, texts: where they are kept.
        rank, index: as for :meth:`RankedSpool.put`.
        row, text: make the pieces, and are called only for pieces that can be kept; the article
            has no text if ``text`` is None.
    """
    wanted = text if text is not None and texts.wants(rank, index) else None
    if rows.wants(rank, index):
        rows.put(rank, index, row())
        if wanted is not None:
            texts.put(rank, index, wanted())
    elif wanted is not None:
        # The page shows a text from its row in the list.
        texts.left_out += 1


def _temporary_file() -> IO[bytes]:
    return tempfile.TemporaryFile()


@contextmanager
def _write_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WriteError(f"a temporary file: writing failed: {error.strerror}") from None
