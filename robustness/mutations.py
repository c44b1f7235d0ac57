"""Random batches as bytes, and mutations of them."""

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
    """Return a valid batch."""
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
    # A lone surrogate cannot be encoded.
    return text.encode("utf-8", "replace")


def mutated(randomness: random.Random, data: bytes) -> bytes:
    """Return the bytes with one to four mutations; some results are valid batches."""
    for _ in range(randomness.choice((1, 1, 1, 2, 4))):
        start = randomness.randrange(len(data) + 1)
        end = start + randomness.choice((1, 1, 2, 5, 30))
        kind = randomness.randrange(7)
        if kind == 0:
            data = data[:start] + bytes([randomness.randrange(256)]) + data[start + 1 :]
        elif kind == 1:
            data = data[:start] + data[end:]
        elif kind == 2:
            data = data[:end] + data[start:]
        elif kind == 3:
            data = data[:start]
        elif kind == 4:
            data = data[:start] + bytes([randomness.randrange(256)]) + data[start:]
        else:
            data = data[:start] + randomness.choice(_TOKENS) + data[start:]
    return data
