"""Explanation of a decision: its counts and scores, in sentences and as data."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from selection import score
from selection.model import Candidate, Decision, Extractor, Rule, State
from selection.reader import BY_NAME, BatchReader, ReadOptions
from selection.rules import select_article
from selection.score import TIE_WIDTH_TEXT


@dataclass(frozen=True, slots=True)
class Explanation:
    """Represent one article of a file and its decision.

    Attributes:
        index: its place in ``articles``, from 0.
        id: its ``id``, if it has one.
        decision: the pick and its numbers.
    """

    index: int
    id: str | None
    decision: Decision

    def as_dict(self) -> dict[str, Any]:
        """Return the explanation as plain data, ready for JSON."""
        return {"index": self.index, "id": self.id, **self.decision.as_dict()}


def explain_file(
    path: str | os.PathLike[str],
    index: int | None = None,
    id: str | None = None,
    *,
    options: ReadOptions = BY_NAME,
) -> Iterator[Explanation]:
    """Decide the articles of a batch, one at a time, and yield their explanations.

    Args:
        path: the batch, selected or not.
        index: only the article at this place.
        id: only articles with this ``id`` (a number is compared by its text).
        options: how the batch is read.

    Raises:
        DataError: the file is not a batch; the articles before the error have been yielded.
        InputError, TransferError: as for ``select_file``.
    """
    with BatchReader(os.fspath(path), options=options) as batch:
        for article in batch.articles():
            if id is not None and article.id != id:
                continue
            if index is None or article.index == index:
                yield Explanation(article.index, article.id, select_article(article.fields))
                if index is not None:
                    batch.input.check_unchanged()
                    return


def sentences(decision: Decision) -> list[str]:
    """Return the decision step by step, one sentence a step, in the order of the rules."""
    active = [candidate for candidate in decision.candidates if candidate.active]
    steps = [_active_set(active)]
    if decision.rule not in (Rule.FALLBACK, Rule.SINGLE):
        steps.append(_consensus(decision, active))
    steps.append(f"Picked: {decision.extractor}, {_REASON[decision.rule]}.")
    return steps


_REASON = {
    Rule.FALLBACK: "the fallback (rule 5.1)",
    Rule.SINGLE: "the only active candidate (rule 5.2)",
    Rule.SCORE: f"ahead by more than {TIE_WIDTH_TEXT} (rule 6.2)",
    Rule.TIE_FEWEST_SHINGLES: "the fewest shingles of the technical tie (rule 6.3)",
    Rule.TIE_PRIORITY: "by priority among the smallest of the technical tie (rule 6.4)",
    Rule.MEDIAN: "the median number of shingles (rule 7.1)",
    Rule.MEDIAN_PRIORITY: "by priority among those of the median number of shingles (rule 7.2)",
    Rule.LARGER: "the larger number of shingles (rule 7.3)",
    Rule.LARGER_PRIORITY: "by priority, the numbers of shingles being equal (rule 7.4)",
}


def _active_set(active: list[Candidate]) -> str:
    if not active:
        return "Active: none; no candidate has a token."
    names = _names(candidate.extractor for candidate in active)
    if active[0].state is State.DEGRADED:
        return f"Active: {names}; all degraded, and no candidate is usable."
    return f"Active: {names}."


def _consensus(decision: Decision, active: list[Candidate]) -> str:
    if not decision.consensus:
        sizes = ", ".join(f"{c.extractor} {c.shingles}" for c in active)
        return f"Consensus: none; no shingle occurs in two candidates. Shingles: {sizes}."
    best = max(active, key=lambda candidate: candidate.score or 0.0)
    others = [name for name in decision.pool if name is not best.extractor]
    tie = (
        f"within {TIE_WIDTH_TEXT} of it: {_names(others)}"
        if others
        else f"no other within {TIE_WIDTH_TEXT} of it"
    )
    return (
        f"Consensus: {decision.consensus} shingles occur in at least two candidates; "
        f"score = {score.formula('shared', 'consensus', 'shingles')}. "
        f"Best score: {best.extractor} {best.score:.4f}; {tie}."
    )


def _names(extractors: Iterator[Extractor] | list[Extractor]) -> str:
    return ", ".join(extractors)


def arithmetic(candidate: Candidate, consensus: int) -> str:
    """Return a compared candidate's score (rule 4.4) with the numbers that give it."""
    written = score.formula(candidate.shared or 0, consensus, candidate.shingles)
    return f"{written} = {candidate.score or 0.0:.4f}"
