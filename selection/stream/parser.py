"""The parsers of a batch's root and of an article, both on ijson."""

from __future__ import annotations

import decimal
import json
from collections.abc import Iterable
from typing import Any

import ijson

from selection.errors import (
    ArticlesMissingError,
    ArticlesNotListError,
    DataError,
    EncodingError,
    InvalidJsonError,
    RootNotObjectError,
)
from selection.model import ERROR_FIELD, MEMBER, TEXT_FIELD, TITLE_FIELD
from selection.stream.parts import Content
from selection.stream.sanitize import (
    LONGEST_NUMBER,
    NumberTooLongError,
    Sanitizer,
    sanitized,
    with_safe_numbers,
)

#: The bytes that the root's parser is fed instead of an article.
PLACEHOLDER = b"{}"

# One backend everywhere: what is valid JSON must not depend on the machine.
_BACKEND = ijson.get_backend("yajl2_c")

# What the parser raises for a number that it cannot hold.
_UNREADABLE_NUMBER = (SystemError, ValueError, decimal.DecimalException)

_ROOT, _LIST = 1, 2

# yajl scans a string again from its first byte with every piece that does not end it. Such pieces
# are buffered up to this size and then grow with the string, which keeps the sum linear.
_BUFFERED = 1 << 20

# The members of an article that are read besides its blocks, the ijson events of values that can
# be a name, and the fields that are read of each block.
_NAMES = ("id", "url")
_NAMING = ("string", "number")
_WANTED = {
    str(extractor): frozenset({field, ERROR_FIELD, TITLE_FIELD})
    for extractor, field in TEXT_FIELD.items()
}
_NOTHING: frozenset[str] = frozenset()

#: The message of the error for bytes behind the root object.
TRAILING_DATA = "invalid JSON: trailing data after the root object"
NOT_UTF8 = "a byte is not UTF-8; convert the file to UTF-8"


class NotUtf8Error(EncodingError):
    """A byte is not UTF-8; its place is not known yet."""


class RootParser:
    """Parses the root of one document, which it is fed in order.

    :data:`PLACEHOLDER` can be fed instead of an article.

    Attributes:
        list_open: whether the last byte is in the root's ``articles`` and outside its items.
        items: number of items of ``articles`` that have begun.
        parsed: offset, in the bytes that were fed, behind those that ijson has accepted.
        last_piece: offset of the piece that was sent to ijson last.
    """

    def __init__(self) -> None:
        self.list_open = False
        self.items = 0
        self.parsed = self.last_piece = 0
        self._events: list[tuple[str, Any]] = ijson.sendable_list()
        self._parser = _BACKEND.basic_parse_coro(self._events)

        self._sanitizer = Sanitizer()
        self._rest = b""  # not sanitized yet, because it can continue
        self._buffered: list[bytes] = []  # sanitized bytes, all in one string
        self._buffered_size = 0
        self._string_size = 0  # of the open string, as far as it was sent

        self._last_byte = b""
        self._depth = 0
        self._root_key: str | None = None
        self._root_closed = False
        self._list_seen = False
        self._in_article = False
        self._skipped = 0

    def feed(self, data: bytes, is_complete: bool = False) -> None:
        """Parse the next bytes.

        Args:
            data: the bytes.
            is_complete: whether they end outside every string, number and literal. Otherwise
                bytes at the end can be buffered.

        Raises:
            DataError: the document is not a batch; its place is in the bytes that were fed.
        """
        data = self._rest + data if self._rest else data
        while data:
            try:
                safe = self._sanitizer.sanitize(data, is_complete)
            except NumberTooLongError:
                raise self._error(
                    InvalidJsonError,
                    f"invalid JSON: a number has more than {LONGEST_NUMBER:,} characters",
                ) from None
            if safe:
                self._last_byte = safe[-1:]
                self._feed_sanitized(safe)
            data = data[len(safe) :]
            if not is_complete:
                break
        self._rest = data

    def close(self) -> None:
        """Parse the end of the document.

        Raises:
            DataError: as :meth:`feed`.
        """
        self.feed(b"", is_complete=True)
        self._flush()
        if self._root_closed:
            # yajl accepts an unclosed string behind the root. The quote closes it, unless it ends
            # within an escape.
            if self._last_byte not in b"} \t\r\n":
                raise self._error(InvalidJsonError, TRAILING_DATA)
            self._send(b'"')
        self._send(None)
        if not self._list_seen:
            raise self._error(
                ArticlesMissingError,
                "the root object has no 'articles'; a batch has a list of that name",
            )

    @property
    def open_string_size(self) -> int:
        """The number of bytes so far of the string that is open, 0 if none is."""
        start = self._sanitizer.string_start
        return 0 if start is None else self._sanitizer.size - start

    def take_skipped(self) -> int:
        """Return the number of items since the last call that are not objects."""
        skipped, self._skipped = self._skipped, 0
        return skipped

    def _feed_sanitized(self, data: bytes) -> None:
        """Send sanitized bytes to ijson, and buffer those of a string that is not closed."""
        string_start = self._sanitizer.string_start
        if string_start is None:
            self._buffer(data)
            self._flush()
            self._string_size = 0
            return
        outside = max(0, string_start - self.parsed - self._buffered_size)
        if outside:
            self._buffer(data[:outside])
            self._flush()
            self._string_size = 0
        self._buffer(data[outside:])
        if self._buffered_size >= max(_BUFFERED, self._string_size):
            self._string_size += self._buffered_size
            self._flush()

    def _buffer(self, data: bytes) -> None:
        self._buffered.append(data)
        self._buffered_size += len(data)

    def _flush(self) -> None:
        if self._buffered_size:
            piece = self._buffered[0] if len(self._buffered) == 1 else b"".join(self._buffered)
            self._buffered = []
            self._buffered_size = 0
            self.last_piece = self.parsed
            self._send(piece)
            self.parsed += len(piece)

    def _send(self, piece: bytes | None) -> None:
        """Send a piece, or None for the end of the document, to ijson and process its events."""
        failure: DataError | None = None
        try:
            if piece is None:
                self._parser.close()
            else:
                self._parser.send(piece)
        except UnicodeDecodeError:
            failure = self._error(NotUtf8Error, NOT_UTF8)
        except ijson.JSONError as error:
            failure = self._syntax_error(error)
        except _UNREADABLE_NUMBER:
            # The event of such a number is a null pointer: reading it crashes the process.
            self._events.clear()
            raise self._error(InvalidJsonError, "invalid JSON: malformed number") from None
        if self._events:
            # An event before the failure can be an error itself, which is then the first one.
            self._follow()
            self._events.clear()
        if failure:
            raise failure

    def _syntax_error(self, error: ijson.JSONError) -> DataError:
        message = error.args[0]
        if isinstance(message, bytes):
            message = message.decode("utf-8", "replace")
        reason = message.partition("\n")[0].partition("error: ")[2] or message
        if "UTF8" in reason:
            return self._error(NotUtf8Error, NOT_UTF8)
        if "premature EOF" in reason:
            reason = "the file is truncated; fetch it again"
        if "trailing garbage" in reason:
            return self._error(InvalidJsonError, TRAILING_DATA)
        return self._error(InvalidJsonError, f"invalid JSON: {reason}")

    def _error(self, kind: type[DataError], message: str) -> DataError:
        return kind(
            message, byte=self._place(), article=self.items - 1 if self._in_article else None
        )

    def _place(self) -> int:
        return self.parsed

    def _follow(self) -> None:
        depth = self._depth
        for event, value in self._events:
            is_start = event == "start_map" or event == "start_array"
            if event == "end_map" or event == "end_array":
                depth -= 1
                if depth <= _LIST:
                    self._on_end(depth)
            elif event == "map_key":
                if depth == _ROOT:
                    self._root_key = value
            elif depth <= _LIST:
                self._on_value(depth, event)
            depth += is_start
        self._depth = depth

    def _on_value(self, depth: int, event: str) -> None:
        if depth == _LIST:
            if self.list_open:
                self.items += 1
                self._in_article = event == "start_map"
                self._skipped += not self._in_article
        elif depth == _ROOT:
            if self._root_key == "articles":
                if event != "start_array":
                    raise self._error(ArticlesNotListError, "'articles' must be a list")
                self.list_open = self._list_seen = True
        elif event != "start_map":
            raise self._error(
                RootNotObjectError, "the root must be an object with a list 'articles'"
            )

    def _on_end(self, depth: int) -> None:
        if depth == _LIST:
            self._in_article = False
        elif depth == _ROOT:
            self.list_open = False
        else:
            self._root_closed = True


