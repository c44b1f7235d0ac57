"""The checks of the queue: workers, jobs, and the files of the jobs."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from redis import Redis
from rq.scheduler import RQScheduler

from selection.nouns import counted
from selection.storage.address import is_address
from worker.checks.check_result import CheckResult
from worker.settings import SELECTION_WORKER, Settings
from worker.state.job_state import JobState, as_path
from worker.state.records import Record
from worker.state.registrations import WorkerRegistration
from worker.state.serialized import Form
from worker.state.status import (
    JobStatus,
    newest_jobs,
    newest_records,
    next_records,
    read_backlog,
    read_workers,
)

_LONG_WAIT = 600
_JOBS_CHECKED = 20
_FORMS_CHECKED = 1_000
_ENOUGH_FAILURES = 3
_OLDEST_RQ = 3

_FORMS = {True: Form.JSON, False: Form.PICKLE}


def workers(connection: Redis, settings: Settings) -> Iterator[CheckResult]:
    """Check that workers run what producers with these settings enqueue."""
    found = read_workers(connection, settings)
    if not found:
        yield CheckResult("workers", "error", f"none; start one with: rq worker {settings.queue}")
        return
    busy = sum(worker.job is not None for worker in found)
    yield CheckResult("workers", "ok", f"{len(found)}, {busy} of them busy")
    yield from _versions(found)
    yield from _serializers(found, settings)
    yield from _differing_roots(found, settings)


def _versions(found: Sequence[WorkerRegistration]) -> Iterator[CheckResult]:
    old = {w.version for w in found if w.version.partition(".")[0] in ("0", "1", "2")}
    if old:
        versions = ", ".join(sorted(old))
        message = f"workers run RQ {versions}; install RQ {_OLDEST_RQ} or newer there"
        yield CheckResult("versions", "error", message)


def _serializers(found: Sequence[WorkerRegistration], settings: Settings) -> Iterator[CheckResult]:
    stock = [w for w in found if w.serializer is None]
    if settings.uses_json and stock:
        yield CheckResult(
            "serializer",
            "error",
            f"{counted(len(stock), 'stock RQ worker')} cannot read this producer's JSON jobs; "
            f"start all workers with RQ_WORKER_CLASS={SELECTION_WORKER}",
        )
    elif not settings.uses_json and len(stock) < len(found):
        yield CheckResult(
            "serializer",
            "error",
            f"{counted(len(found) - len(stock), 'SelectionWorker')} cannot read this producer's "
            f"pickles; set RQ_WORKER_CLASS={SELECTION_WORKER} here",
        )


def _differing_roots(
    found: Sequence[WorkerRegistration], settings: Settings
) -> Iterator[CheckResult]:
    others = {w.roots for w in found if w.roots is not None} - {settings.roots}
    for roots in sorted(others):
        there, here = ":".join(roots) or "unset", ":".join(settings.roots) or "unset"
        message = f"SELECTION_ROOTS is {there} at a worker and {here} here; make them equal"
        yield CheckResult("roots", "warning", message)


def scheduler(connection: Redis, settings: Settings) -> Iterator[CheckResult]:
    """Check that a scheduler enqueues delayed retries."""
    if connection.exists(RQScheduler.get_locking_key(settings.queue)):
        yield CheckResult("scheduler", "ok", "alive")
        return
    waiting = read_backlog(connection, settings).counts[JobState.SCHEDULED]
    what = (
        f"none, and {counted(waiting, 'delayed job waits', 'delayed jobs wait')}"
        if waiting
        else "none"
    )
    command = f"rq worker --with-scheduler {settings.queue}"
    message = f"{what}; retries have no delay; start a worker with: {command}"
    yield CheckResult("scheduler", "error" if waiting else "warning", message)


def queue(connection: Redis, settings: Settings) -> Iterator[CheckResult]:
    """Check how long jobs wait, and that workers are not paused."""
    backlog = read_backlog(connection, settings)
    if backlog.is_suspended:
        message = "the workers are paused and take no job; run: selection-worker resume"
        yield CheckResult("pause", "error", message)
    depth, age = backlog.counts[JobState.QUEUED], backlog.oldest_seconds
    message = f"{depth} waiting, the first for {age:.0f} s"
    yield CheckResult("queue", "warning" if age > _LONG_WAIT else "ok", message)
    if deferred := backlog.counts[JobState.DEFERRED]:
        yield CheckResult(
            "deferred", "ok", counted(deferred, "job waits for another", "jobs wait for other jobs")
        )


def roots(settings: Settings) -> Iterator[CheckResult]:
    """Check that the folders of ``SELECTION_ROOTS`` can be written."""
    for root in settings.roots:
        if is_address(root):
            continue  # what can be read and written there depends on the workers' credentials
        if os.path.isdir(root) and _is_writable(root):
            yield CheckResult("root", "ok", root)
        else:
            yield CheckResult(
                "root", "error", f"{root} is not a folder that can be written from here"
            )


def jobs(connection: Redis, settings: Settings) -> Iterator[CheckResult]:
    """Check that workers can read the jobs, that not all fail, and that their files exist."""
    upcoming = list(next_records(connection, settings, _FORMS_CHECKED))
    delayed, failed = (
        list(newest_records(connection, settings, state, _FORMS_CHECKED))
        for state in (JobState.SCHEDULED, JobState.FAILED)
    )
    yield from _forms({"waiting": upcoming, "delayed": delayed, "failed": failed}, settings)
    ended = [JobState.FINISHED, JobState.FAILED]
    last = list(newest_jobs(connection, settings, ended, _JOBS_CHECKED))
    yield from _outcomes(last)
    yield from _paths(upcoming[:_JOBS_CHECKED])
    yield from _outputs(upcoming[:_JOBS_CHECKED], last)


def _forms(jobs: Mapping[str, Sequence[Record]], settings: Settings) -> Iterator[CheckResult]:
    """Check that the workers of these settings can read the form of the jobs."""
    wanted = _FORMS[settings.uses_json]
    for kind, records in jobs.items():
        wrong = Counter(r.payload.form for r in records if r.payload.form is not wanted)
        for form, amount in sorted(wrong.items()):
            shown = (
                f"{amount} of {len(records)} {kind} jobs are {_named(form)}, not {_named(wanted)}"
            )
            what = _what_to_do(form, settings, kind)
            yield CheckResult(
                "form", "warning" if kind == "failed" else "error", f"{shown}; {what}"
            )
    upcoming = jobs["waiting"]
    if upcoming and all(record.payload.form is wanted for record in upcoming):
        yield CheckResult("form", "ok", f"the next {len(upcoming)} jobs are {_named(wanted)}")


def _named(form: Form) -> str:
    return {Form.JSON: "JSON", Form.PICKLE: "pickles", Form.UNREADABLE: "unreadable"}[form]


def _what_to_do(form: Form, settings: Settings, kind: str) -> str:
    again = "retry them" if kind == "failed" else "enqueue their files again"
    if form is Form.UNREADABLE:
        return "no producer of this project wrote them; enqueue their files again"
    if settings.uses_json:
        return f"producers must set RQ_WORKER_CLASS={SELECTION_WORKER}; then {again}"
    return f"set RQ_WORKER_CLASS={SELECTION_WORKER} for the workers, or {again} without it"


def _outcomes(last: Sequence[JobStatus]) -> Iterator[CheckResult]:
    """Check that the last jobs did not all fail."""
    failed = [job for job in last if job.state is JobState.FAILED]
    if len(failed) < len(last) or len(failed) < _ENOUGH_FAILURES:
        yield CheckResult("outcomes", "ok", f"{len(failed)} of the last {len(last)} jobs failed")
        return
    reasons = Counter(_reason(job) for job in failed)
    reason, amount = reasons.most_common(1)[0]
    message = f"the last {len(failed)} jobs all failed, {amount} of them with {reason}"
    yield CheckResult("outcomes", "error", f"{message}; see selection-worker status --failed")


def _reason(job: JobStatus) -> str:
    return str(job.error["type"]) if job.error else "an unknown error"


def _paths(upcoming: Sequence[Record]) -> Iterator[CheckResult]:
    """Check that the next jobs' files can be read here; a volume can be missing."""
    paths = [record.payload.path for record in upcoming if record.payload.is_ours]
    missing = [p for p in paths if p and not is_address(p) and not _is_readable(p)]
    if missing:
        yield CheckResult("paths", "error", f"not readable from here: {', '.join(missing)}")
        return
    yield CheckResult("paths", "ok", f"{len(paths)} of the next jobs' files are readable from here")


