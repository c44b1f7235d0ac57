"""Decide whether a worker runs a job: only this project's function, with paths, in JSON."""

from __future__ import annotations

import os

from rq.job import Job

from selection.storage.input import fault_of_name
from worker.settings import SELECTION_WORKER
from worker.state.job_call import FUNCTION, JobCall


def refusal_reason(job: Job) -> str | None:
    """Return why a job must not be run, or None if it can be run."""
    if unreadable := getattr(job, "unreadable", ()):
        return f"its fields cannot be read: {', '.join(unreadable)}"
    try:
        payload = job.serializer.loads(job.data)
    except Exception:  # of whatever kind the serializer raises
        return f"its payload is not JSON; enqueue it with RQ_WORKER_CLASS={SELECTION_WORKER}"
    if not isinstance(payload, list) or len(payload) != 4:
        return "its payload does not name a function and arguments"
    function, instance, args, kwargs = payload
    if function != FUNCTION or instance is not None:
        return f"it names another function: {function!r}"
    if not isinstance(args, list) or not isinstance(kwargs, dict):
        return "its arguments are malformed"
    return _reason_in_arguments(job) or _reason_in_callbacks(job)


def _reason_in_arguments(job: Job) -> str | None:
    try:
        call = JobCall.bind(job.args, job.kwargs)
    except TypeError as error:
        return f"its arguments are not a path and an output: {error}"
    if not isinstance(call.path, str) or not isinstance(call.output, str | None):
        return "its arguments are not paths"
    for name in filter(None, (call.path, call.output)):
        try:
            if b"\0" in os.fsencode(name):
                return f"a NUL character cannot be in a path: {name!r}"
        except UnicodeEncodeError:
            return fault_of_name(name) or f"it cannot be the name of a file: {name!r}"
    return None


def _reason_in_callbacks(job: Job) -> str | None:
    if job._success_callback_name or job._failure_callback_name or job._stopped_callback_name:
        return "it has a callback"
    if job.webhooks:
        return "it has a webhook"
    return None
