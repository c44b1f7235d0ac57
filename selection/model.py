"""The terms of a decision: extractors, states, rules, candidates, and the compared fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

#: The member that an article gets (rule 8.1).
MEMBER = "selected_extractor"


class Extractor(StrEnum):
    """Name the three extractors, in order of priority (rule 1.1)."""

    NEWSPAPER4K = "newspaper4k"
    READABILITY = "readability"
    TRAFILATURA = "trafilatura"


#: The field of an extractor's block that contains its text (rule 1.1).
TEXT_FIELD: Mapping[str, str] = {
    Extractor.NEWSPAPER4K: "text",
    Extractor.READABILITY: "cleaned_text",
    Extractor.TRAFILATURA: "text",
}
#: The field that degrades a candidate (rule 1.4).
ERROR_FIELD = "error"
#: Not compared; a report shows it.
TITLE_FIELD = "title"


class State(StrEnum):
    """Name the states of a candidate (rule 1.3)."""

    USABLE = "usable"
    DEGRADED = "degraded"
    UNAVAILABLE = "unavailable"


class Rule(StrEnum):
    """Name the rule that decided; every decision has exactly one."""

    #: No candidate is active (rule 5.1).
    FALLBACK = "fallback"
    #: One candidate is active (rule 5.2).
    SINGLE = "single"
    #: One candidate is in the technical tie (rule 6.2).
    SCORE = "score"
    #: One candidate of the technical tie has the fewest shingles (rule 6.3).
    TIE_FEWEST_SHINGLES = "tie_fewest_shingles"
    #: Several candidates of the technical tie have the fewest shingles (rule 6.4).
    TIE_PRIORITY = "tie_priority"
    #: Three without consensus; one has the median size (rule 7.1).
    MEDIAN = "median"
    #: Three without consensus; several have the median size (rule 7.2).
    MEDIAN_PRIORITY = "median_priority"
    #: Two without consensus; one is larger (rule 7.3).
    LARGER = "larger"
    #: Two without consensus, of one size (rule 7.4).
    LARGER_PRIORITY = "larger_priority"


# A set of candidates is a number with bit `1 << i` for candidate i in order of priority. For each
# set, the distinct shingles that exactly these candidates have, as in a Venn diagram.
Regions = tuple[int, int, int, int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Candidate:
    """Represent one extractor's text of one article, measured.

    Attributes:
        extractor: the extractor.
        state: usable, degraded or unavailable (rule 1.3).
        active: whether it took part in the choice (rule 1.5).
        tokens: number of tokens of the normalised text (rule 2.8).
        shingles: number of distinct shingles (rule 3.1).
        shared: number of its shingles in the consensus; None if nothing was compared.
        coverage: recall of the consensus (rule 4.2), 0 to 1; None as above.
        support: precision with respect to the consensus (rule 4.3), 0 to 1; None as above.
        score: harmonic mean of both (rule 4.4), 0 to 1; None as above. Decisions compare the
            exact fractions of :mod:`selection.score` instead.
    """

    extractor: Extractor
    state: State
    active: bool
    tokens: int
    shingles: int
    shared: int | None = None
    coverage: float | None = None
    support: float | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """Represent the pick of one article, with every number that led to it.

    Attributes:
        extractor: the pick.
        rule: the rule that decided.
        consensus: number of shingles in the consensus (rule 4.1); None if fewer than two
            candidates are active.
        pool: the candidates that the last step chose from, in order of priority: with a consensus
            the technical tie (rule 6.1), without one all active candidates.
        candidates: all three, in order of priority.
        regions: for each of the eight sets of candidates the number of shingles that exactly
            these candidates have. The index of a set has bit ``1 << i`` for candidate ``i`` in
            order of priority, active or not.
    """

    extractor: Extractor
    rule: Rule
    consensus: int | None
    pool: tuple[Extractor, ...]
    candidates: tuple[Candidate, Candidate, Candidate]
    regions: Regions

    def as_dict(self) -> dict[str, Any]:
        """Return the decision as plain data, without ``regions``."""
        data = asdict(self)
        del data["regions"]
        return data
