"""The rules: which of the three candidates an article gets, and why (docs/algorithm.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from selection import score
from selection.model import ERROR_FIELD, TEXT_FIELD, Candidate, Decision, Extractor, Rule, State
from selection.text.backend import Backend
from selection.text.backend import backend as default_backend


def select_article(article: object, *, backend: Backend | None = None) -> Decision:
    """Pick one extractor for one article; any JSON value gets a decision (rule 8.4).

    Args:
        article: a mapping with the blocks ``trafilatura``, ``newspaper4k`` and ``readability``,
            as ``json.load`` gives it. A block or a field that is missing or of another type
            counts as an empty text (rule 1.2).
        backend: counts the shingles; by default the one that ``SELECTION_BACKEND`` names. The
            decision does not depend on it (rule 9.1).

    Raises:
        BackendError: ``SELECTION_BACKEND`` names a backend that is not available.
    """
    used = backend or default_backend()
    blocks = [_block(article, name) for name in _NAMES]
    counts = used.measure(*[used.visible(_text(b, field)) for b, field in zip(blocks, _FIELDS)])
    states = [_state(size, block.get(ERROR_FIELD)) for size, block in zip(counts.tokens, blocks)]

    wanted = State.USABLE if State.USABLE in states else State.DEGRADED
    active = [i for i, state in enumerate(states) if state is wanted]
    consensus, shared = counts.consensus(active) if len(active) > 1 else (None, {})
    candidates = [
        Candidate(extractor, state, i in active, counts.tokens[i], counts.shingles(i))
        if consensus is None or i not in shared
        else _compared(extractor, state, counts.tokens[i], counts.shingles(i), shared[i], consensus)
        for i, (extractor, state) in enumerate(zip(_EXTRACTORS, states))
    ]
    rule, pool, pick = _choose([candidates[i] for i in active], consensus or 0)
    return Decision(
        extractor=pick,
        rule=rule,
        consensus=consensus,
        pool=tuple(candidate.extractor for candidate in pool),
        candidates=(candidates[0], candidates[1], candidates[2]),
        regions=counts.regions,
    )


# Iterating over an enumeration and hashing its members is slow, and this is done per article.
_EXTRACTORS = tuple(Extractor)
_NAMES = [extractor.value for extractor in Extractor]
_FIELDS = [TEXT_FIELD[extractor] for extractor in Extractor]


def _block(article: object, name: str) -> Mapping[str, Any]:
    block = article.get(name) if isinstance(article, Mapping) else None
    return block if isinstance(block, Mapping) else {}


def _text(block: Mapping[str, Any], field: str) -> str:
    text = block.get(field)
    return text if isinstance(text, str) else ""


def _state(tokens: int, error: object) -> State:
    if not tokens:
        return State.UNAVAILABLE
    no_error = error is None or (isinstance(error, (str, list, dict)) and not error)
    return State.USABLE if no_error else State.DEGRADED


def _compared(
    extractor: Extractor, state: State, tokens: int, shingles: int, shared: int, consensus: int
) -> Candidate:
    coverage = shared / consensus if consensus else 0.0
    support = shared / shingles
    part, whole = score.dice(shared, consensus, shingles)
    return Candidate(
        extractor, state, True, tokens, shingles, shared, coverage, support, part / whole
    )


def _choose(
    active: Sequence[Candidate], consensus: int
) -> tuple[Rule, Sequence[Candidate], Extractor]:
    """Return the rule that decides, its pool and the pick; ``active`` is in order of priority."""
    if not active:
        return Rule.FALLBACK, (), Extractor.NEWSPAPER4K
    if len(active) == 1:
        return Rule.SINGLE, active, active[0].extractor
    if consensus:
        pool: Sequence[Candidate] = _technical_tie(active, consensus)
        if len(pool) == 1:
            return Rule.SCORE, pool, pool[0].extractor
        size = min(candidate.shingles for candidate in pool)
        rules = Rule.TIE_FEWEST_SHINGLES, Rule.TIE_PRIORITY
    else:
        pool = active
        if len(active) == 3:
            size = sorted(candidate.shingles for candidate in active)[1]
            rules = Rule.MEDIAN, Rule.MEDIAN_PRIORITY
        else:
            size = max(candidate.shingles for candidate in active)
            rules = Rule.LARGER, Rule.LARGER_PRIORITY
    of_size = [candidate for candidate in pool if candidate.shingles == size]
    return rules[len(of_size) > 1], pool, of_size[0].extractor


def _technical_tie(active: Sequence[Candidate], consensus: int) -> list[Candidate]:
    """Return the candidates that are in the technical tie (rule 6.1)."""
    scores = [score.dice(c.shared or 0, consensus, c.shingles) for c in active]
    return [c for c, is_in in zip(active, score.technical_tie(scores)) if is_in]
