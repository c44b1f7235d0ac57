"""Records of the outputs that are up to date, in the user's cache folder."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from selection.errors import SelectionError
from selection.storage.address import is_address
from selection.storage.opening import open_stored

_CODE = (".py", ".so", ".pyd")
# The coarsest resolution of the times of a file system, in nanoseconds.
_RESOLUTION = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Found:
    """A file or an object at a time.

    Attributes:
        state: size, modification time in nanoseconds and inode of a file; ETag, size and version
            id of an object.
        changed: the modification time of a file; None for an object, whose ETag is of its bytes.
        at: the time, in nanoseconds.
    """

    state: tuple[str, ...]
    changed: int | None
    at: int


def find(path: str) -> Found:
    """Return the state of a file or an object now.

    Raises:
        OSError, SelectionError: it does not exist, or this cannot be found out.
    """
    at = time.time_ns()
    if is_address(path):
        with closing(open_stored(path)) as source:
            return Found(source.version, None, at)
    found = os.stat(path)
    state = (found.st_size, found.st_mtime_ns, found.st_ino)
    return Found(tuple(map(str, state)), found.st_mtime_ns, at)


def is_current(path: str, output: str, form: str) -> bool:
    """Return whether an output was made by this code from this input, and both are unchanged.

    A file that is written again within the resolution of its modification time keeps that time.
    So an output must be newer than the file that it was made of, and an object must have been
    made two seconds after the last change of that file.
    """
    try:
        record = json.loads(_record_file(output).read_bytes())
        began = record.pop("began")
        if record["code"] != code_version():
            return False
        made_of, made = find(path), find(output)
    except (OSError, ValueError, AttributeError, LookupError, TypeError, SelectionError):
        return False
    if made_of.changed is not None:
        newest = made.changed if made.changed is not None else began - _RESOLUTION
        if newest <= made_of.changed:
            return False
    return bool(record == _record(path, made_of, made, form))


def remember(path: str, found: Found, output: str, form: str) -> None:
    """Record that an output was made.

    Args:
        path: the input.
        found: the input before it was read.
        output: the complete output.
        form: the options that it depends on.

    Raises:
        OSError: the record cannot be written.
        SelectionError: the state of the output cannot be found out.
    """
    content = json.dumps({**_record(path, found, find(output), form), "began": found.at})
    target = _record_file(output)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=target.parent)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(content)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _record(path: str, made_of: Found, made: Found, form: str) -> dict[str, Any]:
    return {
        "input": _name(path).hex(),
        "input_state": [*made_of.state],
        "output_state": [*made.state],
        "form": form,
        "code": code_version(),
    }


def _name(path: str) -> bytes:
    return os.fsencode(path if is_address(path) else os.path.realpath(path))


def _record_file(output: str) -> Path:
    cache_folder = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    name = hashlib.sha256(_name(output)).hexdigest()
    return Path(cache_folder, "deterministic-content-selection", name)


@cache
def code_version() -> str:
    """Return a digest of this package's code and of Python's version.

    A version number does not change with every change of the code. The tables of Unicode and
    HTML come with Python.
    """
    digest = hashlib.sha256(sys.version.encode())
    for name, content in sorted(_code(resources.files("selection"), "")):
        digest.update(f"\0{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _code(folder: Traversable, prefix: str) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _code(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(_CODE):
            found.append((prefix + entry.name, entry.read_bytes()))
    return found
