"""The command ``selection export``."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from selection.cli import messages
from selection.cli.options import FILE, print_json, read_options, reading
from selection.cli.plan import find_outputs, is_folder, real
from selection.cli.printable import printable
from selection.errors import OutputError, SelectionError
from selection.reader import ReadOptions
from selection.storage.address import is_address
from selection.storage.names import STANDARD_STREAM, stem, without_compression

if TYPE_CHECKING:
    from selection.export.columns import Column
    from selection.export.write import TableOptions

#: The names of :data:`selection.export.formats.WRITERS`, which take longer to import.
FORMATS = ("jsonl", "csv", "parquet")


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=FILE)
@click.option("-o", "--output", type=FILE, help="Output table, or folder (tables/).")
@click.option(
    "--format", type=click.Choice(FORMATS), help="By default that of the output's ending."
)
@click.option("--columns", help="Columns in order, separated by commas; by default all.")
@click.option(
    "--min-agreement",
    type=click.FloatRange(0, 1),
    help="Leave out articles with a lower agreement.",
)
@click.option("--strict", is_flag=True, help="Fail at a pick that is not that of the rules.")
@click.option("-r", "--recursive", is_flag=True, help="Search folders to any depth.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per table.")
@read_options
def export(
    files: Sequence[str],
    output: str | None,
    format: str | None,
    columns: str | None,
    min_agreement: float | None,
    strict: bool,
    recursive: bool,
    as_json: bool,
    lines: bool,
    skip_bad_lines: bool,
) -> int:
    """Write the chosen texts of outputs as a table.

    A FILE is an output of 'selection run', a pattern, a folder, an address or -. Without
    --output the table is JSON Lines on standard output. Several FILEs make one table, or one
    table each in a folder.

    The picks are those of the files. The number of rows whose pick is not that of the rules is
    reported; with --strict such a row is an error with exit code 65.

    Columns: batch, index, id, url, title, extractor, text, error, rule, score, agreement,
    margin, tokens.

    \b
    Examples:
      selection export batch_selected.json -o articles.parquet
      selection export picked --recursive -o articles.csv --columns url,text
      selection export *_selected.json -o tables/ --format parquet
      selection export batch_selected.json --min-agreement 0.5 | jq .text
    """
    from selection.export.write import TableOptions

    if min_agreement is not None and math.isnan(min_agreement):
        raise click.UsageError("--min-agreement must be a number from 0 to 1")
    paths = find_outputs(files, recursive=recursive)
    target = STANDARD_STREAM if output is None else output
    chosen = _columns(columns)
    options = reading(lines, skip_bad_lines)
    code = 0
    for inputs, table in _tables(paths, target, format):
        rows = TableOptions(format or _format_of(table), chosen, min_agreement, strict)
        try:
            _write(inputs, table, rows, options, as_json)
        except SelectionError as error:
            messages.log_error(error)
            code = code or error.exit_code
    return code


def _columns(names: str | None) -> tuple[Column, ...]:
    from selection.export.columns import COLUMNS

    if names is None:
        return COLUMNS
    by_name = {column.name: column for column in COLUMNS}
    wanted = [name.strip() for name in names.split(",")]
    if unknown := [name for name in wanted if name not in by_name]:
        raise click.UsageError(
            f"the column {printable(unknown[0])!r} does not exist; the columns are "
            f"{', '.join(by_name)}"
        )
    return tuple(by_name[name] for name in dict.fromkeys(wanted))


def _tables(
    paths: Sequence[str], target: str, format: str | None
) -> list[tuple[Sequence[str], str]]:
    """Return the inputs and the path of each table."""
    if not is_folder(target):
        return [(paths, target)]
    ending = format or "parquet"
    tables: dict[str, str] = {}
    for path in paths:
        table = os.path.join(target, f"{os.path.basename(stem(path))}.{ending}")
        if table in tables:
            raise click.UsageError(
                f"{printable(tables[table])} and {printable(path)} have the same table: "
                f"{printable(table)}"
            )
        tables[table] = path
    inputs = {real(path): path for path in paths}
    for table, path in tables.items():
        # Each table is checked against its own batch when it is made.
        if (other := inputs.get(real(table), path)) != path:
            raise click.UsageError(
                f"the table of {printable(path)} would replace {printable(other)}; name another "
                "folder"
            )
    if not is_address(target):
        try:
            os.makedirs(target, exist_ok=True)
        except OSError as error:
            message = f"the folder cannot be created: {error.strerror}"
            raise OutputError(message, path=target) from None
    return [([path], table) for table, path in tables.items()]


def _format_of(table: str) -> str:
    if table == STANDARD_STREAM:
        return "jsonl"
    ending = os.path.splitext(without_compression(table))[1].removeprefix(".")
    if ending not in FORMATS:
        endings = ", ".join(f".{name}" for name in FORMATS)
        raise click.UsageError(f"name the table with one of {endings}, or use --format")
    return ending


def _write(
    inputs: Sequence[str], table: str, rows: TableOptions, options: ReadOptions, as_json: bool
) -> None:
    from selection.export.write import export_files

    with messages.progress(table) as progress:
        written = export_files(inputs, table, rows, progress, reading=options)
    if as_json:
        print_json(written.as_dict(), to_stderr=table == STANDARD_STREAM)
    else:
        messages.log_export(written)
