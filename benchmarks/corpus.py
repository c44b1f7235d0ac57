"""Generated articles and batches, the same for the same seed.

A language here is an alphabet and a rule for joining words; the texts have no meaning. Words
follow Zipf's law, and a tenth of the words of a generated batch occur in one article only, so that
a cache of words is as effective as on real batches.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, count, cycle, islice
from pathlib import Path
from typing import Any

Article = dict[str, Any]

UNITS = {"K": 1_000, "M": 1_000_000, "G": 1_000_000_000}
VOCABULARY = 5_000
POOL = 200
#: Placeholder for the number of an article in the articles of the pool.
NUMBER = "0000000"
NEW_WORDS = tuple(f"{letter}{NUMBER}" for letter in "abcdefghijklmnopqrst")
MARKUP = ("[link](https://example.org/x)", "![photo](p.jpg)", "&amp;", "<b>tag</b>", "“R$ 3,50”")
TEXTS = (("newspaper4k", "text"), ("readability", "cleaned_text"), ("trafilatura", "text"))


@dataclass(frozen=True, slots=True)
class Language:
    """Letters, length of the longest word, separator of words, and end of a sentence."""

    letters: str
    longest: int
    between: str = " "
    stop: str = ". "


def _range(first: str, last: str) -> str:
    return "".join(map(chr, range(ord(first), ord(last) + 1)))


LATIN = _range("a", "z")
PORTUGUESE = Language(LATIN + "aaeeiioouu" + "ãáâçéêíóôõú", 11)
LANGUAGES = {
    "Portuguese": PORTUGUESE,
    "Russian": Language(_range("\u0430", "\u044f"), 12),
    "Greek": Language(_range("\u03b1", "\u03c9") + "άέήίόύώ", 11),
    "Arabic": Language(_range("ب", "غ") + "اليمنفقكه", 8, stop="\u06d4 "),
    "Hindi": Language(_range("क", "ह") + "ािीुूेैोौ्ं", 8, stop="। "),
    "Chinese": Language(_range("一", "鿋"), 3, "", "。"),
    "Japanese": Language(
        _range("ぁ", "ゔ") * 3 + _range("ァ", "ヴ") + "日本語新聞大会", 5, "", "。"
    ),
    "Korean": Language(_range("가", "힣"), 5),
    "Thai": Language(_range("ก", "ฮ") + "ะาิีึืุูเแโใไ่้", 8, "", " "),
    "Emoji": Language(_range("\U0001f600", "\U0001f64f") + "👩\u200d👧🏽❤\ufe0f🇧🇷" + "ab", 3),
}


class Writer:
    """Writes articles in one language."""

    def __init__(
        self, language: Language, randomness: random.Random, always: Sequence[str] = ()
    ) -> None:
        self._language = language
        self._randomness = randomness
        lengths = islice(cycle(range(1, language.longest + 1)), VOCABULARY)
        self._words = [
            *("".join(randomness.choices(language.letters, k=n)) for n in lengths),
            *always,
            *MARKUP,
        ]
        weights = [1 / rank for rank in range(1, VOCABULARY + 1)]
        common = sum(weights)
        weights += [0.1 * common / (len(always) or 1)] * len(always)
        weights += [0.005 * common / len(MARKUP)] * len(MARKUP)
        self._weights = list(accumulate(weights))

    def sentences(self, words: int) -> str:
        """Return ``words`` words: 12 in a sentence, five sentences in a paragraph."""
        chosen = self._randomness.choices(self._words, cum_weights=self._weights, k=words)
        language = self._language
        parts = [language.between.join(chosen[i : i + 12]) for i in range(0, words, 12)]
        paragraphs = [language.stop.join(parts[i : i + 5]) for i in range(0, len(parts), 5)]
        return "\n\n".join(paragraphs)

    def article(self, number: int, words: int) -> Article:
        """Return an article whose three texts share a body of ``words`` words."""
        body = self.sentences(words)
        before = self.sentences(max(1, words // 20))
        after = self.sentences(max(1, words // 6))
        return {
            "id": f"article-{number}",
            "url": f"https://example.org/{number}",
            "status_code": 200,
            "trafilatura": {"title": "t", "text": f"{body}\n{after}", "error": None},
            "newspaper4k": {"title": "t", "text": body, "error": None},
            "readability": {
                "title": "t",
                "content_html": f"<div><p>{body}</p></div>",
                "cleaned_text": f"{before}\n{body}",
                "error": None,
            },
        }


def multilingual(articles: int, words: int, seed: int = 1) -> list[Article]:
    """Return ``articles`` articles, every language in turn."""
    randomness = random.Random(seed)
    writers = [Writer(language, randomness) for language in LANGUAGES.values()]
    return [writers[n % len(writers)].article(n, words) for n in range(articles)]


def long(articles: int, words: int, seed: int = 1) -> list[Article]:
    """Return ``articles`` articles in one language, each with a body of ``words`` words."""
    writer = Writer(PORTUGUESE, random.Random(seed))
    return [writer.article(n, words) for n in range(articles)]


def write(path: Path, articles: Sequence[Article]) -> Path:
    """Write a batch of these articles and return its path."""
    with path.open("wb", buffering=1 << 20) as file:
        file.writelines(_batch(_encoded(article) for article in articles))
    return path


def write_generated(path: Path, size: int, words: int | None = None, seed: int = 1) -> int:
    """Stream a batch of about ``size`` bytes to a file and return its number of articles.

    Args:
        path: the file.
        size: the size in bytes.
        words: the number of words of each body; None: 80 to 1,200.
        seed: the seed of all random choices.
    """
    return _write_until(path, size, _endless(words, seed))


def write_repeated(path: Path, source: Path, size: int) -> int:
    """Repeat the articles of a batch up to ``size`` bytes and return their number.

    Words of seven ASCII letters and more are new in every copy, so that a cache of words or
    shingles has as many hits as with different articles.
    """
    originals = json.loads(source.read_bytes())["articles"]
    articles = (renewed(article, copy) for copy in count() for article in originals)
    return _write_until(path, size, map(_encoded, articles))


_LONG_WORD = re.compile(r"(?<![\w&</])[a-z]{7,}(?![\w;>])")


def renewed(article: Article, copy: int) -> Article:
    """Return an article with the same decision and other words: letters shifted by ``copy``."""
    table = str.maketrans(LATIN, LATIN[copy % 26 :] + LATIN[: copy % 26])
    changed = dict(article)
    for extractor, field in TEXTS:
        block = article.get(extractor)
        if isinstance(block, dict) and isinstance(block.get(field), str):
            text = _LONG_WORD.sub(lambda word: word[0].translate(table), block[field])
            changed[extractor] = {**block, field: text}
    return changed


def parse_size(text: str) -> int:
    """Return the number of bytes of ``500K``, ``20M``, ``2G`` or a number."""
    unit = UNITS.get(text[-1:].upper())
    return int(float(text[:-1]) * unit) if unit else int(text)


def _endless(words: int | None, seed: int) -> Iterator[bytes]:
    randomness = random.Random(seed)
    writer = Writer(PORTUGUESE, randomness, NEW_WORDS)
    pool = [
        _encoded(writer.article(n, words or randomness.randrange(80, 1200)))
        for n in range(max(1, min(POOL, 200_000 // (words or 1))))
    ]
    number = 0
    while True:
        yield randomness.choice(pool).replace(NUMBER.encode(), b"%07d" % number)
        number += 1


def _write_until(path: Path, size: int, articles: Iterator[bytes]) -> int:
    number = 0

    def enough() -> Iterator[bytes]:
        nonlocal number
        written = 0
        while written < size:
            article = next(articles)
            written += len(article)
            number += 1
            yield article

    with path.open("wb", buffering=1 << 20) as file:
        file.writelines(_batch(enough()))
    return number


def _encoded(article: Article) -> bytes:
    return json.dumps(article, ensure_ascii=False, indent=2).encode("utf-8", "surrogatepass")


def _batch(articles: Iterator[bytes]) -> Iterator[bytes]:
    yield b'{\n"source": "generated",\n"articles": ['
    for number, article in enumerate(articles):
        yield (b",\n" if number else b"\n") + article
    yield b"\n]\n}\n"
