"""The report as one HTML page that needs nothing but itself.

Whatever a batch says stands in the page as JSON in blocks of data, and the page's script
turns it into text nodes, never into markup. The policy allows the page's own style and
script, by their hashes, and nothing from anywhere.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from string import Template
from typing import Any

from selection.explain import sentences
from selection.model import ERROR_FIELD, TEXT_FIELD, Decision, Extractor, Rule, State
from selection.report.article_stats import Facts
from selection.report.batch_stats import CLOSE_CALL, LOW_AGREEMENT, Figure, Overview
from selection.report.charts import draw, has_legend, is_diagonal
from selection.report.highlight import passages
from selection.report.spool import Shelf
from selection.score import formula
from selection.stream.parts import Article

#: What is longer is cut, in characters; the page says so of a text.
LONGEST_NAME, LONGEST_ERROR, LONGEST_TEXT = 200, 500, 100_000

_DATA_MARK = "<!-- data -->"

# In a block of data these could end it, begin a comment or end a line of a script.
_ESCAPES = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})

# The page's script writes numbers in place of the names.
_SCORE = formula("shared", "consensus", "shingles").replace(" x ", " \N{MULTIPLICATION SIGN} ")

_EXTRACTORS, _RULES, _STATES = list(Extractor), list(Rule), list(State)


@dataclass(frozen=True, slots=True)
class Batch:
    """What a page says of the batch: its name, its size, the limit of texts in bytes, warnings."""

    name: str
    bytes: int
    text_limit: int
    warnings: Sequence[str]


def row_json(facts: Facts, article: Article) -> bytes:
    """One article as the page's list has it, a JSON array in the order that the script reads."""
    decision = facts.decision
    return _json(
        [
            facts.index,
            _short(facts.id, LONGEST_NAME),
            _short(facts.name, LONGEST_NAME),
            _short(facts.url, LONGEST_NAME * 2),
            _EXTRACTORS.index(decision.extractor),
            _RULES.index(decision.rule),
            _rounded(facts.agreement),
            _rounded(facts.margin),
            decision.consensus,
            [_EXTRACTORS.index(extractor) for extractor in decision.pool],
            [
                [_STATES.index(c.state), int(c.active), c.tokens, c.shingles, c.shared, c.score]
                for c in decision.candidates
            ],
            sentences(decision),
            [_error(block.get(ERROR_FIELD)) for block in _blocks(article)],
        ]
    )


def text_json(article: Article, decision: Decision) -> bytes:
    """An article's texts, cut into passages where they were compared.

    Of a longer text the first :data:`LONGEST_TEXT` characters are shown, and the passages are
    those of what is shown: nothing is built of the rest.
    """
    texts = _texts(article)
    shown = [text[:LONGEST_TEXT] for text in texts]
    cut = [[text] for text in shown]
    if decision.consensus:
        active = [i for i, c in enumerate(decision.candidates) if c.active]
        for i, found in zip(active, passages([shown[i] for i in active])):
            cut[i] = found
    left = [len(text) - len(beginning) for text, beginning in zip(texts, shown)]
    return _json({"texts": cut, "left": left})


def has_text(article: Article) -> bool:
    """Whether there is anything to show of its texts, tokens or not."""
    return any(_texts(article))


def page(batch: Batch, overview: Overview, rows: Shelf, texts: Shelf) -> Iterator[bytes]:
    """The page's bytes, in pieces.

    Args:
        rows, texts: what is kept of :func:`row_json` and :func:`text_json`.
    """
    style, script = _file("page.css"), _file("page.js")
    policy = {
        "default-src": "'none'",
        "style-src": _hash(style),
        "script-src": _hash(script),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
    }
    html = Template(_file("page.html")).substitute(
        policy=escape("; ".join(" ".join(pair) for pair in policy.items()), quote=False),
        style=style,
        script=script,
        name=escape(batch.name),
        size=_size(batch.bytes),
        tiles="".join(_tile(*tile) for tile in _tiles(overview)),
        figures="".join(map(_figure, overview.figures())),
        notes="".join(f"<p>{sentence}</p>" for sentence in _notes(batch, rows, texts)),
    )
    head, _, tail = html.partition(_DATA_MARK)
    yield head.encode()
    yield b'<script type="application/json" id="vocabulary">'
    vocabulary = {"extractors": _EXTRACTORS, "rules": _RULES, "states": _STATES}
    yield _json({**vocabulary, "score": _SCORE, "low": LOW_AGREEMENT})
    yield b'</script>\n<script type="application/json" id="unlisted">%d' % rows.left_out
    yield b'</script>\n<script type="application/json" id="rows">['
    for number, (_, row) in enumerate(rows.pieces()):
        yield b",\n" + row if number else row
    yield b"]</script>\n"
    for index, text in texts.pieces():
        yield b'<script type="application/json" id="text-%d">%s</script>\n' % (index, text)
    yield tail.encode()


