"""One pass over a batch's bytes: which of them are an article, and what is in it.

ijson's push parser is fed pieces that end where something of interest can begin or end:
at each ``[`` while no list of articles is open, at each ``{`` between two articles, at
each ``}`` within one. So whenever the parser says that an article begins or ends, it is
the last byte of the piece that it was fed: exact offsets from a real parser.
"""

from __future__ import annotations

import decimal
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
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
from selection.forms import HEAD_BYTES, other_form
from selection.rules import ERROR_FIELD, TEXT_FIELD, TITLE_FIELD
from selection.source import Readable
from selection.view import LONGEST_NUMBER, NumberTooLongError, View

MEMBER = "selected_extractor"

# One backend everywhere: what counts as JSON must not depend on the machine.
_BACKEND = ijson.get_backend("yajl2_c")

_ROOT, _LIST, _ARTICLE, _BLOCK = 1, 2, 3, 4

# What is read of an article besides its blocks, from values of which kinds, and of its blocks.
_NAMES = ("id", "url")
_NAMING = ("string", "number")
_WANTED = {
    str(extractor): frozenset({field, ERROR_FIELD, TITLE_FIELD})
    for extractor, field in TEXT_FIELD.items()
}


@dataclass(frozen=True, slots=True)
class Gap:
    """Bytes outside every article.

    Attributes:
        start: offset in the file.
        raw: the bytes.
        skipped: how many items of ``articles`` that are no objects ended in them.
    """

    start: int
    raw: bytes
    skipped: int

    @property
    def end(self) -> int:
        """Offset behind the last byte."""
        return self.start + len(self.raw)


@dataclass(frozen=True, slots=True)
class Article:
    """One object of ``articles``.

    Attributes:
        index: its place in ``articles``, from 0; items that are no objects count.
        start: offset of its ``{`` in the file.
        raw: its bytes, from ``{`` to ``}``.
        id: the value of its ``id`` as text, if that is a string or a number.
        url: the same of its ``url``.
        fields: its extractors' blocks with the six compared fields, for ``select_article``,
            and their titles.
        has_pick: whether it has a ``selected_extractor`` already.
    """

    index: int
    start: int
    raw: bytes
    id: str | None
    url: str | None
    fields: dict[str, Any]
    has_pick: bool

    @property
    def end(self) -> int:
        """Offset behind the ``}``."""
        return self.start + len(self.raw)


Part = Gap | Article


class NotUtf8Error(EncodingError):
    """A byte that is not UTF-8, its place not known yet."""


class NumberUnreadableError(Exception):
    """The parser met a number that it cannot hold; a careful pass is needed."""


