"""What ``doctor`` says about one thing that it has looked at."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Verdict = Literal["ok", "warning", "fault"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: what, how it is, and what to do about it."""

    subject: str
    verdict: Verdict
    message: str

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data, ready for JSON."""
        return asdict(self)
