"""Tokens: steps 5 to 9 of FR-007 (PRD 7.2, steps 4 to 8), packed for comparison.

A token is a run of characters for which ``str.isalnum()`` is true, after NFKC and
lower-casing. An underscore is punctuation and separates.

Tokens are compared as numbers: every distinct token has an id, and a text becomes the
ids of its tokens, four bytes each, in order. Equal ids mean equal tokens, so nothing is
lost to hashing.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from array import array
from collections.abc import Iterable, Iterator
from functools import lru_cache
from io import StringIO
from itertools import groupby, islice

from selection.text.markup import visible_text

ID_BYTES = 4

_TOKEN = re.compile(r"[^\W_]+")

_LONGEST_REMEMBERED_WORD = 32
_MOST_REMEMBERED_WORDS = 1 << 16

# A longer word is folded in pieces of about this many characters, which bounds the memory.
_PIECE = 4096

# Everything that decomposes into combining marks alone is in this class. CPython sorts a
# run of marks by insertion, in quadratic time, so that long runs are sorted here.
_SHORT_RUN = 32
_MARKS = re.compile(rf"(?:[^\w\x00-\x7f]|[\uff9e\uff9f]){{{_SHORT_RUN},}}+")


class _Ids(dict[str, bytes]):
    """The packed id of every token seen, given in order of appearance."""

    def __missing__(self, token: str) -> bytes:
        packed = self[token] = len(self).to_bytes(ID_BYTES, "little")
        return packed


class Vocabulary(dict[str, bytes]):
    """The packed tokens of every word seen, a word being what white space separates.

    NFKC, lower-casing and tokenising never look across white space, so they can be done
    once a word instead of once a text. Ids are good until :meth:`trim`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._ids = _Ids()

    def __missing__(self, word: str) -> bytes:
        ids = map(self._ids.__getitem__, word_tokens(word))
        # In pieces: one join would first list all ids, at twice the bytes that they have.
        packed = b"".join(iter(lambda: b"".join(islice(ids, _PIECE)), b""))
        if len(word) <= _LONGEST_REMEMBERED_WORD:
            self[word] = packed
        return packed

    def trim(self) -> None:
        """Forget all when there is too much; between two articles, never within one."""
        if len(self._ids) > _MOST_REMEMBERED_WORDS or len(self) > _MOST_REMEMBERED_WORDS:
            self.clear()
            self._ids.clear()

    def pack(self, text: str) -> bytes:
        """The ids of the text's tokens, :data:`ID_BYTES` bytes each."""
        return b"".join(map(self.__getitem__, visible_text(text).split()))


class _PerThread(threading.local):
    def __init__(self) -> None:
        self.vocabulary = Vocabulary()


_PER_THREAD = _PerThread()


def pack_texts(texts: list[str]) -> list[bytes]:
    """Pack the texts of one article; ids of one call can be compared with each other only."""
    vocabulary = _PER_THREAD.vocabulary
    vocabulary.trim()
    packed = {text: vocabulary.pack(text) for text in set(texts)}
    return [packed[text] for text in texts]


def pack_words(texts: list[list[str]]) -> list[list[bytes]]:
    """Pack the words of one article's visible texts, each by itself.

    Joined, a text's words are what :func:`pack_texts` makes of it, ids apart.
    """
    vocabulary = _PER_THREAD.vocabulary
    vocabulary.trim()
    return [[vocabulary[word] for word in words] for words in texts]


def token_count(packed: bytes) -> int:
    """How many tokens a packed text has."""
    return len(packed) // ID_BYTES


def word_tokens(word: str) -> Iterable[str]:
    """The tokens of one word, in order; those of a long word are found piece by piece."""
    if len(word) <= _PIECE:
        return _TOKEN.findall(_folded(word))
    return _tokens_of(map(_folded, _pieces(word)))


def _folded(word: str) -> str:
    if not word.isascii():
        if len(word) >= _SHORT_RUN:
            word = _MARKS.sub(_sort_marks, word)
        word = unicodedata.normalize("NFKC", word)
    return word.lower()


