"""The columns of the table, one row an article."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from selection.articles import error_of, selected_in, text_of
from selection.model import TITLE_FIELD, Extractor
from selection.report.article_stats import ArticleStats, statistics_of
from selection.stream.parts import Article

#: The type of a column: UTF-8 text, a 64-bit integer or a 64-bit float.
Kind = Literal["text", "integer", "number"]


@dataclass(frozen=True, slots=True)
class Row:
    """Represent an article, from which every column is read.

    Attributes:
        batch: the path of its batch, as the caller named it.
        article: the article.
        stats: its statistics by the rules.
        selected: the pick that the batch has.
    """

    batch: str
    article: Article
    stats: ArticleStats
    selected: Extractor

    @property
    def agrees(self) -> bool:
        """Return whether the batch has the pick of the rules."""
        return self.selected is self.stats.decision.extractor


@dataclass(frozen=True, slots=True)
class Column:
    """Represent a column.

    Attributes:
        name: its name in the table.
        kind: the type of its values.
        value: the value of a row; None is null.
    """

    name: str
    kind: Kind
    value: Callable[[Row], Any]


def row_of(article: Article, batch: str) -> Row:
    """Return the row of an article.

    Raises:
        PickMissingError: the article has no pick.
    """
    return Row(batch, article, statistics_of(article), selected_in(article, batch))


def _title(row: Row) -> str | None:
    title = (row.article.fields.get(row.selected) or {}).get(TITLE_FIELD)
    return title if isinstance(title, str) and title.strip() else row.stats.title


def _of_candidate(name: str) -> Callable[[Row], Any]:
    def value(row: Row) -> Any:
        candidates = row.stats.decision.candidates
        return getattr(next(c for c in candidates if c.extractor is row.selected), name)

    return value


def _of_agreeing(name: str) -> Callable[[Row], Any]:
    """Return a column about the rules' pick, which is null if the batch has another one."""

    def value(row: Row) -> Any:
        if not row.agrees:
            return None
        return getattr(row.stats.decision if name == "rule" else row.stats, name)

    return value


#: All columns, in order; docs/export.md has their meaning.
COLUMNS = (
    Column("batch", "text", lambda row: row.batch),
    Column("index", "integer", lambda row: row.article.index),
    Column("id", "text", lambda row: row.article.id),
    Column("url", "text", lambda row: row.article.url),
    Column("title", "text", _title),
    Column("extractor", "text", lambda row: row.selected.value),
    Column("text", "text", lambda row: text_of(row.article.fields, row.selected)),
    Column("error", "text", lambda row: error_of(row.article, row.selected)),
    Column("rule", "text", _of_agreeing("rule")),
    Column("score", "number", _of_candidate("score")),
    Column("agreement", "number", lambda row: row.stats.agreement),
    Column("margin", "number", _of_agreeing("margin")),
    Column("tokens", "integer", _of_candidate("tokens")),
)
