"""Find where the items of a root member's list begin and end, by strings and brackets alone.

The search knows nothing else of JSON and does not validate: its results are proposals, which the
parsers in :mod:`selection.stream.parser` prove or refuse.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from selection.implementation import NATIVE, PYTHON, in_use

#: The kind of a boundary: the ``[`` or the end of a list that is a member's value in the root, the
#: ``{`` or the end of an object in such a list. A mark is ``position << KIND_BITS | kind``.
LIST_OPENED, LIST_CLOSED, ITEM_OPENED, ITEM_CLOSED = range(4)
KIND_BITS = 2

#: Whether the bytes so far end outside a string, inside one, or inside one behind a backslash
#: that escapes the next byte.
OUTSIDE, INSIDE, ESCAPED = range(3)

# Depths in front of a bracket that opens, and behind one that closes.
IN_ROOT, IN_LIST = 1, 2

# Bounds the list of marks, which is much larger than the bytes if each of these is a boundary.
_WINDOW = 1 << 18

_UP_TO_BRACKET = re.compile(rb'(?:[^"{}\[\]]++|"(?:[^"\\]++|\\.)*+")*+', re.DOTALL)
_STRING_CONTENT = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_QUOTE, _OPENING = 0x22, b"{["

Find = Callable[[bytes | bytearray, int, int, int, int], tuple[list[int], int, int]]


def find_in_python(
    data: bytes | bytearray, start: int, stop: int, depth: int, string: int
) -> tuple[list[int], int, int]:
    """Find the boundaries in ``data[start:stop]``.

    Args:
        data: bytes of a document; those from ``start`` on follow the bytes of the last search.
        start: offset of the first byte to search.
        stop: offset behind the last one.
        depth: number of brackets that are open at ``start``.
        string: whether a string is open there: :data:`OUTSIDE`, :data:`INSIDE`, :data:`ESCAPED`.

    Returns:
        The marks, in order, and the depth and the string at ``stop``.
    """
    marks: list[int] = []
    at = start
    if at < stop and string != OUTSIDE:
        at, string = _string_end(data, at + (string == ESCAPED), stop)
    while string == OUTSIDE and (at := _end(_UP_TO_BRACKET, data, at, stop)) < stop:
        byte = data[at]
        at += 1
        if byte == _QUOTE:  # of a string that is not closed
            at, string = _string_end(data, at, stop)
        elif byte in _OPENING:
            if depth == IN_LIST and byte == _OPENING[0]:
                marks.append((at - 1) << KIND_BITS | ITEM_OPENED)
            elif depth == IN_ROOT and byte == _OPENING[1]:
                marks.append((at - 1) << KIND_BITS | LIST_OPENED)
            depth += 1
        else:
            depth -= 1
            if depth == IN_LIST:
                marks.append((at - 1) << KIND_BITS | ITEM_CLOSED)
            elif depth == IN_ROOT:
                marks.append((at - 1) << KIND_BITS | LIST_CLOSED)
    return marks, depth, string


def _string_end(data: bytes | bytearray, at: int, stop: int) -> tuple[int, int]:
    """Return the end of a string, and whether it is open at ``stop``."""
    end = _end(_STRING_CONTENT, data, at, stop)
    if end == stop:
        return stop, INSIDE
    return (end + 1, OUTSIDE) if data[end] == _QUOTE else (stop, ESCAPED)


def _end(pattern: re.Pattern[bytes], data: bytes | bytearray, at: int, stop: int) -> int:
    found = pattern.match(data, at, stop)
    assert found  # the pattern also matches zero bytes
    return found.end()


def available() -> dict[str, Find]:
    """Return the available searches by name, the fastest first; their results are equal."""
    try:
        from selection.stream import _boundaries
    except ImportError:
        return {PYTHON: find_in_python}
    return {NATIVE: _boundaries.find, PYTHON: find_in_python}


class Boundaries:
    """Searches the bytes of one document, in order.

    Args:
        find: the search to use; by default the one that ``SELECTION_BACKEND`` names.
    """

    def __init__(self, find: Find | None = None) -> None:
        self._find = find or in_use(available())
        self._depth = 0
        self._string = OUTSIDE

    def find(self, data: bytes | bytearray, start: int) -> tuple[list[int], int]:
        """Search the next bytes, which begin at ``data[start]``.

        Returns:
            The marks, and the offset behind the last byte that was searched. If it is less than
            ``len(data)``, the search must be called again from there.
        """
        stop = min(len(data), start + _WINDOW)
        marks, self._depth, self._string = self._find(data, start, stop, self._depth, self._string)
        return marks, stop
