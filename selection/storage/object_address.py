"""Addresses of objects, and which of them are allowed; without a connection to a store."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

from selection.storage.address import SCHEMES

_BUCKET = re.compile(r"[A-Za-z0-9$][A-Za-z0-9._-]*")
_LONGEST_KEY = 1024  # bytes, of S3 and Google; Azure allows as many characters

#: What to write in place of a pattern.
NO_PATTERN = "an address is not a pattern; name several objects, or a folder with / at its end"


@dataclass(frozen=True, slots=True)
class Address:
    """The address of an object or, with a key that is empty or ends in "/", of a folder.

    The characters of a key are the object's name: nothing in it is decoded.

    Attributes:
        scheme: ``s3``, ``gs`` or ``az``.
        bucket: the bucket, in Azure the container.
        key: the name in the bucket.
    """

    scheme: str
    bucket: str
    key: str

    @property
    def is_folder(self) -> bool:
        """Whether it names all objects below a prefix."""
        return self.key == "" or self.key.endswith("/")

    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}/{self.key}"


def parse_address(name: str) -> Address:
    """Return the parts of an address.

    An address with two readings is refused, so that the check of the allowed folders and the
    server mean the same object.

    Raises:
        ValueError: it is not the address of an object or a folder; the message says why.
    """
    scheme, _, rest = name.partition("://")
    if scheme not in SCHEMES:
        raise ValueError(f"an address begins with {', '.join(f'{s}://' for s in SCHEMES)}")
    bucket, _, key = rest.partition("/")
    if not _BUCKET.fullmatch(bucket):
        raise ValueError(
            f"{bucket!a} is not the name of a bucket; write {scheme}://BUCKET/KEY, without "
            "an endpoint or credentials"
        )
    if fault := _fault_of_key(key):
        raise ValueError(fault)
    return Address(scheme, bucket, key)


def _fault_of_key(key: str) -> str | None:
    if "?" in key:
        return f"a key cannot have ?; {NO_PATTERN}"
    if re.search(r"[\x00-\x1f\x7f\ud800-\udfff\\#]", key):
        return "a key cannot have control characters, lone surrogates, \\, ? or #"
    if len(key.encode()) > _LONGEST_KEY:
        return f"a key cannot have more than {_LONGEST_KEY} bytes"
    segments = key.split("/")
    if "" in segments[:-1]:
        return "a key cannot have an empty segment (//)"
    # Some servers and proxies decode a key once more, and then resolve it.
    decoded = [part for segment in segments for part in _decoded(segment).split("/")]
    if any(part in (".", "..") for part in decoded):
        return "a key cannot have the segments . and .., written out or as %2e"
    return None


def _decoded(segment: str) -> str:
    while (decoded := unquote(segment)) != segment:
        segment = decoded
    return segment.replace("\\", "/")