def _outputs(upcoming: Iterable[Record], ended: Iterable[JobStatus]) -> Iterator[CheckResult]:
    """Check that the folders of the outputs can be written and have space."""
    sizes: dict[str, int] = {}
    for record in upcoming:
        _note(sizes, record.payload.output or record.payload.path, record.meta.bytes_total)
    for job in ended:
        # A folder that was removed meanwhile is not an error.
        if os.path.isdir(os.path.dirname(job.output or job.path or "")):
            _note(sizes, job.output or job.path, job.bytes_total)
    problems = {folder: _problem(folder, size) for folder, size in sizes.items()}
    for folder, problem in problems.items():
        if problem:
            yield CheckResult("outputs", "error", f"{folder} {problem}")
    if sizes and not any(problems.values()):
        folders = counted(len(sizes), "folder")
        yield CheckResult("outputs", "ok", f"{folders} can be written from here")


def _note(sizes: dict[str, int], path: str | None, size: int | None) -> None:
    """Note the largest output of a folder."""
    if is_address(as_path(path) or ""):
        return
    if folder := os.path.dirname(as_path(path) or ""):
        sizes[folder] = max(sizes.get(folder, 0), size or 1)


def _problem(folder: str, size: int) -> str:
    """Return why an output of a size cannot be written into a folder, or ""."""
    if not _is_writable(folder):
        return "cannot be written from here"
    found = os.statvfs(folder)
    # An output is its input and some bytes per article.
    has_space = found.f_bavail * found.f_frsize >= size + size // 10
    if not has_space or (found.f_files and not found.f_favail):
        return f"does not have space for an output of {size:,} bytes"
    return ""


def _is_readable(path: str) -> bool:
    try:
        return os.access(path, os.R_OK)
    except ValueError:  # a NUL, or a character that cannot be in a file name
        return False


def _is_writable(folder: str) -> bool:
    return os.access(folder, os.R_OK | os.W_OK | os.X_OK)
