"""Agreement of sets of shingles, as exact fractions (rules 4.4, 4.5 and 6.1).

A text is represented by the set of its w-shingles (Broder, "On the resemblance and containment of
documents", 1997). Two sets are compared by the Sørensen-Dice coefficient. The agreement of a pair
of texts is the coefficient of their two sets. The score of a candidate is the coefficient of its
set and the consensus, that is the F1 score: the harmonic mean of recall (coverage) and precision
(support).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

# A numerator and a positive denominator, not reduced: `fractions.Fraction` takes some
# microseconds to build, for every candidate of every article.
Ratio = tuple[int, int]

#: The largest difference from the best score that is a technical tie (rule 6.1).
TIE_WIDTH: Final[Ratio] = (3, 100)


def dice(shared: int, one: int, other: int) -> Ratio:
    """Return the Sørensen-Dice coefficient of two sets, 0 to 1, by their sizes.

    Args:
        shared: number of elements in both.
        one, other: number of elements of each; at least one of them is not 0.
    """
    return 2 * shared, one + other


def formula(shared: object, one: object, other: object) -> str:
    """Write :func:`dice` as text, of numbers or of names."""
    return f"2 x {shared} / ({one} + {other})"


def as_float(ratio: Ratio) -> float:
    """Return the nearest floating-point number, for output only."""
    return ratio[0] / ratio[1]


#: :data:`TIE_WIDTH` as text.
TIE_WIDTH_TEXT: Final = f"{as_float(TIE_WIDTH):g}"


def technical_tie(scores: Sequence[Ratio]) -> list[bool]:
    """Return which scores are at most :data:`TIE_WIDTH` below the best of them (rule 6.1)."""
    top, over = scores[0]
    for part, whole in scores:
        if part * over > top * whole:
            top, over = part, whole
    width, unit = TIE_WIDTH
    return [(top * whole - part * over) * unit <= width * over * whole for part, whole in scores]
