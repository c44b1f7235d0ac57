"""What ``doctor`` looks at in the queue: workers, jobs, and the files of the jobs."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from redis import Redis
from rq.scheduler import RQScheduler

from selection.storage.names import is_address
from worker.checks.check_result import Finding
from worker.settings import SAFE_WORKER, Settings
from worker.state.job_state import State, as_path
from worker.state.records import Record
from worker.state.registrations import Member
from worker.state.serialized import Form
from worker.state.status import (
    Batch,
    newest_batches,
    newest_records,
    next_records,
    read_backlog,
    read_workers,
)

_LONG_WAIT = 600
_LOOKED_AT = 20
_FORMS_LOOKED_AT = 1_000
_ENOUGH_FAILURES = 3
_OLDEST_RQ = 3

_FORMS = {True: Form.JSON, False: Form.PICKLE}


def workers(connection: Redis, settings: Settings) -> Iterator[Finding]:
    """Whether there are workers that run what producers with these settings enqueue."""
    members = read_workers(connection, settings)
    if not members:
        yield Finding("workers", "fault", f"none; start one with: rq worker {settings.queue}")
        return
    busy = sum(member.job is not None for member in members)
    yield Finding("workers", "ok", f"{len(members)}, {busy} of them busy")
    yield from _versions(members)
    yield from _serializers(members, settings)
    yield from _differing_roots(members, settings)


def _versions(members: Sequence[Member]) -> Iterator[Finding]:
    old = {m.version for m in members if m.version.partition(".")[0] in ("0", "1", "2")}
    if old:
        versions = ", ".join(sorted(old))
        message = f"workers run RQ {versions}; install RQ {_OLDEST_RQ} or newer there"
        yield Finding("versions", "fault", message)


def _serializers(members: Sequence[Member], settings: Settings) -> Iterator[Finding]:
    stock = [m for m in members if m.serializer is None]
    if settings.is_safe and stock:
        yield Finding(
            "serializer",
            "fault",
            f"{len(stock)} workers are stock RQ workers and cannot read this producer's JSON "
            f"jobs; start them with RQ_WORKER_CLASS={SAFE_WORKER}",
        )
    elif not settings.is_safe and len(stock) < len(members):
        yield Finding(
            "serializer",
            "fault",
            f"{len(members) - len(stock)} workers refuse this producer's pickles; "
            f"set RQ_WORKER_CLASS={SAFE_WORKER} here",
        )


def _differing_roots(members: Sequence[Member], settings: Settings) -> Iterator[Finding]:
    others = {m.roots for m in members if m.roots is not None} - {settings.roots}
    for roots in sorted(others):
        there, here = ":".join(roots) or "unset", ":".join(settings.roots) or "unset"
        message = f"SELECTION_ROOTS is {there} at a worker and {here} here; make them equal"
        yield Finding("roots", "warning", message)


def scheduler(connection: Redis, settings: Settings) -> Iterator[Finding]:
    """Whether delayed retries come."""
    if connection.exists(RQScheduler.get_locking_key(settings.queue)):
        yield Finding("scheduler", "ok", "alive")
        return
    waiting = read_backlog(connection, settings).counts[State.SCHEDULED]
    what = f"none, and {waiting:,} delayed jobs wait" if waiting else "none"
    command = f"rq worker --with-scheduler {settings.queue}"
    message = f"{what}; retries have no delay; start a worker with: {command}"
    yield Finding("scheduler", "fault" if waiting else "warning", message)


def queue(connection: Redis, settings: Settings) -> Iterator[Finding]:
    """How long jobs wait, and whether any worker takes them."""
    backlog = read_backlog(connection, settings)
    if backlog.is_suspended:
        message = "the workers are paused and take no job; run: selection-worker resume"
        yield Finding("pause", "fault", message)
    depth, age = backlog.counts[State.QUEUED], backlog.oldest_seconds
    message = f"{depth} waiting, the first for {age:.0f} s"
    yield Finding("queue", "warning" if age > _LONG_WAIT else "ok", message)
    if deferred := backlog.counts[State.DEFERRED]:
        yield Finding("deferred", "ok", f"{deferred} jobs wait for other jobs")


def roots(settings: Settings) -> Iterator[Finding]:
    """Whether the folders of the settings can be written."""
    for root in settings.roots:
        if is_address(root):
            continue  # what can be read and written there depends on the workers' credentials
        if os.path.isdir(root) and _is_writable(root):
            yield Finding("root", "ok", root)
        else:
            yield Finding("root", "fault", f"{root} is not a folder that can be written from here")


def jobs(connection: Redis, settings: Settings) -> Iterator[Finding]:
    """Whether the jobs can be read by workers, end well, and have their files."""
    upcoming = list(next_records(connection, settings, _FORMS_LOOKED_AT))
    delayed, failed = (
        list(newest_records(connection, settings, state, _FORMS_LOOKED_AT))
        for state in (State.SCHEDULED, State.FAILED)
    )
    yield from _forms({"waiting": upcoming, "delayed": delayed, "failed": failed}, settings)
    ended = [State.FINISHED, State.FAILED]
    last = list(newest_batches(connection, settings, ended, _LOOKED_AT))
    yield from _outcomes(last)
    yield from _paths(upcoming[:_LOOKED_AT])
    yield from _outputs(upcoming[:_LOOKED_AT], last)


def _forms(jobs: Mapping[str, Sequence[Record]], settings: Settings) -> Iterator[Finding]:
    """Which jobs are written in a form that the workers of these settings cannot read."""
    wanted = _FORMS[settings.is_safe]
    for kind, records in jobs.items():
        wrong = Counter(r.payload.form for r in records if r.payload.form is not wanted)
        for form, amount in sorted(wrong.items()):
            shown = (
                f"{amount} of {len(records)} {kind} jobs are {_named(form)}, not {_named(wanted)}"
            )
            what = _what_to_do(form, settings, kind)
            yield Finding("form", "warning" if kind == "failed" else "fault", f"{shown}; {what}")
    upcoming = jobs["waiting"]
    if upcoming and all(record.payload.form is wanted for record in upcoming):
        yield Finding("form", "ok", f"the next {len(upcoming)} jobs are {_named(wanted)}")


def _named(form: Form) -> str:
    return {Form.JSON: "JSON", Form.PICKLE: "pickles", Form.UNREADABLE: "unreadable"}[form]


def _what_to_do(form: Form, settings: Settings, kind: str) -> str:
    again = "retry them" if kind == "failed" else "enqueue their files again"
    if form is Form.UNREADABLE:
        return "no producer of this project wrote them; enqueue their files again"
    if settings.is_safe:
        return f"producers must set RQ_WORKER_CLASS={SAFE_WORKER}; then {again}"
    return f"set RQ_WORKER_CLASS={SAFE_WORKER} for the workers, or {again} without it"


def _outcomes(last: Sequence[Batch]) -> Iterator[Finding]:
    """Whether the last jobs all failed, and why."""
    failed = [batch for batch in last if batch.state is State.FAILED]
    if len(failed) < len(last) or len(failed) < _ENOUGH_FAILURES:
        yield Finding("outcomes", "ok", f"{len(failed)} of the last {len(last)} jobs failed")
        return
    reasons = Counter(_reason(batch) for batch in failed)
    reason, amount = reasons.most_common(1)[0]
    message = f"the last {len(failed)} jobs all failed, {amount} of them with {reason}"
    yield Finding("outcomes", "fault", f"{message}; see selection-worker status --failed")


def _reason(batch: Batch) -> str:
    return str(batch.error["type"]) if batch.error else "an unknown error"


def _paths(upcoming: Sequence[Record]) -> Iterator[Finding]:
    """Whether the next jobs' files can be read here; a volume may be missing."""
    paths = [record.payload.path for record in upcoming if record.payload.is_ours]
    missing = [p for p in paths if p and not is_address(p) and not _is_readable(p)]
    if missing:
        yield Finding("paths", "fault", f"not readable from here: {', '.join(missing)}")
        return
    yield Finding("paths", "ok", f"{len(paths)} of the next jobs' files are readable from here")


