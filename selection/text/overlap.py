"""Overlap counts of an article's three texts; every number of a decision follows from them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from selection.model import Regions

_TEXTS = range(3)
_SETS = range(1 << len(_TEXTS))

# For each text the sets that have it; for each set of active texts the sets that have two of them
# or more, and which of those each text has.
_WITH = [[texts for texts in _SETS if texts >> text & 1] for text in _TEXTS]
_COMMON = [[texts for texts in _SETS if (texts & active).bit_count() > 1] for active in _SETS]
_SHARED = [[[s for s in common if s >> text & 1] for text in _TEXTS] for common in _COMMON]


@dataclass(frozen=True, slots=True)
class Counts:
    """Count the tokens and shingles of three texts (rules 2.8, 3.1 and 4.1).

    Attributes:
        tokens: number of tokens of each text.
        regions: for each set of texts, the number of distinct shingles that these and no other
            texts have. A set is a number with bit ``1 << i`` for text ``i``, so there are eight,
            as in a Venn diagram; the first, of no text, is 0.
    """

    tokens: tuple[int, int, int]
    regions: Regions

    def shingles(self, text: int) -> int:
        """Return the number of distinct shingles of a text."""
        return _sum(self.regions, _WITH[text])

    def consensus(self, active: Collection[int]) -> tuple[int, dict[int, int]]:
        """Count the distinct shingles that at least two of the active texts have (rule 4.1).

        Returns:
            Their number, and for each active text the number of these that it has.
        """
        mask = sum([1 << text for text in active])
        shared = {text: _sum(self.regions, _SHARED[mask][text]) for text in active}
        return _sum(self.regions, _COMMON[mask]), shared


def in_both(regions: Regions, one: int, other: int) -> int:
    """Return the number of distinct shingles that two texts, 0 to 2, have in common."""
    return _sum(regions, _COMMON[1 << one | 1 << other])


def _sum(regions: Regions, sets: list[int]) -> int:
    return sum(map(regions.__getitem__, sets))
