"""The parts that a batch is cut into; joined, their bytes are the file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Gap:
    """Bytes that are outside every article.

    Attributes:
        start: offset in the file.
        raw: the bytes.
        skipped: number of items of ``articles`` that are not objects and end in these bytes.
    """

    start: int
    raw: bytes
    skipped: int

    @property
    def end(self) -> int:
        """The offset behind the last byte."""
        return self.start + len(self.raw)


@dataclass(frozen=True, slots=True)
class Item:
    """One object of ``articles`` that has not been parsed yet.

    Attributes:
        index: its place in ``articles``, from 0; items that are not objects count.
        start: offset of its ``{`` in the file.
        raw: its bytes, from ``{`` to ``}``.
    """

    index: int
    start: int
    raw: bytes

    @property
    def end(self) -> int:
        """The offset behind the ``}``."""
        return self.start + len(self.raw)


@dataclass(frozen=True, slots=True)
class Content:
    """The content of an article that is read.

    Attributes:
        id: the value of its ``id`` as text, if that is a string or a number.
        url: the same of its ``url``.
        fields: its extractors' blocks with the six compared fields, for ``select_article``,
            and their titles.
        has_pick: whether it has a ``selected_extractor`` already.
    """

    id: str | None
    url: str | None
    fields: dict[str, Any]
    has_pick: bool


@dataclass(frozen=True, slots=True)
class Article:
    """One object of ``articles``, parsed.

    Attributes:
        index, start, raw: as of :class:`Item`.
        id, url, fields, has_pick: as of :class:`Content`.
    """

    index: int
    start: int
    raw: bytes
    id: str | None
    url: str | None
    fields: dict[str, Any]
    has_pick: bool

    @property
    def end(self) -> int:
        """The offset behind the ``}``."""
        return self.start + len(self.raw)
