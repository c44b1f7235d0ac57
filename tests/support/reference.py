"""The reference implementation of the rules of docs/algorithm.md.

It shares no code with the package and is not optimised: one regular expression per step,
shingles as sets of tuples, consensus by counting, and fractions for every number. It does not
support hostile megabytes (quadratic time).
"""

from __future__ import annotations

import html
import re
import sys
import unicodedata
from collections import Counter
from fractions import Fraction
from itertools import groupby
from typing import NamedTuple

Shingle = tuple[str, ...]

# In order of priority (rule 1.1).
TEXT_FIELDS = {"newspaper4k": "text", "readability": "cleaned_text", "trafilatura": "text"}

TIE = Fraction(3, 100)


class Candidate(NamedTuple):
    """The numbers of one extractor's text; the last three are None without a comparison."""

    extractor: str
    state: str
    tokens: int
    shingles: int
    coverage: Fraction | None
    support: Fraction | None
    score: Fraction | None


class Choice(NamedTuple):
    """The pick, its rule, the candidates it was chosen from, and their numbers."""

    extractor: str
    rule: str
    pool: list[str]
    consensus: int | None
    candidates: list[Candidate]


def choose(article: object) -> Choice:
    """Decide an article by rules 1.1 to 7.4."""
    texts = {name: tokens(text_of(article, name)) for name in TEXT_FIELDS}
    shingles = {name: shingles_of(texts[name]) for name in TEXT_FIELDS}
    states = {name: state_of(texts[name], article, name) for name in TEXT_FIELDS}
    active = [name for name in TEXT_FIELDS if states[name] == "usable"]
    if not active:
        active = [name for name in TEXT_FIELDS if states[name] == "degraded"]

    compared = len(active) >= 2
    counted = Counter(shingle for name in active for shingle in shingles[name])
    consensus = {shingle for shingle, times in counted.items() if times >= 2}
    candidates = []
    scores = {}
    for name in TEXT_FIELDS:
        coverage = support = score = None
        if compared and name in active:
            shared = len(shingles[name] & consensus)
            # Rule 4.2 without a consensus: nothing of it is covered.
            coverage = Fraction(shared, len(consensus)) if consensus else Fraction(0)
            support = Fraction(shared, len(shingles[name]))
            scores[name] = score = harmonic_mean(coverage, support)
        size = len(shingles[name])
        candidates.append(
            Candidate(name, states[name], len(texts[name]), size, coverage, support, score)
        )

    sizes = {name: len(shingles[name]) for name in active}
    extractor, rule, pool = decide(active, sizes, scores, bool(consensus))
    return Choice(extractor, rule, pool, len(consensus) if compared else None, candidates)


def decide(
    active: list[str], sizes: dict[str, int], scores: dict[str, Fraction], agreed: bool
) -> tuple[str, str, list[str]]:
    """Pick by rules 5.1 to 7.4; ``active`` and every pool are in order of priority."""
    if not active:
        return "newspaper4k", "fallback", []
    if len(active) == 1:
        return active[0], "single", active
    if agreed:
        best = max(scores.values())
        pool = [name for name in active if best - scores[name] <= TIE]
        if len(pool) == 1:
            return pool[0], "score", pool
        wanted, by_size, by_priority = min(sizes[n] for n in pool), "tie_fewest_shingles", "tie"
    elif len(active) == 3:
        pool = active
        wanted, by_size, by_priority = sorted(sizes.values())[1], "median", "median"
    else:
        pool = active
        wanted, by_size, by_priority = max(sizes.values()), "larger", "larger"
    right = [name for name in pool if sizes[name] == wanted]
    return right[0], by_size if len(right) == 1 else f"{by_priority}_priority", pool


def block_of(article: object, name: str) -> dict[object, object]:
    block = article.get(name) if isinstance(article, dict) else None
    return block if isinstance(block, dict) else {}


def text_of(article: object, name: str) -> str:
    text = block_of(article, name).get(TEXT_FIELDS[name])
    return text if isinstance(text, str) else ""


def state_of(its_tokens: list[str], article: object, name: str) -> str:
    """Return the state of a candidate by rules 1.3 and 1.4."""
    if not its_tokens:
        return "unavailable"
    error = block_of(article, name).get("error")
    if error is None:
        return "usable"
    if type(error) in (str, list, dict) and error in ("", [], {}):
        return "usable"
    return "degraded"


def visible_text(text: str) -> str:
    """Return the visible text by rules 2.1 to 2.4."""
    limit = sys.get_int_max_str_digits()
    # With a limit `html.unescape` raises ValueError for a reference of thousands of digits.
    sys.set_int_max_str_digits(0)
    try:
        text = html.unescape(text)
    finally:
        sys.set_int_max_str_digits(limit)
    text = re.sub(r"!\s*\[[^\]]*\]\([^)]*\)", " ", text)
    text = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", text)
    return re.sub(r"<[^>]+>", " ", text)


def tokens(text: str) -> list[str]:
    """Return the tokens of a text, in order, by rules 2.1 to 2.8."""
    text = unicodedata.normalize("NFKC", visible_text(text)).lower()
    text = re.sub(r"\s+", " ", text).strip()
    return ["".join(run) for is_token, run in groupby(text, key=str.isalnum) if is_token]


def shingles_of(its_tokens: list[str]) -> set[Shingle]:
    """Return the set of shingles by rules 3.1 to 3.3."""
    if not its_tokens:
        return set()
    if len(its_tokens) < 5:
        return {tuple(its_tokens)}
    return {tuple(its_tokens[i : i + 5]) for i in range(len(its_tokens) - 4)}


def harmonic_mean(coverage: Fraction, support: Fraction) -> Fraction:
    """Return the harmonic mean of rule 4.4."""
    if coverage + support == 0:
        return Fraction(0)
    return 2 * coverage * support / (coverage + support)
