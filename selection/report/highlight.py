"""Highlighting: the segments of an article's texts that are consensus or surplus."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from selection.report.offsets import OffsetMap, offset_map
from selection.text.shingles import SHINGLE_BYTES, SHINGLE_TOKENS, shingles
from selection.text.vocabulary import ID_BYTES, pack_words

_WORD = re.compile(r"\S+")


def segments_of(texts: Sequence[str]) -> list[list[str]]:
    """Cut the active texts of an article into segments of surplus and of consensus, in turn.

    A token is consensus if one of its shingles occurs in at least two of the texts; a word of the
    visible text is consensus if all its tokens are. Markup and words without a token belong to
    the segment around them.

    Args:
        texts: two or three, as the extractors gave them.

    Returns:
        For each text its segments, which joined are the text: the first is surplus (and empty
        if the text begins with consensus), the second consensus, and so on.
    """
    mapped = [offset_map(text) for text in texts]
    words = [list(_WORD.finditer(each.visible)) for each in mapped]
    packed = pack_words([[word[0] for word in each] for each in words])
    whole = [b"".join(each) for each in packed]
    counts = Counter(shingle for each in whole for shingle in shingles(each))
    return [
        list(_cut(text, each, _classified(places, own, tokens, counts)))
        for text, each, places, own, tokens in zip(texts, mapped, words, packed, whole)
    ]


def _classified(
    words: Sequence[re.Match[str]],
    packed: Sequence[bytes],
    tokens: bytes,
    counts: Counter[bytes],
) -> Iterator[tuple[re.Match[str], bool]]:
    """Yield the words that have tokens, and whether they are consensus."""
    is_common = _common_tokens(tokens, counts)
    done = 0
    for word, own in zip(words, packed):
        if number := len(own) // ID_BYTES:
            yield word, 0 not in is_common[done : done + number]
            done += number


def _common_tokens(tokens: bytes, counts: Counter[bytes]) -> bytearray:
    """Return one byte a token: 1 if one of its shingles occurs in at least two texts."""
    found = bytearray(len(tokens) // ID_BYTES)
    for first in range(max(1, len(found) - SHINGLE_TOKENS + 1)):
        shingle = tokens[first * ID_BYTES : first * ID_BYTES + SHINGLE_BYTES]
        if counts[shingle] > 1:
            length = len(shingle) // ID_BYTES
            found[first : first + length] = b"\1" * length
    return found


def _cut(
    text: str, mapped: OffsetMap, classified: Iterator[tuple[re.Match[str], bool]]
) -> Iterator[str]:
    was_common = False
    done = end = 0
    for word, is_common in classified:
        if is_common is not was_common:
            # The characters between two words belong to the surplus, so that highlighting
            # begins and ends with a word.
            start = mapped.starts[word.start()]
            border = max(done, start if is_common else end)
            yield text[done:border]
            done, was_common = border, is_common
        end = mapped.ends[word.end() - 1]
    if was_common:
        yield text[done:end]
        done = end
    yield text[done:]
