"""An object as an input: read in ranges of one version of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Future
from glob import has_magic
from typing import TYPE_CHECKING, NoReturn

from selection.errors import (
    InputBucketMissingError,
    InputChangedError,
    InputDeniedError,
    InputError,
    InputForbiddenError,
    InputNameError,
    InputNotFileError,
    InputObjectMissingError,
    ReadError,
    SelectionError,
)
from selection.storage.names import is_batch
from selection.storage.object_address import NO_PATTERN, Address, parse_address
from selection.storage.object_store import (
    Fault,
    fault_of,
    leave,
    open_store,
    result_of,
    setup_error,
    start,
)
from selection.storage.roots import is_address_inside

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import ObjectStore

#: How many bytes one request reads. Two such ranges are buffered: one that is read, and the
#: next one, which is being received. Their two buffers are filled over and over, in small pieces:
#: blocks of this size that several threads allocate and free stay with the allocator. Measured
#: with glibc on 1 GB: a peak of 117 MB where each range was a new block.
RANGE = 8 << 20
# Each piece waits for the interpreter's lock, up to 5 ms while an article is decided: with pieces
# of 128 KiB a batch of 128 MB took 3.3 s, with these 1.9 s.
_PIECE = 1 << 20


class ObjectInput:
    """A batch in an object store, open for reading.

    Each request names the version that was found on opening (``If-Match`` with its ETag), so a
    change is an error and never a mixture of two versions. The version id of a bucket with
    versions is compared and not requested: that needs a permission of its own.

    Args:
        path: the address, as the caller named it.
        roots: folders or addresses of which one must hold the object; none: any place.

    Raises:
        InputError: it does not exist, is denied, is outside the roots or is not an object.
        CredentialsError: the credentials are wrong or missing.
        EndpointError: the host of the store does not exist, or its URL is wrong.
        ExtraMissingError: the library is not installed.
        ReadError: the store cannot be reached now.

    Attributes:
        path: as given.
        size: its bytes when it was opened.
        version: ETag, size and version id, which must stay the same while it is read.
    """

    status: os.stat_result | None = None

    def __init__(self, path: str, roots: Sequence[str] = ()) -> None:
        self.path = path
        self._address = _parsed(path)
        if not is_address_inside(roots, path):
            raise InputForbiddenError("this object is outside the allowed folders", path=path)
        self._store: ObjectStore = open_store(self._address)
        found = self._head()
        self.size: int = found["size"]
        self.version = _version(found)
        self._tag = found["e_tag"]
        self._position = 0  # of the next byte that read() returns
        self._range = memoryview(b"")
        self._used = 0  # bytes of the range that were returned
        self._next: Future[memoryview] | None = None
        self._longest = min(RANGE, self.size)
        self._spare: list[bytearray] = []  # to be filled again

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes; none at the end of the object."""
        if self._used == len(self._range):
            if self._position == self.size:
                return b""
            self._fill()
        piece = bytes(self._range[self._used : self._used + size])
        self._used += len(piece)
        self._position += len(piece)
        return piece

    def seek(self, offset: int, /) -> None:
        """Continue reading at an offset; within the buffered range without a request."""
        begin = self._position - self._used
        if begin <= offset <= begin + len(self._range):
            self._position, self._used = offset, offset - begin
            return
        self._drop()
        self._position = min(offset, self.size)

    @property
    def format(self) -> None:
        """The bytes are those of the object."""

    def check_unchanged(self) -> None:
        """Prove that the object is still the version that was opened."""
        if _version(self._head(is_open=True)) != self.version:
            self._raise_changed()

    def close(self) -> None:
        """Stop reading ahead."""
        self._drop()

    def _drop(self) -> None:
        leave(self._next)
        self._next = None
        self._range, self._used = memoryview(b""), 0

    def _fill(self) -> None:
        future = self._next or self._start(self._position)
        self._next = None
        try:
            content = result_of(future)
        except SelectionError:
            raise
        except Exception as error:
            self._refuse(error, is_open=True)
        if self._range:
            self._spare.append(self._range.obj)  # type: ignore[arg-type]
        self._range, self._used = content, 0
        behind = self._position + len(content)
        if behind < self.size:
            self._next = self._start(behind)

    def _start(self, offset: int) -> Future[memoryview]:
        return start(self._get, offset, min(offset + RANGE, self.size))

    def _get(self, begin: int, end: int) -> memoryview:
        from obstore import get

        options = {"range": (begin, end), "if_match": self._tag}
        result = get(self._store, self._address.key, options=options)  # type: ignore[arg-type]
        if result.meta["e_tag"] != self._tag:
            # A server that does not know If-Match.
            self._raise_changed()
        content = memoryview(self._spare.pop() if self._spare else bytearray(self._longest))
        at = 0
        for piece in result.stream(min_chunk_size=_PIECE):
            if at + len(piece) <= end - begin:
                content[at : at + len(piece)] = memoryview(piece)
            at += len(piece)
        if at != end - begin:
            raise ReadError(f"the store gave {at} bytes of {end - begin}", path=self.path)
        return content[:at]

    def _head(self, is_open: bool = False) -> ObjectMeta:
        from obstore import head

        try:
            return result_of(start(head, self._store, self._address.key))
        except Exception as error:
            if fault_of(error)[0] is Fault.TRANSIENT:
                self._refuse(error, is_open)
        # An answer to HEAD has no body, which has the reason.
        try:
            self._reason()
        except Exception as error:
            self._refuse(error, is_open)
        raise ReadError("the store refused the object and then gave it; run again", path=self.path)

    def _reason(self) -> None:
        from obstore import get

        result_of(start(get, self._store, self._address.key, options={"range": (0, 1)}))

    def _refuse(self, error: Exception, is_open: bool) -> NoReturn:
        """Raise the typed error of a failed request.

        Args:
            is_open: whether the object was there before.
        """
        fault = fault_of(error)[0]
        if fault is Fault.CHANGED or (is_open and fault is Fault.MISSING_OBJECT):
            self._raise_changed()
        raise refusal(error, self.path) from None

    def _raise_changed(self) -> NoReturn:
        raise InputChangedError(
            "the object was changed, replaced or removed while it was read; run again",
            path=self.path,
        ) from None


