"""Decide one article by its bytes: parse, normalise, compare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from selection.errors import DataError
from selection.field_check import texts_of
from selection.model import Extractor, Rule
from selection.rules import select_article
from selection.stream.parser import parse_article
from selection.stream.splice import Span, pick_spans


@dataclass(frozen=True, slots=True)
class Pick:
    """Represent the part of a decision that is written and counted.

    Attributes:
        extractor: the extractor that was picked.
        rule: the rule that picked it.
        with_text: the extractors that have a text, as of :func:`selection.field_check.texts_of`.
        spans: start and end of the value of each ``selected_extractor`` that the article has.
    """

    extractor: Extractor
    rule: Rule
    with_text: int
    spans: tuple[Span, ...] = ()


#: Decides one article by its bytes; None: it is a bad line, which is skipped.
Decide = Callable[[bytes], Pick | None]


def decide(raw: bytes) -> Pick:
    """Pick one extractor for one article.

    Args:
        raw: the bytes of the article, from ``{`` to ``}``.

    Raises:
        DataError: the bytes are not one JSON object; the error has no position.
    """
    content = parse_article(raw)
    decision = select_article(content.fields)
    spans = tuple(pick_spans(raw)) if content.has_pick else ()
    return Pick(decision.extractor, decision.rule, texts_of(content.fields), spans)


def decide_or_skip(raw: bytes) -> Pick | None:
    """Pick one extractor for a line of JSON Lines; None if it is not valid JSON."""
    try:
        return decide(raw)
    except DataError:
        return None
