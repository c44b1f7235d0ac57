"""Tokens of a word (rules 2.5 to 2.8).

A word is what white space separates. NFKC, lower-casing and tokenising never look across white
space, so a text is cut into words first.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from io import StringIO
from itertools import groupby, islice

_TOKEN = re.compile(r"[^\W_]+")

LONGEST_CACHED_WORD = 32

#: A longer word is folded in pieces of about this number of characters, which bounds the memory.
PIECE = 4096

# Everything that decomposes into combining marks alone is in this class. CPython sorts a
# run of marks by insertion, in quadratic time, so long runs are sorted here.
_SHORT_RUN = 32
_MARKS = re.compile(rf"(?:[^\w\x00-\x7f]|[\uff9e\uff9f]){{{_SHORT_RUN},}}+")


def word_tokens(word: str) -> Iterable[str]:
    """Return the tokens of one word, in order; a long word is tokenised piece by piece."""
    if len(word) <= PIECE:
        return _TOKEN.findall(_folded(word))
    return _tokens_of(map(_folded, _pieces(word)))


def _folded(word: str) -> str:
    if not word.isascii():
        if len(word) >= _SHORT_RUN:
            word = _MARKS.sub(_sort_marks, word)
        word = unicodedata.normalize("NFKC", word)
    return word.lower()


def _tokens_of(pieces: Iterable[str]) -> Iterator[str]:
    """Yield the tokens of the pieces of a folded word; a token can span several pieces."""
    open_token: list[str] = []
    for piece in pieces:
        for match in _TOKEN.finditer(piece):
            if match.start() and open_token:
                yield "".join(open_token)
                open_token.clear()
            open_token.append(match[0])
        if open_token and not piece[-1].isalnum():
            yield "".join(open_token)
            open_token.clear()
    if open_token:
        yield "".join(open_token)


def _pieces(word: str) -> Iterator[str]:
    """Cut a word so that its folded pieces, joined, are the folded word.

    NFKC makes up to 18 characters of one, so a long word is never folded at once if it can be
    cut. An ASCII word is not cut: folding does not make it longer.
    """
    start = 0
    while not word.isascii() and len(word) - start > PIECE:
        places = range(start + PIECE, len(word))
        end = next((at for at in places if _can_cut(word[at - 1], word[at])), len(word))
        yield word[start:end]
        start = end
    if start < len(word):
        yield word[start:]


@lru_cache(1 << 10)
def _can_cut(before: str, behind: str) -> bool:
    """Return whether both sides of a cut between two characters can be folded separately.

    NFKC changes nothing across a cut in front of a context-free character. Lower-casing looks at
    the neighbours of a capital sigma only, and no further than to a character that is neither
    cased nor ignorable: a sigma behind such a character is not a final one.
    """
    normal = unicodedata.normalize("NFKC", before)
    stops_sigma = f"A{normal[-1]}Σ".lower().endswith("\u03c3")
    return stops_sigma and is_context_free(unicodedata.normalize("NFKC", behind))


@lru_cache(1 << 15)
def _cached(word: str) -> Iterable[str]:
    return word_tokens(word)


def cached_tokens(word: str) -> Iterable[str]:
    """Return :func:`word_tokens`, cached for short words. The caller must not change the result."""
    return _cached(word) if len(word) <= LONGEST_CACHED_WORD else word_tokens(word)


def is_context_free(normal: str) -> bool:
    """Return whether NFKC and lower-casing of these characters ignore their neighbours.

    Marks and Hangul jamo combine. Some vowel signs beyond the basic plane do, so no character
    there is context-free. The lower case of a capital sigma depends on its place in the word.
    """
    for char in normal:
        if char == "Σ" or char > "\uffff" or unicodedata.category(char)[0] == "M":
            return False
        if "\u1100" <= char <= "\u11ff" or "\ud7b0" <= char <= "\ud7ff":
            return False
    return True


def _sort_marks(match: re.Match[str]) -> str:
    """Decompose a run of marks and put it into canonical order (UAX #15), which NFKC keeps.

    Decomposing slice by slice is correct because marks of one class keep their relative order.
    """
    slices = _slices(match[0], _SHORT_RUN)
    decomposed = "".join([unicodedata.normalize("NFKD", part) for part in slices])
    sorted_text = StringIO()
    for is_mark, run in groupby(decomposed, key=lambda char: unicodedata.combining(char) > 0):
        for part in _by_class(run) if is_mark else run:
            sorted_text.write(part)
    return sorted_text.getvalue()


def _by_class(marks: Iterator[str]) -> Iterator[str]:
    """Yield the marks of a run in the order of their classes, in pieces of many marks."""
    classes: dict[int, list[str]] = {}
    while part := "".join(islice(marks, PIECE)):
        by_class: dict[int, list[str]] = {}
        for char in part:
            by_class.setdefault(unicodedata.combining(char), []).append(char)
        for number, chars in by_class.items():
            classes.setdefault(number, []).append("".join(chars))
    for number in sorted(classes):
        yield from classes[number]


def _slices(text: str, length: int) -> Iterator[str]:
    return (text[start : start + length] for start in range(0, len(text), length))
