"""The comparison of two batches as one HTML page that loads nothing and has no script.

The template escapes every text. The Content-Security-Policy allows only the page's own style.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from selection.model import Extractor
from selection.report.comparison import ComparisonStats, Difference, Kind, Version
from selection.report.glossary import RULES, TERMS
from selection.report.highlight import segments_of
from selection.report.page import LONGEST_ERROR, LONGEST_NAME
from selection.report.rendering import shortened, static_page
from selection.report.spool import RankedSpool
from selection.text.markup import visible_text

# The place of an article in the page: its section, and its order in the section.
_ORDER_BITS = 40
_WEB = re.compile(r"https?://", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Pair:
    """The two batches as the page describes them.

    Attributes:
        old, new: the names of their files.
        old_bytes, new_bytes: their sizes.
        text_limit: the largest size in bytes of the texts in the page.
    """

    old: str
    new: str
    old_bytes: int
    new_bytes: int
    text_limit: int


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the page's list: the articles with one kind of change.

    Attributes:
        kind: the first of the article's kinds.
        picks: the old and the new pick of a section of changed picks; None elsewhere.
    """

    kind: Kind
    picks: tuple[Extractor, Extractor] | None = None

    @property
    def id(self) -> str:
        """The name of its heading in the page."""
        return "-".join(self.picks) if self.picks else self.kind.value

    def count(self, statistics: ComparisonStats) -> int:
        """Return the number of its articles, those that are left out included."""
        return statistics.picks[self.picks] if self.picks else statistics.kinds[self.kind]


# In the order of the page.
_SECTIONS = (
    *(Section(Kind.PICK, picks) for picks in permutations(Extractor, 2)),
    *(Section(kind) for kind in Kind if kind is not Kind.PICK),
)
_RANKS = {kind: -float(number) for number, kind in enumerate(Kind)}


def rank_of(difference: Difference) -> float:
    """Return a changed article's priority in the page: that of the first of its kinds."""
    return _RANKS[difference.kinds[0]]


def place_of(difference: Difference, order: int) -> int:
    """Return a changed article's place in the page, by its section and its order."""
    kind = difference.kinds[0]
    old, new = difference.old, difference.new
    is_pick = kind is Kind.PICK and old is not None and new is not None
    section = Section(kind, (old.pick, new.pick)) if is_pick and old and new else Section(kind)
    return _SECTIONS.index(section) << _ORDER_BITS | order


def row_json(difference: Difference) -> bytes:
    """Return a changed article without its texts as JSON, as the template reads it."""
    latest = difference.latest
    url = latest.url or ""
    changed = {*difference.came, *difference.went}
    return _json(
        {
            "name": shortened(latest.name, LONGEST_NAME),
            "id": None if latest.id == latest.name else shortened(latest.id or "", LONGEST_NAME),
            "url": shortened(url, LONGEST_NAME * 2),
            "is_link": len(url) <= LONGEST_NAME * 2 and _WEB.match(url) is not None,
            "matched_by": difference.matched_by,
            "old": _row(difference.old),
            "new": _row(difference.new),
            "failures": [
                {
                    "extractor": extractor,
                    "came": extractor in difference.came,
                    "states": [v.states[i] for v in (difference.old, difference.new) if v],
                    "errors": [
                        shortened(v.errors[i] or "", LONGEST_ERROR)
                        for v in (difference.old, difference.new)
                        if v
                    ],
                }
                for i, extractor in enumerate(Extractor)
                if extractor in changed
            ],
        }
    )


def text_json(difference: Difference) -> bytes:
    """Return the texts of a changed article as JSON, in pieces of equal and different words."""
    old, new = difference.old, difference.new
    if old is None or new is None:
        texts = [_text(version, _whole(version)) for version in (old, new)]
        return _json({"texts": texts, "note": ""})
    if old.digest == new.digest:
        return _json({"texts": [None, _text(new, _whole(new))], "note": "same"})
    if not (old.text and new.text):
        pieces = [_whole(old, is_different=True), _whole(new, is_different=True)]
    else:
        pieces = [list(_pieces(segments)) for segments in segments_of([old.text, new.text])]
    differs = any(is_different for each in pieces for _, is_different in each)
    texts = [_text(old, pieces[0]), _text(new, pieces[1])]
    return _json({"texts": texts, "note": "different" if differs else "words"})


def has_text(difference: Difference) -> bool:
    """Return whether a version of an article has a text."""
    return any(version.text for version in (difference.old, difference.new) if version)


def render(
    pair: Pair, statistics: ComparisonStats, rows: RankedSpool, texts: RankedSpool
) -> Iterator[bytes]:
    """Return the page's bytes in pieces, in memory that does not grow with the page.

    Args:
        pair: the two batches.
        statistics: the counts of all articles.
        rows: the kept results of :func:`row_json`, at :func:`place_of`.
        texts: the kept results of :func:`text_json`, a part of the rows.

    Raises:
        WriteError: a spool cannot be read.
    """
    kept = Counter(place >> _ORDER_BITS for place in rows.indexes())
    articles = _Articles(rows, texts)
    sections = [
        {
            "id": section.id,
            "kind": section.kind,
            "picks": section.picks,
            "count": section.count(statistics),
            "kept": kept[number],
            "articles": articles.of(number),
        }
        for number, section in enumerate(_SECTIONS)
        if section.count(statistics)
    ]
    return static_page(
        "comparison.html",
        # A piece is an article with its texts.
        pieces_at_once=1,
        pair=pair,
        statistics=statistics,
        rows=rows,
        texts=texts,
        sections=sections,
        extractors=list(Extractor),
        kinds=Kind,
        terms=TERMS,
        rule_terms=RULES,
    )


class _Articles:
    """The kept articles, section by section, each read once from the spools."""

    def __init__(self, rows: RankedSpool, texts: RankedSpool) -> None:
        self._articles = _joined(rows, texts)
        self._next = next(self._articles, None)

    def of(self, section: int) -> Iterator[Mapping[str, Any]]:
        """Yield the articles of a section; the sections are read in order."""
        while self._next is not None and self._next[0] >> _ORDER_BITS == section:
            yield self._next[1]
            self._next = next(self._articles, None)


def _joined(rows: RankedSpool, texts: RankedSpool) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield place and content of each row, with its texts or None."""
    pieces = texts.pieces()
    following = next(pieces, None)
    for place, row in rows.pieces():
        text = None
        if following is not None and following[0] == place:
            text = json.loads(following[1])
            following = next(pieces, None)
        yield place, {**json.loads(row), "text": text}


def _row(version: Version | None) -> dict[str, Any] | None:
    if version is None:
        return None
    return {
        "index": version.index,
        "pick": version.pick,
        "color": list(Extractor).index(version.pick),
        "rule": version.rule,
        "rules_pick": version.rules_pick,
        "reason": version.reason,
        "agreement": version.agreement,
        "margin": version.margin,
    }


_Pieces = Sequence[tuple[str, bool]]


def _text(version: Version | None, pieces: _Pieces) -> dict[str, Any] | None:
    return None if version is None else {"pieces": pieces, "left": version.left}


def _whole(version: Version | None, *, is_different: bool = False) -> _Pieces:
    return [(version.text, is_different)] if version and version.text else []


def _pieces(segments: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a text and whether they are different words.

    White space at the ends of different words, and markup and punctuation alone, are not
    highlighted.
    """
    for number, segment in enumerate(segments):
        core = segment.strip()
        if number % 2 or not any(map(str.isalnum, visible_text(core))):
            yield segment, False
            continue
        start = segment.index(core)
        yield segment[:start], False
        yield core, True
        yield segment[start + len(core) :], False


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")
