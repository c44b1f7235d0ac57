"""Warnings: what a batch's numbers suggest to look at, each with the articles that show it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from selection.model import Extractor, Rule, State
from selection.nouns import counted
from selection.report.batch_stats import (
    LONG_FACTOR,
    LOW_AGREEMENT,
    SHORT_TOKENS,
    BatchStats,
    Kind,
)

# More than one in ten articles without any text, more than one in five with low agreement.
_MOST_FALLBACKS, _MOST_LOW = 10, 5


@dataclass(frozen=True, slots=True)
class BatchWarning:
    """Represent one warning of a report.

    Attributes:
        text: a sentence without its full stop or question mark.
        end: the full stop or question mark.
        examples: what the list shows of it, as in the page's address.
    """

    text: str
    end: str
    examples: str

    @property
    def sentence(self) -> str:
        """The text as one line of a log, which does not end with a full stop."""
        return self.text + self.end.removesuffix(".")


def warnings_of(statistics: BatchStats, fields: Mapping[Extractor, str]) -> list[BatchWarning]:
    """Return the warnings of a batch, those about all its articles first.

    Args:
        statistics: the counts of all articles.
        fields: the sentences of ``FieldCheck.by_extractor``.
    """
    return list(_warnings(statistics, fields))


def _warnings(statistics: BatchStats, fields: Mapping[Extractor, str]) -> Iterator[BatchWarning]:
    for extractor, sentence in fields.items():
        yield BatchWarning(sentence, ".", f"?state={extractor}.{State.UNAVAILABLE}")
    fallbacks = statistics.decided_by(Rule.FALLBACK)
    if fallbacks * _MOST_FALLBACKS > statistics.articles:
        of = f"{fallbacks:,} of {counted(statistics.articles, 'article')}"
        text = f"{of} {'has' if fallbacks == 1 else 'have'} no text of any extractor"
        yield BatchWarning(text, ".", f"?rule={Rule.FALLBACK}")
    low, compared = statistics.low_agreement, statistics.compared
    if low * _MOST_LOW > compared:
        text = (
            f"the extractors have little in common in {low:,} of {compared:,} compared articles "
            f"(agreement under {LOW_AGREEMENT}): are these articles"
        )
        yield BatchWarning(text, "?", f"?kind={Kind.LOW}&order=low")
    if short := statistics.short_agreement:
        text = (
            f"in {counted(short, 'article')} two extractors agree on a text of less than "
            f"{SHORT_TOKENS} tokens, and the third has at least {LONG_FACTOR} times as many: the "
            "short text can be a notice, for example about cookies or a subscription"
        )
        yield BatchWarning(text, ".", f"?kind={Kind.SHORT}")
