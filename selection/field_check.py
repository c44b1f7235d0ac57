"""Warn when no article, or almost none, has a text in the field of an extractor.

Such a batch is valid, and all its picks go to the other extractors. The usual reason is that the
field has another name than the one that is compared (rule 1.1).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from selection.model import ERROR_FIELD, TEXT_FIELD, TITLE_FIELD, Extractor

# A share of texts below 1 in 100 is almost none.
_ALMOST_NONE = 100
# Names are collected from some articles without a text, up to a size.
_MOST_SAMPLES, _LARGEST_SAMPLE = 20, 1_000_000
_MOST_NAMES, _MOST_NAMES_SHOWN, _LONGEST_NAME = 100, 5, 60

_BITS = [(1 << number, extractor) for number, extractor in enumerate(Extractor)]
_ALL = (1 << len(_BITS)) - 1
_SETS = [[extractor for bit, extractor in _BITS if texts & bit] for texts in range(_ALL + 1)]


class FieldCheck:
    """Count, article by article, which extractors have a text."""

    def __init__(self) -> None:
        self._articles = 0
        self._with_text = [0] * len(_SETS)  # articles by the set of their texts
        self._samples = Counter[Extractor]()
        self._found = {extractor: Counter[str]() for extractor in Extractor}
        self._empty = Counter[Extractor]()

    def add(self, texts: int, raw: bytes) -> None:
        """Count one article.

        Args:
            texts: which extractors have a text under their field, as :func:`texts_of` gives it.
            raw: the article's JSON, valid; the names found in it are reported.
        """
        self._articles += 1
        self._with_text[texts] += 1
        if texts == _ALL or len(raw) > _LARGEST_SAMPLE:
            return
        missing = [e for e in _SETS[_ALL & ~texts] if self._samples[e] < _MOST_SAMPLES]
        if not missing:
            return
        article = _parsed(raw)
        for extractor in missing:
            self._samples[extractor] += 1
            self._found[extractor].update(_candidates(article, extractor))
            block = article.get(extractor)
            self._empty[extractor] += isinstance(block, dict) and TEXT_FIELD[extractor] in block

    def warnings(self) -> tuple[str, ...]:
        """Return one sentence for each extractor whose text no article, or almost none, has."""
        return tuple(self.by_extractor().values())

    def by_extractor(self) -> dict[Extractor, str]:
        """Return the sentences of :meth:`warnings` by extractor."""
        counts = {e: sum(n for n, s in zip(self._with_text, _SETS) if e in s) for e in Extractor}
        return {
            extractor: f"{_how_many(count, self._articles)} a text in "
            f"'{extractor}.{TEXT_FIELD[extractor]}'; {self._instead(extractor)}"
            for extractor, count in counts.items()
            if count * _ALMOST_NONE < self._articles
        }

    def _instead(self, extractor: Extractor) -> str:
        if found := self._found[extractor].most_common()[:_MOST_NAMES_SHOWN]:
            return f"found instead: {', '.join(repr(name) for name, _ in found)}"
        if self._empty[extractor]:
            return "the field is there and empty"
        return "nothing of a similar name or form was found"


def texts_of(fields: Mapping[str, Any]) -> int:
    """Return which extractors have more than white space in their text field.

    Args:
        fields: an article, or the fields of it that ``select_article`` needs.

    Returns:
        A set as a number: bit ``1 << i`` for the extractor ``i`` in the order of priority.
    """
    return sum([bit for bit, extractor in _BITS if _is_text(_value(fields, extractor))])


def _value(fields: Mapping[str, Any], extractor: Extractor) -> object:
    block = fields.get(extractor)
    return block.get(TEXT_FIELD[extractor]) if isinstance(block, Mapping) else None


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value) and not value.isspace()


def _how_many(count: int, articles: int) -> str:
    if not count:
        return "no article has"
    return f"only {count:,} of {articles:,} articles {'has' if count == 1 else 'have'}"


def _parsed(raw: bytes) -> dict[str, Any]:
    try:
        # Numbers as they are written: Python refuses those of more than 4,300 digits.
        article = json.loads(raw, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return {}
    return article if isinstance(article, dict) else {}


def _candidates(article: Mapping[str, Any], extractor: Extractor) -> Iterator[str]:
    """Yield the names in an article that can be meant for an extractor's text."""
    for name, value in islice(article.items(), _MOST_NAMES):
        if name == extractor and _is_text(value):
            yield f"{name} (a string, not an object)"
        elif isinstance(value, dict) and (name == extractor or name not in TEXT_FIELD):
            for inner, text in islice(value.items(), _MOST_NAMES):
                if _is_text(text) and inner not in (ERROR_FIELD, TITLE_FIELD):
                    yield _short(f"{name}.{inner}")
        elif _is_text(value) and extractor in name.lower():
            yield _short(name)


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 3] + "..."
