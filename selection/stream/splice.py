"""Insert the pick into an article's bytes and leave every other byte as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from selection.model import MEMBER, Extractor

_WHITE_SPACE = b" \t\r\n"

_STRING = rb'"(?:[^"\\]++|\\.)*+"'
_KEY_STRING_OR_BRACKET = re.compile(rb"(" + _STRING + rb")(\s*:\s*)?|[{}\[\]]", re.DOTALL)
_FIRST_MEMBER = re.compile(rb"\{(\s*)" + _STRING + rb"(\s*:\s*)", re.DOTALL)
_SCALAR = re.compile(_STRING + rb"|[^\s,}{\[]+", re.DOTALL)
_OPENING, _CLOSING = (b"{", b"["), (b"}", b"]")


#: Start and end of bytes in an article.
Span = tuple[int, int]


def insert_pick(raw: bytes, pick: Extractor, spans: Sequence[Span]) -> list[bytes | memoryview]:
    """Return an article's bytes with its pick, in pieces to be written one after the other.

    Args:
        raw: the article's bytes.
        pick: the value of ``selected_extractor``.
        spans: the values that it replaces, as :func:`pick_spans` gives them. Without any, the
            member is added behind the last one, in the article's own style.
    """
    value = b'"%s"' % pick.encode()
    view = memoryview(raw)
    if not spans:
        end = members_end(raw)
        return [view[:end], _member_start(raw) + value, view[end:]]
    pieces: list[bytes | memoryview] = []
    done = 0
    for start, end in spans:
        pieces += [view[done:start], value]
        done = end
    return [*pieces, view[done:]]


def members_end(raw: bytes) -> int:
    """Return the offset behind the last member of an article, behind the ``{`` if it is empty."""
    return len(raw[:-1].rstrip(_WHITE_SPACE))


def _member_start(raw: bytes) -> bytes:
    """Return the bytes between the last value and the new one: comma, white space, key, colon."""
    key = b'"%s"' % MEMBER.encode()
    first = _FIRST_MEMBER.match(raw)
    if first is None:
        return key + b": "
    indent, colon = first.groups()
    # On one line there is no white space before the first member; then a comma is followed by
    # the white space that follows a colon.
    return b"," + (indent or colon.partition(b":")[2]) + key + colon


def pick_spans(raw: bytes) -> Iterator[Span]:
    """Give start and end of the value of each ``selected_extractor`` of an article.

    Args:
        raw: the bytes of a valid article.
    """
    return member_spans(raw, MEMBER)


def member_spans(raw: bytes, name: str) -> Iterator[Span]:
    """Give start and end of the value of each member of an object that has a name.

    Args:
        raw: the bytes of a valid object; in valid JSON, strings and brackets determine what
            is nested in what.
        name: of the members.
    """
    depth = 0
    container: int | None = None  # offset of a value that is a list or an object
    for match in _KEY_STRING_OR_BRACKET.finditer(raw):
        string, colon = match.groups()
        if colon:
            if depth == 1 and json.loads(string) == name:
                start = match.end()
                if scalar := _SCALAR.match(raw, start):
                    yield start, scalar.end()
                else:
                    container = start
        elif match[0] in _OPENING:
            depth += 1
        elif match[0] in _CLOSING:
            depth -= 1
            if depth == 1 and container is not None:
                yield container, match.end()
                container = None
