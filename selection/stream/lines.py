"""Cut JSON Lines into gaps and articles: one article a line.

Only a line feed ends a line, since a JSON string cannot contain one. White space around an object,
line ends, empty lines and a byte order mark are gaps. Memory is bounded by the longest line.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from selection.errors import DataError, InputChangedError, InvalidJsonError, LineNotObjectError
from selection.implementation import in_use
from selection.storage.interface import READ_SIZE, Readable
from selection.stream.boundaries import IN_LIST, ITEM_CLOSED, KIND_BITS, OUTSIDE, available
from selection.stream.forms import only_white_space
from selection.stream.locate import first_error, line_and_column
from selection.stream.parser import parse_article
from selection.stream.parts import Gap, Item
from selection.stream.sanitize import BYTE_ORDER_MARK
from selection.stream.split import read_head

_WHITE_SPACE = b" \t\r\n"

# In front of an article, for the search for its end and for the place of an error.
_BEFORE_ARTICLE, _BEHIND_ARTICLE = b'{"articles":[', b"]}"


@dataclass(frozen=True, slots=True)
class _Line:
    """A line that is not empty.

    Attributes:
        index: of the lines that are not empty, from 0.
        start: offset of its first byte that is not white space.
        raw: its bytes without white space at both ends.
    """

    index: int
    start: int
    raw: bytes


def unparsed_lines(
    source: Readable, read_size: int = READ_SIZE, *, skip_bad_lines: bool = False
) -> Iterator[Gap | Item]:
    """Cut JSON Lines into gaps and articles, which only :func:`parse_article` proves to be valid.

    Args:
        source: the file, at its beginning.
        read_size: how many bytes to read at once.
        skip_bad_lines: whether a line that is certainly not one object is a gap that counts as
            skipped. Otherwise it is an error.

    Raises:
        DataError: a line is not a JSON object; without its exact place, for which see
            :func:`first_error_of_lines`.
    """
    done = 0
    is_blank = True
    for line, gap in _lines(source, read_size):
        if gap:
            yield Gap(done, gap, 0)
            done += len(gap)
        if line is None:
            continue
        is_blank = False
        if _object_end(line.raw) == len(line.raw):
            yield Item(line.index, line.start, line.raw)
        elif skip_bad_lines:
            yield Gap(line.start, line.raw, 1)
        else:
            raise LineNotObjectError("a line is not a JSON object", byte=line.start)
        done += len(line.raw)
    if is_blank:
        raise only_white_space(done)


def first_error_of_lines(source: Readable, path: str) -> DataError:
    """Find the first line that is not a JSON object, with the exact place of the error.

    Args:
        source: the file, of which a line is wrong.
        path: its name.

    Raises:
        InputChangedError: the file has no error any more.
    """
    source.seek(0)
    try:
        error = _error_among(_lines(source))
    except DataError as other:  # the file is in another format
        error = other
    if error is None:
        raise InputChangedError("the file changed while it was read", path=path)
    error.path = path
    if error.byte is not None:
        error.line, error.column = line_and_column(source, error.byte)
    return error


def _error_among(lines: Iterable[tuple[_Line | None, bytes]]) -> DataError | None:
    end = 0
    is_blank = True
    for line, gap in lines:
        end += len(gap)
        if line is not None:
            is_blank = False
            if error := _error_in(line):
                return error
    return only_white_space(end) if is_blank else None


def _lines(source: Readable, read_size: int = READ_SIZE) -> Iterator[tuple[_Line | None, bytes]]:
    """Give each line that is not empty with the bytes before it, and the bytes behind the last."""
    index = offset = 0
    gap = bytearray()  # bytes, joined one empty line at a time, would be copied each time
    for line in _whole_lines(source, read_size):
        raw = line if offset else line.removeprefix(BYTE_ORDER_MARK)
        raw = raw.lstrip(_WHITE_SPACE)
        before = len(line) - len(raw)
        raw = raw.rstrip(_WHITE_SPACE)
        gap += line[:before]
        if raw:
            yield _Line(index, offset + before, raw), bytes(gap)
            index += 1
            gap = bytearray(line[before + len(raw) :])
        elif len(gap) >= read_size:
            yield None, bytes(gap)
            gap = bytearray()
        offset += len(line)
    if gap:
        yield None, bytes(gap)


def _whole_lines(source: Readable, read_size: int) -> Iterator[bytes]:
    rest: list[bytes] = []  # of a line without an end so far
    chunk = read_head(source) + source.read(read_size)
    while chunk:
        # bytes.splitlines splits at carriage returns, too.
        *lines, last = chunk.split(b"\n")
        for line in lines:
            yield b"".join([*rest, line, b"\n"])
            rest = []
        if last:
            rest.append(last)
        chunk = source.read(read_size)
    if rest:
        yield b"".join(rest)


def _object_end(raw: bytes) -> int | None:
    """Return the offset behind the object that a line begins with, by its brackets alone."""
    if not raw.startswith(b"{"):
        return None
    find = in_use(available())
    marks, _, _ = find(raw, 0, len(raw), IN_LIST, OUTSIDE)
    closed = (mark >> KIND_BITS for mark in marks if mark & (1 << KIND_BITS) - 1 == ITEM_CLOSED)
    end = next(closed, None)
    return None if end is None else end + 1


def _error_in(line: _Line) -> DataError | None:
    """Return the first error of a line, with its byte; without line and column."""
    if not line.raw.startswith(b"{"):
        message = "a line of JSON Lines must be a JSON object"
        return LineNotObjectError(message, byte=line.start, article=line.index)
    end = _object_end(line.raw)
    rest = b"" if end is None else line.raw[end:].lstrip(_WHITE_SPACE)
    if error := _error_in_article(line.raw[:end], is_closed=end is not None):
        error.byte = line.start + (error.byte or 0)
        error.article = line.index
        return error
    if rest:
        return InvalidJsonError(
            "invalid JSON: trailing data after the object of this line",
            byte=line.start + len(line.raw) - len(rest),
            article=line.index,
        )
    return None


def _error_in_article(raw: bytes, *, is_closed: bool) -> DataError | None:
    if is_closed:
        try:
            parse_article(raw)
        except DataError:
            pass
        else:
            return None
    behind = _BEHIND_ARTICLE if is_closed else b""
    error = first_error(io.BytesIO(_BEFORE_ARTICLE + raw + behind), "")
    error.byte = (error.byte or 0) - len(_BEFORE_ARTICLE)
    if not is_closed and error.byte >= len(raw):
        return InvalidJsonError("invalid JSON: the line ends inside an object", byte=len(raw))
    return error
