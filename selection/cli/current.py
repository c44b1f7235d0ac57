"""Records of the outputs that are up to date, in the user's cache folder."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from contextlib import suppress
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

_CODE = (".py", ".so", ".pyd")


def is_current(path: str, output: str) -> bool:
    """Return whether an output was made by this code from this input, and both are unchanged.

    The output must also be newer than the input: an input that is written again within the
    resolution of its modification time keeps that time, which is then not before the output's.
    """
    try:
        record = json.loads(_record_file(output).read_bytes())
        made_of, made = os.stat(path), os.stat(output)
    except (OSError, ValueError):
        return False
    is_newer = made.st_mtime_ns > made_of.st_mtime_ns
    return bool(is_newer and record == _record(path, made_of, made))


def remember(path: str, found: os.stat_result, output: str) -> None:
    """Record that an output was made.

    Args:
        path: the input.
        found: the status of the input before it was read.
        output: the complete output.

    Raises:
        OSError: the record cannot be written.
    """
    content = json.dumps(_record(path, found, os.stat(output)))
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


def _record(path: str, made_of: os.stat_result, made: os.stat_result) -> dict[str, Any]:
    return {
        "input": os.fsencode(os.path.realpath(path)).hex(),
        "input_state": [made_of.st_size, made_of.st_mtime_ns],
        "output_state": [made.st_size, made.st_mtime_ns, made.st_ino],
        "code": code_version(),
    }


def _record_file(output: str) -> Path:
    cache_folder = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    name = hashlib.sha256(os.fsencode(os.path.realpath(output))).hexdigest()
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
