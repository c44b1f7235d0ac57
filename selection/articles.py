"""The articles of an output with the picks and texts that it has."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from selection.errors import PickMissingError
from selection.model import ERROR_FIELD, MEMBER, TEXT_FIELD, Decision, Extractor
from selection.reader import BY_NAME, BatchReader, ReadOptions
from selection.rules import select_article
from selection.stream.parts import Article
from selection.stream.splice import member_spans, pick_spans

_STRING_OR_SPACE = re.compile(rb'("(?:[^"\\]++|\\.)*+")|([,:])|[ \t\r\n]+', re.DOTALL)


@dataclass(frozen=True, slots=True)
class SelectedArticle:
    """Represent one article of a batch with its pick and its text.

    Attributes:
        index: its place in ``articles``, from 0.
        id, url: as the batch has them, as text; None if it has none.
        decision: what the rules pick, and why.
        selected: the pick that the batch has; None if the article has none.
        text: the text of that pick, or of the rules' pick if it has none.
        error: the error of the same block as text; None without an error.
    """

    index: int
    id: str | None
    url: str | None
    decision: Decision
    selected: Extractor | None
    text: str
    error: str | None


def iter_articles(
    path: str | os.PathLike[str],
    *,
    roots: Sequence[str] = (),
    options: ReadOptions = BY_NAME,
) -> Iterator[SelectedArticle]:
    """Yield the articles of a batch, selected or not, in bounded memory.

    Args:
        path: the batch.
        roots, options: as for ``select_file``.

    Raises:
        DataError: the file is not a batch, or a ``selected_extractor`` is not the name of an
            extractor; the articles before the error have been yielded.
        InputError, TransferError: as for ``select_file``.
    """
    with BatchReader(os.fspath(path), roots, options=options) as reader:
        for article in reader.articles():
            decision = select_article(article.fields)
            selected = selected_in(article, reader.path) if article.has_pick else None
            source = selected or decision.extractor
            yield SelectedArticle(
                index=article.index,
                id=article.id,
                url=article.url,
                decision=decision,
                selected=selected,
                text=text_of(article.fields, source),
                error=error_of(article, source),
            )


def selected_in(article: Article, path: str) -> Extractor:
    """Return the pick that an article has; of several, the last, as JSON parsers read it.

    Args:
        article: the article.
        path: its batch, for the error.

    Raises:
        PickMissingError: it has none, or one that is not the name of an extractor.
    """
    spans = list(pick_spans(article.raw)) if article.has_pick else []
    if not spans:
        raise PickMissingError(
            f"the article has no '{MEMBER}'; run first: selection run",
            path=path,
            article=article.index,
            byte=article.start,
        )
    start, end = spans[-1]
    value = article.raw[start:end]
    # Only a string is parsed: Python cannot read every number or every depth.
    name = json.loads(value) if value.startswith(b'"') else None
    if name not in list(Extractor):
        raise PickMissingError(
            f"'{MEMBER}' is not the name of an extractor; run again: selection run",
            path=path,
            article=article.index,
            byte=article.start + start,
        )
    return Extractor(name)


def text_of(fields: Mapping[str, Any], extractor: Extractor) -> str:
    """Return the text of an extractor's block, empty if it has none."""
    text = (fields.get(extractor) or {}).get(TEXT_FIELD[extractor])
    return text if isinstance(text, str) else ""


def error_of(article: Article, extractor: Extractor) -> str | None:
    """Return the error of an extractor's block as text: a string itself, other values as JSON."""
    error = (article.fields.get(extractor) or {}).get(ERROR_FIELD)
    if error is None or error in ("", [], {}):
        return None
    if isinstance(error, str):
        return error
    # The parser keeps of a list or object only whether it is empty.
    return _as_written(_last(_last(article.raw, extractor), ERROR_FIELD))


def _last(raw: bytes, name: str) -> bytes:
    """Return the value of the last member of an object that has a name, as JSON parsers read it."""
    *_, (start, end) = member_spans(raw, name)
    return raw[start:end]


def _as_written(value: bytes) -> str:
    """Return valid JSON on one line; numbers and escapes stay as they are."""
    return _STRING_OR_SPACE.sub(_on_one_line, value).decode()


def _on_one_line(match: re.Match[bytes]) -> bytes:
    string, separator = match.groups()
    return string or (separator + b" " if separator else b"")
