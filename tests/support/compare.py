"""Decisions of the package and of the reference implementation as comparable data."""

from __future__ import annotations

from selection import Decision
from selection.model import Candidate
from tests.support import reference


def as_data(decision: Decision) -> tuple[object, ...]:
    """Return a decision as data."""
    return (
        str(decision.extractor),
        str(decision.rule),
        [str(name) for name in decision.pool],
        decision.consensus,
        [_numbers(candidate) for candidate in decision.candidates],
    )


def expected_data(article: object) -> tuple[object, ...]:
    """Return the decision of the reference implementation as data."""
    right = reference.choose(article)
    numbers = [_right_numbers(candidate) for candidate in right.candidates]
    return (right.extractor, right.rule, right.pool, right.consensus, numbers)


def _numbers(candidate: Candidate) -> tuple[object, ...]:
    return (
        str(candidate.extractor),
        str(candidate.state),
        candidate.tokens,
        candidate.shingles,
        candidate.coverage,
        candidate.support,
        candidate.score,
    )


def _right_numbers(candidate: reference.Candidate) -> tuple[object, ...]:
    # A quotient of two integers and the float of their fraction are both the nearest float.
    return (
        candidate.extractor,
        candidate.state,
        candidate.tokens,
        candidate.shingles,
        *(
            None if value is None else float(value)
            for value in (candidate.coverage, candidate.support, candidate.score)
        ),
    )
