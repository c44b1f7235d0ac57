"""What the parser is fed in place of the input's own bytes.

Some JSON that RFC 8259 allows is more than ijson's C backend can take: a surrogate
escape without its partner, a number of thousands of digits, a byte order mark. The
parser sees a view in which each of those is replaced by something harmless of the same
length, so that its offsets are the input's offsets. The input's bytes are what is copied.
"""

from __future__ import annotations

import re

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

#: The longest number that is read; a longer one is an error, so that memory stays bounded.
LONGEST_NUMBER = 1 << 20

# yajl takes them for white space, RFC 8259 does not. They are wrong inside a string, too.
_NOT_WHITE_SPACE = (b"\x0b", b"\x0c")
_WRONG_EVERYWHERE = b"\x01"

_LONGEST_ESCAPE = len(rb"\ud83d\ude00")

# All whole escapes and what is between them. A high surrogate is whole when it is clear
# what follows it.
_WHOLE_ESCAPES = re.compile(
    rb"(?:[^\\]++"
    rb"|\\[^u]"
    rb"|\\u(?![dD][89abAB]).{4}"
    rb"|\\u[dD][89abAB]..(?:\\u[dD][c-fC-F]..|(?=[^\\]|\\[^u]|\\u(?![dD][c-fC-F])..))"
    rb")*+",
    re.DOTALL,
)

# No escape is open behind so many bytes without a backslash, whatever came before. Looking near
# the end of what was read for such a place saves looking at all of it.
_NO_ESCAPE = re.compile(rb"[^\\]{%d}" % _LONGEST_ESCAPE)
_NEAR = 1 << 10
_FEW = 100

# The two alternatives without a group step over what is well: a pair, any other escape.
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
    """A number of more than :data:`LONGEST_NUMBER` characters."""


class View:
    """Turns the bytes of one document, in order, into what the parser is fed.

    Args:
        careful: also replace long numbers, by what no article can have for an id. That needs
            to know what is in a string, which costs time, so it is done only for documents
            that turn out to need it.

    Attributes:
        string_start: when careful, where the string begins that is open at the end of what
            was taken; None if none is.
    """

    def __init__(self, careful: bool) -> None:
        self._careful = careful
        self._taken = 0
        self.string_start: int | None = None

    def take(self, buffer: bytes, final: bool) -> bytes:
        """The view of the longest beginning of ``buffer`` that can be judged by itself.

        What is left over (less than an escape; a number or another word when careful) must
        stand at the beginning of the next buffer. Nothing is left over from the ``final`` one.

        Raises:
            NumberTooLongError: what is left over is longer than any number may be.
        """
        view = buffer
        if not final and b"\\" in buffer[-_LONGEST_ESCAPE:]:
            clear = _NO_ESCAPE.search(buffer, len(buffer) - _NEAR)
            whole = _WHOLE_ESCAPES.match(buffer, clear.end() if clear else 0)
            view = buffer[: whole.end() if whole else 0]
        if _may_have_surrogates(view):
            view = _LONE_SURROGATE.sub(lambda m: _REPLACEMENT if m[1] else m[0], view)
        for byte in _NOT_WHITE_SPACE:
            if byte in view:
                view = view.replace(byte, _WRONG_EVERYWHERE)
        if self._taken == 0 and view.startswith(BYTE_ORDER_MARK):
            view = view.replace(BYTE_ORDER_MARK, b"   ", 1)
        if self._careful:
            view = self._shorten_numbers(view, final)
        self._taken += len(view)
        return view

    def _shorten_numbers(self, view: bytes, final: bool) -> bytes:
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
                    self.string_start = self._taken + match.start()
            elif match.end() == len(view) and not final:
                if len(word) > LONGEST_NUMBER:
                    raise NumberTooLongError
                view = view[: match.start()]
            elif _is_unsafe(word) and _NUMBER.fullmatch(word):
                parts += view[done : match.start()], b"false".ljust(len(word))
                done = match.end()
        return b"".join([*parts, view[done:]])


def _may_have_surrogates(view: bytes) -> bool:
    # Where there are few escapes, it is many times faster to look at each than to look for three
    # bytes in a row.
    at = view.find(b"\\u")
    for _ in range(_FEW):
        if at < 0 or view[at + 2 : at + 3] in (b"d", b"D"):
            return at >= 0
        at = view.find(b"\\u", at + 2)
    return b"\\ud" in view or b"\\uD" in view


def _is_unsafe(number: bytes) -> bool:
    exponent = number.lower().partition(b"e")[2]
    return len(number) > _SAFE_DIGITS or len(exponent) > _SAFE_EXPONENT
