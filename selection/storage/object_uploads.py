"""Unfinished uploads of an S3 object: found, and aborted if their writer has ended.

A writer that is killed leaves its multipart upload, whose parts are invisible and are paid for.
The next run of the same output aborts it if one of two things is proved:

1. Its writer was on this machine and has ended. A writer holds an exclusive lock (``flock``) on
   a small file, named after the upload, in the user's cache folder. The system releases the lock
   with the process.
2. It is abandoned. Nothing was added to it for an hour, by the clock of the server, from
   which this machine's clock differs by 15 minutes at most: S3 refuses other requests. A live
   writer adds a part with every few megabytes.

A writer whose upload is aborted all the same fails with an error that is retried; a wrong or
partial object never appears.

obstore can neither list nor abort uploads, but signs and sends the requests: a store whose URL
ends in the query of the request and in ``x-id=``, which S3 ignores, sends GET and DELETE to
``<bucket>?uploads&prefix=...&x-id=/ListMultipartUploads``. So there is one implementation of
credentials, signatures, retries and certificates. Google and Azure are left alone: Azure removes
blocks that were never committed after a week, and a bucket of Google needs a lifecycle rule.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote
from xml.etree import ElementTree

from selection.storage.object_address import Address
from selection.storage.object_store import bucket_url, open_s3

if TYPE_CHECKING:
    from obstore.store import S3Store

_ABANDONED = timedelta(hours=1)


class Uploads:
    """The unfinished uploads of one object of S3. All calls raise what obstore raises."""

    def __init__(self, address: Address) -> None:
        self._bucket = address.bucket
        self._key = address.key
        self._url = bucket_url(address.bucket)

    def ids(self) -> set[str]:
        """Return the ids of the unfinished uploads of this object."""
        return set(self._initiated())

    def abort_abandoned(self) -> set[str]:
        """Abort the uploads whose writers have ended; return the ids of the others."""
        left = self._initiated()
        for upload, initiated in list(left.items()):
            record = Record(self._url, self._key, upload)
            if record.is_of_ended_writer() or self._age(upload, initiated) > _ABANDONED:
                self.abort(upload)
                record.remove()
                del left[upload]
        return set(left)

    def abort(self, upload: str) -> None:
        """Abort an upload; one that has ended meanwhile is ignored."""
        from obstore import delete

        with suppress(FileNotFoundError):
            delete(self._store(self._of(upload)), "AbortMultipartUpload")

    def record(self, upload: str) -> Record:
        """Return the record of a writer on this machine."""
        return Record(self._url, self._key, upload)

    def _initiated(self) -> dict[str, datetime]:
        query = f"{self._url}?uploads&prefix={quote(self._key, safe='')}"
        found = _answer(self._store(query), "ListMultipartUploads")
        return {
            _text(upload, "UploadId"): _time(upload, "Initiated")
            for upload in found.iterfind("{*}Upload")
            if _text(upload, "Key") == self._key
        }

    def _age(self, upload: str, initiated: datetime) -> timedelta:
        """Return for how long nothing was added to an upload."""
        try:
            found = _answer(self._store(self._of(upload)), "ListParts")
        except FileNotFoundError:
            return timedelta()  # it has ended
        times = [_time(part, "LastModified") for part in found.iterfind("{*}Part")]
        return datetime.now(UTC) - max([initiated, *times])

    def _of(self, upload: str) -> str:
        return f"{self._url}/{quote(self._key)}?uploadId={quote(upload, safe='')}"

    def _store(self, url: str) -> S3Store:
        return open_s3(self._bucket, f"{url}&x-id=")


class Record:
    """A locked file that says which process of this machine writes an upload."""

    def __init__(self, url: str, key: str, upload: str) -> None:
        folder = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        name = hashlib.sha256("\0".join([url, key, upload]).encode()).hexdigest()
        self._path = Path(folder, "deterministic-content-selection", "uploads", name)
        self._file: int | None = None

    def create(self) -> None:
        """Create and lock the file; without it, the upload is aborted only when it is old."""
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def is_of_ended_writer(self) -> bool:
        """Return whether it is proved that the writer has ended."""
        try:
            file = os.open(self._path, os.O_WRONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        finally:
            os.close(file)
        return True

    def release(self) -> None:
        """Release the lock, which marks the upload as one of an ended writer."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def remove(self) -> None:
        """Remove the file: the upload has ended."""
        with suppress(OSError):
            self._path.unlink()
        self.release()


def _answer(store: S3Store, operation: str) -> ElementTree.Element:
    from obstore import get

    try:
        return ElementTree.fromstring(get(store, operation).bytes().to_bytes())
    except ElementTree.ParseError:
        raise OSError(f"the answer to {operation} is not XML") from None


def _text(element: ElementTree.Element, name: str) -> str:
    return element.findtext(f"{{*}}{name}", "")


def _time(element: ElementTree.Element, name: str) -> datetime:
    return datetime.fromisoformat(_text(element, name))
