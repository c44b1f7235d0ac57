"""Why an article got its pick: the whole arithmetic, in words and as data."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from selection.model import Candidate, Decision, Extractor, Rule, State
from selection.reader import BY_NAME, BatchReader, ReadOptions
from selection.rules import select_article


@dataclass(frozen=True, slots=True)
class Explanation:
    """One article of a file and its decision.

    Attributes:
        index: its place in ``articles``, from 0.
        id: its ``id``, if it has one.
        decision: the pick and its arithmetic.
    """

    index: int
    id: str | None
    decision: Decision

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data, ready for JSON."""
        return {"index": self.index, "id": self.id, **self.decision.as_dict()}


def explain_file(
    path: str | os.PathLike[str],
    index: int | None = None,
    id: str | None = None,
    *,
    options: ReadOptions = BY_NAME,
) -> Iterator[Explanation]:
    """Decide and explain the articles of a batch, streaming.

    Args:
        path: the batch, selected or not.
        index: only the article at this place.
        id: only articles with this ``id`` (a number is compared by its text).
        options: how the batch is read.

    Raises:
        DataError: the file is not a batch; the articles before the error have been given.
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
    """The decision step by step, one sentence a step, in the order of PRD section 7."""
    active = [candidate for candidate in decision.candidates if candidate.active]
    steps = [_active_set(active)]
    if decision.rule not in (Rule.FALLBACK, Rule.SINGLE):
        steps.append(_consensus(decision, active))
    steps.append(f"Picked: {decision.extractor}, {_REASON[decision.rule]}.")
    return steps


_REASON = {
    Rule.FALLBACK: "the final fallback (PRD 7.1, step 4)",
    Rule.SINGLE: "the only active candidate (PRD 7.1, step 5)",
    Rule.SCORE: "ahead by more than 0.03 (PRD 7.5, step 4)",
    Rule.TIE_FEWEST_SHINGLES: "the fewest shingles of the technical tie (PRD 7.5, step 5)",
    Rule.TIE_PRIORITY: "by priority among the smallest of the technical tie (PRD 7.5, step 6)",
    Rule.MEDIAN: "the median number of shingles (PRD 7.6)",
    Rule.MEDIAN_PRIORITY: "by priority among those of the median number of shingles (PRD 7.6)",
    Rule.LARGER: "the larger number of shingles (PRD 7.6)",
    Rule.LARGER_PRIORITY: "by priority, the numbers of shingles being equal (PRD 7.6)",
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
        return f"Consensus: none; no shingle stands in two candidates. Shingles: {sizes}."
    best = max(active, key=lambda candidate: candidate.score or 0.0)
    others = [name for name in decision.pool if name is not best.extractor]
    tie = f"within 0.03 of it: {_names(others)}" if others else "nobody within 0.03 of it"
    return (
        f"Consensus: {decision.consensus} shingles stand in two candidates or more; "
        "score = 2 x shared / (consensus + shingles). "
        f"Best score: {best.extractor} {best.score:.4f}; {tie}."
    )


def _names(extractors: Iterator[Extractor] | list[Extractor]) -> str:
    return ", ".join(extractors)


def arithmetic(candidate: Candidate, consensus: int) -> str:
    """A compared candidate's score as a sum that a person can check."""
    return (
        f"2 x {candidate.shared} / ({consensus} + {candidate.shingles})"
        f" = {candidate.score or 0.0:.4f}"
    )
