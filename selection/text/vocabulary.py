"""Token ids: a text as the packed ids of its tokens, for comparison.

Tokens are compared as numbers: every distinct token has an id, and a text becomes the ids of its
tokens, :data:`ID_BYTES` bytes each, in order. Equal ids mean equal tokens, so no hash value can
change a result (rule 3.3).
"""

from __future__ import annotations

import threading
from itertools import islice

from selection.text.tokens import LONGEST_CACHED_WORD, PIECE, word_tokens

ID_BYTES = 4

_MOST_WORDS = 1 << 16


class _Ids(dict[str, bytes]):
    """Map tokens to packed ids, numbered in order of appearance."""

    def __missing__(self, token: str) -> bytes:
        packed = self[token] = len(self).to_bytes(ID_BYTES, "little")
        return packed


class Vocabulary(dict[str, bytes]):
    """Map words to the packed ids of their tokens.

    A word is tokenised once, not once for every text. Ids are valid until :meth:`trim`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._ids = _Ids()

    def __missing__(self, word: str) -> bytes:
        ids = map(self._ids.__getitem__, word_tokens(word))
        # In pieces: one join would first list all ids, at twice the bytes that they have.
        packed = b"".join(iter(lambda: b"".join(islice(ids, PIECE)), b""))
        if len(word) <= LONGEST_CACHED_WORD:
            self[word] = packed
        return packed

    def trim(self) -> None:
        """Remove all words if there are too many. Call it between two articles only."""
        if len(self._ids) > _MOST_WORDS or len(self) > _MOST_WORDS:
            self.clear()
            self._ids.clear()

    def pack(self, text: str) -> bytes:
        """Return the ids of a visible text's tokens, :data:`ID_BYTES` bytes each."""
        return b"".join(map(self.__getitem__, text.split()))


class _PerThread(threading.local):
    def __init__(self) -> None:
        self.vocabulary = Vocabulary()


_PER_THREAD = _PerThread()


def pack_texts(texts: list[str]) -> list[bytes]:
    """Pack the visible texts of one article.

    Ids of one call can be compared with each other only.
    """
    vocabulary = _PER_THREAD.vocabulary
    vocabulary.trim()
    packed = {text: vocabulary.pack(text) for text in set(texts)}
    return [packed[text] for text in texts]


def pack_words(texts: list[list[str]]) -> list[list[bytes]]:
    """Pack the words of one article's visible texts, each by itself.

    The joined words of a text are equal to its :func:`pack_texts`, except for the ids.
    """
    vocabulary = _PER_THREAD.vocabulary
    vocabulary.trim()
    return [[vocabulary[word] for word in words] for words in texts]


def token_count(packed: bytes) -> int:
    """Return the number of tokens of a packed text."""
    return len(packed) // ID_BYTES
