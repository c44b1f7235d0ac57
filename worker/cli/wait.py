"""Follow jobs to their end and show how far each is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from redis import Redis, exceptions
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from selection.cli.messages import log
from selection.cli.printable import printable
from worker.settings import Settings
from worker.state.job_state import ENDED, State
from worker.state.status import Batch, read_batches

_SECONDS_BETWEEN_LOOKS = 0.2
_SECONDS_OF_OUTAGE = 60
_MOST_BARS = 20


def follow(
    connection: Redis,
    settings: Settings,
    ids: Sequence[str],
    alive: Callable[[], None] = lambda: None,
) -> list[Batch]:
    """Wait until all jobs are over and return them as they ended, in that order.

    On a terminal each running file has a bar; elsewhere each change of state is a line.

    Args:
        connection, settings: where the jobs are. An outage of the server of up to a minute
            does not end it, since the jobs go on meanwhile.
        ids: which ones.
        alive: called at every look; raises if no worker is left to run them.

    Raises:
        redis.exceptions.RedisError: the server stays away.
    """
    seen: dict[str, str] = {}
    with ExitStack() as stack:
        bars = _Bars() if sys.stderr.isatty() else None
        if bars:
            stack.enter_context(bars.progress)
        while True:
            batches = _read_patiently(connection, settings, ids, alive)
            for batch in batches:
                if bars:
                    bars.show(batch)
                elif seen.get(batch.job) != batch.state:
                    seen[batch.job] = batch.state
                    log(_line(batch))
            if all(batch.state in ENDED for batch in batches):
                return batches
            alive()
            time.sleep(_SECONDS_BETWEEN_LOOKS)


def _read_patiently(
    connection: Redis, settings: Settings, ids: Sequence[str], alive: Callable[[], None]
) -> list[Batch]:
    """Read the jobs, after an outage if there is one."""
    deadline = None
    while True:
        try:
            return read_batches(connection, settings, ids)
        except (exceptions.ConnectionError, exceptions.TimeoutError) as error:
            if deadline is None:
                deadline = time.monotonic() + _SECONDS_OF_OUTAGE
                log(f"the server cannot be reached; waiting {_SECONDS_OF_OUTAGE} s for it")
            if time.monotonic() > deadline:
                raise error
        alive()
        time.sleep(_SECONDS_BETWEEN_LOOKS)


def _line(batch: Batch) -> str:
    text = f"{batch.path or batch.job}: {batch.state}"
    if batch.state is State.FINISHED and batch.summary:
        text += f", {batch.articles:,} articles, {batch.summary['seconds']:.2f} s"
    if batch.error:
        text += f", {batch.error['type']}: {batch.error['message']}"
    if batch.retry_in is not None:
        text += f", again in {batch.retry_in} s"
    return text


class _Bars:
    def __init__(self) -> None:
        self.progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            DownloadColumn(),
            TextColumn("{task.fields[articles]:,} articles, {task.fields[state]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self._bars: dict[str, TaskID] = {}
        self._over: set[str] = set()

    def show(self, batch: Batch) -> None:
        """Move the batch's bar; a batch that waits has none, one that is over loses it."""
        if batch.job in self._over or batch.state is State.QUEUED:
            return
        if batch.job not in self._bars:
            if len(self._bars) - len(self._over) >= _MOST_BARS:
                return
            self._bars[batch.job] = self.progress.add_task(
                printable(batch.path or batch.job), total=None, articles=0, state=""
            )
        bar = self._bars[batch.job]
        self.progress.update(
            bar,
            completed=batch.bytes_done,
            total=batch.bytes_total,
            articles=batch.articles,
            state=batch.state,
        )
        if batch.state in ENDED:
            self._over.add(batch.job)
            self.progress.update(bar, visible=len(self._over) < _MOST_BARS)
