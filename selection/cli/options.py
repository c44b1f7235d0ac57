"""Options that several commands share."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import click

from selection.reader import ReadOptions
from selection.storage.address import is_address

Command = TypeVar("Command", bound=Callable[..., object])


class File(click.Path):
    """A path or an address, which the commands check: an error about it is not wrong usage.

    An address with credentials is refused here, since every later message would repeat them.
    """

    def __init__(self) -> None:
        super().__init__(path_type=str, readable=False)

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str | bytes | os.PathLike[str]:
        """Return the name, or report a usage error."""
        name = os.fsdecode(value)
        if is_address(name) and "@" in name.split("/")[2]:
            self.fail("an address has no credentials: set them in the environment", param, ctx)
        return super().convert(value, param, ctx)


FILE = File()


def file_options(command: Command) -> Command:
    """Add the argument FILE... and the options that say which files it names and their outputs."""
    files = click.argument("files", metavar="FILE...", nargs=-1, required=True, type=FILE)
    output = click.option("-o", "--output", type=FILE, help="Output file, or folder (picked/).")
    folder = click.option(
        "--output-dir", type=FILE, help="Output folder, created if it does not exist."
    )
    recursive = click.option("-r", "--recursive", is_flag=True, help="Search folders to any depth.")
    return files(output(folder(recursive(command))))


def read_options(command: Command) -> Command:
    """Add the options that say how a batch is read."""
    lines = click.option("--lines", is_flag=True, help="Read JSON Lines, whatever the name.")
    skip = click.option(
        "--skip-bad-lines", is_flag=True, help="Copy and count lines that are not objects."
    )
    return lines(skip(command))


def reading(lines: bool, skip_bad_lines: bool) -> ReadOptions:
    """Return how a batch is read by the values of these options."""
    return ReadOptions(lines or None, skip_bad_lines, pipes=True)


class Bytes(click.ParamType[int]):
    """A number of bytes with an optional decimal unit: 800K, 5M, 1G, 4096."""

    name = "size"
    _UNITS: ClassVar = {"": 1, "K": 1_000, "M": 1_000_000, "G": 1_000_000_000}

    def convert(
        self, value: str | int, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return the number of bytes, or report a usage error."""
        found = re.fullmatch(r"([0-9]{1,12})([KMG]?)", str(value), re.IGNORECASE | re.ASCII)
        if found is None:
            self.fail(f"{value!r} is not a size such as 800K, 5M or 0", param, ctx)
        return int(found[1]) * self._UNITS[found[2].upper()]


def print_json(value: dict[str, Any], *, to_stderr: bool = False) -> None:
    """Print one JSON object on one line."""
    click.echo(json.dumps(value), err=to_stderr)
