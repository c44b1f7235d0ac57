"""The typed errors: one family for each exit code, one class for each cause.

The exit codes of the families are those of BSD's ``sysexits.h``. The table "Errors" of docs/cli.md
lists every class with its exit code and whether it is retryable.
"""

from __future__ import annotations

from typing import Any, ClassVar


class SelectionError(Exception):
    """The base class of all errors of this package.

    Attributes:
        message: what is wrong and what to do, without the place.
        path: the file, as the caller named it.
        byte: offset in the file, from 0.
        line, column: the same place, both from 1; a column is a character.
        article: index in ``articles``, from 0, if the place is inside an article.
        is_decompressed: whether the place is in the decompressed text of a compressed file.
        exit_code: exit code of a command that fails with the error.
        retryable: whether the same call can succeed later although no one changes anything.
    """

    exit_code: ClassVar[int] = 70
    retryable: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        byte: int | None = None,
        line: int | None = None,
        column: int | None = None,
        article: int | None = None,
        is_decompressed: bool = False,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.byte = byte
        self.line = line
        self.column = column
        self.article = article
        self.is_decompressed = is_decompressed

    def place(self) -> dict[str, str | int | None]:
        """Return the place as plain data: ``path``, ``byte``, ``line``, ``column``, ``article``."""
        return {
            "path": self.path,
            "byte": self.byte,
            "line": self.line,
            "column": self.column,
            "article": self.article,
        }

    def as_dict(self) -> dict[str, Any]:
        """Return the error as plain data: ``type``, ``message`` and the place."""
        return {"type": type(self).__name__, "message": self.message, **self.place()}

    def __str__(self) -> str:
        where = [] if self.path is None else [self.path]
        if self.article is not None:
            where.append(f"article {self.article}")
        byte = f"byte {self.byte}" + (" of the decompressed text" if self.is_decompressed else "")
        if self.line is not None:
            where.append(f"line {self.line} column {self.column} ({byte})")
        elif self.byte is not None:
            where.append(byte)
        return ": ".join([", ".join(where), self.message] if where else [self.message])

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (
            type(self),
            self.message,
            {**self.place(), "is_decompressed": self.is_decompressed},
        )


def _rebuild(kind: type[SelectionError], message: str, place: dict[str, Any]) -> SelectionError:
    """Unpickle an error: ``Exception.__reduce__`` loses keyword arguments."""
    return kind(message, **place)


class BackendError(SelectionError):
    """``SELECTION_BACKEND`` names a backend that does not exist or was not built."""

    exit_code = 2


class CompressionLevelError(SelectionError):
    """The compression format does not have the compression level."""

    exit_code = 2


class DataError(SelectionError):
    """The content of the input is not a batch."""

    exit_code = 65


class EmptyFileError(DataError):
    """The input is empty."""


class EncodingError(DataError):
    """The input is not UTF-8."""


class InvalidJsonError(DataError):
    """The input is not JSON (RFC 8259)."""


class NotANumberError(InvalidJsonError):
    """The input has ``NaN`` or ``Infinity``, which some JSON writers produce."""


class SeveralValuesError(InvalidJsonError):
    """The input is a sequence of JSON values, such as JSON Lines, instead of one object."""


class PickMissingError(DataError):
    """An article has no ``selected_extractor``, or one that is not the name of an extractor."""


class OtherFormError(DataError):
    """The input is not JSON text but a web page, a Git LFS pointer or NUL bytes."""


class CompressedError(OtherFormError):
    """The input is a zip archive, or compressed more than once."""


class CompressedDataError(DataError):
    """The compressed data is damaged, incomplete or followed by other data."""


class LineNotObjectError(DataError):
    """A line of JSON Lines is not a JSON object."""


class RootNotObjectError(DataError):
    """The JSON is valid, but its root is not an object."""


class ArticlesMissingError(DataError):
    """The root object has no member ``articles``."""


class ArticlesNotListError(DataError):
    """``articles`` of the root object is not a list."""


class DifferenceError(DataError):
    """``verify``: the output is not the input plus one correct pick per article.

    ``export --strict``: a pick is not that of the rules. The place is one in the output file.
    """


class InputError(SelectionError):
    """The input cannot be opened."""

    exit_code = 66


class InputMissingError(InputError):
    """The input does not exist; on a shared volume it can appear later."""

    retryable = True


class InputForbiddenError(InputError):
    """The input is outside the allowed folders."""


class InputDeniedError(InputError):
    """The permissions of the input do not allow reading."""


class InputObjectMissingError(InputError):
    """The object store has no object of that name."""


class InputBucketMissingError(InputError):
    """The object store has no bucket of that name."""


class InputNotFileError(InputError):
    """The input is a folder, a pipe or a device, not a regular file."""


class InputNameError(InputError):
    """The name of the input is not UTF-8, so a summary or a queue cannot contain it."""


class OutputError(SelectionError):
    """The output cannot be made."""

    exit_code = 73


class OutputIsInputError(OutputError):
    """The output is the input, by the same name or through a link."""


class OutputFolderMissingError(OutputError):
    """The folder of the output does not exist; on a shared volume it can appear later."""

    retryable = True


class OutputBucketMissingError(OutputError):
    """The object store has no bucket of that name."""


class OutputDeniedError(OutputError):
    """The object store does not allow writing the object."""


class OutputNameError(OutputError):
    """The name of the output is not UTF-8, so a summary or a queue cannot contain it."""


class OutputForbiddenError(OutputError):
    """The output is outside the allowed folders."""


class CredentialsError(SelectionError):
    """The object store refuses the credentials, or none were found."""

    exit_code = 77


class EndpointError(SelectionError):
    """The endpoint of the object store is not a URL, or its host does not exist."""

    exit_code = 68


class ExtraMissingError(SelectionError):
    """A library that is needed is not installed; the message names the extra that has it."""

    exit_code = 69


class TransferError(SelectionError):
    """Reading or writing failed; another run can succeed."""

    exit_code = 74
    retryable = True


class ReadError(TransferError):
    """The system could not read the input."""


class WriteError(TransferError):
    """The system could not write the output, for example because the disk is full."""


class WorkerProcessError(TransferError):
    """A worker process of the pool ended early, for example because it was killed."""


#: The message of an :class:`OutOfMemoryError`.
OUT_OF_MEMORY = "out of memory; free some or raise the limit, or use one process (jobs)"


class OutOfMemoryError(TransferError):
    """The process could not allocate the memory that the file needs."""


class InputChangedError(TransferError):
    """The input was changed, replaced or removed while it was read."""
