"""Shingles and their overlap (rules 3.1 to 3.3 and 4.1), in Python."""

from __future__ import annotations

from selection.text.overlap import Counts
from selection.text.vocabulary import ID_BYTES, pack_texts, token_count

SHINGLE_TOKENS = 5
#: The size of a shingle in a packed text.
SHINGLE_BYTES = SHINGLE_TOKENS * ID_BYTES


def measure(one: str, two: str, three: str) -> Counts:
    """Count the tokens of three visible texts, and the shingles that they share."""
    packed = pack_texts([one, two, three])
    by_text = {tokens: shingles(tokens) for tokens in set(packed)}
    a, b, c = (by_text[tokens] for tokens in packed)
    ab, ac, bc = _both(a, b), _both(a, c), _both(b, c)
    # Texts with the same tokens have one set, and what two twins share with the third is in all.
    in_all = len(ac if a is b else ab if c is a or c is b else ab & c)
    return Counts(
        tokens=(token_count(packed[0]), token_count(packed[1]), token_count(packed[2])),
        regions=(
            0,
            len(a) - len(ab) - len(ac) + in_all,
            len(b) - len(ab) - len(bc) + in_all,
            len(ab) - in_all,
            len(c) - len(ac) - len(bc) + in_all,
            len(ac) - in_all,
            len(bc) - in_all,
            in_all,
        ),
    )


def shingles(packed: bytes) -> set[bytes]:
    """Return the windows of five tokens of a packed text, or its one shorter shingle."""
    if len(packed) < SHINGLE_BYTES:
        return {packed} if packed else set()
    return {
        packed[i : i + SHINGLE_BYTES] for i in range(0, len(packed) - SHINGLE_BYTES + 1, ID_BYTES)
    }


def _both(one: set[bytes], other: set[bytes]) -> set[bytes]:
    return one if one is other else one & other
