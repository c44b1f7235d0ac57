"""The table of results: for each fault the number of tries and of effects."""

from __future__ import annotations

import sys
import textwrap
import time
from dataclasses import asdict, dataclass, fields
from typing import Any

_MOST_CHARACTERS = 500


@dataclass
class Row:
    """One fault and the number of its effects.

    Attributes:
        fault: the name of the fault.
        tried: the number of tries.
        lost: results that are neither a right output nor a typed failure with a reason.
        partial: outputs that are not complete.
        leaked: temporary files, descriptors, processes or Redis keys that were left behind.
        stuck: runs that did not end in time.
        within: the row that counts the effects, if those of several faults are inseparable.
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
        """Whether the fault had no effect."""
        return not (self.lost or self.partial or self.leaked or self.stuck)


@dataclass(frozen=True)
class Effects:
    """The effects of one try; each a description, or empty if there was none."""

    lost: str = ""
    partial: str = ""
    leaked: str = ""
    stuck: str = ""


NO_EFFECTS = Effects()


class Table:
    """Collects the tries of all faults and logs effects to standard error."""

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}
        self.found: list[dict[str, str]] = []
        self._began = time.monotonic()

    def log(self, text: str) -> None:
        """Print a line of progress."""
        print(f"{time.monotonic() - self._began:7.1f} s  {text}", file=sys.stderr, flush=True)

    def add(self, fault: str, effects: Effects = NO_EFFECTS, tries: int = 1) -> None:
        """Count ``tries`` tries of a fault and their effects."""
        row = self.rows.setdefault(fault, Row(fault))
        row.tried += tries
        for field in fields(effects):
            what = getattr(effects, field.name)
            if what:
                setattr(row, field.name, getattr(row, field.name) + 1)
                self.found.append({"fault": fault, "effect": field.name, "what": what})
                self.log(f"{field.name}: {fault}: {what}")

    def among(self, fault: str, within: str) -> None:
        """Count a try of a fault whose effects the row ``within`` counts."""
        self.rows.setdefault(fault, Row(fault, within=within)).tried += 1

    @property
    def is_clean(self) -> bool:
        """Whether every fault was tried and none had an effect."""
        return all(row.is_clean and row.tried for row in self.rows.values())

    def as_dict(self) -> dict[str, Any]:
        """Return the table as JSON data."""
        return {"faults": [asdict(row) for row in self.rows.values()], "found": self.found}

    def __str__(self) -> str:
        names = ["fault", "tried", *(field.name for field in fields(Effects))]
        lines = [names] + [
            [
                row.fault,
                f"{row.tried:,}",
                *("" if row.within else f"{getattr(row, name):,}" for name in names[2:]),
            ]
            for row in self.rows.values()
        ]
        widths = [max(len(line[i]) for line in lines) for i in range(len(names))]
        table = [
            "  ".join(
                [line[0].ljust(widths[0])]
                + [cell.rjust(width) for cell, width in zip(line[1:], widths[1:])]
            )
            for line in lines
        ]
        # Behind the table, since the end of a long log is what is read first.
        return "\n".join(table + [self._line(found) for found in self.found])

    @staticmethod
    def _line(found: dict[str, str]) -> str:
        line = f"{found['effect']}: {found['fault']}: {found['what']}"
        return textwrap.shorten(line, _MOST_CHARACTERS, placeholder=" [...]")
