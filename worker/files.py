"""Which files a person means: names, patterns, folders."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable

from selection.batch import SUFFIX
from selection.errors import InputMissingError


def expand(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """The batches that the names mean, and what was left out because it is an output.

    Args:
        names: files, patterns (``out/*.json``) or folders (their ``*.json``).

    Returns:
        Paths without repetition, in order, and the ``*_selected.json`` among them.

    Raises:
        InputMissingError: a pattern or a folder has no such file.
    """
    paths: list[str] = []
    for name in names:
        if os.path.isdir(name):
            found = sorted(glob.glob(os.path.join(glob.escape(name), "*.json")))
        elif glob.has_magic(name) and not os.path.lexists(name):
            found = sorted(glob.glob(name, recursive=True))
        else:
            found = [name]
        if not found:
            raise InputMissingError("there is no batch of that name", path=name)
        paths += found
    paths = list(dict.fromkeys(paths))
    outputs = [path for path in paths if path.endswith(f"{SUFFIX}.json")]
    return [path for path in paths if path not in set(outputs)], outputs
