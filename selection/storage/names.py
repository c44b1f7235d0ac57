"""Names of batches and of their outputs: what a name says of the form, without opening a file."""

from __future__ import annotations

import os

from selection.storage.compression import FORMATS, Format

#: The name of standard input as an input and of standard output as an output.
STANDARD_STREAM = "-"
#: The name of a folder of reports, and that of the index in it.
REPORTS, INDEX = "selection_report", "index.html"

_STANDARD_INPUTS = (STANDARD_STREAM, "/dev/stdin")

_SELECTED, _REPORT, _COMPARISON = "_selected", "_report.html", "_comparison.html"
_LINES = (".jsonl", ".ndjson")
_BATCHES = (".json", *_LINES)


def is_standard_input(path: str) -> bool:
    """Return whether an input's name is that of standard input, a pipe or not."""
    return path in _STANDARD_INPUTS


def compression_of(path: str) -> Format | None:
    """Return the compression format that a name says, None if it says none."""
    return next((each for each in FORMATS if path.endswith(each.suffix)), None)


def is_lines(path: str) -> bool:
    """Return whether a name says that the file is JSON Lines, compressed or not."""
    return without_compression(path).endswith(_LINES)


def is_batch(path: str) -> bool:
    """Return whether a folder's file of this name is a batch."""
    return without_compression(path).endswith(_BATCHES)


def is_output(path: str) -> bool:
    """Return whether a name is that of an output."""
    return is_batch(path) and stem(path).endswith(_SELECTED)


def default_output(path: str) -> str:
    """Return the name of an output beside its batch.

    ``x.json`` gives ``x_selected.json``, ``x.jsonl.gz`` gives ``x_selected.jsonl.gz``, and
    standard input gives standard output.
    """
    if path == STANDARD_STREAM:
        return path
    compression = compression_of(path)
    name = without_compression(path)
    ending = next((each for each in _LINES if name.endswith(each)), ".json")
    return stem(path) + _SELECTED + ending + (compression.suffix if compression else "")


def default_report(path: str) -> str:
    """Return the name of a report beside its batch; of standard input, standard output.

    ``x.json`` gives ``x_report.html``; another ending is kept, so that ``x.jsonl`` beside it has
    another report, ``x.jsonl_report.html``.
    """
    if path == STANDARD_STREAM:
        return path
    return (stem(path) if path.endswith(".json") else path) + _REPORT


def default_comparison(path: str) -> str:
    """Return the name of a comparison beside the new batch; of standard input, standard output."""
    return path if path == STANDARD_STREAM else stem(path) + _COMPARISON


def without_compression(path: str) -> str:
    """Return a name without the ending of a compression format."""
    compression = compression_of(path)
    return path.removesuffix(compression.suffix) if compression else path


def stem(path: str) -> str:
    """Return a name without the endings of its form and its compression format."""
    return os.path.splitext(without_compression(path))[0]
