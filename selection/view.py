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

_LONGEST_ESCAPE = len(rb"\ud83d\ude00")

# All whole escapes and what is between them. A high surrogate is whole when it is clear
# what follows it.
_WHOLE_ESCAPES = re.compile(
    rb"(?:[^\\]++"
    rb"|\\[^u]"
    rb"|\\u(?![dD][89abAB]).{4}"
    rb"|\\u[dD][89abAB]..(?:\\u.{4}|(?=[^\\]|\\[^u]))"
    rb")*+",
    re.DOTALL,
)

# The two alternatives without a group step over what is well: a pair, any other escape.
_LONE_SURROGATE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
    rb"|\\.",
    re.DOTALL,
)
_REPLACEMENT = rb"\ufffd"

_REST_OF_STRING = re.compile(rb'(?:[^"\\]++|\\.)*+("?)', re.DOTALL)
_STRING_OR_NUMBER = re.compile(
    rb'"(?:[^"\\]++|\\.)*+(?P<closed>"?)|(?P<number>-?[0-9][0-9.eE+-]*+)', re.DOTALL
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
        careful: also replace long numbers. That needs to know what is in a string, which
            costs time, so it is done only for documents that turn out to need it.
    """

    def __init__(self, careful: bool) -> None:
        self._careful = careful
        self._in_string = False

    def take(self, buffer: bytes, final: bool) -> bytes:
        """The view of the longest beginning of ``buffer`` that can be judged by itself.

        What is left over (less than an escape; a number when careful) must stand at the
        beginning of the next buffer. Nothing is left over from the ``final`` one.
        """
        view = buffer
        if not final and b"\\" in buffer[-_LONGEST_ESCAPE:]:
            whole = _WHOLE_ESCAPES.match(buffer)
            view = buffer[: whole.end() if whole else 0]
        if b"\\ud" in view or b"\\uD" in view:
            view = _LONE_SURROGATE.sub(lambda m: _REPLACEMENT if m[1] else m[0], view)
        return self._shorten_numbers(view, final) if self._careful else view

    def _shorten_numbers(self, view: bytes, final: bool) -> bytes:
        parts: list[bytes] = []
        done = position = 0
        if self._in_string and (rest := _REST_OF_STRING.match(view)):
            position = rest.end()
            self._in_string = not rest[1]
        for match in _STRING_OR_NUMBER.finditer(view, position):
            number = match["number"]
            if number is None:
                self._in_string = not match["closed"]
            elif match.end() == len(view) and not final:
                if len(number) > LONGEST_NUMBER:
                    raise NumberTooLongError
                view = view[: match.start()]
            elif _is_unsafe(number) and _NUMBER.fullmatch(number):
                parts += view[done : match.start()], b"0".ljust(len(number))
                done = match.end()
        return b"".join([*parts, view[done:]])


def _is_unsafe(number: bytes) -> bool:
    exponent = number.lower().partition(b"e")[2]
    return len(number) > _SAFE_DIGITS or len(exponent) > _SAFE_EXPONENT
