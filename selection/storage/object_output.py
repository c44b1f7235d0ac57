"""An object as an output: it appears whole, or an earlier one stays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from selection.errors import (
    OutputBucketMissingError,
    OutputDeniedError,
    OutputError,
    OutputForbiddenError,
    OutputIsInputError,
    OutputNameError,
    SelectionError,
    WriteError,
)
from selection.storage.address import is_address
from selection.storage.interface import Input
from selection.storage.object_address import Address, parse_address
from selection.storage.object_store import (
    Fault,
    fault_of,
    is_same_object,
    leave,
    open_store,
    result_of,
    setup_error,
    start,
)
from selection.storage.object_uploads import Uploads
from selection.storage.roots import is_address_inside

if TYPE_CHECKING:
    from obstore import WritableFile

    from selection.storage.upload_records import Record

_T = TypeVar("_T")

#: Bytes of a part; an object of fewer is written by one request.
PART = 8 << 20
_CONCURRENT_PARTS = 2
_BUFFER = 1 << 20


class ObjectOutput:
    """A new object that exists only when it is complete.

    Used as a context manager: a clean end completes the upload; any exception, also one that a
    signal or a timeout raises, aborts it and leaves the object as it was. Some 32 MB are
    buffered. An object has 10,000 parts at most: 80 GB, and five times an input of known size.

    Args:
        path: the address.
        source: the input, which is never replaced.
        roots: folders or addresses of which one must hold the output; none: any place.

    Raises:
        OutputError: it cannot be made there, or it is the input.
        CredentialsError: the credentials are wrong or missing.
        EndpointError: the host of the store does not exist, or its URL is wrong.
        ExtraMissingError: the library is not installed.
        WriteError: writing it failed.
    """

    def __init__(self, path: str, source: Input, roots: Sequence[str] = ()) -> None:
        self.path = path
        self._source = source
        self._roots = roots

    def __enter__(self) -> ObjectOutput:
        self._address = check_address(self.path, self._source, self._roots)
        store = open_store(self._address)
        from obstore import open_writer

        part = max(PART, (self._source.size or 0) // 2000)
        self._upload = _Upload(self._address, part)
        self._buffer: list[bytes | memoryview] = []
        self._buffered = 0
        self._pending: Future[None] | None = None
        self._call(self._upload.prepare)
        try:
            self._upload.begin()
            self._writer: WritableFile = open_writer(
                store,
                self._address.key,
                buffer_size=part,
                max_concurrency=_CONCURRENT_PARTS,
            )
        except BaseException:
            self._upload.forget()
            raise
        return self

    def write(self, pieces: Iterable[bytes | memoryview]) -> None:
        """Append the pieces, in order."""
        for piece in pieces:
            self._buffer.append(piece)
            self._buffered += len(piece)
        if self._buffered >= _BUFFER:
            self._send()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._send()
                self._wait()
                self._call(self._writer.close)
                self._upload.completed()
        except BaseException:
            kind = BaseException
            raise
        finally:
            if kind is not None:
                self._abort()

    def _send(self) -> None:
        self._wait()
        content = b"".join(self._buffer)
        self._buffer.clear()
        self._buffered = 0
        self._pending = start(self._append, content)

    def _append(self, content: bytes) -> None:
        # The library keeps what it is given until its part is sent; a call of its own each.
        self._writer.write(content)
        self._upload.add(len(content))

    def _wait(self) -> None:
        pending, self._pending = self._pending, None
        if pending:
            self._result(pending)

    def _call(self, function: Callable[[], _T]) -> _T:
        self._pending = None
        return self._result(start(function))

    def _result(self, future: Future[_T]) -> _T:
        try:
            return result_of(future)
        except SelectionError:
            raise
        except Exception as error:
            raise self._refusal(error) from None
        except BaseException:
            leave(future)
            raise

    def _abort(self) -> None:
        leave(self._pending)
        # A writer that is not closed completes nothing.
        del self._writer
        with suppress(Exception):
            result_of(start(self._upload.abort))

    def _refusal(self, error: Exception) -> SelectionError:
        fault, words = fault_of(error)
        if error_of_setup := setup_error(fault, words, self.path):
            return error_of_setup
        if fault is Fault.MISSING_BUCKET:
            return OutputBucketMissingError("the bucket to write to does not exist", path=self.path)
        if fault is Fault.DENIED:
            return OutputDeniedError(
                "this object may not be written; check the permissions", path=self.path
            )
        if fault is Fault.FINAL:
            return OutputError(f"the object store refused the request ({words})", path=self.path)
        return WriteError(f"writing to the object store failed: {words}", path=self.path)


def check_address(path: str, source: Input, roots: Sequence[str] = ()) -> Address:
    """Return the parts of an output's address, checked without a request.

    Raises:
        OutputError: it is not the address of an object, outside the roots or the input.
    """
    try:
        address = parse_address(path)
    except ValueError as error:
        raise OutputNameError(str(error), path=path.encode("utf-8", "replace").decode()) from None
    if address.is_folder:
        raise OutputNameError("this is the address of a folder; name an object", path=path)
    if not is_address_inside(roots, path):
        raise OutputForbiddenError("the output is outside the allowed folders", path=path)
    if is_address(source.path) and is_same_object(parse_address(source.path), address):
        raise OutputIsInputError("the output is the input; name another", path=path)
    return address


class _Upload:
    """The multipart upload of one writer, on stores where it must be aborted.

    obstore starts the upload when the first part is full and keeps its id to itself. It is the
    one that a list has after that and did not have before. There are more if an answer was lost
    and the request sent again, or if another writer of the same object begins in between.
    """

    def __init__(self, address: Address, part: int) -> None:
        self._uploads = Uploads(address) if address.scheme == "s3" else None
        self._part = part
        self._written = 0
        self._before: frozenset[str] = frozenset()
        self._ids: frozenset[str] = frozenset()
        self._record: Record | None = None

    def prepare(self) -> None:
        """Abort what ended writers left; what is there then is another writer's."""
        if self._uploads is None:
            return
        try:
            self._before = self._uploads.abort_abandoned()
        except Exception as error:
            # Listing uploads has a permission of its own, which a writer does not need.
            if fault_of(error)[0] is not Fault.DENIED:
                raise
            self._uploads = None

    def begin(self) -> None:
        """Record this process as a writer, before anything is uploaded.

        This is not part of :meth:`prepare`, which a signal leaves running in its thread.
        """
        if self._uploads:
            self._record = self._uploads.record(self._before)
            self._record.create()

    def forget(self) -> None:
        """Remove the record: nothing is left of this writer."""
        if self._record:
            self._record.remove()

    def add(self, size: int) -> None:
        """Note bytes that were written; the first ones beyond a part have begun the upload."""
        self._written += size
        if self._uploads and self._record and self._written > self._part and not self._ids:
            self._find(self._uploads, self._record)

    def completed(self) -> None:
        """Remove the record, and the upload of a request whose answer was lost."""
        if self._uploads is None:
            return
        # Another writer, which began at the same time, has added a part since.
        if len(self._ids) > 1:
            with suppress(Exception):
                for upload in self._ids & self._uploads.ids():
                    self._uploads.abort_empty(upload)
        self.forget()

    def abort(self) -> None:
        """Abort the upload, if one was begun; if that fails, the next run of the output does."""
        if self._uploads is None or self._record is None:
            return
        try:
            if not self._ids:
                self._find(self._uploads, self._record)
            others = self._uploads.of_others(self._ids, self._record)
            for upload in self._ids - others:
                self._uploads.abort(upload)
            if not self._ids & others:
                self._record.remove()
        finally:
            self._record.release()

    def _find(self, uploads: Uploads, record: Record) -> None:
        self._ids = uploads.ids() - self._before
        if self._ids:
            record.add(self._ids)
