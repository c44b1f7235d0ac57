"""Every way a batch can fail, as one tree of typed errors.

Each class has the exit code of its family (the numbers of BSD's ``sysexits.h``):

====  =============================================  =======================
code  family                                         class
====  =============================================  =======================
2     the settings are wrong                         :class:`BackendError`
65    the data is wrong: another run will not help   :class:`DataError`
66    the input is not there or cannot be opened     :class:`InputError`
73    the output cannot be made                      :class:`OutputError`
74    reading or writing failed half way             :class:`TransferError`
====  =============================================  =======================
"""

from __future__ import annotations

from typing import Any, ClassVar


class SelectionError(Exception):
    """What all errors of this package have in common.

    Attributes:
        message: what is wrong and what to do, without the place.
        path: the file, as the caller named it.
        byte: offset in the file, from 0.
        line, column: the same place, both from 1; a column is a character.
        article: index in ``articles``, from 0, when the place is inside an article.
    """

    exit_code: ClassVar[int] = 70
    #: Whether another run of the same job may end well without anybody's doing.
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
    ) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.byte = byte
        self.line = line
        self.column = column
        self.article = article

    def place(self) -> dict[str, str | int | None]:
        """The place as plain data: ``path``, ``byte``, ``line``, ``column``, ``article``."""
        return {
            "path": self.path,
            "byte": self.byte,
            "line": self.line,
            "column": self.column,
            "article": self.article,
        }

    def as_dict(self) -> dict[str, Any]:
        """The whole error as plain data: ``type``, ``message`` and the place."""
        return {"type": type(self).__name__, "message": self.message, **self.place()}

    def __str__(self) -> str:
        where = [] if self.path is None else [self.path]
        if self.article is not None:
            where.append(f"article {self.article}")
        if self.line is not None:
            where.append(f"line {self.line} column {self.column} (byte {self.byte})")
        elif self.byte is not None:
            where.append(f"byte {self.byte}")
        return ": ".join([", ".join(where), self.message] if where else [self.message])

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, self.place())


def _rebuild(kind: type[SelectionError], message: str, place: dict[str, Any]) -> SelectionError:
    """Unpickling: keyword arguments do not survive ``Exception.__reduce__``."""
    return kind(message, **place)


class BackendError(SelectionError):
    """``SELECTION_BACKEND`` names a backend that is not to be had."""

    exit_code = 2


class DataError(SelectionError):
    """The input's content is not a batch (PRD section 9)."""

    exit_code = 65


class EmptyFileError(DataError):
    """The input has no byte at all."""


class EncodingError(DataError):
    """The input is not UTF-8."""


class InvalidJsonError(DataError):
    """The input is not JSON (RFC 8259)."""


class NotANumberError(InvalidJsonError):
    """``NaN`` or ``Infinity`` where JSON wants a value; some Python pipelines write them."""


class SeveralValuesError(InvalidJsonError):
    """JSON values in a row, such as JSON Lines, where a batch is one object."""


class OtherFormError(DataError):
    """The input is not JSON text: a web page, a Git LFS pointer, nothing but NUL bytes."""


class CompressedError(OtherFormError):
    """The input is compressed."""


class RootNotObjectError(DataError):
    """The JSON is valid, but its root is no object (FR-002)."""


class ArticlesMissingError(DataError):
    """The root object has no ``articles`` (FR-002)."""


class ArticlesNotListError(DataError):
    """The root object's ``articles`` is no list (FR-002)."""


class DifferenceError(DataError):
    """``verify``: the output is not the input plus one correct pick per article.

    The place is one in the output file.
    """


class InputError(SelectionError):
    """The input cannot be opened."""

    exit_code = 66


class InputMissingError(InputError):
    """There is no file of that name; on a shared volume it may yet appear."""

    retryable = True


class InputForbiddenError(InputError):
    """The file is outside the folders that may be read."""


class InputDeniedError(InputError):
    """The file may not be read."""


class InputObjectMissingError(InputError):
    """The object store has no object of that name."""


class InputBucketMissingError(InputError):
    """The object store has no bucket of that name."""


class InputNotFileError(InputError):
    """A folder, a pipe or a device: something that is no regular file."""


class InputNameError(InputError):
    """The file's name is not UTF-8, so neither a summary nor a queue can carry it."""


class OutputError(SelectionError):
    """The output file cannot be made."""

    exit_code = 73


class OutputIsInputError(OutputError):
    """Input and output are one file, perhaps through a link (PRD section 6.1)."""


class OutputFolderMissingError(OutputError):
    """There is no folder to make it in; on a shared volume it may yet appear."""

    retryable = True


class OutputBucketMissingError(OutputError):
    """The object store has no bucket of that name."""


class OutputDeniedError(OutputError):
    """The object store does not allow writing the object."""


class OutputNameError(OutputError):
    """The output's name is not UTF-8, so neither a summary nor a queue can carry it."""


class OutputForbiddenError(OutputError):
    """The output is outside the folders that may be written."""


class CredentialsError(SelectionError):
    """The object store refuses the credentials, or none were found."""

    exit_code = 77


class ExtraMissingError(SelectionError):
    """A library that is needed is not installed; the message names the extra that has it."""

    exit_code = 69


class TransferError(SelectionError):
    """Reading or writing failed after it began; another run may succeed."""

    exit_code = 74
    retryable = True


class ReadError(TransferError):
    """The system could not read on."""


class WriteError(TransferError):
    """The system could not write on: no space, say."""


class WorkerProcessError(TransferError):
    """A worker process of the pool ended early, for example because it was killed."""


#: The message of an :class:`OutOfMemoryError`.
OUT_OF_MEMORY = "out of memory; free some or raise the limit, or use one process (jobs)"


class OutOfMemoryError(TransferError):
    """The process could not get the memory that the file needs."""


class InputChangedError(TransferError):
    """Somebody wrote to, replaced or removed the input while it was read."""
