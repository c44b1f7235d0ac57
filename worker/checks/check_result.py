"""The result of one check of ``doctor``."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Verdict = Literal["ok", "warning", "error"]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check.

    Attributes:
        subject: the name of the check.
        verdict: ``ok``, ``warning`` or ``error``.
        message: what was found, and what to do.
    """

    subject: str
    verdict: Verdict
    message: str

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, ready for JSON."""
        return asdict(self)