def refusal(error: Exception, path: str) -> SelectionError:
    """Return the typed error of a request that reads."""
    fault, words = fault_of(error)
    if error_of_setup := setup_error(fault, words, path):
        return error_of_setup
    if fault is Fault.MISSING_OBJECT:
        return InputObjectMissingError(
            f"the object does not exist in this bucket{_other_form(path)}", path=path
        )
    if fault is Fault.MISSING_BUCKET:
        return InputBucketMissingError("the bucket does not exist", path=path)
    if fault is Fault.DENIED:
        return InputDeniedError(
            "this object may not be read, or does not exist; check the permissions", path=path
        )
    if fault is Fault.FINAL:
        return InputError(f"the object store refused the request ({words})", path=path)
    return ReadError(f"reading from the object store failed: {words}", path=path)


def _other_form(path: str) -> str:
    """Return what to write in place of an address that looks like a pattern or a folder."""
    if has_magic(path):
        return f"; {NO_PATTERN}"
    return "" if is_batch(path) else "; the address of a folder ends in /"


def _parsed(path: str) -> Address:
    try:
        address = parse_address(path)
    except ValueError as error:
        raise InputNameError(str(error), path=path.encode("utf-8", "replace").decode()) from None
    if address.is_folder and not path.endswith("/"):
        raise InputNotFileError(
            f"this is a bucket; name an object, {path}/KEY, or a folder, {path}/", path=path
        )
    if address.is_folder:
        raise InputNotFileError("this is a folder; name an object", path=path)
    return address


def _version(found: ObjectMeta) -> tuple[str, ...]:
    # Without an ETag, the time of the last change is the best there is.
    tag = found["e_tag"] or found["last_modified"].isoformat()
    return tag, str(found["size"]), found["version"] or ""
