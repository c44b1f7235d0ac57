"""Read a batch: open it, give its parts in order, and prove that it did not change meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING

from selection.decide import Pick, decide, decide_or_skip
from selection.errors import (
    OUT_OF_MEMORY,
    CompressedDataError,
    DataError,
    OutOfMemoryError,
    WorkerProcessError,
)
from selection.model import Extractor
from selection.storage.interface import READ_SIZE
from selection.storage.names import is_lines
from selection.storage.opening import open_input
from selection.stream.lines import first_error_of_lines, unparsed_lines
from selection.stream.locate import first_error
from selection.stream.parts import Article, Gap, Item
from selection.stream.scan import parsed
from selection.stream.split import unparsed_parts

if TYPE_CHECKING:
    from selection.parallel.pool import Pool


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How a batch is read.

    Attributes:
        lines: whether it is JSON Lines; None: if its name ends in ``.jsonl`` or ``.ndjson``,
            compressed or not.
        skip_bad_lines: whether a line that is not a JSON object is copied and counted as skipped;
            otherwise it is an error.
        pipes: whether the name ``-`` is standard input or output and a FIFO is read.
    """

    lines: bool | None = None
    skip_bad_lines: bool = False
    pipes: bool = False


#: A file, JSON Lines by its name.
BY_NAME = ReadOptions()

#: Bytes that are selected in about the time in which a worker process starts, measured as 0.1 s.
WORTH_WORKERS = 8 << 20


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
        options: how it is read.

    Attributes:
        path: as given.
        input: the open input.
        bytes_done: offset behind the last part that was given.
        skipped: number of items that are not objects, as far as ``articles`` has read.

    Raises:
        InputError: on entering, the batch cannot be opened.
        DataError: it is not a batch; while the parts are read, with the exact place.
        TransferError: it cannot be read, or it changed while it was read.
        OutOfMemoryError: on leaving, in place of a MemoryError.
    """

    def __init__(
        self,
        path: str,
        roots: Sequence[str] = (),
        read_size: int = READ_SIZE,
        options: ReadOptions = BY_NAME,
    ) -> None:
        self.path = path
        self._options = options
        self._is_lines = is_lines(path) if options.lines is None else options.lines
        self._roots = roots
        self._read_size = read_size
        self.bytes_done = 0
        self.skipped = 0

    def __enter__(self) -> BatchReader:
        self.input = open_input(self.path, self._roots, pipes=self._options.pipes)
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
                if error.path == self.path and error.byte is not None:
                    error.is_decompressed = self.input.format is not None
        finally:
            self.input.close()
        if isinstance(error, MemoryError):
            raise OutOfMemoryError(OUT_OF_MEMORY, path=self.path) from None

    def parts(self) -> Iterator[Gap | Article]:
        """Give the gaps and parsed articles; joined, their bytes are the batch."""
        with self._errors_with_place():
            for part in parsed(self._unparsed(), skip_bad_lines=self._skips_bad_lines):
                self.bytes_done = part.end
                yield part
        self.input.check_unchanged()

    def articles(self) -> Iterator[Article]:
        """Give the parsed articles, and count what is skipped between them."""
        for part in self.parts():
            if isinstance(part, Article):
                yield part
            else:
                self.skipped += part.skipped

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
        parts = self._unparsed()
        function = decide_or_skip if self._skips_bad_lines else decide
        if pool is None or self.input.size is None:
            for part in parts:
                yield part, None if isinstance(part, Gap) else function(part.raw)
                # The size is unknown: up to here it was not worth a worker process.
                if pool is not None and part.end >= WORTH_WORKERS:
                    break
        if pool is not None:
            # It is imported where there is a pool, that is for large batches.
            from selection.parallel.chunks import decided_by

            yield from decided_by(pool, parts, self.input, function)

    @property
    def _skips_bad_lines(self) -> bool:
        return self._is_lines and self._options.skip_bad_lines

    def _unparsed(self) -> Iterator[Gap | Item]:
        if self._is_lines:
            return unparsed_lines(self.input, self._read_size, skip_bad_lines=self._skips_bad_lines)
        return unparsed_parts(self.input, self._read_size)

    @contextmanager
    def _errors_with_place(self) -> Iterator[None]:
        try:
            yield
        except CompressedDataError:
            raise  # it has no place in the text
        except DataError:
            self._require_undamaged()
            find = first_error_of_lines if self._is_lines else first_error
            raise find(self.input, self.path) from None
        except (WorkerProcessError, OutOfMemoryError) as error:
            error.path = self.path
            raise

    def _require_undamaged(self) -> None:
        """Read a compressed input to its end, where its checksum shows whether it is damaged.

        Damaged data can decompress to a text that is wrong, and the damage is then the cause.

        Raises:
            CompressedDataError: it is damaged or incomplete.
        """
        if self.input.format is not None:
            while self.input.read(READ_SIZE):
                pass
