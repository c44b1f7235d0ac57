"""The objects below an address, and whether an object exists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from selection.errors import InputNameError
from selection.storage.object_address import Address, parse_address
from selection.storage.object_input import refusal
from selection.storage.object_store import Fault, fault_of, open_store, result_of, start

if TYPE_CHECKING:
    from obstore.store import ObjectStore


def list_addresses(path: str, recursive: bool) -> Iterator[str]:
    """Give the addresses of the objects in a folder, sorted.

    Objects with a segment below the folder that begins with "." are left out.

    Args:
        path: the address of the folder.
        recursive: list the folder to any depth.

    Raises:
        InputError: it is not an address, the bucket does not exist or it cannot be listed.
        CredentialsError, EndpointError, ExtraMissingError, ReadError: as for an input.
    """
    try:
        folder = parse_address(path)
    except ValueError as error:
        raise InputNameError(str(error), path=path) from None
    store = open_store(folder)
    try:
        keys = result_of(start(_keys, store, folder.key, recursive))
    except InputNameError as error:
        error.path = path
        raise
    except Exception as error:
        raise refusal(error, path) from None
    for key in sorted(keys):
        below = key.removeprefix(folder.key)
        if not any(segment.startswith(".") for segment in below.split("/")):
            yield str(Address(folder.scheme, folder.bucket, key))


def _keys(store: ObjectStore, prefix: str, recursive: bool) -> list[str]:
    import obstore
    from obstore.exceptions import InvalidPathError

    try:
        if not recursive:
            found = obstore.list_with_delimiter(store, prefix)["objects"]
            return [each["path"] for each in found]
        return [each["path"] for chunk in obstore.list(store, prefix) for each in chunk]
    except InvalidPathError:
        raise InputNameError(
            "the folder cannot be listed, since a key in it has an empty segment (//) or the "
            "segment . or ..; name the objects or other folders"
        ) from None


def object_exists(path: str) -> bool:
    """Return whether an object exists.

    Raises:
        SelectionError: this cannot be found out.
    """
    address = parse_address(path)
    store = open_store(address)
    from obstore import head

    try:
        result_of(start(head, store, address.key))
    except Exception as error:
        if fault_of(error)[0] is Fault.MISSING_OBJECT:
            return False
        raise refusal(error, path) from None
    return True
