"""The vocabulary of a decision: extractors, states, rules, candidates, and the compared fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

#: The member that an article gets.
MEMBER = "selected_extractor"


class Extractor(StrEnum):
    """The three extractors, in the order of the final priority (PRD 7.5, step 6)."""

    NEWSPAPER4K = "newspaper4k"
    READABILITY = "readability"
    TRAFILATURA = "trafilatura"


#: Where an extractor's block has its text (FR-004).
TEXT_FIELD: Mapping[str, str] = {
    Extractor.NEWSPAPER4K: "text",
    Extractor.READABILITY: "cleaned_text",
    Extractor.TRAFILATURA: "text",
}
ERROR_FIELD = "error"
#: Not compared; a report shows it.
TITLE_FIELD = "title"


class State(StrEnum):
    """What a candidate is good for (FR-005, PRD 5.3)."""

    USABLE = "usable"
    DEGRADED = "degraded"
    UNAVAILABLE = "unavailable"


class Rule(StrEnum):
    """The rule that decided; every decision has exactly one."""

    #: No candidate has a token (FR-013).
    FALLBACK = "fallback"
    #: One active candidate (PRD 7.1, step 5).
    SINGLE = "single"
    #: One candidate is ahead by more than 0.03 (PRD 7.5, step 4).
    SCORE = "score"
    #: A technical tie; one candidate has the fewest shingles (PRD 7.5, step 5).
    TIE_FEWEST_SHINGLES = "tie_fewest_shingles"
    #: A technical tie of equal sizes (PRD 7.5, step 6).
    TIE_PRIORITY = "tie_priority"
    #: Three without consensus; one has the median size (PRD 7.6).
    MEDIAN = "median"
    #: Three without consensus; several have the median size (PRD 7.6).
    MEDIAN_PRIORITY = "median_priority"
    #: Two without consensus; one is larger (PRD 7.6).
    LARGER = "larger"
    #: Two without consensus, of one size (PRD 7.6).
    LARGER_PRIORITY = "larger_priority"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One extractor's text of one article, measured.

    Attributes:
        state: usable, degraded or unavailable.
        active: whether it took part in the choice (FR-006).
        tokens: how many tokens the normalised text has.
        shingles: how many distinct shingles of five tokens.
        shared: how many of those are in the consensus; None if nothing was compared.
        coverage: shared / size of the consensus, 0 to 1; None as above.
        support: shared / shingles, 0 to 1; None as above.
        score: harmonic mean of coverage and support, 0 to 1; None as above. Decisions
            compare the exact fraction ``2 * shared / (consensus + shingles)`` instead.
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
    """What was picked for one article, and the whole arithmetic of it.

    Attributes:
        extractor: the pick.
        rule: the rule that decided.
        consensus: distinct shingles in at least two active candidates; None if there were
            fewer than two.
        pool: whom the rule chose from, in order of priority: with consensus the technical
            tie (PRD 7.5, step 3), without it all active candidates.
        candidates: all three, in order of priority.
    """

    extractor: Extractor
    rule: Rule
    consensus: int | None
    pool: tuple[Extractor, ...]
    candidates: tuple[Candidate, Candidate, Candidate]

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        return asdict(self)
