"""Give the articles of a batch, parsed, as it streams."""

from __future__ import annotations

from collections.abc import Iterator

from selection.errors import DataError
from selection.storage.input import READ_SIZE, Readable
from selection.stream.boundaries import Find
from selection.stream.locate import located
from selection.stream.parser import parse_article
from selection.stream.parts import Article, Gap, Item
from selection.stream.split import split


def scan(
    source: Readable, path: str, read_size: int = READ_SIZE, find: Find | None = None
) -> Iterator[Gap | Article]:
    """Cut a batch into gaps and parsed articles; joined, their bytes are the file.

    Args:
        source: the file, at its beginning.
        path: its name, for errors.
        read_size: how many bytes to read at once.
        find: the search for boundaries; by default the one in use.

    Raises:
        DataError: it is not a batch; with the exact place.
    """
    try:
        for part in split(source, read_size, find):
            yield part if isinstance(part, Gap) else _parsed(part)
    except DataError:
        raise located(source, path) from None


def _parsed(item: Item) -> Article:
    content = parse_article(item.raw)
    return Article(
        index=item.index,
        start=item.start,
        raw=item.raw,
        id=content.id,
        url=content.url,
        fields=content.fields,
        has_pick=content.has_pick,
    )
