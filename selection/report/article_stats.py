"""Article statistics: a decision in numbers that can be sorted and plotted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

from selection import score
from selection.model import TITLE_FIELD, Decision, Extractor
from selection.rules import select_article
from selection.stream.parts import Article
from selection.text.overlap import in_both

#: The pairs of extractors, in order of priority.
PAIRS: tuple[tuple[Extractor, Extractor], ...] = tuple(combinations(Extractor, 2))

# What Readability calls a page without a title.
_NO_TITLE = "[no-title]"


@dataclass(frozen=True, slots=True)
class ArticleStats:
    """Represent the statistics of one article.

    Attributes:
        index: its place in ``articles``, from 0.
        id, url: as the batch has them, as text; None if it has none.
        title: the first title that a block has, by priority; None if none has one.
        bytes: size of its JSON.
        decision: the pick and its numbers.
        agreement: the best score, 0 to 1; 0 without a consensus, None if nothing was compared.
        margin: the pick's score minus the best score of a rival; at most one tie width below 0
            (rule 6.1), at most 1. A rival is another active candidate whose set of shingles
            differs from the pick's. None without a consensus or without a rival.
        pairs: for each of :data:`PAIRS` the Sørensen-Dice coefficient of the two sets of
            shingles, 0 to 1; None if they were not compared.
    """

    index: int
    id: str | None
    url: str | None
    title: str | None
    bytes: int
    decision: Decision
    agreement: float | None
    margin: float | None
    pairs: tuple[float | None, float | None, float | None]

    @property
    def name(self) -> str:
        """Return the title, address, id or place, the first that is visible."""
        names = (name for name in (self.title, self.url, self.id) if name and _is_visible(name))
        return next(names, f"article {self.index}")

    def as_dict(self) -> dict[str, Any]:
        """Return the statistics as plain data, flat, ready for JSON and for a table."""
        decision = self.decision
        row: dict[str, Any] = {
            "index": self.index,
            "id": self.id,
            "url": self.url,
            "title": self.title,
            "bytes": self.bytes,
            "pick": decision.extractor,
            "rule": decision.rule,
            "consensus": decision.consensus,
            "pool": list(decision.pool),
            "agreement": self.agreement,
            "margin": self.margin,
        }
        for candidate in decision.candidates:
            for field in _CANDIDATE_FIELDS:
                row[f"{candidate.extractor}_{field}"] = getattr(candidate, field)
        for (one, other), coefficient in zip(PAIRS, self.pairs):
            row[f"{one}_{other}"] = coefficient
        return row


_CANDIDATE_FIELDS = (
    "state",
    "active",
    "tokens",
    "shingles",
    "shared",
    "coverage",
    "support",
    "score",
)


def statistics_of(article: Article) -> ArticleStats:
    """Decide one article and return its statistics."""
    decision = select_article(article.fields)
    pairs = _dice_of(decision, 0, 1), _dice_of(decision, 0, 2), _dice_of(decision, 1, 2)
    scores = [c.score for c in decision.candidates if c.score is not None]
    return ArticleStats(
        index=article.index,
        id=article.id,
        url=article.url,
        title=_title(article.fields),
        bytes=len(article.raw),
        decision=decision,
        agreement=max(scores) if scores else None,
        margin=_margin(decision),
        pairs=pairs,
    )


def _title(fields: Mapping[str, Any]) -> str | None:
    for extractor in Extractor:
        title = (fields.get(extractor) or {}).get(TITLE_FIELD)
        if isinstance(title, str) and _is_visible(title) and title.strip() != _NO_TITLE:
            return title.strip()
    return None


def _is_visible(text: str) -> bool:
    """Return whether a text has more than white space, controls and marks of no width."""
    return any(char.isprintable() and char != " " for char in text)


def _dice_of(decision: Decision, one: int, other: int) -> float | None:
    first, second = decision.candidates[one], decision.candidates[other]
    if not (first.active and second.active):
        return None
    shared = in_both(decision.regions, one, other)
    return score.as_float(score.dice(shared, first.shingles, second.shingles))


def _margin(decision: Decision) -> float | None:
    if not decision.consensus:
        return None
    pick = list(Extractor).index(decision.extractor)
    scores = [
        Fraction(*score.dice(c.shared or 0, decision.consensus, c.shingles))
        for c in decision.candidates
    ]
    rivals = [
        scores[i]
        for i, candidate in enumerate(decision.candidates)
        if i != pick and candidate.active and _dice_of(decision, i, pick) != 1.0
    ]
    return float(scores[pick] - max(rivals)) if rivals else None
