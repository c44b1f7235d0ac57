"""The words of a report, each with its explanation, and the reason of a pick in one sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from selection import score
from selection.model import Candidate, Decision, Rule, State
from selection.score import TIE_WIDTH_TEXT

_SCORE = score.formula("shared", "consensus", "shingles")


@dataclass(frozen=True, slots=True)
class Term:
    """Represent one word of the report.

    Attributes:
        id: the name of its explanation in the page.
        name: the word as the page shows it.
        text: one or two sentences.
        rules: the numbers of the rules of docs/algorithm.md that define it; empty for a number
            that only the report has.
    """

    id: str
    name: str
    text: str
    rules: Sequence[str]


def _terms(*terms: tuple[str, str, Sequence[str]]) -> Mapping[str, Term]:
    return {
        name: Term(f"term-{name.replace(' ', '-')}", name, text, rules)
        for name, text, rules in terms
    }


def _rules(*rules: tuple[Rule, str, Sequence[str]]) -> Mapping[str, Term]:
    return {rule: Term(f"rule-{rule}", rule, text, numbers) for rule, text, numbers in rules}


#: The terms by name, in the order in which a reader needs them.
TERMS: Mapping[str, Term] = _terms(
    (
        "shingle",
        "Five consecutive words of a text, without case and punctuation. A text is compared by the "
        "set of its shingles. A text of one to four words is a single shingle.",
        ("3.1", "3.2"),
    ),
    (
        "token",
        "A run of letters and digits. Markup, punctuation and white space separate tokens.",
        ("2.8",),
    ),
    (
        "consensus",
        "The shingles that occur in at least two of an article's texts.",
        ("4.1",),
    ),
    (
        "surplus",
        "The part of a text that is not in the consensus.",
        ("4.1",),
    ),
    (
        "coverage",
        "The share of the consensus that a text contains: shared / consensus. It is the recall.",
        ("4.2",),
    ),
    (
        "support",
        "The share of a text that is consensus: shared / shingles. It is the precision.",
        ("4.3",),
    ),
    (
        "score",
        f"Coverage and support in one number from 0 to 1, their harmonic mean: {_SCORE}. "
        "The best score wins, unless there is a tie.",
        ("4.4", "6.2"),
    ),
    (
        "tie",
        f"The texts whose scores are at most {TIE_WIDTH_TEXT} below the best score. Of these, "
        "the text with the fewest shingles is picked.",
        ("6.1", "6.3"),
    ),
    (
        "margin",
        "The pick's score minus the best score of a rival, another text with different shingles. "
        "It is negative if a rule for ties picked a lower score.",
        ("6.3", "6.4"),
    ),
    (
        "agreement",
        "The best score of an article. Where it is low, the extractors have little in common, and "
        "the page can be a listing or a shop instead of an article.",
        ("4.4",),
    ),
    (
        "pair agreement",
        "The Sørensen-Dice coefficient of two texts: twice the shingles that both have, divided by "
        "the sum of their shingles. 1 means the same shingles, 0 none in common.",
        ("4.4",),
    ),
    (State.USABLE.value, "The candidate has a text and no error.", ("1.3",)),
    (
        State.DEGRADED.value,
        "The candidate has a text and an error. It is ignored where another candidate is usable.",
        ("1.3", "1.5"),
    ),
    (State.UNAVAILABLE.value, "The candidate has no text.", ("1.3",)),
)

#: The rules that make a pick, by name.
RULES: Mapping[str, Term] = _rules(
    (
        Rule.FALLBACK,
        "No candidate has a text, so the first extractor by priority, newspaper4k, is picked.",
        ("5.1",),
    ),
    (
        Rule.SINGLE,
        "One candidate takes part, so it is picked without a comparison.",
        ("5.2",),
    ),
    (
        Rule.SCORE,
        f"One text has the best score, and no other is within {TIE_WIDTH_TEXT} of it.",
        ("6.2",),
    ),
    (
        Rule.TIE_FEWEST_SHINGLES,
        f"Several texts are within {TIE_WIDTH_TEXT} of the best score; the one with the "
        "fewest shingles is picked. At equal agreement, the text with less surplus wins.",
        ("6.3",),
    ),
    (
        Rule.TIE_PRIORITY,
        "Several texts of the tie have the fewest shingles, so the order of priority decides: "
        "newspaper4k, readability, trafilatura.",
        ("6.4",),
    ),
    (
        Rule.MEDIAN,
        "Three texts have no shingle in common; the one of median size is picked.",
        ("7.1",),
    ),
    (
        Rule.MEDIAN_PRIORITY,
        "Three texts have no shingle in common, and several have the median size; the order of "
        "priority decides.",
        ("7.2",),
    ),
    (
        Rule.LARGER,
        "Two texts have no shingle in common; the larger one is picked.",
        ("7.3",),
    ),
    (
        Rule.LARGER_PRIORITY,
        "Two texts have no shingle in common and the same size; the order of priority decides.",
        ("7.4",),
    ),
)

#: How a pick is made, step by step: a title and one or two sentences, with terms in brackets.
STEPS: Sequence[tuple[str, str]] = (
    (
        "Candidates",
        "Each article has three candidates, the texts of newspaper4k, readability and trafilatura. "
        "Candidates with a text and without an error take part; if there are none, those with an "
        "error do.",
    ),
    (
        "Shingles",
        "Each text is cut into windows of five consecutive words, its [shingles]. Case, "
        "punctuation and markup make no difference.",
    ),
    (
        "Consensus",
        "The shingles that at least two texts have are the [consensus]. A text [scores] high if it "
        "contains the consensus ([coverage]) and little else ([support]).",
    ),
    (
        "Pick",
        f"The best score wins. Of texts within {TIE_WIDTH_TEXT} of the best (a [tie]), the "
        "one with the fewest shingles wins. Without a consensus, sizes decide.",
    ),
)


def named_terms(text: str) -> list[tuple[str, Term | None]]:
    """Return a text in pieces, each with the term that it names in brackets, or None."""
    parts = re.split(r"\[(\w+)\]", text)
    return [
        (part, TERMS.get(part) or TERMS[part.removesuffix("s")] if number % 2 else None)
        for number, part in enumerate(parts)
    ]


def reason(decision: Decision) -> str:
    """Return the reason of a pick in one sentence without the pick's name.

    It follows the name and a colon, and compares the pick with the others by name.
    """
    active = [candidate for candidate in decision.candidates if candidate.active]
    others = [c for c in active if c.extractor is not decision.extractor]
    match decision.rule:
        case Rule.FALLBACK:
            return "no extractor has a text, so the first by priority"
        case Rule.SINGLE:
            return _single(active[0])
        case Rule.SCORE:
            return f"the best score, more than {TIE_WIDTH_TEXT} ahead of {_names(others)}"
        case Rule.TIE_FEWEST_SHINGLES | Rule.TIE_PRIORITY:
            return _tie(decision, [c for c in others if c.extractor in decision.pool])
        case Rule.MEDIAN | Rule.MEDIAN_PRIORITY:
            return "no shingle in common with another text, and of median size" + (
                ", the first by priority" if decision.rule is Rule.MEDIAN_PRIORITY else ""
            )
        case Rule.LARGER:
            return f"no shingle in common with {_names(others)}, and the larger text"
        case Rule.LARGER_PRIORITY:
            return (
                f"no shingle in common with {_names(others)}, of the same size, and first by "
                "priority"
            )


def _single(candidate: Candidate) -> str:
    if candidate.state is State.DEGRADED:
        return "the only extractor with a text, which has an error"
    return "the only extractor with a text and without an error"


def _tie(decision: Decision, rivals: Sequence[Candidate]) -> str:
    """Return the reason of a tie, compared with those of the tie."""
    pick = next(c for c in decision.candidates if c.extractor is decision.extractor)
    equal = [c for c in rivals if c.shingles == pick.shingles]
    larger = [c for c in rivals if c.shingles != pick.shingles]
    compared = f"within {TIE_WIDTH_TEXT} of {_possessive(rivals)}"
    if not equal:
        return f"{compared}, with fewer shingles"
    if not larger:
        return f"{compared}, with as many shingles, and first by priority"
    return (
        f"{compared}, with fewer shingles than {_names(larger)}, and before {_names(equal)} by "
        "priority"
    )


def _names(candidates: Sequence[Candidate]) -> str:
    return " and ".join(candidate.extractor for candidate in candidates)


def _possessive(candidates: Sequence[Candidate]) -> str:
    names = " and ".join(f"{candidate.extractor}'s" for candidate in candidates)
    return f"{names} score" if len(candidates) == 1 else f"{names} scores"
