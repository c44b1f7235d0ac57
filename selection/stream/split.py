"""Cut the bytes of a batch into gaps and articles, streaming.

:mod:`selection.stream.boundaries` proposes where an article begins and ends. One parser follows
the root and is fed the bytes between the articles and a placeholder for each of them; each article
is parsed as a whole by a parser of its own. So every byte is parsed, and no piece ends inside a
string, except in a string that is longer than the buffer.
"""

from __future__ import annotations

from collections.abc import Iterator

from selection.storage.interface import READ_SIZE, Readable
from selection.stream.boundaries import (
    ITEM_CLOSED,
    ITEM_OPENED,
    KIND_BITS,
    LIST_CLOSED,
    LIST_OPENED,
    Boundaries,
    Find,
)
from selection.stream.forms import HEAD_BYTES, other_form
from selection.stream.parser import PLACEHOLDER, RootParser
from selection.stream.parts import Gap, Item

# A longer article is also fed to the root's parser while it is read, so that an article without an
# end is an error before it fills the memory. Such an article is parsed twice.
_LONG_ARTICLE = 1 << 25


def unparsed_parts(
    source: Readable, read_size: int = READ_SIZE, find: Find | None = None
) -> Iterator[Gap | Item]:
    """Cut a batch into gaps and articles; :func:`parse_article` then proves an article valid.

    Args:
        source: the batch, at its beginning.
        read_size: how many bytes to read at once.
        find: the search for boundaries; by default the one in use.

    Raises:
        DataError: it is not a batch; without the exact place, for which see
            :func:`selection.stream.locate.first_error`.
    """
    splitter = _Splitter(find)
    chunk = read_head(source) + source.read(read_size)
    while chunk:
        yield from splitter.feed(chunk)
        # A buffer that holds part of a long article doubles, which keeps the copying linear.
        chunk = source.read(max(read_size, splitter.buffered))
    splitter.close()


def read_head(source: Readable) -> bytes:
    """Read the first bytes of a document and check that they can be those of a batch.

    Raises:
        DataError: they are those of another format, which the error names.
    """
    head = b""
    while len(head) < HEAD_BYTES and (chunk := source.read(HEAD_BYTES - len(head))):
        head += chunk
    if error := other_form(head):
        raise error
    return head


class _Splitter:
    """Cuts the bytes of one document, which it is fed in order."""

    def __init__(self, find: Find | None) -> None:
        self._boundaries = Boundaries(find)
        self._root = RootParser()
        self._buffer = b""
        self._offset = 0  # of the buffer in the document
        self._searched = 0  # in the buffer: behind the bytes that were searched
        self._fed = 0  # behind the bytes that the root's parser has
        self._begin = 0  # of the bytes that are not in a part yet
        self._in_list = False
        self._in_article = False  # which then begins at self._begin

    @property
    def buffered(self) -> int:
        """The number of bytes that are buffered because their part is not complete."""
        return len(self._buffer)

    def feed(self, chunk: bytes) -> Iterator[Gap | Item]:
        """Cut the next bytes and give the parts that end in them."""
        self._buffer = self._buffer + chunk if self._buffer else chunk
        while self._searched < len(self._buffer):
            offset = self._offset
            marks, self._searched = self._boundaries.find(self._buffer, self._searched)
            for mark in marks:
                position = (mark >> KIND_BITS) + offset - self._offset
                yield from self._at_boundary(position, mark & (1 << KIND_BITS) - 1)
        if not self._in_article:
            self._feed(len(self._buffer))
            yield from self._gap(len(self._buffer))
        elif len(self._buffer) - self._begin > _LONG_ARTICLE:
            self._feed(len(self._buffer))
        self._forget(self._begin)

    def close(self) -> None:
        """Parse the end of the document."""
        self._feed(len(self._buffer))
        self._root.close()

    def _at_boundary(self, position: int, kind: int) -> Iterator[Gap | Item]:
        if self._in_article:
            if kind == ITEM_CLOSED:
                yield from self._close_article(position + 1)
        elif kind == LIST_OPENED:
            self._feed(position + 1, is_complete=True)
            self._in_list = self._root.list_open
        elif kind == ITEM_OPENED and self._in_list:
            self._feed(position, is_complete=True)
            yield from self._gap(position)
            self._in_article = True
        elif kind == LIST_CLOSED:
            self._in_list = False

    def _close_article(self, end: int) -> Iterator[Item]:
        start = self._offset + self._begin
        raw = self._buffer[self._begin : end]
        self._in_article = False
        self._begin = end
        if len(raw) > _LONG_ARTICLE:
            self._feed(end, is_complete=True)
            self._forget(end)  # while it is decided, memory holds it once
        else:
            self._root.feed(PLACEHOLDER, is_complete=True)
            self._fed = end
        yield Item(self._root.items - 1, start, raw)

    def _feed(self, end: int, is_complete: bool = False) -> None:
        self._root.feed(self._buffer[self._fed : end], is_complete)
        self._fed = end

    def _gap(self, end: int) -> Iterator[Gap]:
        if self._begin < end:
            raw = self._buffer[self._begin : end]
            yield Gap(self._offset + self._begin, raw, self._root.take_skipped())
            self._begin = end

    def _forget(self, count: int) -> None:
        """Drop the beginning of the buffer."""
        self._buffer = self._buffer[count:]
        self._offset += count
        self._searched -= count
        self._fed -= count
        self._begin -= count