def _outputs(upcoming: Iterable[Record], ended: Iterable[Batch]) -> Iterator[Finding]:
    """Whether the folders of the outputs can be written, and have room."""
    sizes: dict[str, int] = {}
    for record in upcoming:
        _note(sizes, record.payload.output or record.payload.path, record.meta.bytes_total)
    for batch in ended:
        # Those that were removed meanwhile are not missed.
        if os.path.isdir(os.path.dirname(batch.output or batch.path or "")):
            _note(sizes, batch.output or batch.path, batch.bytes_total)
    troubles = {folder: _trouble(folder, size) for folder, size in sizes.items()}
    for folder, trouble in troubles.items():
        if trouble:
            yield Finding("outputs", "fault", f"{folder} {trouble}")
    if sizes and not any(troubles.values()):
        yield Finding("outputs", "ok", f"{len(sizes)} folders can be written from here")


def _note(sizes: dict[str, int], path: str | None, size: int | None) -> None:
    """Note the largest output of a folder."""
    if is_address(as_path(path) or ""):
        return
    if folder := os.path.dirname(as_path(path) or ""):
        sizes[folder] = max(sizes.get(folder, 0), size or 1)


def _trouble(folder: str, size: int) -> str:
    """Why an output of a size cannot be written into a folder, or ""."""
    if not _is_writable(folder):
        return "cannot be written from here"
    found = os.statvfs(folder)
    # An output is its input and some bytes an article.
    has_room = found.f_bavail * found.f_frsize >= size + size // 10
    if not has_room or (found.f_files and not found.f_favail):
        return f"has no room for an output of {size:,} bytes"
    return ""


def _is_readable(path: str) -> bool:
    try:
        return os.access(path, os.R_OK)
    except ValueError:  # it has a NUL, or a character that no file name has
        return False


def _is_writable(folder: str) -> bool:
    return os.access(folder, os.R_OK | os.W_OK | os.X_OK)
