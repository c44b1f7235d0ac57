"""Replace what RFC 8259 allows and ijson's C backend cannot parse.

That is a surrogate escape without its partner, a number of thousands of digits and a byte order
mark. What replaces them has the same length, so that offsets in the sanitized input are offsets
in the input. Only the parsers read the sanitized input; the output is copied from the input.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_needs_nothing: Callable[[bytes], bool] | None
try:
    from selection.stream import _boundaries

    _needs_nothing = _boundaries.is_plain
except ImportError:
    _needs_nothing = None  # the searches below give the same result in several steps

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

#: The most characters of a number. A longer one is an error, so that memory stays bounded.
LONGEST_NUMBER = 1 << 20

# yajl accepts them as white space, RFC 8259 does not; it forbids them inside a string, too.
_NOT_WHITE_SPACE = (b"\x0b", b"\x0c")
_WRONG_EVERYWHERE = b"\x01"

_LONGEST_ESCAPE = len(rb"\ud83d\ude00")

# Complete escapes and the bytes between them. A high surrogate is complete when the escape or
# byte behind it is known.
_WHOLE_ESCAPES = re.compile(
    rb"(?:[^\\]++"
    rb"|\\[^u]"
    rb"|\\u(?![dD][89abAB]).{4}"
    rb"|\\u[dD][89abAB]..(?:\\u[dD][c-fC-F]..|(?=[^\\]|\\[^u]|\\u(?![dD][c-fC-F])..))"
    rb")*+",
    re.DOTALL,
)

# Behind that many bytes without a backslash no escape is open. Searching for such a place near the
# end of the buffer avoids a search of the whole buffer.
_NO_ESCAPE = re.compile(rb"[^\\]{%d}" % _LONGEST_ESCAPE)
_NEAR = 1 << 10
_FEW = 100

# The alternatives without a group skip what needs no replacement: a pair, any other escape.
_LONE_SURROGATE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
    rb"|\\.",
    re.DOTALL,
)
_REPLACEMENT = rb"\ufffd"

_REST_OF_STRING = re.compile(rb'(?:[^"\\]++|\\.)*+("?)', re.DOTALL)
_STRING_OR_WORD = re.compile(
    rb'"(?:[^"\\]++|\\.)*+(?P<closed>"?)|(?P<word>[-+.0-9A-Za-z]++)', re.DOTALL
)
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
# Python turns up to 4,300 digits into an int; decimal takes exponents of up to 18 digits.
_SAFE_DIGITS = 1000
_SAFE_EXPONENT = 15


class NumberTooLongError(Exception):
    """A number has more than :data:`LONGEST_NUMBER` characters."""


def sanitized(data: bytes) -> bytes:
    """Return bytes of a document with every lone surrogate replaced.

    Args:
        data: bytes that neither begin nor end within an escape.
    """
    if _needs_nothing is not None and _needs_nothing(data):
        return data
    if _can_have_surrogates(data):
        data = _LONE_SURROGATE.sub(lambda m: _REPLACEMENT if m[1] else m[0], data)
    for byte in _NOT_WHITE_SPACE:
        if byte in data:
            data = data.replace(byte, _WRONG_EVERYWHERE)
    return data


def with_safe_numbers(data: bytes) -> bytes:
    """Return bytes of a document with every number replaced that ijson cannot represent.

    Args:
        data: bytes that neither begin nor end within a string or a number.

    Raises:
        NumberTooLongError: a number is longer than :data:`LONGEST_NUMBER`.
    """
    safe = Sanitizer()._replace_numbers(data, is_complete=True)
    if len(safe) < len(data):
        raise NumberTooLongError
    return safe


class Sanitizer:
    """Sanitizes one document, streaming: surrogates, numbers and the byte order mark.

    Attributes:
        size: number of bytes that were sanitized.
        string_start: offset of the string that is open behind them, or None.
    """

    def __init__(self) -> None:
        self.size = 0
        self.string_start: int | None = None

    def sanitize(self, buffer: bytes, is_complete: bool) -> bytes:
        """Return the longest beginning of the next bytes that is complete, sanitized.

        The rest (part of an escape, or a number or literal that can continue) must be at the
        beginning of the next buffer.

        Args:
            buffer: the next bytes.
            is_complete: whether the buffer ends outside every token; then there is no rest.

        Raises:
            NumberTooLongError: a number is longer than :data:`LONGEST_NUMBER`.
        """
        data = buffer
        if not is_complete and b"\\" in buffer[-_LONGEST_ESCAPE:]:
            clear = _NO_ESCAPE.search(buffer, len(buffer) - _NEAR)
            whole = _WHOLE_ESCAPES.match(buffer, clear.end() if clear else 0)
            data = buffer[: whole.end() if whole else 0]
        data = sanitized(data)
        if self.size == 0 and data.startswith(BYTE_ORDER_MARK):
            data = data.replace(BYTE_ORDER_MARK, b"   ", 1)
        data = self._replace_numbers(data, is_complete)
        self.size += len(data)
        return data

    def _replace_numbers(self, data: bytes, is_complete: bool) -> bytes:
        parts: list[bytes] = []
        done = position = 0
        if self.string_start is not None and (rest := _REST_OF_STRING.match(data)):
            position = rest.end()
            if rest[1]:
                self.string_start = None
        for match in _STRING_OR_WORD.finditer(data, position):
            word = match["word"]
            if word is None:
                if not match["closed"]:
                    self.string_start = self.size + match.start()
                continue
            if len(word) > LONGEST_NUMBER:
                # The bytes before it are parsed first, since they can have an error, too.
                if match.start() == 0:
                    raise NumberTooLongError
                data = data[: match.start()]
                break
            if match.end() == len(data) and not is_complete:
                data = data[: match.start()]
            elif _is_unsafe(word) and _NUMBER.fullmatch(word):
                parts += data[done : match.start()], b"false".ljust(len(word))
                done = match.end()
        return b"".join([*parts, data[done:]]) if parts else data


def _can_have_surrogates(data: bytes) -> bool:
    # For few escapes, checking each is many times faster than a search for three bytes in a row.
    at = data.find(b"\\u")
    for _ in range(_FEW):
        if at < 0 or data[at + 2 : at + 3] in (b"d", b"D"):
            return at >= 0
        at = data.find(b"\\u", at + 2)
    return b"\\ud" in data or b"\\uD" in data


def _is_unsafe(number: bytes) -> bool:
    exponent = number.lower().partition(b"e")[2]
    return len(number) > _SAFE_DIGITS or len(exponent) > _SAFE_EXPONENT
