"""Where in a file an error is: exact byte, line and column, found by parsing once more."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

from selection.document import NotUtf8Error, Part, Pass
from selection.errors import (
    DataError,
    EncodingError,
    InputChangedError,
    InvalidJsonError,
    NotANumberError,
)
from selection.forms import several_values
from selection.source import READ_SIZE, Readable, line_and_column

# How much before a place is looked at for a line's end.
_NEAR = 64

_NOT_A_NUMBER = re.compile(rb"-?(?:NaN|Infinity)")

_STRING = rb'"(?:[^"\\]++|\\.)*+"?'
_TOKEN = re.compile(
    rb"(?P<string>" + _STRING + rb")|(?P<word>[-+.0-9A-Za-z]++)|[ \t\r\n]++|.", re.DOTALL
)
_REST_OF_STRING = re.compile(_STRING[1:], re.DOTALL)
_WORD = re.compile(rb"true|false|null|-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")

# How far a token is right.
_RIGHT_IN_STRING = re.compile(
    rb'"?(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+(?:\\(?:u[0-9a-fA-F]{0,3})?|")?'
)
_RIGHT_IN_WORD = re.compile(
    rb"t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|n(?:u(?:ll?)?)?"
    rb"|-?(?:(?:0|[1-9][0-9]*+)(?:\.(?:[0-9]++)?)?(?:(?<=[0-9])[eE][+-]?[0-9]*+)?)?"
)


def located(error: DataError, source: Readable, path: str) -> DataError:
    """The same error with its exact place.

    Args:
        error: what a pass raised; the place is not before its ``byte``, less one.
        source: the file.
        path: its name.

    Raises:
        InputChangedError: the error is not there any more.
    """
    source.seek(0)
    try:
        for _ in _LocatingPass(source, max(0, (error.byte or 0) - 1)):
            pass
    except DataError as again:
        error = again
    else:
        raise InputChangedError("the file changed while it was read", path=path)
    if isinstance(error, NotUtf8Error):
        byte = _first_byte_not_utf8(source, error.byte or 0)
        error = EncodingError(error.message, byte=byte, article=error.article)
    elif isinstance(error, InvalidJsonError):
        error = _explained(error, source)
    error.path = path
    error.line, error.column = line_and_column(source, error.byte or 0)
    return error


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


def _explained(error: InvalidJsonError, source: Readable) -> DataError:
    """Say it in plain words where the bytes at the place show a known mistake."""
    start = max(0, (error.byte or 0) - 1)
    source.seek(start)
    near = source.read(len(b"x-Infinity"))
    for skip in (0, 1):
        if match := _NOT_A_NUMBER.match(near, skip):
            return NotANumberError(
                f"{match[0].decode()} is no JSON: JSON has no such number; write null instead",
                byte=start + skip,
                article=error.article,
            )
    if "trailing garbage" in error.message and error.byte is not None:
        source.seek(max(0, error.byte - _NEAR))
        before = source.read(min(error.byte, _NEAR))
        return several_values(before, source.read(1), error.byte) or error
    return error


class _LocatingPass(Pass):
    """A careful pass that feeds token by token, so that an error has its exact place.

    A token that is wrong in itself is told by its first wrong byte; one that is in the wrong
    place, or a value of the wrong kind, by its first byte. This pass gives no parts.

    Args:
        begin: offset before which there is no error.
    """

    def __init__(self, source: Readable, begin: int) -> None:
        super().__init__(source, READ_SIZE, careful=True)
        self._begin = begin
        self._open_string: int | None = None  # where the string begins that is not over yet
        self._place: int | None = None

    def _cut(self, raw: bytes, view: bytes) -> Iterator[Part]:
        if self._offset + len(view) <= self._begin:
            yield from super()._cut(raw, view)
        else:
            self._feed_tokens(view)
        self._open_string = self._view.string_start

    def _feed_tokens(self, view: bytes) -> None:
        position = 0
        if self._open_string is not None and (rest := _REST_OF_STRING.match(view)):
            position = rest.end()
            if position:
                self._step(rest[0], self._open_string, _RIGHT_IN_STRING)
        for match in _TOKEN.finditer(view, position):
            token = match[0]
            if match["string"]:
                self._step(token, self._offset, _RIGHT_IN_STRING)
            elif match["word"]:
                # yajl knows the end of a number by what follows it.
                right = None if _WORD.fullmatch(token) else _RIGHT_IN_WORD
                self._step(token, self._offset, right, then=b" ")
            else:
                self._step(token, self._offset)

    def _step(
        self, token: bytes, start: int, right: re.Pattern[bytes] | None = None, then: bytes = b""
    ) -> None:
        """Feed a token, or the rest of one; ``right`` matches what is right of a wrong one."""
        self._place = start
        match = right.match(token) if right and not self._root_closed else None
        if match and (match.end() < len(token) or then):
            self._place = self._offset + match.end()
        self._offset += len(token)
        self._feed(token)
        if then:
            self._feed(then)
        self._place = None

    def _end(self) -> None:
        self._place = self._open_string if self._root_closed else None
        super()._end()

    def _error(self, kind: type[DataError], message: str) -> DataError:
        error = super()._error(kind, message)
        if self._place is not None:
            error.byte = self._place
        return error
