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
from selection.cli import messages as log
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
  65   the data is wrong (no JSON, no batch, a difference)
  66   no such input, or it cannot be read
  73   the output cannot be made
  74   reading or writing failed half way
  130  stopped by Ctrl-C (143 by SIGTERM, 141 by a closed pipe)
"""

# Whether a file can be read is told by the run, with its own exit code; click would say "usage".
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
    """A number of bytes, with a unit of a thousand or without: 800K, 5M, 1G, 4096."""

    name = "size"
    _UNITS: ClassVar = {"": 1, "K": 1_000, "M": 1_000_000, "G": 1_000_000_000}

    def convert(
        self, value: str | int, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        found = re.fullmatch(r"([0-9]{1,12})([KMG]?)", str(value), re.IGNORECASE | re.ASCII)
        if found is None:
            self.fail(f"{value!r} is no size such as 800K, 5M or 0", param, ctx)
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
    help="Say what the picks depend on, and which backend is in use.",
)
def selection() -> None:
    """Pick the best of three extractors' texts for every article of a batch.

    \b
    Examples:
      selection run river_plate_extracted.json
      selection explain river_plate_extracted.json --index 3
      selection verify river_plate_extracted.json river_plate_extracted_selected.json
      selection report river_plate_extracted.json

    SELECTION_BACKEND=python does without the compiled backend.
    """
    backend()  # a wrong setting ends here, before any file is touched


@selection.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=_FILE)
@click.option("-o", "--output", type=_FILE, help="Write here; picked/ names a folder.")
@click.option("--output-dir", type=_FILE, help="Write into this folder; it is made if missing.")
@click.option("-r", "--recursive", is_flag=True, help="Look into the folders of folders, too.")
@_read_options
@click.option("--compression-level", type=int, help="Of compressed outputs: 1 is fast.")
@click.option("--if-changed", is_flag=True, help="Leave outputs alone that are up to date.")
@click.option("--jobs", type=click.IntRange(min=1), help="Processes; one per core by default.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a file, no more.")
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
    """Copy each FILE to <name>_selected.json with a pick for every article.

    A FILE is a batch, a pattern, a folder or - (standard input, whose output is standard output).
    A batch is JSON or JSON Lines, also compressed. *_selected.json are left out. Below
    --output-dir the batches keep their folders, from the deepest that all FILEs have in common.

    A file that fails does not stop the others; the exit code is the first failure's.

    With --if-changed an output is kept if neither it nor its input nor the program has changed
    since a run with --if-changed made it. There are never more processes than cores.

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
    log.log_left_out(planned.left_out)
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
@click.option("--index", type=click.IntRange(min=0), help="The article at this place, from 0.")
@click.option("--id", "article_id", help="The article with this id.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object an article.")
@_read_options
def explain(
    file: str,
    index: int | None,
    article_id: str | None,
    as_json: bool,
    lines: bool,
    skip_bad_lines: bool,
) -> None:
    """Say why the articles of FILE get their picks; without a choice, one line each.

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
            log.print_explanation_line(explanation)
    if chosen and not found:
        raise InputMissingError("there is no such article (an index counts from 0)", path=file)


@selection.command()
@click.argument("input", type=_FILE)
@click.argument("output", type=_FILE)
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
@_read_options
def verify(input: str, output: str, as_json: bool, lines: bool, skip_bad_lines: bool) -> int:
    """Prove that OUTPUT is INPUT plus one correct pick per article and nothing else.

    The first difference is told by article and by byte of OUTPUT, with exit code 65.

    \b
    Example:
      selection verify batch.json batch_selected.json
    """
    try:
        with log.progress(output) as progress:
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
            f"{printable(output)}: right, {result.articles:,} articles with correct picks, "
            f"{result.skipped:,} items skipped, every other byte as in the input"
        )
    return 0


@selection.command()
@click.argument("file", type=_FILE)
@click.option("-o", "--output", type=_FILE, help="Write here; by default <name>_report.html.")
@click.option("--text-limit", type=_Bytes(), help="How much text the page may hold; 5M by default.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object an article instead.")
@_read_options
def report(
    file: str,
    output: str | None,
    text_limit: int | None,
    as_json: bool,
    lines: bool,
    skip_bad_lines: bool,
) -> None:
    """Make one HTML page about the picks of FILE, which may be selected or not.

    The page opens without a network. It has the figures of all articles, and a list and
    the texts as far as they fit, first of those whose extractors agree least.

    \b
    Examples:
      selection report batch.json                   writes batch_report.html beside it
      selection report batch.json -o page.html --text-limit 20M
      selection report batch.json --json > facts.jsonl
    """
    # What it draws with would cost every other command a tenth of a second.
    from selection.report.write import TEXT_LIMIT, read_facts, write_report

    if as_json and (output is not None or text_limit is not None):
        raise click.UsageError("--json makes no page: leave out --output and --text-limit")
    options = _reading(lines, skip_bad_lines)
    with log.progress(file) as progress:
        if as_json:
            for facts in read_facts(file, progress, options=options):
                _print_json(facts.as_dict())
            return
        limit = TEXT_LIMIT if text_limit is None else text_limit
        written = write_report(file, output, limit, progress, options=options)
    log.log_report(written)
    if written.output != STANDARD_STREAM:
        click.echo(printable(written.output))


def _print_json(value: dict[str, Any], *, to_stderr: bool = False) -> None:
    click.echo(json.dumps(value), err=to_stderr)


def main() -> NoReturn:
    """Run ``selection`` with the process's arguments."""
    command.run(selection)
