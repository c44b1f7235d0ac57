"""The result of a part of the suite: tables, and goals with measured values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

#: None is shown as "not available".
Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a run.

    Attributes:
        batch: real pages to measure with; None: the sample alone.
        truth: the human truth about them, by article id.
        quick: smaller sizes and fewer runs, to try the suite.
        largest: bytes of the largest generated batch.
        folder: for temporary files; it is removed afterwards.
        log: prints a line of progress.
    """

    batch: Path | None
    truth: Path | None
    quick: bool
    largest: int
    folder: Path
    log: Callable[[str], None]

    @property
    def runs(self) -> int:
        """The number of runs, of which the median is reported."""
        return 1 if self.quick else 5


@dataclass(frozen=True, slots=True)
class Table:
    """Measured values with a title and the names of the columns."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class Goal:
    """A measured value and its goal, a minimum or, for sizes and exponents, a maximum."""

    what: str
    value: float | None
    goal: float
    at_most: bool = False

    @property
    def outcome(self) -> str:
        """The result in words."""
        if self.value is None:
            return "not available"
        met = self.value <= self.goal if self.at_most else self.value >= self.goal
        return "met" if met else "missed"


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one part.

    Attributes:
        part: its name.
        how: the method, for the reader of the tables.
    """

    part: str
    how: str
    tables: tuple[Table, ...]
    goals: tuple[Goal, ...] = ()
