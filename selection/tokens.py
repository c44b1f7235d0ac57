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
from functools import lru_cache
from itertools import groupby

from selection.markup import visible_text

ID_BYTES = 4

_TOKEN = re.compile(r"[^\W_]+")

_LONGEST_REMEMBERED_WORD = 32
_MOST_REMEMBERED_WORDS = 1 << 16

# Everything that decomposes into combining marks alone is in this class. CPython sorts a
# run of marks by insertion, in quadratic time, so that long runs are sorted here.
_MARKS = re.compile(r"(?:[^\w\x00-\x7f]|[\uff9e\uff9f]){32,}")


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
        packed = b"".join(map(self._ids.__getitem__, word_tokens(word)))
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


def word_tokens(word: str) -> list[str]:
    """The tokens of one word, in order."""
    if not word.isascii():
        if len(word) >= 32:
            word = _MARKS.sub(_sort_marks, word)
        word = unicodedata.normalize("NFKC", word)
    return _TOKEN.findall(word.lower())


@lru_cache(1 << 15)
def _remembered_tokens(word: str) -> list[str]:
    return word_tokens(word)


def cached_tokens(word: str) -> list[str]:
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
    """Decompose and put into canonical order (UAX #15), which NFKC then finds done."""
    decomposed = "".join([unicodedata.normalize("NFKD", char) for char in match[0]])
    parts: list[str] = []
    for is_mark, run in groupby(decomposed, key=lambda char: unicodedata.combining(char) > 0):
        if is_mark:
            classes: dict[int, list[str]] = {}
            for char in run:
                classes.setdefault(unicodedata.combining(char), []).append(char)
            parts += ["".join(classes[number]) for number in sorted(classes)]
        else:
            parts += run
    return "".join(parts)
