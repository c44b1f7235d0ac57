"""Select the batches of a plan, in order, in one process or by a process pool."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from selection.batch import (
    WORTH_WORKERS,
    Summary,
    is_large,
    select_with,
    size_of,
)
from selection.cli import messages as log
from selection.cli.plan import Plan, Planned, make_folder
from selection.cli.results import Outcome
from selection.errors import SelectionError
from selection.reader import Progress
from selection.storage.names import is_address

if TYPE_CHECKING:
    from selection.parallel.pool import Pool, Work


def outcomes(planned: Plan, processes: int, if_changed: bool) -> Iterator[tuple[Planned, Outcome]]:
    """Select each batch and give its outcome; a batch that fails does not stop the others.

    A small batch goes to one process as a whole; the articles of a large one are shared among
    all processes.

    Args:
        planned: the batches.
        processes: most processes, including this one.
        if_changed: whether outputs that are up to date are kept.
    """
    batches = planned.batches
    if processes == 1 or sum(size_of(batch.path) for batch in batches) < WORTH_WORKERS:
        for batch in batches:
            try:
                yield batch, _select_here(batch, if_changed, None)
            except SelectionError as error:
                yield batch, error
        return
    # The pool takes longer to import than a small batch takes to select.
    from selection.parallel.pool import Pool

    with Pool(processes - 1) as pool:
        works = ((batch, _work(batch, if_changed, pool)) for batch in batches)
        for batch, result in pool.ordered(works):
            try:
                yield batch, result()
            except SelectionError as error:
                yield batch, error


def _work(batch: Planned, if_changed: bool, pool: Pool) -> Work[Summary | None]:
    from selection.parallel.pool import Work

    return Work(
        function=None if is_large(batch.path) else select_batch,
        args=(batch, if_changed),
        here=partial(_select_here, batch, if_changed, pool),
    )


def _select_here(batch: Planned, if_changed: bool, pool: Pool | None) -> Summary | None:
    with log.progress(batch.path) as progress:
        return select_batch(batch, if_changed, progress, pool)


def select_batch(
    batch: Planned,
    if_changed: bool,
    progress: Callable[[Progress], object] | None = None,
    pool: Pool | None = None,
) -> Summary | None:
    """Select one batch and return its summary, None if ``if_changed`` keeps its output.

    Raises:
        SelectionError: as :func:`selection.batch.select_file`, or its folder cannot be created.
    """
    make_folder(batch)
    # The record has the times of local files.
    if not if_changed or is_address(batch.path) or is_address(batch.target):
        return select_with(pool, batch.path, batch.target, progress)
    # It takes longer to import than a small batch takes to select.
    from selection.cli.current import is_current, remember

    if is_current(batch.path, batch.target):
        return None
    with suppress(OSError):  # the reader raises the typed error
        found = os.stat(batch.path)
    summary = select_with(pool, batch.path, batch.target, progress)
    try:
        remember(batch.path, found, batch.target)
    except OSError as error:
        log.log(f"{batch.path}: --if-changed cannot write its record: {error}")
    return summary
