"""Comparison: the picks of one batch in two versions, article by article and counted."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from selection.articles import error_of, selected_in, text_of
from selection.explain import sentences
from selection.model import Extractor, Rule, State
from selection.report.article_stats import statistics_of
from selection.stream.parts import Article


class MatchedBy(StrEnum):
    """Name what the two versions of an article have in common, in the order of the stages."""

    ID = "id"
    URL = "url"
    INDEX = "index"


class Kind(StrEnum):
    """Name the kinds of changes, in the order of the page."""

    #: The picks differ.
    PICK = "pick"
    #: The picks are the same, and the texts of that extractor differ.
    TEXT = "text"
    #: A candidate is usable in one version and not in the other.
    FAILURES = "failures"
    ONLY_OLD = "only_old"
    ONLY_NEW = "only_new"


@dataclass(frozen=True, slots=True)
class Version:
    """Represent one article of one of the two batches.

    Attributes:
        index: its place in ``articles``, from 0.
        id, url: as the batch has them, as text; None if it has none.
        name: its title, address, id or place, the first that is visible.
        pick: the pick that the batch has.
        rules_pick: the pick of the rules.
        rule, margin: of the decision, as of ``ArticleStats``; None if the batch has another pick.
        reason: the decision's last step in one sentence.
        agreement: as of ``ArticleStats``.
        states: of the candidates, in order of priority.
        errors: of the candidates' blocks, as text; None without an error.
        digest: a hash of the text of the pick.
        text: the beginning of this text.
        left: number of its characters after this beginning.
    """

    index: int
    id: str | None
    url: str | None
    name: str
    pick: Extractor
    rules_pick: Extractor
    rule: Rule | None
    margin: float | None
    reason: str
    agreement: float | None
    states: tuple[State, ...]
    errors: tuple[str | None, ...]
    digest: str
    text: str
    left: int

    @property
    def agrees(self) -> bool:
        """Return whether the batch has the pick of the rules."""
        return self.pick is self.rules_pick


def version_of(article: Article, path: str, longest_text: int) -> Version:
    """Decide an article and return its version.

    Args:
        article: the article.
        path: its batch, for the error.
        longest_text: the number of characters of the text that are kept.

    Raises:
        PickMissingError: the article has no pick.
    """
    pick = selected_in(article, path)
    stats = statistics_of(article)
    decision = stats.decision
    agrees = pick is decision.extractor
    text = text_of(article.fields, pick)
    return Version(
        index=article.index,
        id=article.id,
        url=article.url,
        name=stats.name,
        pick=pick,
        rules_pick=decision.extractor,
        rule=decision.rule if agrees else None,
        margin=stats.margin if agrees else None,
        reason=sentences(decision)[-1],
        agreement=stats.agreement,
        states=tuple(candidate.state for candidate in decision.candidates),
        errors=tuple(error_of(article, extractor) for extractor in Extractor),
        # An article that does not come from a batch can have lone surrogates.
        digest=hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest(),
        text=text[:longest_text],
        left=max(0, len(text) - longest_text),
    )


# The attributes of a version that a row of plain data has twice, for the old and the new one.
_VERSION_FIELDS = ("index", "pick", "rules_pick", "rule", "agreement", "margin")


@dataclass(frozen=True, slots=True)
class Difference:
    """Represent an article in both batches, or in one of them; it can be unchanged.

    Attributes:
        old, new: its versions; None: it is not in that batch.
        matched_by: what the versions have in common; None if there is one version.
    """

    old: Version | None
    new: Version | None
    matched_by: MatchedBy | None

    @property
    def latest(self) -> Version:
        """Return the new version, or the old one of an article that is only there."""
        version = self.new or self.old
        assert version is not None
        return version

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Return what changed, in the order of :class:`Kind`; empty if nothing did."""
        return tuple(self._kinds())

    def _kinds(self) -> Iterator[Kind]:
        if self.old is None or self.new is None:
            yield Kind.ONLY_NEW if self.old is None else Kind.ONLY_OLD
            return
        if self.old.pick is not self.new.pick:
            yield Kind.PICK
        elif self.old.digest != self.new.digest:
            yield Kind.TEXT
        if self.came or self.went:
            yield Kind.FAILURES

    @property
    def came(self) -> tuple[Extractor, ...]:
        """Return the extractors whose candidate is usable in the old version only."""
        return tuple(self._usable_only_in(self.old, self.new))

    @property
    def went(self) -> tuple[Extractor, ...]:
        """Return the extractors whose candidate is usable in the new version only."""
        return tuple(self._usable_only_in(self.new, self.old))

    @staticmethod
    def _usable_only_in(one: Version | None, other: Version | None) -> Iterator[Extractor]:
        if one is not None and other is not None:
            for extractor, first, second in zip(Extractor, one.states, other.states):
                if first is State.USABLE and second is not State.USABLE:
                    yield extractor

    def as_dict(self) -> dict[str, Any]:
        """Return the difference as plain data, flat, ready for JSON and for a table."""
        latest = self.latest
        row: dict[str, Any] = {
            "changes": list(self.kinds),
            "matched_by": self.matched_by,
            "id": latest.id,
            "url": latest.url,
            "name": latest.name,
        }
        for prefix, version in (("old", self.old), ("new", self.new)):
            for field in _VERSION_FIELDS:
                row[f"{prefix}_{field}"] = getattr(version, field) if version else None
        row["failures_came"] = list(self.came)
        row["failures_went"] = list(self.went)
        return row