def _json(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # A batch has no lone surrogate left when it is parsed; a caller's article may.
    return text.translate(_ESCAPES).encode("utf-8", "backslashreplace")


def _short(text: str | None, longest: int) -> str | None:
    return text if text is None or len(text) <= longest else text[: longest - 1] + "…"


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
    return _short(value if isinstance(value, str) else "an error that is no text", LONGEST_ERROR)


def _file(name: str) -> str:
    return resources.files("selection.report").joinpath("template", name).read_text("utf-8")


def _hash(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def _tiles(overview: Overview) -> Iterator[tuple[str, int, str, str]]:
    yield "articles", overview.articles, "batch", ""
    yield "compared", overview.compared, "batch", "two or three texts"
    yield "close calls", overview.close_calls, "close", f"a rival within {CLOSE_CALL:g} of the pick"
    yield "no consensus", overview.no_consensus, "none", "not one shingle in common"
    yield "low agreement", overview.low_agreement, "low", f"best score under {LOW_AGREEMENT:g}"


def _tile(label: str, count: int, order: str, note: str) -> str:
    return (
        f'<li><a href="#articles-{order}"><strong>{count:,}</strong> <span>{label}</span>'
        f"<small>{note}</small></a></li>\n"
    )


def _figure(figure: Figure) -> str:
    return (
        f'<figure id="figure-{figure.key}" class="{figure.palette}">'
        f"<figcaption><h3>{escape(figure.title)}</h3><p>{escape(figure.note)}</p></figcaption>\n"
        f"{draw(figure)}\n{_legend(figure)}"
        f'<details><summary>Numbers<span class="unseen"> of {escape(figure.title)}</span>'
        f"</summary>{_table(figure)}</details></figure>\n"
    )


def _legend(figure: Figure) -> str:
    if not has_legend(figure):
        return ""
    items = (f'<li class="color-{i}">{escape(name)}</li>' for i, name in enumerate(figure.series))
    return f'<ul class="keys">{"".join(items)}</ul>\n'


def _table(figure: Figure) -> str:
    series: Mapping[str, Any] = figure.series
    if is_diagonal(figure):
        series = {"articles": [sum(filter(None, row)) for row in zip(*series.values())]}
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in series)
    body = "".join(
        f'<tr><th scope="row">{escape(label)}</th>'
        + "".join(f"<td>{count:,}</td>" for count in counts)
        + "</tr>"
        for label, *counts in zip(figure.labels, *series.values())
    )
    return (
        f"<table><thead><tr><td>{escape(figure.scale)}</td>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )


def _notes(batch: Batch, rows: Shelf, texts: Shelf) -> Iterator[str]:
    for warning in batch.warnings:
        yield f"<strong>Warning:</strong> {escape(warning)}."
    if rows.left_out:
        yield (
            f"The list has the {len(rows):,} articles whose extractors agree least; "
            f"{rows.left_out:,} more are in the figures alone."
        )
    if texts.left_out:
        yield (
            f"The texts of {len(texts):,} articles are in this page, those whose extractors "
            f"agree least; the texts of {texts.left_out:,} are left out (the limit was "
            f"{_size(batch.text_limit)}). <code>selection report --text-limit</code> sets it."
        )


def _size(count: int) -> str:
    """A number of bytes for people, in units of a thousand."""
    number, unit = float(count), "bytes"
    for larger in ("kB", "MB", "GB", "TB"):
        if round(number, 1) < 1000:
            break
        number, unit = number / 1000, larger
    return f"{count:,} bytes" if unit == "bytes" else f"{number:.1f} {unit}"
