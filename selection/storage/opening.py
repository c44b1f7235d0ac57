"""Open an input or an output by its name, whatever kind it is of."""

from __future__ import annotations

from collections.abc import Sequence

from selection.storage.input import InputFile
from selection.storage.interface import Input, Output
from selection.storage.output import OutputFile
from selection.storage.target import open_target


def open_input(path: str, roots: Sequence[str] = ()) -> Input:
    """Open an input for reading.

    Args:
        path: a file, as the caller named it.
        roots: folders of which one must hold the file, links resolved; none: any place.

    Raises:
        InputError: it does not exist, cannot be read or is outside the roots.
        ReadError: it cannot be opened now.
    """
    return InputFile(path, roots)


def open_output(path: str, source: Input, roots: Sequence[str] = ()) -> Output:
    """Return a new output, which is made when its context is entered.

    Args:
        path: where it goes.
        source: the input, which is never replaced.
        roots: as for :func:`open_input`.
    """
    return OutputFile(path, source, roots)


def check_output(path: str, source: Input, roots: Sequence[str] = ()) -> None:
    """Check that an output can be made, without making it.

    Args:
        path, source, roots: as for :func:`open_output`.

    Raises:
        OutputError, WriteError: as on entering the output.
    """
    with open_target(path, source, roots):
        pass
