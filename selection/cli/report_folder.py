"""Write a folder of reports: a page for each batch, and last the index of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from selection.cli import messages
from selection.cli.plan import PagePlan, Planned, make_folder
from selection.errors import SelectionError
from selection.reader import BY_NAME, ReadOptions
from selection.report.index import Failure, Row, index_of, write_index
from selection.report.write import TEXT_LIMIT, write_report


def report_all(
    planned: PagePlan,
    *,
    text_limit: int | None = None,
    roots: Sequence[str] = (),
    options: ReadOptions = BY_NAME,
) -> tuple[str, int]:
    """Write the pages and the index of a plan.

    Args:
        planned: the batches.
        text_limit: as for ``write_report``; None: the default.
        roots, options: as for ``select_file``.

    Returns:
        The path of the index, and the exit code of the first failure or 0.

    Raises:
        SelectionError: the index cannot be written.
    """
    messages.log_left_out(planned.plan.left_out)
    rows = [_failed(error.path or "", error) for error in planned.plan.errors]
    for batch in planned.plan.batches:
        rows.append(
            report_one(batch, planned.folder, text_limit=text_limit, roots=roots, options=options)
        )
    return finish(rows, planned.folder, roots)


def report_one(
    batch: Planned,
    folder: str,
    *,
    name: str | None = None,
    seconds: float | None = None,
    text_limit: int | None = None,
    roots: Sequence[str] = (),
    options: ReadOptions = BY_NAME,
) -> Row:
    """Write the page of one batch, log the outcome and return the row of the index.

    Args:
        batch: the batch and its page.
        folder: the folder of the index.
        name: the name of the row; by default the path of the batch.
        seconds: as of ``Row.of``.
        text_limit, roots, options: as for :func:`report_all`.
    """
    limit = TEXT_LIMIT if text_limit is None else text_limit
    # A pipe would delay the other batches.
    options = replace(options, pipes=False)
    try:
        make_folder(batch)
        with messages.progress(batch.path) as progress:
            written = write_report(
                batch.path, batch.target, limit, progress, roots=roots, options=options
            )
    except SelectionError as error:
        return _failed(name or batch.path, error)
    messages.log_report(written)
    return Row.of(name or batch.path, written, folder, seconds)


def finish(rows: Sequence[Row], folder: str, roots: Sequence[str] = ()) -> tuple[str, int]:
    """Write the index.

    Returns:
        As of :func:`report_all`.

    Raises:
        SelectionError: it cannot be written.
    """
    failures = [row.failure for row in rows if row.failure is not None]
    if failures:
        messages.log(f"{len(failures)} of {len(rows)} batches failed; the index has their errors")
    make_folder(Planned("", index_of(folder), is_below=True))
    return write_index(rows, folder, roots), failures[0].exit_code if failures else 0


def _failed(name: str, error: SelectionError) -> Row:
    messages.log_error(error)
    return Row(path=name, failure=Failure.of(error))
