"""The command ``selection report``."""

from __future__ import annotations

from collections.abc import Sequence

import click

from selection.cli import messages
from selection.cli.options import FILE, Bytes, print_json, read_options, reading
from selection.cli.pages import means_folder, plan_pages
from selection.cli.printable import printable
from selection.reader import ReadOptions
from selection.storage.names import STANDARD_STREAM, is_standard_input
from selection.storage.opening import is_pipe


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=FILE)
@click.option("-o", "--output", type=FILE, help="The page, or a folder (pages/).")
@click.option("-r", "--recursive", is_flag=True, help="Search folders to any depth.")
@click.option(
    "--text-limit", type=Bytes(), help="Largest size of the texts in a page; 5M by default."
)
@click.option("--compare", is_flag=True, help="Compare two outputs, the old and the new one.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON objects and write no page.")
@read_options
def report(
    files: Sequence[str],
    output: str | None,
    recursive: bool,
    text_limit: int | None,
    compare: bool,
    as_json: bool,
    lines: bool,
    skip_bad_lines: bool,
) -> int:
    """Write an HTML page on the picks of each FILE.

    A FILE is a batch or an output. A page opens without a network. It has the statistics of
    all articles, and as many articles and texts as fit, beginning with those whose extractors
    agree least.

    Several FILEs, a folder or a pattern give a folder of pages with an index,
    selection_report/index.html beside the batches or in the folder of --output. A batch that
    fails is a row of the index; the exit code is that of the first failure.

    --compare writes one page about the articles of two outputs whose pick, text or failures
    changed, <new>_comparison.html.

    --json prints an object for each article of one FILE, or for each of several batches.

    \b
    Examples:
      selection report batch.json                  writes batch_report.html
      selection report batch.json -o page.html --text-limit 20M
      selection report data --recursive            writes data/selection_report/
      selection report a.json b.json -o pages/     writes pages/index.html
      selection report batch.json --json > statistics.jsonl
      selection report old_selected.json new_selected.json --compare
    """
    if as_json and (output is not None or text_limit is not None):
        raise click.UsageError("--json does not write a page: leave out --output and --text-limit")
    options = reading(lines, skip_bad_lines)
    if compare:
        if recursive:
            raise click.UsageError("--compare does not search folders: leave out --recursive")
        return _compare(files, output, text_limit, as_json, options)
    if not means_folder(files, output):
        (file,) = set(files)
        return (
            _print_statistics(file, options) if as_json else _one(file, output, text_limit, options)
        )
    # The report takes 0.1 s to import, which the other commands save.
    from selection.cli.report_folder import PageOptions, finish, print_rows, rows_of

    planned = plan_pages(files, output, recursive=recursive)
    rows = rows_of(planned, PageOptions(text_limit, options=options, writes=not as_json))
    if as_json:
        return print_rows(rows)
    index, code = finish(rows, planned.folder)
    click.echo(printable(index))
    return code


def _print_statistics(file: str, options: ReadOptions) -> int:
    # The report takes 0.1 s to import, which the other commands save.
    from selection.report.write import read_statistics

    with messages.progress(file) as progress:
        for stats in read_statistics(file, progress, options=options):
            print_json(stats.as_dict())
    return 0


def _one(file: str, output: str | None, text_limit: int | None, options: ReadOptions) -> int:
    # The report takes 0.1 s to import, which the other commands save.
    from selection.report.write import TEXT_LIMIT, write_report

    if output is None and is_pipe(file):
        output = STANDARD_STREAM
    limit = TEXT_LIMIT if text_limit is None else text_limit
    with messages.progress(file) as progress:
        written = write_report(file, output, limit, progress, options=options)
    messages.log_report(written)
    if written.output != STANDARD_STREAM:
        click.echo(printable(written.output))
    return 0


def _compare(
    files: Sequence[str],
    output: str | None,
    text_limit: int | None,
    as_json: bool,
    options: ReadOptions,
) -> int:
    # The report takes 0.1 s to import, which the other commands save.
    from selection.report.compare import write_comparison
    from selection.report.write import TEXT_LIMIT

    if len(files) != 2:
        raise click.UsageError("--compare takes two files, the old and the new output")
    old, new = files
    if is_standard_input(old) and is_standard_input(new):
        raise click.UsageError("standard input can be only one of the two outputs")
    if as_json:
        return _print_differences(old, new, options)
    if output is None and is_pipe(new):
        output = STANDARD_STREAM
    limit = TEXT_LIMIT if text_limit is None else text_limit
    written = write_comparison(old, new, output, limit, messages.progress, options=options)
    messages.log_comparison(written)
    if written.output != STANDARD_STREAM:
        click.echo(printable(written.output))
    return 0


def _print_differences(old: str, new: str, options: ReadOptions) -> int:
    # The report takes 0.1 s to import, which the other commands save.
    from selection.report.compare import read_differences
    from selection.report.comparison import ComparisonStats

    statistics = ComparisonStats()
    for difference in read_differences(old, new, messages.progress, options=options):
        statistics.add(difference)
        if difference.kinds:
            print_json(difference.as_dict())
    print_json({"summary": {"old": old, "new": new, **statistics.as_dict()}})
    messages.log_disagreeing(old, statistics.old_disagreeing)
    messages.log_disagreeing(new, statistics.new_disagreeing)
    return 0