def parse_article(raw: bytes) -> Content:
    """Parse one article.

    Args:
        raw: its bytes, from ``{`` to ``}``.

    Raises:
        DataError: they are not one JSON object; without a place.
    """
    data = sanitized(raw)
    try:
        try:
            return _content(_events_of(data), raw)
        except UnicodeDecodeError:
            raise NotUtf8Error(NOT_UTF8) from None
        except _UNREADABLE_NUMBER:
            return _content(_events_of(with_safe_numbers(data)), raw)
    except (*_UNREADABLE_NUMBER, ijson.JSONError, NumberTooLongError):
        raise InvalidJsonError("invalid JSON: an article cannot be parsed") from None


def _events_of(data: bytes) -> list[tuple[str, Any]]:
    events: list[tuple[str, Any]] = ijson.sendable_list()
    parser = _BACKEND.basic_parse_coro(events)
    parser.send(data)
    parser.close()
    return events


def _content(events: list[tuple[str, Any]], raw: bytes) -> Content:
    names: dict[str, str | None] = {}
    fields: dict[str, Any] = {}
    to_reread: set[str] = set()  # names whose text can differ from that of ijson's value
    has_pick = False
    depth = 0
    key = ""  # of the current member of the article
    wanted = _NOTHING  # fields that are read of the open block
    block: dict[str, Any] = {}  # the open block
    field: str | None = None  # the field of the block whose value is read
    for event, value in events:
        if event == "map_key":
            if depth == 2:
                field = value if value in wanted else None
            elif depth == 1:
                key = value
                has_pick = has_pick or key == MEMBER
            continue
        if event == "end_map" or event == "end_array":
            depth -= 1
            continue
        is_start = event == "start_map" or event == "start_array"
        if depth == 1:
            field = None
            wanted = _WANTED.get(key, _NOTHING) if event == "start_map" else _NOTHING
            if key in _WANTED:
                block = {}
                fields[key] = block if event == "start_map" else None
            elif key in _NAMES:
                names[key] = str(value) if event in _NAMING else None
                # ijson gives the value of a number, from which the text of an integer follows.
                if event == "number" and (not isinstance(value, int) or value == 0):
                    to_reread.add(key)
        elif field is not None:
            if depth == 2:
                block[field] = [] if is_start else value
            else:
                block[field] = [None]  # of a list or object, only whether it is empty matters
        depth += is_start
    if to_reread:
        names |= _numbers_as_written(raw, to_reread)
    return Content(names.get("id"), names.get("url"), fields, has_pick)


def _numbers_as_written(raw: bytes, names: Iterable[str]) -> dict[str, str]:
    """Return members of an article that are numbers, as the text in the article."""
    try:
        article = json.loads(raw, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):  # too deep for Python's parser
        return {}
    return {name: article[name] for name in names if isinstance(article.get(name), str)}
