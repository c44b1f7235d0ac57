"""The log: one line for each change of a job, as text or as JSON (``SELECTION_LOG``)."""

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
    """Write to standard error, unless the process logs already; with JSON, RQ's lines, too."""
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
    """Let the handler write RQ's and redis-py's lines, and warnings."""
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


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        facts = getattr(record, "facts", {})
        shown = " ".join(f"{name}={json.dumps(value)}" for name, value in facts.items())
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
        return json.dumps({**line, **getattr(record, "facts", {})})


def _log(level: int, message: str, **facts: Any) -> None:
    logger.log(level, message, extra={"facts": facts})


def log_start(job: str, path: str, attempt: int) -> None:
    """A run of a job begins."""
    _log(logging.INFO, "job started", job=job, path=path, attempt=attempt)


def log_finish(job: str, summary: Summary) -> None:
    """A run of a job ended well."""
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
    """A run of a job failed; the next one is in ``retry_in`` seconds, or never."""
    _log(logging.ERROR, message, job=job, path=path, retry_in=retry_in, error=error)


def log_refusal(job: str, reason: str) -> None:
    """A job that this worker does not run."""
    _log(logging.ERROR, "job refused", job=job, reason=reason)


def log_hand_back(job: str, path: str) -> None:
    """A graceful shutdown returned a running job to the queue."""
    _log(logging.INFO, "job handed back", job=job, path=path)


def log_stop(job: str, path: str) -> None:
    """A running job was stopped on request."""
    _log(logging.WARNING, "job stopped", job=job, path=path)


def log_put_back(job: str, reason: str) -> None:
    """A job that no live worker had is in the queue again."""
    _log(logging.WARNING, "job put back", job=job, reason=reason)


def log_odd(what: str, error: BaseException) -> None:
    """Something in Redis could not be handled; the worker goes on."""
    _log(logging.ERROR, "cannot be handled", what=what, error=f"{type(error).__name__}: {error}")


def log_outage(error: BaseException) -> None:
    """The server is away or takes no writes, and this process waits for it."""
    _log(logging.WARNING, "waiting for the server", error=str(error))


def log_stop_without_server(error: BaseException) -> None:
    """The worker ends and cannot say so on the server, which will notice by itself."""
    _log(logging.WARNING, "stopped without the server", error=str(error))
