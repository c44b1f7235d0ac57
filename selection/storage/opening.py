"""Open an input or an output by its name, whatever kind it is of."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Sequence
from contextlib import suppress

from selection.errors import OutputIsInputError
from selection.storage.address import is_address
from selection.storage.compression import MAGIC_BYTES, Format, recognized
from selection.storage.input import InputFile
from selection.storage.interface import Input, Output, is_input
from selection.storage.names import STANDARD_STREAM, compression_of, is_standard_input
from selection.storage.output import OutputFile
from selection.storage.target import open_target


def open_input(path: str, roots: Sequence[str] = (), *, pipes: bool = False) -> Input:
    """Open an input for reading. A compressed one gives its decompressed bytes.

    Args:
        path: a file or the address of an object, as the caller named it.
        roots: folders or addresses of which one must hold it, links resolved; none: any place.
        pipes: whether ``-`` is standard input, a FIFO is read and the file that standard output
            is redirected to is refused; otherwise ``-`` is a file and a FIFO is refused without
            waiting for its writer.

    Raises:
        InputError: it does not exist, cannot be read or is outside the roots.
        OutputIsInputError: standard output is redirected to it.
        CredentialsError, EndpointError, ExtraMissingError: the object store cannot be used.
        ReadError: it cannot be opened now.
        ExtraMissingError: it is compressed, and the library for it is not installed.
    """
    source = open_stored(path, roots, pipes=pipes)
    try:
        if pipes:
            _check_standard_output(source)
        return _decompressed(source)
    except BaseException:
        source.close()
        raise


def open_stored(path: str, roots: Sequence[str] = (), *, pipes: bool = False) -> Input:
    """Open an input for reading its bytes as they are stored, compressed or not.

    Nothing is read yet, so that checking an object does not fetch it.

    Args:
        path, roots, pipes: as for :func:`open_input`.

    Raises:
        InputError, CredentialsError, EndpointError: as :func:`open_input`.
        ExtraMissingError, ReadError: as :func:`open_input`.
    """
    if pipes and is_pipe(path):
        from selection.storage.pipe import PipeInput

        return PipeInput(path)
    if is_address(path):
        from selection.storage.object_input import ObjectInput

        return ObjectInput(path, roots)
    return InputFile(path, roots)


def is_pipe(path: str) -> bool:
    """Return whether a name is that of a pipe now: standard input or a FIFO."""
    if is_standard_input(path):
        return True
    if is_address(path):
        return False
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def _check_standard_output(source: Input) -> None:
    """Refuse an input that grows or is overwritten by what the command prints."""
    if sys.__stdout__ is None:
        return
    with suppress(OSError):
        if is_input(source, os.fstat(1)):
            raise OutputIsInputError(
                "standard output is redirected to the input; name another file", path=source.path
            )


def _decompressed(source: Input) -> Input:
    head = b""
    while len(head) < MAGIC_BYTES and (more := source.read(MAGIC_BYTES - len(head))):
        head += more
    source.seek(0)
    found = recognized(head)
    if found is None:
        return source
    from selection.storage.compressed import CompressedInput

    return CompressedInput(source, found)


def open_output(
    path: str,
    source: Input,
    roots: Sequence[str] = (),
    *,
    pipes: bool = False,
    format: Format | None = None,
    level: int | None = None,
) -> Output:
    """Return a new output, which is made when its context is entered.

    Args:
        path: a file or the address of an object.
        source: the input, which is never replaced.
        roots: as for :func:`open_input`.
        pipes: whether ``-`` is standard output; otherwise it is a file.
        format: of the output, if its name does not say that it is compressed.
        level: the compression level, if it is compressed; None: the format's default.

    Raises:
        CompressionLevelError: the format does not have the level.
        ExtraMissingError: the library for the format is not installed.
    """
    output: Output
    if pipes and path == STANDARD_STREAM:
        from selection.storage.pipe import StandardOutput

        output = StandardOutput()
    elif is_address(path):
        from selection.storage.object_output import ObjectOutput

        output = ObjectOutput(path, source, roots)
    else:
        output = OutputFile(path, source, roots)
    chosen = compression_of(path) or format
    if chosen is None:
        return output
    from selection.storage.compressed import CompressedOutput

    return CompressedOutput(output, chosen, level)


def format_without_name(source: Input) -> Format | None:
    """Return the format of an output whose name says none: that of an input whose name says none.

    The output of a compressed file ``x.json`` is compressed; that of ``x.json.gz``, if it is named
    ``y.json``, is not.
    """
    return None if compression_of(source.path) else source.format


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
