"""Write a folder of reports: a page for each batch, and last the index of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from selection.cli import messages
from selection.cli.options import print_json
from selection.cli.pages import PagePlan
from selection.cli.plan import Planned, make_folder
from selection.errors import SelectionError
from selection.nouns import counted
from selection.reader import BY_NAME, ReadOptions
from selection.report.index import Failure, Row, index_from, index_of, write_index
from selection.report.write import TEXT_LIMIT, read_batch_statistics, write_report


@dataclass(frozen=True, slots=True)
class PageOptions:
    """How the pages of a folder are made.

    Attributes:
        text_limit: as for ``write_report``; None: the default.
        roots, options: as for ``select_file``.
        writes: whether the pages are written; otherwise the batches are only read.
    """

    text_limit: int | None = None
    roots: Sequence[str] = ()
    options: ReadOptions = BY_NAME
    writes: bool = True


def rows_of(planned: PagePlan, options: PageOptions) -> Iterator[Row]:
    """Write the page of each batch of a plan and return the rows of the index."""
    messages.log_left_out(planned.plan.left_out)
    for error in planned.plan.errors:
        yield failed(error.path or "", error)
    for batch in planned.plan.batches:
        yield report_one(batch, planned.folder, Row(path=batch.path), options)


def report_one(batch: Planned, folder: str, row: Row, options: PageOptions) -> Row:
    """Write the page of one batch, log the outcome and return the row of the index.

    Args:
        batch: the batch and its page.
        folder: the folder of the index.
        row: what is known of the row: its name, and the time if it is not that of the report.
        options: how the page is made.
    """
    # A pipe would delay the other batches.
    reading = replace(options.options, pipes=False)
    limit = TEXT_LIMIT if options.text_limit is None else options.text_limit
    page = batch.target
    try:
        if options.writes:
            make_folder(batch, options.roots)
        with messages.progress(batch.path) as progress:
            if not options.writes:
                found = read_batch_statistics(
                    batch.path, progress, roots=options.roots, options=reading
                )
                return row.with_numbers(found)
            written = write_report(
                batch.path,
                page,
                limit,
                progress,
                roots=options.roots,
                options=reading,
                index=index_from(page, folder),
            )
    except SelectionError as error:
        return failed(row.path, error, row.job)
    messages.log_report(written)
    return row.with_page(written, folder)


def finish(rows: Iterable[Row], folder: str, roots: Sequence[str] = ()) -> tuple[str, int]:
    """Make the folder and a temporary index, then the rows, and write the index of them.

    Returns:
        The path of the index, and the exit code of the first failure of this command or 0.

    Raises:
        SelectionError: the folder or a file in it cannot be created, before the first row, or the
            index cannot be written.
    """
    make_folder(Planned("", index_of(folder), is_below=True), roots)
    index = write_index(rows, folder, roots)
    failures = sum(row.failure is not None for row in index.rows)
    if failures:
        batches = counted(len(index.rows), "batch", "batches")
        messages.log(f"{failures:,} of {batches} failed; the index has the errors")
    return index.path, _code(index.rows)


def print_rows(rows: Iterable[Row]) -> int:
    """Print each row as a JSON object as soon as it is known; return the exit code."""
    code = 0
    for row in rows:
        print_json(row.as_dict())
        code = code or _code([row])
    return code


def _code(rows: Iterable[Row]) -> int:
    return next((row.failure.exit_code for row in rows if row.failure and not row.is_earlier), 0)


def failed(name: str, error: SelectionError, job: str | None = None) -> Row:
    """Log an error and return the row of the batch that has it."""
    messages.log_error(error)
    return Row(path=name, job=job, failure=Failure.of(error))
