"""One line a job's start, end and failure, as text or as JSON (``SELECTION_LOG``)."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

from selection import Summary
from worker.settings import Settings

logger = logging.getLogger("selection.worker")


def set_up(settings: Settings) -> None:
    """Write this project's lines to standard error, unless the process logs them already."""
    if logger.handlers:
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if settings.log == "json" else _Text())
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        facts = getattr(record, "facts", {})
        shown = " ".join(f"{name}={json.dumps(value)}" for name, value in facts.items())
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        return f"{at} {record.levelname.lower()} {record.getMessage()} {shown}"


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        facts = getattr(record, "facts", {})
        return json.dumps(
            {"at": at, "level": record.levelname.lower(), "event": record.getMessage(), **facts}
        )


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
    """A run of a job failed; it is tried again in so many seconds, or never."""
    _log(logging.ERROR, message, job=job, path=path, retry_in=retry_in, error=error)


def log_refusal(job: str, reason: str) -> None:
    """A job that this worker does not run."""
    _log(logging.ERROR, "job refused", job=job, reason=reason)
