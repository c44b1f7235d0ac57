"""Give the articles of a batch, parsed, as it streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from selection.errors import DataError
from selection.storage.interface import READ_SIZE, Readable
from selection.stream.boundaries import Find
from selection.stream.locate import first_error
from selection.stream.parser import parse_article
from selection.stream.parts import Article, Gap, Item
from selection.stream.split import unparsed_parts


def parsed(parts: Iterable[Gap | Item], *, skip_bad_lines: bool = False) -> Iterator[Gap | Article]:
    """Parse the articles among the parts of a batch.

    Args:
        parts: the gaps and unparsed articles.
        skip_bad_lines: whether an article that is not valid JSON is a gap that counts as skipped.

    Raises:
        DataError: an article is not valid JSON; without a place.
    """
    for part in parts:
        if isinstance(part, Gap):
            yield part
            continue
        try:
            article = _parsed(part)
        except DataError:
            if not skip_bad_lines:
                raise
            yield Gap(part.start, part.raw, 1)
        else:
            yield article


def parsed_parts(
    source: Readable, path: str, read_size: int = READ_SIZE, find: Find | None = None
) -> Iterator[Gap | Article]:
    """Cut a batch into gaps and parsed articles; joined, their bytes are the batch.

    Args:
        source: the batch, at its beginning.
        path: its name, for errors.
        read_size: how many bytes to read at once.
        find: the search for boundaries; by default the one in use.

    Raises:
        DataError: it is not a batch; with the exact place.
    """
    try:
        yield from parsed(unparsed_parts(source, read_size, find))
    except DataError:
        raise first_error(source, path) from None


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
