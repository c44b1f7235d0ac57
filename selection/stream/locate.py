"""Find the exact byte, line and column of an error by parsing the batch again."""

from __future__ import annotations

import codecs
import re

from selection.errors import (
    DataError,
    EncodingError,
    InputChangedError,
    InvalidJsonError,
    NotANumberError,
)
from selection.storage.interface import READ_SIZE, Readable
from selection.stream.forms import several_values
from selection.stream.parser import TRAILING_DATA, NotUtf8Error, RootParser
from selection.stream.split import read_head

# How many bytes before a place are searched for a line end.
_NEAR = 64

_NOT_A_NUMBER = re.compile(rb"-?(?:NaN|Infinity)")

_STRING = rb'"(?:[^"\\]++|\\.)*+"?'
_TOKEN = re.compile(
    rb"(?P<string>" + _STRING + rb")|(?P<word>[-+.0-9A-Za-z]++)|[ \t\r\n]++|.", re.DOTALL
)
_REST_OF_STRING = re.compile(_STRING[1:], re.DOTALL)
_WORD = re.compile(rb"true|false|null|-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")

# The longest valid beginning of a token.
_VALID_IN_STRING = re.compile(
    rb'"?(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+(?:\\(?:u[0-9a-fA-F]{0,3})?|")?'
)
_VALID_IN_WORD = re.compile(
    rb"t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|n(?:u(?:ll?)?)?"
    rb"|-?(?:(?:0|[1-9][0-9]*+)(?:\.(?:[0-9]++)?)?(?:(?<=[0-9])[eE][+-]?[0-9]*+)?)?"
)


def first_error(source: Readable, path: str) -> DataError:
    """Return the first error of a document, with its exact place.

    The document is parsed twice: in large pieces, to find the piece with the error, and then
    with that piece token by token.

    Args:
        source: the document, which is not a batch.
        path: its name.

    Raises:
        InputChangedError: the document no longer has an error.
    """
    coarse = RootParser()
    error = _error_of(source, coarse)
    if error is None:
        raise InputChangedError("the file changed while it was read", path=path)
    error = _error_of(source, _LocatingParser(coarse.last_piece))
    if error is None:
        raise InputChangedError("the file changed while it was read", path=path)
    if isinstance(error, NotUtf8Error):
        byte = _first_byte_not_utf8(source, error.byte or 0)
        error = EncodingError(error.message, byte=byte, article=error.article)
    elif isinstance(error, InvalidJsonError):
        error = _specific(error, source)
    error.path = path
    error.line, error.column = line_and_column(source, error.byte or 0)
    return error


def _error_of(source: Readable, parser: RootParser) -> DataError | None:
    source.seek(0)
    try:
        chunk = read_head(source)
        while chunk:
            parser.feed(chunk)
            chunk = source.read(max(READ_SIZE, parser.open_string_size))
        parser.close()
    except DataError as error:
        return error
    return None


def _first_byte_not_utf8(source: Readable, otherwise: int) -> int:
    source.seek(0)
    decoder = codecs.getincrementaldecoder("utf-8")()
    offset = 0
    while chunk := source.read(READ_SIZE):
        pending = len(decoder.getstate()[0])
        try:
            decoder.decode(chunk)
        except UnicodeDecodeError as error:
            return offset - pending + error.start
        offset += len(chunk)
    return otherwise


def _specific(error: InvalidJsonError, source: Readable) -> DataError:
    """Return a more specific error where the bytes at the place show a known mistake."""
    start = max(0, (error.byte or 0) - 1)
    source.seek(start)
    near = source.read(len(b"x-Infinity"))
    for skip in (0, 1):
        if match := _NOT_A_NUMBER.match(near, skip):
            return NotANumberError(
                f"invalid JSON: {match[0].decode()} is not allowed; write null instead",
                byte=start + skip,
                article=error.article,
            )
    if error.message == TRAILING_DATA and error.byte is not None:
        source.seek(max(0, error.byte - _NEAR))
        before = source.read(min(error.byte, _NEAR))
        return several_values(before, source.read(1), error.byte) or error
    return error


def line_and_column(source: Readable, byte: int) -> tuple[int, int]:
    """Return line and column, both from 1, of an offset; a column is a character of UTF-8."""
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


class _LocatingParser(RootParser):
    """Parses token by token, so that an error has its exact place.

    The place of a malformed token is its first wrong byte; that of a token in the wrong place, or
    of a value of the wrong kind, is its first byte.

    Args:
        begin: offset before which the document has no error.
    """

    def __init__(self, begin: int) -> None:
        super().__init__()
        self._begin = begin
        self._open_string: int | None = None  # offset of the string that is not closed yet
        self._error_place: int | None = None

    def _feed_sanitized(self, data: bytes) -> None:
        if self.parsed + self._buffered_size + len(data) <= self._begin:
            super()._feed_sanitized(data)
        else:
            self._flush()
            self._feed_tokens(data)
        self._open_string = self._sanitizer.string_start

    def _feed_tokens(self, data: bytes) -> None:
        position = 0
        if self._open_string is not None and (rest := _REST_OF_STRING.match(data)):
            position = rest.end()
            if position:
                self._step(rest[0], self._open_string, _VALID_IN_STRING)
        for match in _TOKEN.finditer(data, position):
            token = match[0]
            if match["string"]:
                self._step(token, self.parsed, _VALID_IN_STRING)
            elif match["word"]:
                # yajl finds the end of a number by the byte behind it.
                valid = None if _WORD.fullmatch(token) else _VALID_IN_WORD
                self._step(token, self.parsed, valid, then=b" ")
            else:
                self._step(token, self.parsed)

    def _step(
        self, token: bytes, start: int, valid: re.Pattern[bytes] | None = None, then: bytes = b""
    ) -> None:
        """Feed a token, or the rest of one; ``valid`` matches the valid part of a malformed one."""
        self._error_place = start
        match = valid.match(token) if valid and not self._root_closed else None
        if match and (match.end() < len(token) or then):
            self._error_place = self.parsed + match.end()
        self.parsed += len(token)
        self._send(token)
        if then:
            self._send(then)
        self._error_place = None

    def close(self) -> None:
        super().feed(b"", is_complete=True)
        self._error_place = self._open_string if self._root_closed else None
        super().close()

    def _place(self) -> int:
        return self.parsed if self._error_place is None else self._error_place
