"""The quality of the picks, compared with texts that a person marked."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean
from typing import Any

from benchmarks.result import Result, Settings, Table
from selection.model import TEXT_FIELD, Extractor
from selection.rules import select_article

WORD = re.compile(r"\w+")
IN_A_ROW = 4
BANDS = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 1.0)

HOW = (
    "The runs of four words of the text that a person marked are compared with those of the "
    "picked text, repetitions counted. Precision is the mean over the articles of the share of the "
    "text that is right, recall of the share of the truth that is found, F1 the harmonic mean "
    "of both: the measure of the public article-extraction-benchmark of Zyte."
)


@dataclass(frozen=True, slots=True)
class Match:
    """The numbers of runs of words: common, in the text and in the truth."""

    common: int
    text: int
    truth: int

    @property
    def f1(self) -> float:
        """The F1 of this article."""
        whole = self.text + self.truth
        return 2 * self.common / whole if whole else 1.0


@dataclass(frozen=True, slots=True)
class Quality:
    """The precision and recall of many articles."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


@dataclass(frozen=True, slots=True)
class Rated:
    """One article: the match of each extractor, the pick, and the longest text."""

    matches: Mapping[Extractor, Match]
    pick: Extractor
    longest: Extractor
    agreement: float

    @property
    def best(self) -> Match:
        """The match with the highest F1."""
        return max(self.matches.values(), key=lambda match: match.f1)


def runs_of_words(text: str) -> Counter[tuple[str, ...]]:
    """Count the runs of four words; fewer than four words are one run."""
    words = WORD.findall(text)
    if not words:
        return Counter()
    last = max(1, len(words) - IN_A_ROW + 1)
    return Counter(tuple(words[i : i + IN_A_ROW]) for i in range(last))


def match(text: str, truth: str) -> Match:
    """Compare a text with the truth."""
    one, other = runs_of_words(text), runs_of_words(truth)
    return Match((one & other).total(), one.total(), other.total())


def quality(matches: Sequence[Match]) -> Quality:
    """Return the mean precision and recall.

    An empty text counts for recall only, an empty truth for precision only.
    """
    precisions = [m.common / m.text for m in matches if m.text]
    recalls = [m.common / m.truth for m in matches if m.truth]
    return Quality(
        mean(precisions) if precisions else 0.0,
        mean(recalls) if recalls else 0.0,
    )


def rate(article: Mapping[str, Any], truth: str) -> Rated:
    """Rate the three texts and the pick of one article."""
    texts = {name: _text(article, name) for name in Extractor}
    decision = select_article(article)
    return Rated(
        matches={name: match(text, truth) for name, text in texts.items()},
        pick=decision.extractor,
        longest=max(Extractor, key=lambda name: len(texts[name])),
        agreement=max(candidate.score or 0.0 for candidate in decision.candidates),
    )


def tables(rated: Sequence[Rated]) -> tuple[Table, Table]:
    """Return a table by choice of text and one by agreement of the extractors."""
    choices = {str(name): [one.matches[name] for one in rated] for name in Extractor}
    choices["selection"] = [one.matches[one.pick] for one in rated]
    choices["always the longest"] = [one.matches[one.longest] for one in rated]
    choices["best possible pick"] = [one.best for one in rated]
    found = {name: quality(matches) for name, matches in choices.items()}
    by_choice = Table(
        f"Quality on {len(rated)} articles",
        ("text", "precision", "recall", "F1"),
        tuple((name, q.precision, q.recall, q.f1) for name, q in found.items()),
    )
    rows = []
    for low, high in pairwise(BANDS):
        band = [one for one in rated if low <= one.agreement < high or one.agreement == high == 1.0]
        if band:
            picked = quality([one.matches[one.pick] for one in band]).f1
            alone = quality([one.matches[Extractor.TRAFILATURA] for one in band]).f1
            rows.append((f"{low:.2f} to {high:.2f}", len(band), picked, alone))
    by_agreement = Table(
        "F1 by agreement, the best score of an article",
        ("agreement", "articles", "selection", "trafilatura alone"),
        tuple(rows),
    )
    return by_choice, by_agreement


def measure(settings: Settings) -> Result:
    """Rate the articles of the batch that have a truth."""
    if settings.batch is None or settings.truth is None:
        return Result("quality", "Not available: give --batch and --truth.", ())
    truth = json.loads(settings.truth.read_bytes())
    articles = json.loads(settings.batch.read_bytes())["articles"]
    known = [a for a in articles if isinstance(a, dict) and isinstance(truth.get(a.get("id")), str)]
    if not known:
        raise SystemExit(f"{settings.truth} has no text for any article's id of {settings.batch}")
    return Result("quality", HOW, tables([rate(a, truth[a["id"]]) for a in known]))


def _text(article: Mapping[str, Any], extractor: Extractor) -> str:
    block = article.get(extractor)
    text = block.get(TEXT_FIELD[extractor]) if isinstance(block, Mapping) else None
    return text if isinstance(text, str) else ""
