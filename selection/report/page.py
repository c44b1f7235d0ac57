"""The report as one HTML page that loads nothing.

The page contains the batch's texts as JSON in data blocks. Its script turns them into text
nodes, never into markup. The Content-Security-Policy allows the page's own style and scripts,
by their hashes, and nothing from elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from selection.explain import sentences
from selection.model import ERROR_FIELD, TEXT_FIELD, Candidate, Decision, Extractor, Rule, State
from selection.report import rendering
from selection.report.article_stats import ArticleStats
from selection.report.batch_stats import (
    CLOSE_CALL,
    LOW_AGREEMENT,
    BatchStats,
    Kind,
    kinds_of,
    pair_step,
    score_step,
    token_step,
)
from selection.report.batch_warnings import BatchWarning
from selection.report.charts import chart
from selection.report.glossary import RULES, STEPS, TERMS, named_terms, reason
from selection.report.highlight import segments_of
from selection.report.rendering import shortened
from selection.report.spool import RankedSpool
from selection.score import formula
from selection.stream.parts import Article

#: Names, errors and texts are cut at these numbers of characters; the page says so of a text.
LONGEST_NAME, LONGEST_ERROR, LONGEST_TEXT = 200, 500, 100_000

# In a data block these could end the block, begin a comment or end a line of a script.
_ESCAPES = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})

# The page's script writes numbers in place of the names.
_SCORE = formula("shared", "consensus", "shingles").replace(" x ", " \N{MULTIPLICATION SIGN} ")

_EXTRACTORS, _RULES, _STATES, _KINDS = list(Extractor), list(Rule), list(State), list(Kind)

# The page's scripts in the order in which it runs them; each uses the names of those before.
_SCRIPTS = ("data.js", "address.js", "list.js", "export.js", "article.js", "views.js")


@dataclass(frozen=True, slots=True)
class Batch:
    """The batch as the page describes it.

    Attributes:
        name: the name of its file.
        bytes: its size.
        skipped: number of its items that are not objects (rule 8.3).
        text_limit: the largest size in bytes of the texts in the page.
        warnings: what the page warns about.
        index: the relative address of an index of several reports, or None.
    """

    name: str
    bytes: int
    skipped: int
    text_limit: int
    warnings: Sequence[BatchWarning]
    index: str | None = None


def row_json(stats: ArticleStats, article: Article) -> bytes:
    """Return an article's row of the list: a JSON array in the order that the script reads."""
    decision = stats.decision
    return _json(
        [
            stats.index,
            stats.id and shortened(stats.id, LONGEST_NAME),
            shortened(stats.name, LONGEST_NAME),
            stats.url and shortened(stats.url, LONGEST_NAME * 2),
            _EXTRACTORS.index(decision.extractor),
            _RULES.index(decision.rule),
            _rounded(stats.agreement),
            _rounded(stats.margin),
            decision.consensus,
            [_EXTRACTORS.index(extractor) for extractor in decision.pool],
            [_candidate(c) for c in decision.candidates],
            [None if dice is None else pair_step(dice) for dice in stats.pairs],
            [_KINDS.index(kind) for kind in kinds_of(stats)],
            reason(decision),
            sentences(decision),
            [_error(block.get(ERROR_FIELD)) for block in _blocks(article)],
        ]
    )


def text_json(article: Article, decision: Decision) -> bytes:
    """Return an article's texts as JSON, each cut into segments if it was compared.

    A text is cut at :data:`LONGEST_TEXT` characters before its segments are computed.
    """
    texts = _texts(article)
    shown = [text[:LONGEST_TEXT] for text in texts]
    segments = [[text] for text in shown]
    if decision.consensus:
        active = [i for i, c in enumerate(decision.candidates) if c.active]
        for i, found in zip(active, segments_of([shown[i] for i in active])):
            segments[i] = found
    left = [len(text) - len(beginning) for text, beginning in zip(texts, shown)]
    return _json({"texts": segments, "left": left})


def has_text(article: Article) -> bool:
    """Return whether one of an article's texts is not empty, even without a token."""
    return any(_texts(article))


def render(
    batch: Batch, statistics: BatchStats, rows: RankedSpool, texts: RankedSpool
) -> Iterator[bytes]:
    """Return the page's bytes in pieces, in memory that does not grow with the page.

    Args:
        batch: the batch.
        statistics: the counts of all its articles.
        rows: the kept results of :func:`row_json`.
        texts: the kept results of :func:`text_json`.

    Raises:
        WriteError: a spool cannot be read.
    """
    charts = [chart(data) for data in statistics.chart_data()]
    environment = rendering.environment()
    sizes = environment.get_template("sizes.css").render(charts=charts)
    style = rendering.template_file("page.css") + sizes
    scripts = [rendering.template_file(name) for name in _SCRIPTS]
    vocabulary = {
        "extractors": _EXTRACTORS,
        "rules": _RULES,
        "states": _STATES,
        "kinds": _KINDS,
        "low": _KINDS.index(Kind.LOW),
        "score": _SCORE,
    }
    pieces = environment.get_template("page.html").generate(
        policy=rendering.policy(style, scripts),
        style=Markup(style),
        scripts=[Markup(script) for script in scripts],
        batch=batch,
        statistics=statistics,
        low_agreement=LOW_AGREEMENT,
        close_call=CLOSE_CALL,
        charts=charts,
        terms=TERMS,
        rule_terms=RULES,
        steps=[(title, named_terms(text)) for title, text in STEPS],
        kinds=Kind,
        vocabulary=_json(vocabulary),
        rows=rows,
        texts=texts,
    )
    return (piece.encode() for piece in pieces)


def _json(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # A parsed batch has no lone surrogates; an article from another source can have them.
    return text.translate(_ESCAPES).encode("utf-8", "backslashreplace")


def _candidate(candidate: Candidate) -> list[Any]:
    score = candidate.score
    return [
        _STATES.index(candidate.state),
        int(candidate.active),
        candidate.tokens,
        candidate.shingles,
        candidate.shared,
        score,
        token_step(candidate.tokens),
        None if score is None else score_step(score),
    ]


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 6)


def _blocks(article: Article) -> list[Mapping[str, Any]]:
    return [article.fields.get(extractor) or {} for extractor in Extractor]


def _texts(article: Article) -> list[str]:
    found = (block.get(TEXT_FIELD[name]) for name, block in zip(Extractor, _blocks(article)))
    return [text if isinstance(text, str) else "" for text in found]


def _error(value: object) -> str | None:
    if value is None or value in ("", []):
        return None
    return shortened(
        value if isinstance(value, str) else "an error that is not a string", LONGEST_ERROR
    )
