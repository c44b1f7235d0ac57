"""Random articles: edited real texts with markup and rare characters."""

from __future__ import annotations

import html.entities
import json
import random
import sys
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any

from tests.support import reference

EXAMPLE = Path(__file__).parents[1] / "examples" / "river_plate_extracted.json"

_MARKUP = [
    *("<b>", "</b>", "<br/>", "<p class='x'>", "<!-- x -->", "<", ">", "<>", "< a >", "</"),
    *("[River](https://e.org/r)", "![foto](a.jpg)", "[![f](a)](b)", "[](x)", "[a]()", "[[a](b)"),
    *("[", "]", "](", "(", ")", "!", "![", "! [a](b)", "!\n[a](b)", "[a] (b)", "[a\nb](c\nd)"),
    *("&", "&amp;", "&amp;lt;b&amp;gt;", "&lt;p&gt;", "&nbsp;", "&eacute", "&eacute;", "&notit;"),
    *("&#65;", "&#x41;", "&#0;", "&#x80;", "&#xd800;", "&#1114112;", "&#99999999;", "&#", "&#x;"),
    *("&#38;amp;", "&lt;a href=&quot;x&quot;&gt;", "&#60;b&#62;", "&#91;x&#93;&#40;y&#41;"),
]
_WORDS = [
    *(
        "ﬁm",
        "\uff26\uff29",
        "İstanbul",
        "ΟΔΟΣ",
        "Σ",
        "ς",
        "ẞ",
        "ǅ",
        "m²",
        "½",
        "Ⅷ",
        "①",
        "㎏",
        "R$",
    ),
    *("東京都", "ｶﾞｰﾙ", "\u1112\u1161\u11ab", "ﷺ", "שָׁלוֹם", "\u202bx\u202c", "a\u00adb", "a\u200bb"),
    *("x" + "\u0327\u0301" * 20, "👨\u200d👩\u200d👧", "\x1c", "\x1f", "\x85", "\u2028", "\ufeff"),
    *(
        "١٢٣",
        "߁",
        "\U0001d7d8",
        "\U0001d49c",
        "🄰",
        "ª",
        "ⓐ",
        "\u0345",
        "\u0130",
        "ŉ",
        "ΐ",
        "K",
        "Å",
        "d'água",
        "a_b",
    ),
]
_GLUE = [" ", " ", " ", "\n", "\t ", "\xa0", "\u3000", "<br>", ", ", "_", "-", "", " ⚽ "]
_ENTITIES = [f"&{name}" for name in html.entities.html5]
_NO_ERRORS: list[Any] = [None, None, None, None, "", [], {}]
_ERRORS: list[Any] = ["timeout", " ", 0, False, ["x"], {"code": 500}]
_NO_TEXTS: list[Any] = [None, 7, ["gol"], {"text": "gol"}, "", "...", "<p></p>", "&nbsp;"]


@cache
def _characters() -> list[str]:
    """Return every assigned character; computed at the first use, as it takes a while."""
    return [
        character
        for character in map(chr, range(sys.maxunicode + 1))
        if unicodedata.category(character) not in ("Cn", "Co", "Cs")
    ]


@cache
def _rare() -> list[str]:
    """Return the characters without the many of CJK, which would outnumber all others."""
    return [
        character
        for character in _characters()
        if not unicodedata.name(character, "").startswith(("CJK", "HANGUL SYL"))
    ]


def corpus() -> list[list[str]]:
    """Return the words of each text of the sample."""
    articles = json.loads(EXAMPLE.read_bytes())["articles"]
    texts = [
        reference.text_of(article, name) for article in articles for name in reference.TEXT_FIELDS
    ]
    return [text.split() for text in texts if text]


def article(randomness: random.Random, texts: list[list[str]]) -> dict[str, Any]:
    """Return an article with three texts of one origin, each edited independently."""
    words = _origin(randomness, texts)
    all_degraded = randomness.random() < 0.1
    made: dict[str, Any] = {}
    for name, field in reference.TEXT_FIELDS.items():
        its = words if randomness.random() < 0.9 else _origin(randomness, texts)
        text: Any = _text(randomness, its)
        if randomness.random() < 0.05:
            text = randomness.choice(_NO_TEXTS)
        has_error = all_degraded or randomness.random() < 0.05
        made[name] = {field: text, "error": randomness.choice(_ERRORS if has_error else _NO_ERRORS)}
    return made


def _origin(randomness: random.Random, texts: list[list[str]]) -> list[str]:
    kind = randomness.random()
    if kind < 0.6:
        text = randomness.choice(texts)
        start = randomness.randrange(len(text))
        return text[start : start + randomness.choice((3, 8, 20, 40, 80))]
    if kind < 0.8:
        return randomness.choices("ab", k=randomness.randrange(12))
    return randomness.choices(_WORDS, k=randomness.randrange(12))


def _text(randomness: random.Random, words: list[str]) -> str:
    words = list(words)
    for _ in range(randomness.choice((0, 0, 1, 1, 2, 3))):
        start = randomness.randrange(len(words) + 1)
        end = start + randomness.choice((1, 1, 2, 3, 5, 20))
        words[start:end] = randomness.choice(
            (
                [],
                words[start:end] * 2,
                randomness.choices(_MARKUP, k=2),
                randomness.choices(_WORDS, k=2),
                [randomness.choice(_ENTITIES), *words[start:end]],
                randomness.choices(_rare(), k=3),
                ["<b>", *words[start:end], "</b>"],
                ["[", *words[start:end], "](x)"],
            )
        )
    glue = randomness.choices(_GLUE, k=3)
    text = "".join(word + glue[i % 3] for i, word in enumerate(words))
    for _ in range(randomness.choice((0, 0, 0, 1, 3))):
        place = randomness.randrange(len(text) + 1)
        text = text[:place] + randomness.choice(_characters()) + text[place:]
    if randomness.random() < 0.02:
        place = randomness.randrange(len(text) + 1)
        text = text[:place] + chr(randomness.randrange(0xD800, 0xE000)) + text[place:]
    return text
