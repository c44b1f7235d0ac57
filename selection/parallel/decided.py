"""The parts of a batch in order, each article with its pick, decided here or by a process pool."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from selection.decide import Pick, decide
from selection.errors import DataError, HelperError, OutOfMemoryError
from selection.storage.input import Source
from selection.stream.locate import located
from selection.stream.parts import Gap, Item
from selection.stream.split import split

if TYPE_CHECKING:
    from selection.parallel.pool import Pool

#: A part of a batch, with the pick if it is an article.
Decided = tuple[Gap | Item, Pick | None]


def decided(source: Source, read_size: int, pool: Pool | None) -> Iterator[Decided]:
    """Cut a batch into parts and decide its articles.

    Args:
        source: the file, at its beginning.
        read_size: how many bytes to read at once.
        pool: the processes that decide; None: only this one.

    Raises:
        DataError: it is not a batch; with the exact place.
        HelperError: a worker process ended early.
    """
    parts = split(source, read_size)
    try:
        if pool is None:
            for part in parts:
                yield part, None if isinstance(part, Gap) else decide(part.raw)
        else:
            from selection.parallel.chunks import decided_by

            yield from decided_by(pool, parts, source)
    except DataError:
        raise located(source, source.path) from None
    except (HelperError, OutOfMemoryError) as error:
        error.path = source.path
        raise