class Pass:
    """One pass over a document, as an iterator of its parts.

    Args:
        careful: feed the parser nothing that it cannot hold.
    """

    def __init__(self, source: Readable, read_size: int, careful: bool = False) -> None:
        self._source = source
        self._read_size = read_size
        self._careful = careful
        self._view = View(careful)
        self._events: list[tuple[str, Any]] = ijson.sendable_list()
        self._parser = _BACKEND.basic_parse_coro(self._events)

        self._last_byte = b""
        self._offset = 0  # of the first byte that the parser has not been fed
        self._held: list[bytes] = []  # the open article's bytes from earlier reads

        self._depth = 0
        self._root_key: str | None = None
        self._root_closed = False
        self._list_open = False
        self._list_seen = False
        self._article_open = False
        self._items = 0
        self._skipped = 0

        self._names: dict[str, str | None] = {}  # the article's id and url
        self._to_reread: set[str] = set()  # those whose text differs from the value's
        self._fields: dict[str, Any] = {}
        self._has_pick = False
        self._key = ""  # of the article's member that is next or open
        self._block: dict[str, Any] | None = None  # the extractor's that is open
        self._wanted: frozenset[str] = frozenset()  # fields of it
        self._field: str | None = None  # the wanted field whose value is next or open

    def __iter__(self) -> Iterator[Part]:
        buffer = self._head()
        final = False
        while not final:
            chunk = self._source.read(self._read_size)
            final = not chunk
            buffer += chunk
            view = self._take(buffer, final)
            yield from self._cut(buffer[: len(view)], view)
            self._last_byte = view[-1:] or self._last_byte
            buffer = buffer[len(view) :]
        self._end()
        if not self._list_seen:
            raise ArticlesMissingError(
                "the root object has no 'articles'; a batch has a list of that name",
                byte=self._offset,
            )

    def _head(self) -> bytes:
        head = b""
        while len(head) < HEAD_BYTES and (chunk := self._source.read(HEAD_BYTES - len(head))):
            head += chunk
        if error := other_form(head):
            raise error
        return head

    def _take(self, buffer: bytes, final: bool) -> bytes:
        try:
            return self._view.take(buffer, final)
        except NumberTooLongError:
            raise self._error(
                InvalidJsonError, f"a number of more than {LONGEST_NUMBER:,} characters"
            ) from None

    def _cut(self, raw: bytes, view: bytes) -> Iterator[Part]:
        """Feed the view piece by piece and give the raw bytes of what ends in it."""
        base = self._offset
        begin = fed = 0  # begin: of the bytes not given yet
        while fed < len(view):
            end = view.find(self._delimiter(), fed) + 1 or len(view)
            was_open = self._article_open
            self._feed(view[fed:end])
            fed = end
            self._offset = base + end
            if self._article_open is was_open:
                continue
            if was_open:
                yield self._close_article(raw[begin:end])
                begin = end
            else:
                if begin < end - 1:
                    yield self._gap(base + begin, raw[begin : end - 1])
                begin = end - 1
        if begin < len(raw):
            if self._article_open:
                self._held.append(raw[begin:])
            else:
                yield self._gap(base + begin, raw[begin:])

    def _delimiter(self) -> bytes:
        if self._article_open:
            return b"}"
        return b"{" if self._list_open else b"["

    def _gap(self, start: int, raw: bytes) -> Gap:
        skipped, self._skipped = self._skipped, 0
        return Gap(start, raw, skipped)

    def _close_article(self, last: bytes) -> Article:
        raw = b"".join([*self._held, last])
        self._held = []
        if self._to_reread:
            self._names |= _numbers_as_written(raw, self._to_reread)
        return Article(
            index=self._items - 1,
            start=self._offset - len(raw),
            raw=raw,
            id=self._names.get("id"),
            url=self._names.get("url"),
            fields=self._fields,
            has_pick=self._has_pick,
        )

    def _end(self) -> None:
        if self._root_closed:
            # yajl forgives a string that begins behind the root and never ends. The quote
            # ends it, unless it ends with half an escape.
            if self._last_byte not in b"} \t\r\n":
                raise self._error(InvalidJsonError, "this is no JSON: trailing garbage")
            self._feed(b'"')
        self._feed(None)

    def _feed(self, piece: bytes | None) -> None:
        """Give the parser a piece, or the end of the file, and follow its events."""
        failure: DataError | None = None
        try:
            if piece is None:
                self._parser.close()
            else:
                self._parser.send(piece)
        except UnicodeDecodeError:
            failure = self._error(NotUtf8Error, "a string that is not UTF-8")
        except ijson.JSONError as error:
            failure = self._syntax_error(error)
        except (SystemError, ValueError, decimal.DecimalException):
            # The event of such a number has no value at all: to look at it is a crash.
            self._events.clear()
            if self._careful:
                raise self._error(InvalidJsonError, "this is no JSON: malformed number") from None
            raise NumberUnreadableError from None
        if self._events:
            # What came before the failure may be a fault of its own, and then is the first.
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
            return self._error(NotUtf8Error, "a byte that is not UTF-8")
        if "premature EOF" in reason:
            reason = "the file ends in the middle; was it cut off?"
        return self._error(InvalidJsonError, f"this is no JSON: {reason}")

    def _error(self, kind: type[DataError], message: str) -> DataError:
        return kind(
            message, byte=self._offset, article=self._items - 1 if self._article_open else None
        )

    def _follow(self) -> None:
        depth = self._depth
        for event, value in self._events:
            # Nearly all events are members of blocks, so they are dealt with here and first.
            if depth >= _BLOCK:
                if event == "end_map" or event == "end_array":
                    depth -= 1
                    continue
                is_start = event == "start_map" or event == "start_array"
                if (block := self._block) is not None:
                    if depth > _BLOCK:
                        # A list or object as an error counts by whether it is empty; what is
                        # in it does not.
                        if self._field is not None:
                            block[self._field] = [None]
                    elif event == "map_key":
                        self._field = value if value in self._wanted else None
                    elif self._field is not None:
                        block[self._field] = [] if is_start else value
                depth += is_start
            elif event == "map_key":
                self._on_key(depth, value)
            elif event == "end_map" or event == "end_array":
                depth -= 1
                self._on_end(depth)
            else:
                self._on_value(depth, event, value)
                depth += event == "start_map" or event == "start_array"
        self._depth = depth

    def _on_key(self, depth: int, key: str) -> None:
        if depth == _ROOT:
            self._root_key = key
        elif self._article_open and depth == _ARTICLE:
            self._key = key
            self._has_pick = self._has_pick or key == MEMBER

    def _on_value(self, depth: int, event: str, value: Any) -> None:
        if self._article_open:
            # Between the articles' list and their blocks there is one depth.
            if self._key in _WANTED:
                self._block = {} if event == "start_map" else None
                self._wanted = _WANTED[self._key]
                self._field = None
                self._fields[self._key] = self._block
            else:
                self._block = None
                if self._key in _NAMES:
                    self._names[self._key] = str(value) if event in _NAMING else None
                    # Of other numbers than whole ones the parser keeps the value alone.
                    if event == "number" and (not isinstance(value, int) or value == 0):
                        self._to_reread.add(self._key)
        elif depth == _LIST and self._list_open:
            self._items += 1
            if event == "start_map":
                self._article_open = True
                self._names = {}
                self._to_reread = set()
                self._fields = {}
                self._has_pick = False
            else:
                self._skipped += 1
        elif depth == _ROOT and self._root_key == "articles":
            if event != "start_array":
                raise self._error(ArticlesNotListError, "'articles' must be a list")
            self._list_open = self._list_seen = True
        elif depth == 0 and event != "start_map":
            raise self._error(
                RootNotObjectError, "the root must be an object with a list 'articles'"
            )

    def _on_end(self, depth: int) -> None:
        if depth == _LIST and self._article_open:
            self._article_open = False
            self._block = None
        elif depth == _ROOT and self._list_open:
            self._list_open = False
        elif depth == 0:
            self._root_closed = True


def _numbers_as_written(raw: bytes, names: Iterable[str]) -> dict[str, str]:
    """The members of an article that are numbers, as text of the article."""
    try:
        article = json.loads(raw, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):  # too deep for Python's parser
        return {}
    return {name: article[name] for name in names if isinstance(article.get(name), str)}
