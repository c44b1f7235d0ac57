"""What a part of the suite finds: tables, and the goals that they are held against."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

#: None is what could not be measured here.
Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class Settings:
    """What was asked for.

    Attributes:
        batch: real pages to measure with; None: the sample alone.
        truth: the human truth about them, by article id.
        quick: smaller sizes and fewer runs, to see that all works.
        largest: bytes of the largest made batch.
        folder: for temporary files; it is removed afterwards.
        say: tells a person how far it is.
    """

    batch: Path | None
    truth: Path | None
    quick: bool
    largest: int
    folder: Path
    say: Callable[[str], None]

    @property
    def runs(self) -> int:
        """How often each thing is measured; medians are told."""
        return 1 if self.quick else 5


@dataclass(frozen=True, slots=True)
class Table:
    """Figures with a heading and the names of their columns."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure and what it ought to be, at least or, for sizes and exponents, at most."""

    what: str
    value: float | None
    goal: float
    at_most: bool = False

    @property
    def verdict(self) -> str:
        """In a word."""
        if self.value is None:
            return "not available"
        met = self.value <= self.goal if self.at_most else self.value >= self.goal
        return "met" if met else "missed"


@dataclass(frozen=True, slots=True)
class Result:
    """What one part found.

    Attributes:
        part: its name.
        how: how it was measured, for the reader of the tables.
    """

    part: str
    how: str
    tables: tuple[Table, ...]
    goals: tuple[Goal, ...] = ()
