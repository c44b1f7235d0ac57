"""The allowed folders (``SELECTION_ROOTS``): what lies inside them and is read or written.

A root is a local folder or an address of an object store. Without roots, all is allowed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from selection.storage.address import is_address
from selection.storage.transient import is_transient

if TYPE_CHECKING:
    from selection.storage.object_address import Address


def is_file_inside(roots: Sequence[str], path: str, opened: os.stat_result) -> bool:
    """Return whether a file that was opened is in one of the roots; without roots it is.

    The name is resolved after opening, and the result must be the file that was opened, so a
    link that is swapped in between is refused.

    Args:
        roots: folders.
        path: the name under which the file was opened.
        opened: the status of the open file.

    Raises:
        OSError: the name cannot be resolved now.
    """
    if not roots:
        return True
    real = _real(path)
    if real is None or not os.path.samestat(opened, real[1]):
        return False
    local = [root for root in roots if not is_address(root)]
    folders = [found[0] for root in local if (found := _real(root))]
    return any(os.path.commonpath([folder, real[0]]) == folder for folder in folders)


def is_folder_inside(roots: Sequence[str], path: str) -> bool:
    """Return whether a folder that does not exist yet would be in one of the roots.

    Without roots it would.
    """
    if not roots:
        return True
    folder = os.path.realpath(path)
    folders = [os.path.realpath(root) for root in roots if not is_address(root)]
    return any(os.path.commonpath([root, folder]) == root for root in folders)


def _real(path: str) -> tuple[str, os.stat_result] | None:
    """Return the path without links and the status of that file, None if there is not one."""
    try:
        # Without `strict`, errors are ignored and links stay in the path.
        real = os.path.realpath(path, strict=True)
        return real, os.lstat(real)
    except OSError as error:
        if is_transient(error):
            raise
        return None


def is_address_inside(roots: Sequence[str], name: str) -> bool:
    """Return whether an address lies below one of the roots; without roots it does.

    A root that is a local folder holds no object. A root holds what is below it, whether or
    not it ends in "/": ``s3://bucket/in`` does not hold ``s3://bucket/in-other/a.json``.
    """
    if not roots:
        return True
    # A run on local files does not import it.
    from selection.storage.object_address import parse_address

    try:
        address = parse_address(name)
        allowed = [parse_address(root) for root in roots if is_address(root)]
    except ValueError:
        return False
    return any(_holds(root, address) for root in allowed)


def _holds(root: Address, address: Address) -> bool:
    if (root.scheme, root.bucket) != (address.scheme, address.bucket):
        return False
    prefix = root.key if root.is_folder else f"{root.key}/"
    return address.key.startswith(prefix)
