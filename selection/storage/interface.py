"""What every input and every output offers, whether it is a file, an object or a stream.

An input can be read again from its beginning and can be proved unchanged. An output appears
whole, when its context ends without an error, or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from selection.storage.compression import Format

#: How many bytes to read at once.
READ_SIZE = 1 << 18


class Readable(Protocol):
    """Bytes that can be read again from their beginning, such as a binary file."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes: at least one and at most ``size``, none at the end.

        Raises:
            TransferError: reading failed.
            DataError: the bytes are stored in a form that is damaged.
        """

    def seek(self, offset: int, /) -> object:
        """Continue reading at an offset.

        It is called only to find the place of an error, so it can cost as much as reading
        up to the offset.

        Raises:
            TransferError, DataError: as :meth:`read`.
        """


class Input(Readable, Protocol):
    """An open input. Bytes and offsets are those of the batch, not of a compressed form."""

    @property
    def path(self) -> str:
        """The name that the caller gave it, for errors and summaries."""

    @property
    def size(self) -> int | None:
        """How many bytes it has, None if that is not known before the end."""

    @property
    def status(self) -> os.stat_result | None:
        """The local file that it is read from, as it was when it was opened, or None.

        An output is never this file, and a new output gets its permissions.
        """

    @property
    def format(self) -> Format | None:
        """The compression format that it is read from, None if it is not compressed."""

    @property
    def version(self) -> tuple[str, ...]:
        """What differs between two versions of the input, known without reading it.

        A job is found again by it.
        """

    def check_unchanged(self) -> None:
        """Prove that everything that was read is one version of the input.

        It is called after the last byte was read and before the output appears, and after an
        error in the data.

        Raises:
            InputChangedError: the input was changed, replaced or removed meanwhile.
            TransferError: this cannot be found out now.
        """

    def close(self) -> None:
        """Close the input and ignore errors."""


def is_input(source: Input, found: os.stat_result) -> bool:
    """Return whether a local file is the one that the input is read from, under any name."""
    return source.status is not None and os.path.samestat(source.status, found)


class NoInput:
    """The source of an output that is not made of one input, such as an index of reports."""

    path = ""
    size = None
    status = None
    format = None
    version: tuple[str, ...] = ()

    def read(self, size: int, /) -> bytes:
        """Return no bytes."""
        return b""

    def seek(self, offset: int, /) -> None:
        """Do nothing."""

    def check_unchanged(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class Output(Protocol):
    """A new output, used as a context manager.

    Entering prepares it, so that nothing exists if a signal arrives before. Leaving without an
    error commits it under its name; leaving with any exception removes what was written and
    leaves an earlier output as it was. Only then does anything of it exist under its name.

    Raises:
        OutputError: on entering, it cannot be made there, or it is the input.
        TransferError: preparing, writing or committing it failed.
    """

    @property
    def path(self) -> str:
        """The name that the caller gave it."""

    def __enter__(self) -> Output: ...

    def write(self, pieces: Iterable[bytes | memoryview]) -> None:
        """Append the pieces, in order."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
