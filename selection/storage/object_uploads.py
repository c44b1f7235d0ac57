"""Unfinished uploads of an S3 object: found, and aborted if their writer has ended.

A writer that is killed leaves its multipart upload, whose parts are invisible and are paid for.
The next run of the same output aborts it if one of two things is proved:

1. Its writer was on this machine and has ended; see :mod:`selection.storage.upload_records`.
   If a writer is killed before it knows the id of its upload, this is proved of each upload that
   began after it and is not that of a live writer of this machine.
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

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import quote
from xml.etree import ElementTree

from selection.storage.object_address import Address
from selection.storage.object_store import bucket_url, open_s3
from selection.storage.upload_records import Record, writers_of

if TYPE_CHECKING:
    from obstore.store import S3Store

_ABANDONED = timedelta(hours=1)
_UPLOAD_MARKERS = {"key-marker": "NextKeyMarker", "upload-id-marker": "NextUploadIdMarker"}
_PART_MARKERS = {"part-number-marker": "NextPartNumberMarker"}


class Uploads:
    """The unfinished uploads of one object of S3. All calls raise what obstore raises."""

    def __init__(self, address: Address) -> None:
        self._bucket = address.bucket
        self._key = address.key
        self._url = bucket_url(address.bucket)

    def ids(self) -> frozenset[str]:
        """Return the ids of the unfinished uploads of this object."""
        return frozenset(self._initiated())

    def abort_abandoned(self) -> frozenset[str]:
        """Abort the uploads whose writers have ended; return the ids of the others."""
        initiated = self._initiated()
        ids = frozenset(initiated)
        writers = writers_of(self._url, self._key)
        ended = [writer for writer in writers if writer.has_ended]
        abandoned = frozenset[str]().union(*(writer.uploads_among(ids) for writer in ended))
        abandoned -= self.of_others(ids)
        abandoned |= {each for each in ids - abandoned if self._is_old(each, initiated[each])}
        for upload in abandoned:
            self.abort(upload)
        for writer in ended:
            with suppress(OSError):
                writer.path.unlink()
        return ids - abandoned

    def of_others(self, ids: frozenset[str], record: Record | None = None) -> frozenset[str]:
        """Return those of the ids that can be of live writers of this machine.

        Args:
            record: the writer that is not one of the others.
        """
        others = [
            writer
            for writer in writers_of(self._url, self._key)
            if not writer.has_ended and not (record and record.path == writer.path)
        ]
        return frozenset[str]().union(*(writer.uploads_among(ids) for writer in others))

    def abort(self, upload: str) -> None:
        """Abort an upload; one that has ended meanwhile is ignored."""
        from obstore import delete

        with suppress(FileNotFoundError):
            delete(self._store(self._of(upload)), "AbortMultipartUpload")

    def abort_empty(self, upload: str) -> None:
        """Abort an upload if it has no part."""
        with suppress(FileNotFoundError):
            if not self.parts(upload):
                self.abort(upload)

    def record(self, before: frozenset[str]) -> Record:
        """Return a record of this process as a writer of the object, not yet created."""
        return Record(self._url, self._key, before)

    def _initiated(self) -> dict[str, datetime]:
        """Return when each unfinished upload of this object began, by its id."""
        url = f"{self._url}?uploads&prefix={quote(self._key, safe='')}"
        return {
            _text(upload, "UploadId"): _time(upload, "Initiated")
            for found in self._answers(url, "ListMultipartUploads", _UPLOAD_MARKERS)
            for upload in found.iterfind("{*}Upload")
            if _text(upload, "Key") == self._key
        }

    def _is_old(self, upload: str, initiated: datetime) -> bool:
        """Return whether nothing was added to an upload for a long time."""
        try:
            times = [initiated, *self.parts(upload)]
        except FileNotFoundError:
            return False  # it has ended
        return datetime.now(UTC) - max(times) > _ABANDONED

    def parts(self, upload: str) -> list[datetime]:
        """Return when each part of an upload was added."""
        answers = self._answers(self._of(upload), "ListParts", _PART_MARKERS)
        return [
            _time(part, "LastModified") for found in answers for part in found.iterfind("{*}Part")
        ]

    def _answers(
        self, url: str, operation: str, markers: Mapping[str, str]
    ) -> Iterator[ElementTree.Element]:
        """Yield the answers to a request for a list, of which each has 1,000 entries at most.

        Args:
            url: the request.
            operation: its name.
            markers: for each parameter that names the place in the list, the element of an
                answer that has its next value.
        """
        place = ""
        while True:
            found = _answer(self._store(url + place), operation)
            yield found
            before, place = (
                place,
                "".join(
                    f"&{name}={quote(_text(found, element), safe='')}"
                    for name, element in markers.items()
                ),
            )
            if _text(found, "IsTruncated") != "true" or place == before:
                return

    def _of(self, upload: str) -> str:
        return f"{self._url}/{quote(self._key)}?uploadId={quote(upload, safe='')}"

    def _store(self, url: str) -> S3Store:
        return open_s3(self._bucket, f"{url}&x-id=")


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
