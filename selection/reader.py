"""Read a batch: open it, give its parts in order, and prove that it did not change meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING

from selection.decide import Pick, decide
from selection.errors import (
    OUT_OF_MEMORY,
    DataError,
    OutOfMemoryError,
    WorkerProcessError,
)
from selection.model import Extractor
from selection.storage.interface import READ_SIZE
from selection.storage.opening import open_input
from selection.stream.locate import first_error
from selection.stream.parts import Article, Gap, Item
from selection.stream.scan import parsed_parts
from selection.stream.split import unparsed_parts

if TYPE_CHECKING:
    from selection.parallel.pool import Pool


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a command in one batch.

    Attributes:
        bytes_done: bytes of the batch that were processed.
        bytes_total: size of the batch in bytes, None if it is not known before the end.
        articles: number of articles that were decided.
        picks: number of those articles per extractor.
    """

    bytes_done: int
    bytes_total: int | None
    articles: int
    picks: Mapping[Extractor, int]


class BatchReader:
    """An open batch, used as a context manager.

    Each method that gives the parts reads the batch once, from its beginning, and proves after
    the last part that it did not change. An output whose context is inside that of the reader
    is therefore committed only if the input is unchanged.

    Args:
        path: the batch, as the caller named it.
        roots: folders of which one must hold the file, links resolved; none: any place.
        read_size: how many bytes to read at once.

    Attributes:
        path: as given.
        input: the open input.
        bytes_done: offset behind the last part that was given.

    Raises:
        InputError: on entering, the batch cannot be opened.
        DataError: it is not a batch; while the parts are read, with the exact place.
        TransferError: it cannot be read, or it changed while it was read.
        OutOfMemoryError: on leaving, in place of a MemoryError.
    """

    def __init__(self, path: str, roots: Sequence[str] = (), read_size: int = READ_SIZE) -> None:
        self.path = path
        self._roots = roots
        self._read_size = read_size
        self.bytes_done = 0

    def __enter__(self) -> BatchReader:
        self.input = open_input(self.path, self._roots)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if isinstance(error, DataError):
                # The change may be what made the data look wrong.
                self.input.check_unchanged()
        finally:
            self.input.close()
        if isinstance(error, MemoryError):
            raise OutOfMemoryError(OUT_OF_MEMORY, path=self.path) from None

    def parts(self) -> Iterator[Gap | Article]:
        """Give the gaps and parsed articles; joined, their bytes are the batch."""
        for part in parsed_parts(self.input, self.path, self._read_size):
            self.bytes_done = part.end
            yield part
        self.input.check_unchanged()

    def articles(self) -> Iterator[Article]:
        """Give the parsed articles."""
        for part in self.parts():
            if isinstance(part, Article):
                yield part

    def decided_parts(self, pool: Pool | None = None) -> Iterator[tuple[Gap | Item, Pick | None]]:
        """Give the gaps and unparsed articles, each article with its pick.

        Args:
            pool: the processes that decide; None: only this one.

        Raises:
            WorkerProcessError: a worker process ended early.
        """
        with self._errors_with_place():
            for part, pick in self._decide(pool):
                self.bytes_done = part.end
                yield part, pick
        self.input.check_unchanged()

    def progress(self, picks: Mapping[Extractor, int]) -> Progress:
        """Return the progress up to the last part that was given.

        Args:
            picks: the number of articles per extractor so far.
        """
        return Progress(self.bytes_done, self.input.size, sum(picks.values()), dict(picks))

    def _decide(self, pool: Pool | None) -> Iterator[tuple[Gap | Item, Pick | None]]:
        parts = unparsed_parts(self.input, self._read_size)
        if pool is not None:
            # It is imported where there is a pool, that is for large batches.
            from selection.parallel.chunks import decided_by

            yield from decided_by(pool, parts, self.input)
            return
        for part in parts:
            yield part, None if isinstance(part, Gap) else decide(part.raw)

    @contextmanager
    def _errors_with_place(self) -> Iterator[None]:
        try:
            yield
        except DataError:
            raise first_error(self.input, self.path) from None
        except (WorkerProcessError, OutOfMemoryError) as error:
            error.path = self.path
            raise
