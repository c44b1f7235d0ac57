"""Whether bytes are a batch, and what must become of it, as Python's ``json`` reads it."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from tests.support import reference
from tests.support.documents import BYTE_ORDER_MARK, MEMBER, without_surrogates


class Members(tuple[tuple[str, Any], ...]):
    """An object as ``json`` read it, with all its members in order, repeated ones too."""


class Number(NamedTuple):
    """A number as it was written."""

    text: str


def judged(data: bytes) -> Any:
    """What ``json`` makes of a batch; ValueError if it is none. The judge of validity."""

    def refuse(constant: str) -> Any:
        raise ValueError(constant)

    root = json.loads(
        data.removeprefix(BYTE_ORDER_MARK).decode("utf-8"),
        object_pairs_hook=Members,
        parse_constant=refuse,
        parse_int=Number,
        parse_float=Number,
    )
    if not isinstance(root, Members):
        raise ValueError("root")
    lists = [value for key, value in root if key == "articles"]
    if not lists or not all(isinstance(value, list) for value in lists):
        raise ValueError("articles")
    return root


def with_right_picks(root: Any) -> Any:
    """A batch as :func:`judged` reads it, with the picks of the plain rules."""
    return Members(
        (key, [_picked(item) for item in value] if key == "articles" else value)
        for key, value in root
    )


def _picked(item: Any) -> Any:
    if not isinstance(item, Members):
        return item
    pick = reference.choose(without_surrogates(_plain(item))).extractor
    if any(key == MEMBER for key, _ in item):
        return Members((key, pick if key == MEMBER else value) for key, value in item)
    return Members((*item, (MEMBER, pick)))


def _plain(value: Any) -> Any:
    """With dicts, of which the last of several members of a name counts."""
    if isinstance(value, Members):
        return {key: _plain(member) for key, member in value}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return 0 if isinstance(value, Number) else value
