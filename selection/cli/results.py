"""Collect, log and sum up the outcomes of the batches of one run."""

from __future__ import annotations

from selection.batch import Summary
from selection.cli.messages import log, log_error, log_summary
from selection.cli.plan import Plan, Planned
from selection.errors import DataError, InputError, OutputError, SelectionError

#: A summary, an error, or None if the output is up to date.
Outcome = Summary | SelectionError | None

_MOST_NAMES = 10


class Results:
    """Collects the outcome of every batch of a plan, in its order."""

    def __init__(self, planned: Plan) -> None:
        self._planned = planned
        self._summaries: list[Summary] = []
        self._failures = list(planned.errors)
        self._unchanged = 0
        self._ended: set[Planned] = set()
        for error in planned.errors:
            log_error(error)

    def add(self, batch: Planned, result: Outcome) -> None:
        """Count one batch and log its outcome."""
        self._ended.add(batch)
        if isinstance(result, Summary):
            self._summaries.append(result)
            log_summary(result)
        elif result is None:
            self._unchanged += 1
            log(f"{batch.path}: unchanged, output {batch.target} kept")
        else:
            self._failures.append(result)
            log_error(result)

    @property
    def exit_code(self) -> int:
        """The exit code of the first failure, 0 without one."""
        return self._failures[0].exit_code if self._failures else 0

    def print_table(self) -> None:
        """Print the table of summaries on standard output."""
        if self._summaries:
            # rich takes longer to import than a small batch takes to select.
            from selection.cli.tables import print_summaries

            print_summaries(self._summaries, failed=len(self._failures), unchanged=self._unchanged)

    def log_failures(self) -> None:
        """Log the failures of several files again, together, grouped by what to do."""
        total = len(self._planned.batches) + len(self._planned.errors)
        if not self._failures or total == 1:
            return
        log(f"{len(self._failures)} of {total} files failed; their outputs are not written")
        by_advice: dict[str, list[SelectionError]] = {}
        for error in self._failures:
            by_advice.setdefault(_advice(error), []).append(error)
        for advice, errors in by_advice.items():
            log(f"{advice}:")
            for error in errors:
                log(f"  {error}")

    def log_stopped(self) -> None:
        """Log, when a run is stopped, the batches that are done and those that are not."""
        self.log_failures()
        rest = [batch.path for batch in self._planned.batches if batch not in self._ended]
        done = len(self._summaries) + self._unchanged
        log(f"stopped: {done} done, {len(self._failures)} failed, {len(rest)} not done:")
        for path in rest[:_MOST_NAMES]:
            log(f"  {path}")
        if len(rest) > _MOST_NAMES:
            log(f"  and {len(rest) - _MOST_NAMES} more")


def _advice(error: SelectionError) -> str:
    if error.retryable and not isinstance(error, InputError | OutputError):
        return "run again, the cause can be temporary"
    if isinstance(error, DataError):
        return "correct these files"
    if isinstance(error, InputError):
        return "check names and permissions"
    return "choose another output"
