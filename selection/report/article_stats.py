"""What a report says of one article: its decision in figures that can be sorted and plotted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

from selection.model import TITLE_FIELD, Candidate, Decision, Extractor
from selection.rules import select_article
from selection.stream.parts import Article

#: The pairs of extractors, in order of priority.
PAIRS: tuple[tuple[Extractor, Extractor], ...] = tuple(combinations(Extractor, 2))

# What Readability calls a page without a title.
_NO_TITLE = "[no-title]"


@dataclass(frozen=True, slots=True)
class Facts:
    """One article of a batch, measured.

    Attributes:
        index: its place in ``articles``, from 0.
        id, url: as the batch has them, as text; None if it has none.
        title: the first title that a block has, by priority; None if none has one.
        bytes: size of its JSON.
        decision: the pick and its arithmetic.
        agreement: the best score, 0 to 1; 0 without a consensus, None if nothing was compared.
        margin: how close the call was: the pick's score minus the best score of a rival, -0.03
            to 1. A rival is another active candidate whose shingles are not the pick's own.
            None without a consensus or without a rival.
        pairs: for each of :data:`PAIRS`, how alike the two are: 2 x the shingles of both /
            the sum of their shingles, 0 to 1; None where they were not compared.
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
        """What to call it: title, address, id or place, the first that can be seen."""
        names = (name for name in (self.title, self.url, self.id) if name and _is_visible(name))
        return next(names, f"article {self.index}")

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data, flat, ready for JSON and for a table."""
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
            for figure in _FIGURES:
                row[f"{candidate.extractor}_{figure}"] = getattr(candidate, figure)
        for (one, other), alike in zip(PAIRS, self.pairs):
            row[f"{one}_{other}"] = alike
        return row


_FIGURES = ("state", "active", "tokens", "shingles", "shared", "coverage", "support", "score")


def facts_of(article: Article) -> Facts:
    """Decide one article and measure the decision."""
    decision = select_article(article.fields)
    pairs = _pairs(decision)
    scores = [c.score for c in decision.candidates if c.score is not None]
    return Facts(
        index=article.index,
        id=article.id,
        url=article.url,
        title=_title(article.fields),
        bytes=len(article.raw),
        decision=decision,
        agreement=max(scores) if scores else None,
        margin=_margin(decision, pairs),
        pairs=pairs,
    )


def _title(fields: Mapping[str, Any]) -> str | None:
    for extractor in Extractor:
        title = (fields.get(extractor) or {}).get(TITLE_FIELD)
        if isinstance(title, str) and _is_visible(title) and title.strip() != _NO_TITLE:
            return title.strip()
    return None


def _is_visible(text: str) -> bool:
    """Whether it has more than white space, controls and marks of no width."""
    return any(char.isprintable() and char != " " for char in text)


def _pairs(decision: Decision) -> tuple[float | None, float | None, float | None]:
    one, two, three = (_alike(decision, *pair) for pair in PAIRS)
    return one, two, three


def _alike(decision: Decision, one: Extractor, other: Extractor) -> float | None:
    compared = {c.extractor: c for c in decision.candidates if c.shared is not None}
    if decision.consensus is None or one not in compared or other not in compared:
        return None
    both = _in_both(decision.consensus, list(_shared(compared)), compared, one, other)
    return 2 * both / (compared[one].shingles + compared[other].shingles)


def _in_both(
    consensus: int,
    shared: list[int],
    compared: Mapping[Extractor, Candidate],
    one: Extractor,
    other: Extractor,
) -> int:
    """How many shingles two of the compared candidates have in common.

    With three, a consensus shingle stands in two or in all of them. What two share counts in
    ``shared`` twice, what all share three times, hence the number in all; the third one's
    share is what it has in common with either, and the rest of the consensus is the two's.
    """
    if len(shared) == 2:
        return consensus
    in_all = sum(shared) - 2 * consensus
    third = next(c for name, c in compared.items() if name not in (one, other))
    return consensus - (third.shared or 0) + in_all


def _shared(compared: Mapping[Extractor, Candidate]) -> Iterator[int]:
    return (candidate.shared or 0 for candidate in compared.values())


def _margin(
    decision: Decision, pairs: tuple[float | None, float | None, float | None]
) -> float | None:
    if not decision.consensus:
        return None
    alike = dict(zip(PAIRS, pairs))
    own = Fraction(0)
    rivals = []
    for candidate in decision.candidates:
        if candidate.shared is None:
            continue
        # Exact, as the rules are: a difference of 0.03 must not come out as a little more.
        score = Fraction(2 * candidate.shared, decision.consensus + candidate.shingles)
        if candidate.extractor is decision.extractor:
            own = score
        elif 1.0 not in (
            alike.get((candidate.extractor, decision.extractor)),
            alike.get((decision.extractor, candidate.extractor)),
        ):
            rivals.append(score)
    return float(own - max(rivals)) if rivals else None
