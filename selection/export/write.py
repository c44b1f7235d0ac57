"""Write the table of one or several batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from selection.errors import DifferenceError
from selection.export.columns import COLUMNS, Column, Row, row_of
from selection.export.formats import WRITERS, TableWriter
from selection.model import Extractor
from selection.reader import BY_NAME, BatchReader, Progress, ReadOptions
from selection.storage.opening import check_output, open_output


@dataclass(frozen=True, slots=True)
class Export:
    """Represent a table that was written.

    Attributes:
        output: its path.
        batches: the number of batches in it.
        rows: the number of rows.
        left_out: articles whose agreement is below the limit, or that were not compared.
        disagreeing: rows whose pick in the batch is not that of the rules.
    """

    output: str
    batches: int
    rows: int
    left_out: int
    disagreeing: int

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain data, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class TableOptions:
    """Say what is in a table.

    Attributes:
        format: a key of :data:`selection.export.formats.WRITERS`.
        columns: the columns, in order.
        min_agreement: rows with a lower agreement, or without one, are left out; None: no row.
        strict: a row whose pick is not that of the rules is an error.
    """

    format: str
    columns: Sequence[Column] = COLUMNS
    min_agreement: float | None = None
    strict: bool = False

    def has(self, row: Row) -> bool:
        """Return whether the table has a row."""
        if self.min_agreement is None:
            return True
        return row.stats.agreement is not None and row.stats.agreement >= self.min_agreement


def export_files(
    paths: Sequence[str],
    output: str,
    options: TableOptions,
    progress: Callable[[Progress], object] | None = None,
    *,
    reading: ReadOptions = BY_NAME,
) -> Export:
    """Write one table of selected batches, in order, in bounded memory.

    The table appears complete or not at all.

    Args:
        paths: the batches, at least one.
        output: the table's path.
        options: what is in it.
        progress: called after every article, with the progress in its batch.
        reading: how the batches are read.

    Raises:
        PickMissingError: an article has no pick.
        DifferenceError: ``options.strict``, and a row has a pick that is not that of the rules.
        ExtraMissingError: the library for the format is not installed.
        SelectionError: as ``select_file``.
    """
    counts = Counter[str]()
    with (
        BatchReader(paths[0], options=reading) as first,
        open_output(output, first.input, pipes=reading.pipes) as file,
        WRITERS[options.format](file, options.columns) as writer,
    ):
        _add_rows(first, writer, options, counts, progress)
        for path in paths[1:]:
            with BatchReader(path, options=reading) as reader:
                if not (reading.pipes and output == "-"):
                    check_output(output, reader.input)
                _add_rows(reader, writer, options, counts, progress)
    return Export(
        output=output,
        batches=len(paths),
        rows=counts["rows"],
        left_out=counts["left_out"],
        disagreeing=counts["disagreeing"],
    )


def _add_rows(
    reader: BatchReader,
    writer: TableWriter,
    options: TableOptions,
    counts: Counter[str],
    progress: Callable[[Progress], object] | None,
) -> None:
    picks = Counter[Extractor]()
    for article in reader.articles():
        row = row_of(article, reader.path)
        picks[row.selected] += 1
        if options.has(row):
            if options.strict and not row.agrees:
                raise _difference(row)
            writer.add([column.value(row) for column in options.columns])
            counts["rows"] += 1
            counts["disagreeing"] += not row.agrees
        else:
            counts["left_out"] += 1
        if progress:
            progress(reader.progress(picks))


def _difference(row: Row) -> DifferenceError:
    return DifferenceError(
        f"the pick is {row.selected}, and the rules pick {row.stats.decision.extractor}",
        path=row.batch,
        article=row.article.index,
        byte=row.article.start,
    )
