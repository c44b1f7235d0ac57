"""The formats of a table: each writes rows to an output as they come."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Protocol, Self

from selection.errors import ExtraMissingError
from selection.export.columns import Column
from selection.storage.interface import Output

# A row group of a Parquet file is held in memory until it is written.
_ROWS_IN_GROUP, _CHARACTERS_IN_GROUP = 10_000, 16_000_000


class TableWriter(Protocol):
    """Writes a table to an output; used as a context manager inside that of the output.

    Leaving without an error writes what is still in memory; leaving with one writes nothing more.
    """

    def __enter__(self) -> TableWriter: ...

    def add(self, values: Sequence[Any]) -> None:
        """Append a row.

        Args:
            values: one for each column; None is null.
        """

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class _Unbuffered:
    """A writer that has nothing in memory."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass


class _JsonLines(_Unbuffered):
    def __init__(self, output: Output, columns: Sequence[Column]) -> None:
        self._output = output
        self._names = [column.name for column in columns]

    def add(self, values: Sequence[Any]) -> None:
        line = json.dumps(dict(zip(self._names, values)), ensure_ascii=False)
        self._output.write((line.encode(), b"\n"))


class _Csv(_Unbuffered):
    """CSV as in RFC 4180, with a header; null is an empty field."""

    def __init__(self, output: Output, columns: Sequence[Column]) -> None:
        self._output = output
        self._text = io.StringIO(newline="")
        self._csv = csv.writer(self._text)
        self.add([column.name for column in columns])

    def add(self, values: Sequence[Any]) -> None:
        self._csv.writerow(values)
        self._output.write((self._text.getvalue().encode(),))
        self._text.seek(0)
        self._text.truncate()


class _Sink(io.RawIOBase):
    """An output as the file that pyarrow writes."""

    def __init__(self, output: Output) -> None:
        self._output: Output | None = output
        self._written = 0

    def discard(self) -> None:
        """Write nothing more: pyarrow writes the end of a file even if it is not complete."""
        self._output = None

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        piece = bytes(data)
        if self._output is not None:
            self._output.write((piece,))
        self._written += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._written


class _Parquet:
    def __init__(self, output: Output, columns: Sequence[Column]) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise ExtraMissingError(
                "for Parquet, install: pip install 'deterministic-content-selection[export]'"
            ) from None
        types = {"text": pyarrow.string(), "integer": pyarrow.int64(), "number": pyarrow.float64()}
        self._schema = pyarrow.schema([(column.name, types[column.kind]) for column in columns])
        self._sink = _Sink(output)
        self._file = pyarrow.parquet.ParquetWriter(self._sink, self._schema, compression="zstd")
        self._record_batch = pyarrow.record_batch
        self._rows: list[Sequence[Any]] = []
        self._characters = 0

    def add(self, values: Sequence[Any]) -> None:
        self._rows.append(values)
        self._characters += sum(len(value) for value in values if isinstance(value, str))
        if len(self._rows) >= _ROWS_IN_GROUP or self._characters >= _CHARACTERS_IN_GROUP:
            self._write_group()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is not None:
            self._sink.discard()
        elif self._rows:
            self._write_group()
        self._file.close()

    def _write_group(self) -> None:
        columns = [list(column) for column in zip(*self._rows)]
        self._file.write_batch(self._record_batch(columns, schema=self._schema))
        self._rows, self._characters = [], 0


#: What makes a writer, by the format's name, which is the ending of a file's name.
WRITERS: dict[str, Callable[[Output, Sequence[Column]], TableWriter]] = {
    "jsonl": _JsonLines,
    "csv": _Csv,
    "parquet": _Parquet,
}
