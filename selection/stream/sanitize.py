"""Replace what RFC 8259 allows and ijson's C backend cannot parse.

That is a surrogate escape without its partner, a number of thousands of digits and a byte order
mark. What replaces them has the same length, so that offsets in the sanitized input are offsets
in the input. Only the parsers read the sanitized input; the output is copied from the input.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_is_plain: Callable[[bytes], bool] | None
try:
    from selection.stream import _boundaries

    _is_plain = _boundaries.is_plain
except ImportError:
    _is_plain = None  # the searches below find the same, in several steps

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

#: The longest number that is read; a longer one is an error, so that memory stays bounded.
LONGEST_NUMBER = 1 << 20

# yajl accepts them as white space, RFC 8259 does not; inside a string they are wrong, too.
_NOT_WHITE_SPACE = (b"\x0b", b"\x0c")
_WRONG_EVERYWHERE = b"\x01"

_LONGEST_ESCAPE = len(rb"\ud83d\ude00")

# Complete escapes and what is between them. A high surrogate is complete when what follows it is
# known.
_WHOLE_ESCAPES = re.compile(
    rb"(?:[^\\]++"
    rb"|\\[^u]"
    rb"|\\u(?![dD][89abAB]).{4}"
    rb"|\\u[dD][89abAB]..(?:\\u[dD][c-fC-F]..|(?=[^\\]|\\[^u]|\\u(?![dD][c-fC-F])..))"
    rb")*+",
    re.DOTALL,
)

# Behind that many bytes without a backslash no escape is open. To search for such a place near the
# end of the buffer saves a search of the whole buffer.
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
        data: neither end is inside an escape.
    """
    if _is_plain is not None and _is_plain(data):
        return data
    if _may_have_surrogates(data):
        data = _LONE_SURROGATE.sub(lambda m: _REPLACEMENT if m[1] else m[0], data)
    for byte in _NOT_WHITE_SPACE:
        if byte in data:
            data = data.replace(byte, _WRONG_EVERYWHERE)
    return data


def with_safe_numbers(data: bytes) -> bytes:
    """Return bytes of a document with every number replaced that ijson cannot hold.

    Args:
        data: neither end is inside a string or a number.

    Raises:
        NumberTooLongError: a number is longer than :data:`LONGEST_NUMBER`.
    """
    view = Sanitizer()._shorten_numbers(data, is_complete=True)
    if len(view) < len(data):
        raise NumberTooLongError
    return view


class Sanitizer:
    """Sanitizes one document as it streams; :func:`sanitized` and safe numbers.

    Attributes:
        taken: how many bytes of the document were taken.
        string_start: offset in the document of the string that is open behind them, or None.
    """

    def __init__(self) -> None:
        self.taken = 0
        self.string_start: int | None = None

    def take(self, buffer: bytes, is_complete: bool) -> bytes:
        """Return the sanitized form of the longest beginning of ``buffer`` that can be judged.

        The rest (part of an escape, or a number or literal that may go on) must be at the
        beginning of the next buffer. There is no rest if ``is_complete``.

        Raises:
            NumberTooLongError: a number is longer than :data:`LONGEST_NUMBER`.
        """
        view = buffer
        if not is_complete and b"\\" in buffer[-_LONGEST_ESCAPE:]:
            clear = _NO_ESCAPE.search(buffer, len(buffer) - _NEAR)
            whole = _WHOLE_ESCAPES.match(buffer, clear.end() if clear else 0)
            view = buffer[: whole.end() if whole else 0]
        view = sanitized(view)
        if self.taken == 0 and view.startswith(BYTE_ORDER_MARK):
            view = view.replace(BYTE_ORDER_MARK, b"   ", 1)
        view = self._shorten_numbers(view, is_complete)
        self.taken += len(view)
        return view

    def _shorten_numbers(self, view: bytes, is_complete: bool) -> bytes:
        parts: list[bytes] = []
        done = position = 0
        if self.string_start is not None and (rest := _REST_OF_STRING.match(view)):
            position = rest.end()
            if rest[1]:
                self.string_start = None
        for match in _STRING_OR_WORD.finditer(view, position):
            word = match["word"]
            if word is None:
                if not match["closed"]:
                    self.string_start = self.taken + match.start()
                continue
            if len(word) > LONGEST_NUMBER:
                # What comes before it is judged first, since it may be wrong, too.
                if match.start() == 0:
                    raise NumberTooLongError
                view = view[: match.start()]
                break
            if match.end() == len(view) and not is_complete:
                view = view[: match.start()]
            elif _is_unsafe(word) and _NUMBER.fullmatch(word):
                parts += view[done : match.start()], b"false".ljust(len(word))
                done = match.end()
        return b"".join([*parts, view[done:]]) if parts else view


def _may_have_surrogates(data: bytes) -> bool:
    # Where there are few escapes, a look at each is many times faster than a search for three
    # bytes in a row.
    at = data.find(b"\\u")
    for _ in range(_FEW):
        if at < 0 or data[at + 2 : at + 3] in (b"d", b"D"):
            return at >= 0
        at = data.find(b"\\u", at + 2)
    return b"\\ud" in data or b"\\uD" in data


def _is_unsafe(number: bytes) -> bool:
    exponent = number.lower().partition(b"e")[2]
    return len(number) > _SAFE_DIGITS or len(exponent) > _SAFE_EXPONENT
