"""What a decision comes to when all that is wanted of it is written or counted."""

from __future__ import annotations

from dataclasses import dataclass

from selection.document import Article, Part
from selection.rules import Extractor, Rule, select_article


@dataclass(frozen=True, slots=True)
class Pick:
    """The extractor of an article, and the rule that picked it."""

    extractor: Extractor
    rule: Rule


#: A part of a batch, with the pick if it is an article.
Decided = tuple[Part, Pick | None]


def pick(article: Article) -> Pick:
    """Decide one article."""
    decision = select_article(article.fields)
    return Pick(decision.extractor, decision.rule)
