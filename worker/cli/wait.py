"""Wait for jobs to end, and show their progress."""

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
from selection.nouns import counted
from worker.settings import Settings
from worker.state.job_state import ENDED, JobState
from worker.state.status import JobStatus, read_jobs

_SECONDS_BETWEEN_READS = 0.2
_SECONDS_OF_OUTAGE = 60
_MOST_BARS = 20


def wait_for(
    connection: Redis,
    settings: Settings,
    ids: Sequence[str],
    check_alive: Callable[[], None] = lambda: None,
) -> list[JobStatus]:
    """Wait until all jobs have ended and return them, in the order of the ids.

    On a terminal each running file has a bar; elsewhere each change of state is a line.

    Args:
        connection, settings: the server. An outage of up to a minute is waited for, because
            the jobs continue meanwhile.
        ids: the jobs.
        check_alive: called before each pause; raises if no worker is left to run them.

    Raises:
        redis.exceptions.RedisError: the outage lasts longer.
    """
    seen: dict[str, str] = {}
    with ExitStack() as stack:
        bars = _Bars() if sys.stderr.isatty() else None
        if bars:
            stack.enter_context(bars.progress)
        while True:
            jobs = _read_with_retries(connection, settings, ids, check_alive)
            for job in jobs:
                if bars:
                    bars.show(job)
                elif seen.get(job.id) != job.state:
                    seen[job.id] = job.state
                    log(_line(job))
            if all(job.state in ENDED for job in jobs):
                return jobs
            check_alive()
            time.sleep(_SECONDS_BETWEEN_READS)


def _read_with_retries(
    connection: Redis, settings: Settings, ids: Sequence[str], check_alive: Callable[[], None]
) -> list[JobStatus]:
    """Read the jobs; wait for the end of an outage."""
    deadline = None
    while True:
        try:
            return read_jobs(connection, settings, ids)
        except (exceptions.ConnectionError, exceptions.TimeoutError) as error:
            if deadline is None:
                deadline = time.monotonic() + _SECONDS_OF_OUTAGE
                log(f"the server cannot be reached; waiting {_SECONDS_OF_OUTAGE} s for it")
            if time.monotonic() > deadline:
                raise error
        check_alive()
        time.sleep(_SECONDS_BETWEEN_READS)


def _line(job: JobStatus) -> str:
    text = f"{job.path or job.id}: {job.state}"
    if job.state is JobState.FINISHED and job.summary:
        text += f", {counted(job.articles, 'article')}, {job.summary['seconds']:.2f} s"
    if job.error:
        text += f", {job.error['type']}: {job.error['message']}"
    if job.retry_in is not None:
        text += f", again in {job.retry_in} s"
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

    def show(self, job: JobStatus) -> None:
        """Update the bar of a job; only a running job has one."""
        if job.id in self._over or job.state is JobState.QUEUED:
            return
        if job.id not in self._bars:
            if len(self._bars) - len(self._over) >= _MOST_BARS:
                return
            self._bars[job.id] = self.progress.add_task(
                printable(job.path or job.id), total=None, articles=0, state=""
            )
        bar = self._bars[job.id]
        self.progress.update(
            bar,
            completed=job.bytes_done,
            total=job.bytes_total,
            articles=job.articles,
            state=job.state,
        )
        if job.state in ENDED:
            self._over.add(job.id)
            self.progress.update(bar, visible=len(self._over) < _MOST_BARS)
