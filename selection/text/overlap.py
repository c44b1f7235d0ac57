"""What is counted of an article's three texts; every number of a decision follows from it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

_TEXTS = range(3)
_SETS = range(1 << len(_TEXTS))

# For each text the sets that have it; for each set of active texts the sets that have two of them
# or more, and which of those each text has.
_WITH = [[texts for texts in _SETS if texts >> text & 1] for text in _TEXTS]
_COMMON = [[texts for texts in _SETS if (texts & active).bit_count() > 1] for active in _SETS]
_SHARED = [[[s for s in common if s >> text & 1] for text in _TEXTS] for common in _COMMON]


@dataclass(frozen=True, slots=True)
class Counts:
    """Tokens and shingles of three texts (FR-008 to FR-010, PRD 7.3 and 7.4).

    Attributes:
        tokens: of each text.
        regions: for each set of texts, the distinct shingles that stand in these and in no
            other text. A set is a number with bit ``1 << i`` for text ``i``, so there are
            eight, as in a Venn diagram; the first, of no text, is 0.
    """

    tokens: tuple[int, int, int]
    regions: tuple[int, int, int, int, int, int, int, int]

    def shingles(self, text: int) -> int:
        """How many distinct shingles a text has."""
        return self._sum(_WITH[text])

    def consensus(self, active: Collection[int]) -> tuple[int, dict[int, int]]:
        """How many distinct shingles stand in at least two of the active texts.

        Returns:
            That number, and for each active text how many of these it has.
        """
        mask = sum([1 << text for text in active])
        return self._sum(_COMMON[mask]), {text: self._sum(_SHARED[mask][text]) for text in active}

    def _sum(self, sets: list[int]) -> int:
        return sum(map(self.regions.__getitem__, sets))
