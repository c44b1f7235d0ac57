"""Find the articles of a batch, streaming, whatever its numbers and wherever its faults."""

from __future__ import annotations

from collections.abc import Iterator

from selection.document import Article, Gap, NumberUnreadableError, Part, Pass
from selection.errors import DataError
from selection.locate import located
from selection.source import READ_SIZE, Readable


def scan(source: Readable, path: str, read_size: int = READ_SIZE) -> Iterator[Part]:
    """Cut a batch into gaps and articles; joined, their bytes are the file.

    Args:
        source: the file, at its beginning.
        path: its name, for errors.
        read_size: how many bytes to read at once.

    Raises:
        DataError: it is not a batch; with the exact place.
    """
    done = skipped = 0
    try:
        try:
            for part in Pass(source, read_size):
                yield part
                done = part.end
                skipped += part.skipped if isinstance(part, Gap) else 0
        except NumberUnreadableError:
            source.seek(0)
            yield from _rest(Pass(source, read_size, careful=True), done, skipped)
    except DataError as error:
        raise located(error, source, path) from None


def _rest(parts: Pass, done: int, skipped: int) -> Iterator[Part]:
    """The parts without the bytes, and the skipped items, that have been given already."""
    total = 0
    for part in parts:
        if isinstance(part, Article):
            if part.start >= done:
                yield part
            continue
        total += part.skipped
        if part.end > done:
            given = max(0, done - part.start)
            yield Gap(part.start + given, part.raw[given:], total - skipped)
            skipped = total
