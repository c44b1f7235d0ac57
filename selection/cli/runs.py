"""Select the batches of a plan, in order, in one process or by a process pool."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from selection.batch import Summary, decompressed_size, is_large, select_with, stored_size
from selection.cli import messages
from selection.cli.plan import Plan, Planned, make_folder
from selection.cli.results import Outcome
from selection.errors import SelectionError
from selection.reader import BY_NAME, WORTH_WORKERS, Progress, ReadOptions
from selection.storage.opening import is_pipe

if TYPE_CHECKING:
    from selection.parallel.pool import Pool, Work


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How the batches of a run are read and written.

    Attributes:
        if_changed: whether outputs that are up to date are kept.
        read: how they are read.
        compression_level: of compressed outputs; None: the format's default.
    """

    if_changed: bool = False
    read: ReadOptions = BY_NAME
    compression_level: int | None = None


def outcomes(
    planned: Plan, processes: int, options: RunOptions
) -> Iterator[tuple[Planned, Outcome]]:
    """Select each batch and give its outcome; a batch that fails does not stop the others.

    A small batch goes to one process as a whole; the articles of a large one are shared among
    all processes.

    Args:
        planned: the batches.
        processes: most processes, including this one.
        options: how they are read and written.
    """
    batches = planned.batches
    if processes == 1 or not _are_large(batches):
        for batch in batches:
            try:
                yield batch, _select_here(batch, options, None)
            except SelectionError as error:
                yield batch, error
        return
    # The pool takes longer to import than a small batch takes to select.
    from selection.parallel.pool import Pool

    with Pool(processes - 1) as pool:
        works = ((batch, _work(batch, options, pool)) for batch in batches)
        for batch, result in pool.ordered(works):
            try:
                yield batch, result()
            except SelectionError as error:
                yield batch, error


def _are_large(batches: Sequence[Planned]) -> bool:
    size = 0
    for batch in batches:
        if batch.can_be_pipe and is_pipe(batch.path):
            return True
        size += decompressed_size(batch.path, stored_size(batch.path))
        if size >= WORTH_WORKERS:
            return True
    return False


def _work(batch: Planned, options: RunOptions, pool: Pool) -> Work[Summary | None]:
    from selection.parallel.pool import Work

    return Work(
        function=None if is_large(batch.path) or batch.can_be_pipe else select_batch,
        args=(batch, options),
        here=partial(_select_here, batch, options, pool),
    )


def _select_here(batch: Planned, options: RunOptions, pool: Pool | None) -> Summary | None:
    with messages.progress(batch.path) as progress:
        return select_batch(batch, options, progress, pool)


def select_batch(
    batch: Planned,
    options: RunOptions,
    progress: Callable[[Progress], object] | None = None,
    pool: Pool | None = None,
) -> Summary | None:
    """Select one batch and return its summary, None if its output is kept.

    Raises:
        SelectionError: as :func:`selection.batch.select_file`, or its folder cannot be created.
    """
    make_folder(batch)
    select = partial(
        select_with,
        pool,
        batch.path,
        batch.target,
        progress,
        options=replace(options.read, pipes=batch.can_be_pipe),
        compression_level=options.compression_level,
    )
    if not options.if_changed or any(is_pipe(name) for name in (batch.path, batch.target)):
        return select()
    # It takes longer to import than a small batch takes to select.
    from selection.cli.current import find, is_current, remember

    form = repr((options.read, options.compression_level))
    if is_current(batch.path, batch.target, form):
        return None
    found = None
    with suppress(OSError, SelectionError):  # the reader raises the typed error
        found = find(batch.path)
    summary = select()
    try:
        if found:
            remember(batch.path, found, batch.target, form)
    except (OSError, SelectionError) as error:
        messages.log(f"{batch.path}: --if-changed cannot write its record: {error}")
    return summary