class ComparisonStats:
    """Count the differences of two batches.

    Attributes:
        old_articles, new_articles: number of articles of each batch.
        old_disagreeing, new_disagreeing: of these, those whose pick is not that of the rules.
        matched: articles that are in both, by what their versions have in common.
        unchanged: of these, those without a change.
        picks: articles that are in both, by old and new pick.
        rules: of these, those whose picks differ, by old and new rule; None in place of a rule
            whose pick the batch does not have.
        texts: articles of the kind TEXT by pick.
        came, went: articles by extractor, as of :class:`Difference`.
        kinds: articles by the first of their kinds.
    """

    def __init__(self) -> None:
        self.old_articles = self.new_articles = 0
        self.old_disagreeing = self.new_disagreeing = 0
        self.unchanged = 0
        self.matched = Counter[MatchedBy]()
        self.picks = Counter[tuple[Extractor, Extractor]]()
        self.rules = Counter[tuple[Rule | None, Rule | None]]()
        self.texts = Counter[Extractor]()
        self.came = Counter[Extractor]()
        self.went = Counter[Extractor]()
        self.kinds = Counter[Kind]()

    def add(self, difference: Difference) -> None:
        """Count one article."""
        old, new, kinds = difference.old, difference.new, difference.kinds
        if old is not None:
            self.old_articles += 1
            self.old_disagreeing += not old.agrees
        if new is not None:
            self.new_articles += 1
            self.new_disagreeing += not new.agrees
        self.kinds.update(kinds[:1])
        if old is None or new is None or difference.matched_by is None:
            return
        self.matched[difference.matched_by] += 1
        self.unchanged += not kinds
        self.picks[old.pick, new.pick] += 1
        if Kind.PICK in kinds:
            self.rules[old.rule, new.rule] += 1
        if Kind.TEXT in kinds:
            self.texts[new.pick] += 1
        self.came.update(difference.came)
        self.went.update(difference.went)

    @property
    def changed(self) -> int:
        """Return the number of articles with a change, those in one batch only included."""
        return self.kinds.total()

    def sorted_rules(self) -> list[tuple[tuple[Rule | None, Rule | None], int]]:
        """Return the rules of changed picks, the most frequent first."""
        order = [*Rule, None]
        return sorted(
            self.rules.items(),
            key=lambda item: (-item[1], order.index(item[0][0]), order.index(item[0][1])),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the counts as plain data, ready for JSON."""
        return {
            "old_articles": self.old_articles,
            "new_articles": self.new_articles,
            "old_disagreeing": self.old_disagreeing,
            "new_disagreeing": self.new_disagreeing,
            "matched": _all(MatchedBy, self.matched),
            "unchanged": self.unchanged,
            "changed": self.changed,
            "changed_picks": self.kinds[Kind.PICK],
            "picks": {old: {new: self.picks[old, new] for new in Extractor} for old in Extractor},
            "rules": [
                {"old_rule": old, "new_rule": new, "articles": count}
                for (old, new), count in self.sorted_rules()
            ],
            "changed_texts": _all(Extractor, self.texts),
            "failures_came": _all(Extractor, self.came),
            "failures_went": _all(Extractor, self.went),
            "only_old": self.kinds[Kind.ONLY_OLD],
            "only_new": self.kinds[Kind.ONLY_NEW],
        }


def _all(names: type[StrEnum], counts: Mapping[Any, int]) -> dict[str, int]:
    """Return the count of every name, 0 included."""
    return {name: counts.get(name, 0) for name in names}
