"""The figures: for every fault how often it was tried and what it did."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass
class Row:
    """One fault.

    Attributes:
        fault: what was done.
        tried: how often.
        lost: no right output, and no typed failure that says why.
        partial: an output that is not complete was there.
        leaked: temporary files, descriptors, processes or Redis keys were left behind.
        stuck: it did not end in its time.
        within: the row that counts what it did, where that cannot be told from the others'.
    """

    fault: str
    tried: int = 0
    lost: int = 0
    partial: int = 0
    leaked: int = 0
    stuck: int = 0
    within: str | None = None

    @property
    def is_clean(self) -> bool:
        """Nothing but ``tried`` was counted."""
        return not (self.lost or self.partial or self.leaked or self.stuck)


@dataclass(frozen=True)
class Harm:
    """What one try did; each a sentence that says what was found, or nothing."""

    lost: str = ""
    partial: str = ""
    leaked: str = ""
    stuck: str = ""


NO_HARM = Harm()


class Table:
    """Collects tries and tells of them on standard error while they are made."""

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}
        self.found: list[dict[str, str]] = []
        self._began = time.monotonic()

    def say(self, text: str) -> None:
        """One line of progress."""
        print(f"{time.monotonic() - self._began:7.1f} s  {text}", file=sys.stderr, flush=True)

    def add(self, fault: str, harm: Harm = NO_HARM, tries: int = 1) -> None:
        """Count so many tries of a fault and what they did."""
        row = self.rows.setdefault(fault, Row(fault))
        row.tried += tries
        for field in fields(harm):
            what = getattr(harm, field.name)
            if what:
                setattr(row, field.name, getattr(row, field.name) + 1)
                self.found.append({"fault": fault, "figure": field.name, "what": what})
                self.say(f"{field.name}: {fault}: {what}")

    def among(self, fault: str, within: str) -> None:
        """Count a fault that is one of many at the same time."""
        self.rows.setdefault(fault, Row(fault, within=within)).tried += 1

    @property
    def is_clean(self) -> bool:
        """Every fault was tried, and none did harm."""
        return all(row.is_clean and row.tried for row in self.rows.values())

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {"faults": [asdict(row) for row in self.rows.values()], "found": self.found}

    def __str__(self) -> str:
        names = ["fault", "tried", *(field.name for field in fields(Harm))]
        lines = [names] + [
            [
                row.fault,
                f"{row.tried:,}",
                *("" if row.within else f"{getattr(row, name):,}" for name in names[2:]),
            ]
            for row in self.rows.values()
        ]
        widths = [max(len(line[i]) for line in lines) for i in range(len(names))]
        return "\n".join(
            "  ".join(
                [line[0].ljust(widths[0])]
                + [cell.rjust(width) for cell, width in zip(line[1:], widths[1:])]
            )
            for line in lines
        )
