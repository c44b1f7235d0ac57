"""Shingles and consensus: FR-008 to FR-010 (PRD 7.3 and 7.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from selection.tokens import ID_BYTES

SHINGLE_TOKENS = 5

_STEP = ID_BYTES
_WIDTH = SHINGLE_TOKENS * ID_BYTES


@dataclass(frozen=True, slots=True)
class Overlap:
    """What the active candidates of one article have in common.

    Attributes:
        consensus: distinct shingles that stand in at least two candidates.
        shared: for each candidate, how many of its shingles are in the consensus.
    """

    consensus: int
    shared: tuple[int, ...]


def shingles(packed: bytes) -> set[bytes]:
    """All windows of five tokens; one shorter shingle for one to four tokens; none for none."""
    if len(packed) < _WIDTH:
        return {packed} if packed else set()
    return {packed[i : i + _WIDTH] for i in range(0, len(packed) - _WIDTH + 1, _STEP)}


def overlap(candidates: Sequence[set[bytes]]) -> Overlap:
    """Count the consensus of two or three candidates without building it.

    Args:
        candidates: their shingles; candidates with the same text may share one set.
    """
    if len(candidates) == 2:
        both = len(candidates[0] & candidates[1])
        return Overlap(both, (both, both))
    for i, j, k in ((0, 1, 2), (0, 2, 1), (1, 2, 0)):
        twin, other = candidates[i], candidates[k]
        if twin is candidates[j]:
            # Every shingle of twins is in the consensus, and the third can add none.
            shared = [len(twin)] * 3
            shared[k] = len(twin & other)
            return Overlap(len(twin), tuple(shared))
    a, b, c = candidates
    ab, ac, bc = a & b, a & c, b & c
    in_all = len(ab & c)
    return Overlap(
        consensus=len(ab) + len(ac) + len(bc) - 2 * in_all,
        shared=(
            len(ab) + len(ac) - in_all,
            len(ab) + len(bc) - in_all,
            len(ac) + len(bc) - in_all,
        ),
    )
