"""Which names are addresses of objects; the health check imports this, so it imports nothing."""

from __future__ import annotations

#: What begins the address of an object: S3, Google Cloud Storage, Azure Blob Storage.
SCHEMES = ("s3", "gs", "az")

_BEGINNINGS = tuple(f"{scheme}://" for scheme in SCHEMES)


def is_address(name: str) -> bool:
    """Return whether a name is an address and not a local path.

    A local file whose name begins like an address is named with a folder: ``./s3://a.json``.
    """
    return name[:5].lower().startswith(_BEGINNINGS)
