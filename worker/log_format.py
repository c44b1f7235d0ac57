"""The log of a worker: one line an event, as text or as JSON (``SELECTION_LOG``)."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

from rq.logutils import colorizer

from selection import Summary
from worker.settings import Settings

logger = logging.getLogger("selection.worker")


def set_up(settings: Settings) -> None:
    """Log to standard error, unless that is set up already; in JSON, RQ's lines, too."""
    if logger.handlers:
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if settings.log == "json" else _Text())
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    if settings.log == "json":
        _take_over(handler)


def _take_over(handler: logging.Handler) -> None:
    """Let the handler write the lines of RQ and redis-py, and warnings."""
    colorizer.notty = True
    logging.captureWarnings(True)
    for name in list(logging.root.manager.loggerDict):
        if name.startswith("rq."):
            logging.getLogger(name).handlers.clear()
            logging.getLogger(name).propagate = True
    for name in ("rq", "redis", "py.warnings"):
        top = logging.getLogger(name)
        top.handlers[:] = [handler]
        top.propagate = False
    sys.unraisablehook = _log_unraisable


def _log_unraisable(unraisable: sys.UnraisableHookArgs) -> None:
    """Log an exception that Python discards, which it would print on several lines."""
    error = unraisable.exc_value or unraisable.exc_type()
    log_unexpected(f"{unraisable.err_msg or 'discarded in'} {unraisable.object!r}", error)


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = getattr(record, "fields", {})
        shown = " ".join(f"{name}={json.dumps(value)}" for name, value in fields.items())
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        return f"{at} {record.levelname.lower()} {record.getMessage()} {shown}"


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {"at": at, "level": record.levelname.lower(), "event": record.getMessage()}
        if record.name != logger.name:
            line["logger"] = record.name
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps({**line, **getattr(record, "fields", {})})


def _log(level: int, message: str, **fields: Any) -> None:
    logger.log(level, message, extra={"fields": fields})


def log_start(job: str, path: str, attempt: int) -> None:
    """Log that a run of a job begins."""
    _log(logging.INFO, "job started", job=job, path=path, attempt=attempt)


def log_finish(job: str, summary: Summary) -> None:
    """Log that a run of a job is finished, as a warning if its input has some."""
    warnings = {"warnings": list(summary.warnings)} if summary.warnings else {}
    _log(
        logging.WARNING if warnings else logging.INFO,
        "job finished",
        job=job,
        path=summary.input,
        output=summary.output,
        articles=summary.articles,
        seconds=round(summary.seconds, 3),
        rate=round(summary.articles / max(summary.seconds, 1e-9), 1),
        **warnings,
    )


def log_failure(
    job: str,
    path: str,
    error: dict[str, Any],
    retry_in: int | None,
    message: str = "job failed",
) -> None:
    """Log a failed run; the next is in ``retry_in`` seconds, None if there is none."""
    _log(logging.ERROR, message, job=job, path=path, retry_in=retry_in, error=error)


def log_refusal(job: str, reason: str) -> None:
    """Log that this worker refuses a job."""
    _log(logging.ERROR, "job refused", job=job, reason=reason)


def log_stop(job: str, path: str) -> None:
    """Log that a running job was stopped on request."""
    _log(logging.WARNING, "job stopped", job=job, path=path)


def log_requeue(job: str, reason: str, path: str | None = None) -> None:
    """Log that a job was requeued: by a graceful shutdown, or because its worker is gone."""
    named = {} if path is None else {"path": path}
    _log(logging.WARNING, "job requeued", job=job, **named, reason=reason)


def log_unexpected(subject: str, error: BaseException) -> None:
    """Log an error that a worker survives, such as one of invalid content in Redis."""
    text = f"{type(error).__name__}: {error}"
    _log(logging.ERROR, "unexpected error", subject=subject, error=text)


def log_outage(error: BaseException) -> None:
    """Log that the server is away or refuses writes, and that this process waits for it."""
    _log(logging.WARNING, "waiting for the server", error=str(error))


def log_stop_without_server(error: BaseException) -> None:
    """Log that the worker ends without removing its registration, which then expires."""
    _log(logging.WARNING, "stopped without the server", error=str(error))
