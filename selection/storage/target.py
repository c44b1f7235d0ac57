"""The location of an output, resolved once for both the check and the writer."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from selection.errors import (
    OutputError,
    OutputFolderMissingError,
    OutputForbiddenError,
    OutputIsInputError,
    OutputNameError,
    WriteError,
)
from selection.storage.input import close, fault_of_name
from selection.storage.interface import Input, is_input
from selection.storage.roots import is_file_inside
from selection.storage.transient import is_transient

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_MOST_LINKS = 40  # as Linux


@dataclass(frozen=True, slots=True)
class Target:
    """An open folder and the name of a file in it, which is not a link.

    All calls on the output use these two, so the check and the writer mean the same file even
    if a link in the path is swapped in between.

    Attributes:
        path: the output, as the caller named it.
        folder: a descriptor of its folder.
        name: its name in that folder.
    """

    path: str
    folder: int
    name: str

    def existing(self, source: Input) -> os.stat_result | None:
        """Return the status of the file that has the output's name, None if there is not one.

        Raises:
            OutputError: it is not a regular file.
            OutputIsInputError: it is the input, by this name or through a link.
            WriteError: its status cannot be read now; then it is not replaced.
        """
        try:
            found = os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise refusal(error, self.path) from None
        if not stat.S_ISREG(found.st_mode):
            raise OutputError("the output exists and is not a regular file", path=self.path)
        if is_input(source, found):
            raise OutputIsInputError(
                "the output is the input, by this name or through a link; name another",
                path=self.path,
            )
        return found


@contextmanager
def open_target(path: str, source: Input, roots: Sequence[str] = ()) -> Iterator[Target]:
    """Resolve the name of an output as the system does and keep its folder open.

    A name that the system would not find is refused: the folder of ``missing/../a.json`` does
    not exist, and ``a.json/`` is not another name of ``a.json``.

    Args:
        path: the output; a symbolic link is followed.
        source: the input, which the output must not be.
        roots: folders of which one must hold the output, links resolved; none: any place.

    Raises:
        OutputError: the name is that of a folder, its folder does not exist, it is outside the
            roots, it is the input or it is not UTF-8.
        WriteError: the folder cannot be opened now.
    """
    if fault := fault_of_name(path):
        raise OutputNameError(fault)
    try:
        target, where = _resolve(path)
    except OSError as error:
        raise refusal(error, path) from None
    try:
        try:
            inside = is_file_inside(roots, where, os.fstat(target.folder))
        except OSError as error:
            raise refusal(error, path) from None
        if not inside:
            raise OutputForbiddenError("the output is outside the allowed folders", path=path)
        target.existing(source)
        yield target
    finally:
        close(target.folder)


def refusal(error: OSError, path: str) -> OutputError | WriteError:
    """Return the typed error for a call that failed before anything was written."""
    if is_transient(error):
        return WriteError(f"cannot be made now: {error.strerror}", path=path)
    if isinstance(error, FileNotFoundError):
        return OutputFolderMissingError("the output's folder does not exist", path=path)
    return OutputError(f"cannot be made: {error.strerror}", path=path)


def _resolve(path: str) -> tuple[Target, str]:
    """Return an output's target and a name of its folder, with which the roots are compared."""
    folder: int | None = None
    where, rest = "", path
    try:
        for _ in range(_MOST_LINKS):
            head, name = os.path.split(rest)
            if name in ("", ".", ".."):
                raise OutputError("the output is the name of a folder; name a file", path=path)
            before, folder = folder, os.open(head or ".", _FOLDER_FLAGS, dir_fd=folder)
            if before is not None:
                close(before)
            where = os.path.join(where, head)
            try:
                rest = os.readlink(name, dir_fd=folder)
            except OSError as error:
                # A file that is not a link, or a file that does not exist yet.
                if error.errno not in (errno.EINVAL, errno.ENOENT):
                    raise
                return Target(path, folder, name), where or "."
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    except BaseException:
        if folder is not None:
            close(folder)
        raise