def _tokens_of(pieces: Iterable[str]) -> Iterator[str]:
    """The tokens of a folded word that comes in pieces; a token can span several of them."""
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

    NFKC makes one character as many as 18, so a long word is never folded at once if there is
    a place to cut it. A word of ASCII needs none: folding does not make it longer.
    """
    start = 0
    while not word.isascii() and len(word) - start > _PIECE:
        places = range(start + _PIECE, len(word))
        end = next((at for at in places if _can_cut(word[at - 1], word[at])), len(word))
        yield word[start:end]
        start = end
    if start < len(word):
        yield word[start:]


@lru_cache(1 << 10)
def _can_cut(before: str, behind: str) -> bool:
    """Whether folding gives the same on both sides of a cut between two characters.

    NFKC changes nothing across a cut in front of a character that stands alone. Lower-casing
    looks at the neighbours of a capital sigma alone, and no further than to a character that
    is neither cased nor ignorable: a sigma behind such a character is not a final one.
    """
    normal = unicodedata.normalize("NFKC", before)
    stops_sigma = f"A{normal[-1]}Σ".lower().endswith("\u03c3")
    return stops_sigma and _stands_alone(unicodedata.normalize("NFKC", behind))


@lru_cache(1 << 15)
def _remembered_tokens(word: str) -> Iterable[str]:
    return word_tokens(word)


def cached_tokens(word: str) -> Iterable[str]:
    """:func:`word_tokens`, remembered for short words; not to be changed by the caller."""
    return _remembered_tokens(word) if len(word) <= _LONGEST_REMEMBERED_WORD else word_tokens(word)


#: What :func:`fold_page` says of a character that is no letter of a token.
IN_ITS_WORD, SEPARATOR, SPACE = 0, 1, 2


_JAMO = "\u1100"


def fold_page(number: int) -> bytes:
    """What 256 characters mean, wherever they stand, to who reads tokens letter by letter.

    Args:
        number: of the page, 0 to 255; its first character is ``number * 256``.

    Returns:
        256 numbers of four bytes: for a letter or a digit the character that it is in a token;
        :data:`SEPARATOR` or :data:`SPACE` for what stands between tokens or words;
        :data:`IN_ITS_WORD` for what only :func:`word_tokens` can judge, with its whole word.
    """
    codes = range(number * 256, number * 256 + 256)
    page = "".join(map(chr, codes))
    # Whole pages are letters of one kind that are what they are: Chinese ones, Hangul. Of what may
    # change beside others, jamo alone are letters and fill a page.
    is_itself = page == page.lower() == unicodedata.normalize("NFKC", page)
    if is_itself and page.isalnum() and _JAMO not in page:
        return array("I", codes).tobytes()
    return array("I", map(_fold, codes)).tobytes()


def _fold(code: int) -> int:
    char = chr(code)
    if char.isspace():
        return SPACE
    normal = unicodedata.normalize("NFKC", char)
    if not _stands_alone(normal):
        return IN_ITS_WORD
    lower = normal.lower()
    if len(lower) == 1 and lower.isalnum():
        return ord(lower)
    return IN_ITS_WORD if any(map(str.isalnum, lower)) else SEPARATOR


def _stands_alone(normal: str) -> bool:
    """Whether neighbours never change what NFKC and lower-casing make of these characters.

    Marks combine, Hangul jamo do, and so do some vowel signs beyond the basic plane, where
    nothing is promised; a capital sigma is lowered by its place in the word.
    """
    for char in normal:
        if char == "Σ" or char > "\uffff" or unicodedata.category(char)[0] == "M":
            return False
        if "\u1100" <= char <= "\u11ff" or "\ud7b0" <= char <= "\ud7ff":
            return False
    return True


def _sort_marks(match: re.Match[str]) -> str:
    """Decompose and put into canonical order (UAX #15), which NFKC then finds done.

    A slice that is in order by itself leaves the order of the whole as it is, because marks of
    one class keep their places among each other.
    """
    slices = _slices(match[0], _SHORT_RUN)
    decomposed = "".join([unicodedata.normalize("NFKD", part) for part in slices])
    sorted_text = StringIO()
    for is_mark, run in groupby(decomposed, key=lambda char: unicodedata.combining(char) > 0):
        for part in _by_class(run) if is_mark else run:
            sorted_text.write(part)
    return sorted_text.getvalue()


def _by_class(marks: Iterator[str]) -> Iterator[str]:
    """The marks of a run in the order of their classes, in pieces, not one object a mark."""
    classes: dict[int, list[str]] = {}
    while part := "".join(islice(marks, _PIECE)):
        by_class: dict[int, list[str]] = {}
        for char in part:
            by_class.setdefault(unicodedata.combining(char), []).append(char)
        for number, chars in by_class.items():
            classes.setdefault(number, []).append("".join(chars))
    for number in sorted(classes):
        yield from classes[number]


def _slices(text: str, length: int) -> Iterator[str]:
    return (text[start : start + length] for start in range(0, len(text), length))
