"""Print jobs, and derive a command's exit code from how they ended."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from selection import errors
from selection.cli.tables import console
from worker.cli import tables
from worker.state.job_state import JobState
from worker.state.status import JobStatus

#: Exit codes besides those of :mod:`selection.errors`.
CHECK_FAILED, NO_INPUT, UNAVAILABLE, FAILED_ELSEWHERE = 1, 66, 69, 74


def exit_code(jobs: Sequence[JobStatus]) -> int:
    """Return the exit code of the first job that failed, or 0."""
    for job in jobs:
        if job.state is not JobState.FINISHED:
            kind = getattr(errors, (job.error or {}).get("type", ""), None)
            return int(getattr(kind, "exit_code", FAILED_ELSEWHERE))
    return 0


def print_jobs(jobs: Sequence[JobStatus], as_json: bool) -> None:
    """Print jobs as a table, or as one JSON object each."""
    if as_json:
        for job in jobs:
            click.echo(json.dumps(job.as_dict()))
    elif jobs:
        longest = max(len(job.path or "") for job in jobs)
        console(2 * longest).print(tables.JobTable(jobs))
