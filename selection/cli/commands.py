"""The command ``selection``."""

from __future__ import annotations

import json
import platform
import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NoReturn, TypeVar

import click

from selection.batch import Summary
from selection.cli import messages
from selection.cli import runner as command
from selection.cli.plan import Planned, plan
from selection.cli.printable import printable
from selection.cli.results import Outcome, Results
from selection.cli.runs import RunOptions, outcomes
from selection.errors import InputMissingError, SelectionError
from selection.explain import explain_file
from selection.parallel.cores import usable_cores
from selection.reader import ReadOptions
from selection.storage.names import STANDARD_STREAM
from selection.text.backend import backend
from selection.verify import verify_files

Command = TypeVar("Command", bound=Callable[..., object])

_EXIT_CODES = """
\b
Exit codes:
  0    done
  2    wrong usage, or a wrong setting
  65   the data is wrong (invalid JSON, not a batch, a difference)
  66   the input does not exist or cannot be read
  69   an extra of this package is not installed
  73   the output cannot be made
  74   reading or writing failed; run again
  77   the object store refuses the credentials
  130  stopped by Ctrl-C (143 by SIGTERM, 141 by a closed pipe)
"""

# Not checked by click, which would report a file that cannot be read as wrong usage.
_FILE = click.Path(path_type=str, readable=False)


def _read_options(command: Command) -> Command:
    """Add the options that say how a batch is read."""
    lines = click.option("--lines", is_flag=True, help="Read JSON Lines, whatever the name.")
    skip = click.option(
        "--skip-bad-lines", is_flag=True, help="Copy and count lines that are not objects."
    )
    return lines(skip(command))


def _reading(lines: bool, skip_bad_lines: bool) -> ReadOptions:
    return ReadOptions(lines or None, skip_bad_lines, pipes=True)


class _Bytes(click.ParamType[int]):
    """A number of bytes with an optional decimal unit: 800K, 5M, 1G, 4096."""

    name = "size"
    _UNITS: ClassVar = {"": 1, "K": 1_000, "M": 1_000_000, "G": 1_000_000_000}

    def convert(
        self, value: str | int, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        found = re.fullmatch(r"([0-9]{1,12})([KMG]?)", str(value), re.IGNORECASE | re.ASCII)
        if found is None:
            self.fail(f"{value!r} is not a size such as 800K, 5M or 0", param, ctx)
        return int(found[1]) * self._UNITS[found[2].upper()]


def _print_version(context: click.Context, option: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        # It takes longer to import than a small batch takes to select.
        from importlib import metadata

        click.echo(
            f"selection {metadata.version('deterministic-content-selection')} "
            f"(backend {backend().name}, Python {platform.python_version()}, "
            f"Unicode {unicodedata.unidata_version})"
        )
        context.exit()


@click.group(epilog=_EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the versions that the picks depend on and the backend.",
)
def selection() -> None:
    """Pick the best of three extractors' texts for every article of a batch.

    \b
    Examples:
      selection run batch.json
      selection explain batch.json --index 3
      selection verify batch.json batch_selected.json
      selection report batch.json

    SELECTION_BACKEND=python uses the Python backend in place of the compiled one.
    """
    backend()  # a wrong setting is an error before any file is opened


@selection.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=_FILE)
@click.option("-o", "--output", type=_FILE, help="Output file, or folder (picked/).")
@click.option("--output-dir", type=_FILE, help="Output folder, created if it does not exist.")
@click.option("-r", "--recursive", is_flag=True, help="Search folders to any depth.")
@_read_options
@click.option("--compression-level", type=int, help="Of compressed outputs: 1 is fast.")
@click.option("--if-changed", is_flag=True, help="Keep outputs that are up to date.")
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Number of processes, by default one per core."
)
@click.option("--json", "as_json", is_flag=True, help="Print only one JSON object per file.")
def run(
    files: Sequence[str],
    output: str | None,
    output_dir: str | None,
    recursive: bool,
    lines: bool,
    skip_bad_lines: bool,
    compression_level: int | None,
    if_changed: bool,
    jobs: int | None,
    as_json: bool,
) -> int:
    """Copy each FILE to <name>_selected.json with a pick per article.

    A FILE is a batch, a pattern, a folder or - (standard input, whose output is standard output).
    A batch is JSON or JSON Lines, also compressed. *_selected.json are left out. Below
    --output-dir the batches keep their folders, from the deepest that all FILEs have in common.

    A file that fails does not stop the others; the exit code is that of the first failure.

    With --if-changed an output is kept if a run with --if-changed made it, and it, its input and
    the program have not changed since. There are never more processes than cores.

    \b
    Examples:
      selection run batch.json                 writes batch_selected.json
      selection run batch.json -o picked.json
      selection run out/*.json --output-dir picked --json
      selection run data --recursive -o picked/ --if-changed
      selection run batch.jsonl.gz             writes batch_selected.jsonl.gz
      zcat batch.json.gz | selection run - | zstd > picked.json.zst
    """
    planned = plan(files, output, output_dir, recursive=recursive)
    messages.log_left_out(planned.left_out)
    options = RunOptions(if_changed, _reading(lines, skip_bad_lines), compression_level)
    is_piped = any(batch.target == STANDARD_STREAM for batch in planned.batches)
    results = Results(planned)
    try:
        for batch, result in outcomes(planned, _processes(jobs), options):
            results.add(batch, result)
            if as_json:
                _print_json(_as_dict(batch, result), to_stderr=is_piped)
    except (KeyboardInterrupt, SystemExit):
        results.log_stopped()
        raise
    if not as_json and not is_piped:
        results.print_table()
    results.log_failures()
    return results.exit_code


