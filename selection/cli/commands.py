"""The command ``selection``."""

from __future__ import annotations

import platform
import unicodedata
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from selection.batch import Summary
from selection.cli import messages, runner
from selection.cli.export import export
from selection.cli.options import FILE, file_options, print_json, read_options, reading
from selection.cli.plan import Planned, plan
from selection.cli.printable import printable
from selection.cli.report import report
from selection.cli.results import Outcome, Results
from selection.cli.runs import RunOptions, outcomes
from selection.errors import InputMissingError, SelectionError
from selection.explain import explain_file
from selection.nouns import counted
from selection.parallel.cores import usable_cores
from selection.storage.names import STANDARD_STREAM, is_standard_input
from selection.text.backend import backend
from selection.verify import verify_files

_EXIT_CODES = """
\b
Exit codes:
  0    done
  2    wrong usage, or a wrong setting
  65   the data is wrong (invalid JSON, not a batch, a difference)
  66   the input does not exist or cannot be read
  68   the endpoint of the object store is wrong
  69   an extra of this package is not installed
  73   the output cannot be made
  74   reading or writing failed; run again
  77   the object store refuses the credentials
  130  stopped by Ctrl-C (143 by SIGTERM, 141 by a closed pipe)
"""


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
      selection export batch_selected.json -o articles.parquet

    SELECTION_BACKEND=python uses the Python backend in place of the compiled one.
    """
    backend()  # a wrong setting is an error before any file is opened


@selection.command()
@file_options
@read_options
@click.option("--compression-level", type=int, help="Level of compressed outputs; 1 is fast.")
@click.option("--if-changed", is_flag=True, help="Keep outputs that are up to date.")
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Number of processes; one per core by default."
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object per file, and no table."
)
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

    A FILE is a batch, a pattern, a folder, an address of object storage (s3://, gs://, az://) or -
    (standard input, whose output is standard output). A batch is JSON or JSON Lines, also
    compressed. Files named *_selected.json are left out. Below
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
      selection run batch.json.gz              writes batch_selected.json.gz
      selection run articles.jsonl             writes articles_selected.jsonl
      selection run crawl.log.zst --lines -o picked.jsonl.gz
      zcat batch.json.gz | selection run - | zstd > picked.json.zst
      selection run s3://bucket/in/batch.json  writes batch_selected.json there
      selection run gs://bucket/in/ --output-dir az://container/picked/
    """
    planned = plan(files, output, output_dir, recursive=recursive)
    messages.log_left_out(planned.left_out)
    options = RunOptions(if_changed, reading(lines, skip_bad_lines), compression_level)
    is_piped = any(batch.target == STANDARD_STREAM for batch in planned.batches)
    results = Results(planned)
    try:
        for batch, result in outcomes(planned, _processes(jobs), options):
            results.add(batch, result)
            if as_json:
                print_json(_as_dict(batch, result), to_stderr=is_piped)
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
@click.argument("file", type=FILE)
@click.option("--index", type=click.IntRange(min=0), help="The article with this index, from 0.")
@click.option("--id", "article_id", help="The article with this id.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per article.")
@read_options
def explain(
    file: str,
    index: int | None,
    article_id: str | None,
    as_json: bool,
    lines: bool,
    skip_bad_lines: bool,
) -> None:
    """Explain each pick of FILE in one line, or one pick in full.

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
        file, index, article_id, options=reading(lines, skip_bad_lines)
    ):
        found = True
        if as_json:
            print_json(explanation.as_dict())
        elif chosen:
            from selection.cli.tables import print_explanation

            print_explanation(explanation)
        else:
            messages.print_explanation_line(explanation)
    if chosen and not found:
        raise InputMissingError(
            "the batch does not have this article; list all with: selection explain FILE",
            path=file,
        )


@selection.command()
@click.argument("input", type=FILE)
@click.argument("output", type=FILE)
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
@read_options
def verify(input: str, output: str, as_json: bool, lines: bool, skip_bad_lines: bool) -> int:
    """Check that OUTPUT is INPUT plus one correct pick per article.

    All other bytes must be equal. The first difference is reported by article and by byte of
    OUTPUT, with exit code 65.

    \b
    Example:
      selection verify batch.json batch_selected.json
    """
    if is_standard_input(input) and is_standard_input(output):
        raise click.UsageError("standard input can be only one of INPUT and OUTPUT")
    try:
        with messages.progress(output) as progress:
            result = verify_files(input, output, progress, options=reading(lines, skip_bad_lines))
    except SelectionError as error:
        if not as_json:
            raise
        print_json({"input": input, "output": output, "error": error.as_dict()})
        return error.exit_code
    if as_json:
        print_json(result.as_dict())
    else:
        click.echo(
            f"{printable(output)}: correct, {counted(result.articles, 'article')} with "
            "correct picks, "
            f"{result.skipped:,} items skipped, every other byte as in the input"
        )
    return 0


selection.add_command(report)
selection.add_command(export)


def main() -> NoReturn:
    """Run ``selection`` with the process's arguments."""
    runner.run(selection)
