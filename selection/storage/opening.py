"""Open an input or an output by its name, whatever kind it is of."""

from __future__ import annotations

import os
from collections.abc import Sequence

from selection.storage.input import InputFile
from selection.storage.interface import Input, Output
from selection.storage.names import is_address
from selection.storage.output import OutputFile
from selection.storage.target import open_target


def open_input(path: str, roots: Sequence[str] = ()) -> Input:
    """Open an input for reading.

    Args:
        path: a file or the address of an object, as the caller named it.
        roots: folders or addresses of which one must hold it, links resolved; none: any place.

    Raises:
        InputError: it does not exist, cannot be read or is outside the roots.
        CredentialsError, ExtraMissingError: the object store cannot be used.
        ReadError: it cannot be opened now.
    """
    if is_address(path):
        from selection.storage.object_input import ObjectInput

        return ObjectInput(path, roots)
    return InputFile(path, roots)


def open_output(path: str, source: Input, roots: Sequence[str] = ()) -> Output:
    """Return a new output, which is made when its context is entered.

    Args:
        path: a file or the address of an object.
        source: the input, which is never replaced.
        roots: as for :func:`open_input`.
    """
    if is_address(path):
        from selection.storage.object_output import ObjectOutput

        return ObjectOutput(path, source, roots)
    return OutputFile(path, source, roots)


def check_output(path: str, source: Input, roots: Sequence[str] = ()) -> None:
    """Check that an output can be made, without making it.

    Args:
        path, source, roots: as for :func:`open_output`.

    Raises:
        OutputError, WriteError: as on entering the output.
    """
    if is_address(path):
        from selection.storage.object_output import check_address

        check_address(path, source, roots)
        return
    with open_target(path, source, roots):
        pass


def exists(path: str) -> bool:
    """Return whether a file or an object exists.

    Raises:
        SelectionError: the object store does not say.
    """
    if is_address(path):
        from selection.storage.object_list import object_exists

        return object_exists(path)
    return os.path.exists(path)
