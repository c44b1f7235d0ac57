"""The reference for valid batches and their outputs, by Python's ``json``."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from tests.support import reference
from tests.support.documents import BYTE_ORDER_MARK, MEMBER, without_surrogates


class Members(tuple[tuple[str, Any], ...]):
    """The members of an object in order, with repeated ones."""


class Number(NamedTuple):
    """A number as it was written."""

    text: str


def parsed_batch(data: bytes) -> Any:
    """Parse a batch with ``json``; raise ValueError if it is not a batch."""

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
    """Return a batch of :func:`parsed_batch` with the picks of the reference implementation."""
    return Members(
        (key, [_picked(item) for item in value] if key == "articles" else value)
        for key, value in root
    )


def _picked(item: Any) -> Any:
    if not isinstance(item, Members):
        return item
    pick = reference.choose(without_surrogates(_as_dicts(item))).extractor
    if any(key == MEMBER for key, _ in item):
        return Members((key, pick if key == MEMBER else value) for key, value in item)
    return Members((*item, (MEMBER, pick)))


def _as_dicts(value: Any) -> Any:
    """Convert to dicts, in which the last of several members of a name counts."""
    if isinstance(value, Members):
        return {key: _as_dicts(member) for key, member in value}
    if isinstance(value, list):
        return [_as_dicts(item) for item in value]
    return 0 if isinstance(value, Number) else value