def _processes(jobs: int | None) -> int:
    cores = usable_cores()
    return min(jobs or cores, cores)


def _as_dict(batch: Planned, result: Outcome) -> dict[str, Any]:
    if isinstance(result, Summary):
        return result.as_dict()
    state = {"unchanged": True} if result is None else {"error": result.as_dict()}
    return {"input": batch.path, "output": batch.target, **state}


@selection.command()
@click.argument("file", type=_FILE)
@click.option("--index", type=click.IntRange(min=0), help="The article with this index, from 0.")
@click.option("--id", "article_id", help="The article with this id.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per article.")
@_read_options
def explain(
    file: str,
    index: int | None,
    article_id: str | None,
    as_json: bool,
    lines: bool,
    skip_bad_lines: bool,
) -> None:
    """Explain the picks of FILE, of one article or one line each.

    A line has the index, the pick, the rule, the scores of (n)ewspaper4k, (r)eadability and
    (t)rafilatura, and the id.

    \b
    Examples:
      selection explain batch.json
      selection explain batch.json --index 3
      selection explain batch.json --id 042bb7b5 --json
    """
    chosen = index is not None or article_id is not None
    found = False
    for explanation in explain_file(
        file, index, article_id, options=_reading(lines, skip_bad_lines)
    ):
        found = True
        if as_json:
            _print_json(explanation.as_dict())
        elif chosen:
            from selection.cli.tables import print_explanation

            print_explanation(explanation)
        else:
            messages.print_explanation_line(explanation)
    if chosen and not found:
        raise InputMissingError(
            "the batch does not have this article; an index counts from 0", path=file
        )


@selection.command()
@click.argument("input", type=_FILE)
@click.argument("output", type=_FILE)
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
@_read_options
def verify(input: str, output: str, as_json: bool, lines: bool, skip_bad_lines: bool) -> int:
    """Check that OUTPUT is INPUT plus one correct pick per article.

    All other bytes must be equal. The first difference is reported by article and by byte of
    OUTPUT, with exit code 65.

    \b
    Example:
      selection verify batch.json batch_selected.json
    """
    try:
        with messages.progress(output) as progress:
            result = verify_files(input, output, progress, options=_reading(lines, skip_bad_lines))
    except SelectionError as error:
        if not as_json:
            raise
        _print_json({"input": input, "output": output, "error": error.as_dict()})
        return error.exit_code
    if as_json:
        _print_json(result.as_dict())
    else:
        click.echo(
            f"{printable(output)}: correct, {result.articles:,} articles with correct picks, "
            f"{result.skipped:,} items skipped, every other byte as in the input"
        )
    return 0


@selection.command()
@click.argument("file", type=_FILE)
@click.option("-o", "--output", type=_FILE, help="Output file, by default <name>_report.html.")
@click.option("--text-limit", type=_Bytes(), help="Most text in the page, by default 5M.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per article instead.")
@_read_options
def report(
    file: str,
    output: str | None,
    text_limit: int | None,
    as_json: bool,
    lines: bool,
    skip_bad_lines: bool,
) -> None:
    """Write an HTML page about the picks of FILE, a batch or an output.

    The page needs no network. It has the statistics of all articles, and a list and the texts
    as far as they fit, first of the articles whose extractors agree least.

    \b
    Examples:
      selection report batch.json                  writes batch_report.html
      selection report batch.json -o page.html --text-limit 20M
      selection report batch.json --json > statistics.jsonl
    """
    # The report takes 0.1 s to import, which the other commands save.
    from selection.report.write import TEXT_LIMIT, read_statistics, write_report

    if as_json and (output is not None or text_limit is not None):
        raise click.UsageError("--json does not write a page: leave out --output and --text-limit")
    options = _reading(lines, skip_bad_lines)
    with messages.progress(file) as progress:
        if as_json:
            for stats in read_statistics(file, progress, options=options):
                _print_json(stats.as_dict())
            return
        limit = TEXT_LIMIT if text_limit is None else text_limit
        written = write_report(file, output, limit, progress, options=options)
    messages.log_report(written)
    if written.output != STANDARD_STREAM:
        click.echo(printable(written.output))


def _print_json(value: dict[str, Any], *, to_stderr: bool = False) -> None:
    click.echo(json.dumps(value), err=to_stderr)


def main() -> NoReturn:
    """Run ``selection`` with the process's arguments."""
    command.run(selection)
