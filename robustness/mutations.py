"""Batches as bytes, made fast and at random, and then broken."""

from __future__ import annotations

import json
import random
from typing import Any

from robustness.texts import article

_TOKENS = [
    *(b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\\u", b"\\ud83d", b"\\ude00", b"\0"),
    *(b"null", b"true", b"NaN", b"-Infinity", b"1e999", b"-", b"-0", b"01", b"1.", b".5", b"0x1"),
    *(b"\xef\xbb\xbf", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80"),
    *(b'"articles":[', b'"articles":', b'"selected_extractor":', b'"text":', b'"newspaper4k":{'),
    *(b"//", b"/*", b"\x0c", b"\x85", b"\xe2\x80\xa8", b" ", b"\n", b"\r\n", b"\t", b"1" * 5000),
    *(b"'a'", b"{}", b"[]", b'""', b"{},", b",{}", b'{"":0}', b'\\"', b"\x7f", b"\x1f", b"1E+2"),
]
_VALUES: list[Any] = [None, True, 0, -1.5e300, "", "é😀\u2028", "\ud83d", [], {}, [[]], {"": []}]


def batch(randomness: random.Random, texts: list[list[str]]) -> bytes:
    """A valid one."""
    articles: list[Any] = []
    for _ in range(randomness.choice((0, 1, 1, 2, 3))):
        item: Any = article(randomness, texts)
        for _ in range(randomness.randrange(3)):
            key = randomness.choice(("id", "selected_extractor", "articles", "é", "", "text"))
            item[key] = randomness.choice(_VALUES)
        if randomness.random() < 0.3:
            items = list(item.items())
            randomness.shuffle(items)
            item = dict(items)
        articles.append(item if randomness.random() < 0.85 else randomness.choice(_VALUES))
    root: dict[str, Any] = {"source": randomness.choice(_VALUES), "articles": articles}
    if randomness.random() < 0.3:
        root["articles.item"] = randomness.choice(_VALUES)
    separators = randomness.choice(((",", ":"), (", ", ": "), (" ,\r\n", "\t: ")))
    text = json.dumps(
        root,
        ensure_ascii=randomness.random() < 0.5,
        indent=randomness.choice((None, None, 0, 2)),
        separators=separators,
    )
    # A lone surrogate has no bytes of its own.
    return text.encode("utf-8", "replace")


def mutant(randomness: random.Random, data: bytes) -> bytes:
    """The same, broken in a few places; sometimes it is still a batch."""
    for _ in range(randomness.choice((1, 1, 1, 2, 4))):
        place = randomness.randrange(len(data) + 1)
        end = place + randomness.choice((1, 1, 2, 5, 30))
        kind = randomness.randrange(7)
        if kind == 0:
            data = data[:place] + bytes([randomness.randrange(256)]) + data[place + 1 :]
        elif kind == 1:
            data = data[:place] + data[end:]
        elif kind == 2:
            data = data[:end] + data[place:]
        elif kind == 3:
            data = data[:place]
        elif kind == 4:
            data = data[:place] + bytes([randomness.randrange(256)]) + data[place:]
        else:
            data = data[:place] + randomness.choice(_TOKENS) + data[place:]
    return data
