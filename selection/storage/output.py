"""The output file: complete under its name, or absent."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from types import TracebackType

from selection.errors import WriteError
from selection.storage.interface import Input
from selection.storage.target import Target, open_target, refusal
from selection.storage.temporary import Temporary, sweep
from selection.storage.transient import is_transient

_BUFFER = 1 << 20


class OutputFile:
    """A new file that gets its name only when it is complete and on disk.

    Used as a context manager: a clean exit renames the file to its name; any exception, also
    one that a signal or a timeout raises, removes what was written and leaves the target as it
    was. The bytes go to a temporary file beside the target, which only its owner can open
    (see :mod:`selection.storage.temporary`). An existing output keeps its mode; a new one gets
    the permissions of the input within the umask, as with ``cp``.

    Args:
        path: the target; a symbolic link is followed.
        source: the input, which is never replaced.
        roots: folders of which one must hold the target, links resolved; none: any place.

    Raises:
        OutputError: the file cannot be made there, or it is the input.
        WriteError: writing it failed.
    """

    def __init__(self, path: str, source: Input, roots: Sequence[str] = ()) -> None:
        self.path = path
        self._source = source
        self._roots = roots

    def __enter__(self) -> OutputFile:
        # Not made before: a signal between making and entering would leave it behind.
        self._opened = ExitStack()
        try:
            self._target = self._opened.enter_context(
                open_target(self.path, self._source, self._roots)
            )
            self._new = Temporary(self._target.folder, self._target.name, _BUFFER)
            self._opened.callback(self._new.remove)
            self._new.create()
            sweep(self._target.folder, self._new.file.fileno(), self._source)
        except BaseException as error:
            self._opened.close()
            if isinstance(error, OSError):
                raise refusal(error, self.path) from None
            raise
        return self

    def write(self, pieces: Iterable[bytes | memoryview]) -> None:
        """Append the pieces, in order."""
        try:
            self._new.file.writelines(pieces)
        except OSError as error:
            raise self._write_error(error) from None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._opened:
            if kind is None:
                try:
                    self._commit(self._target)
                except OSError as failure:
                    raise self._write_error(failure) from None

    def _commit(self, target: Target) -> None:
        self._new.file.flush()
        descriptor = self._new.file.fileno()
        # The file under that name may have changed since the beginning; it can be the input now.
        _set_mode(descriptor, self._source.status, target.existing(self._source))
        os.fsync(descriptor)
        if not self._new.rename(target.name):
            raise WriteError(
                "another program replaced the temporary file; run again", path=self.path
            )
        _sync_folder(target.folder)

    def _write_error(self, error: OSError) -> WriteError:
        return WriteError(f"writing failed: {error.strerror}", path=self.path)


def _set_mode(descriptor: int, input: os.stat_result | None, output: os.stat_result | None) -> None:
    """Set the mode that the new file has under its final name.

    Args:
        descriptor: of the new file.
        input: the local file that the output is made of, if there is one.
        output: the file that is replaced, if there is one.
    """
    if output is None:
        wanted = 0o666 if input is None else stat.S_IMODE(input.st_mode) & 0o777
        mode = wanted & ~_umask()
    else:
        mode = stat.S_IMODE(output.st_mode) & 0o777
        if not _keep_owner(descriptor, output):
            # Another group has other members, so it does not get the group's permissions.
            mode &= ~0o070 | (mode & 0o007) << 3
    try:
        os.fchmod(descriptor, mode)
    except OSError as error:
        # Some file systems have one mode for all files.
        if is_transient(error):
            raise


def _keep_owner(descriptor: int, output: os.stat_result) -> bool:
    """Set the owner and group of the old file; return whether the new one has the group."""
    for owner in (output.st_uid, -1):
        with suppress(OSError):
            os.fchown(descriptor, owner, output.st_gid)
            return True
    return os.fstat(descriptor).st_gid == output.st_gid


def _umask() -> int:
    # It can only be read by setting it. Files that other threads create meanwhile are private.
    umask = os.umask(0o077)
    os.umask(umask)
    return umask


def _sync_folder(folder: int) -> None:
    """Synchronise the new name to disk, on file systems that need it."""
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
