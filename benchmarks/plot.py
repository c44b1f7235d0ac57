"""The measured values relative to their goals, as one SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from benchmarks.result import Goal
from benchmarks.tables import cell

_WIDTH, _LEFT, _RIGHT = 900, 500, 20
_TOP, _BOTTOM, _BAR = 60, 30, 28


@dataclass(frozen=True, slots=True)
class _Bar:
    label: str
    top: int
    length: float
    is_met: bool


def write(path: Path, goals: Sequence[Goal], machine: str) -> None:
    """Write a picture with one bar for each goal of the kind "at least".

    The length of a bar is value / goal; a line shows where both are equal.
    """
    reached = [(goal.value or 0) / goal.goal for goal in goals]
    unit = (_WIDTH - _LEFT - _RIGHT) / max(1, *reached)
    bars = [
        _Bar(
            label=f"{goal.what}: {cell(goal.value)} (goal {goal.goal:g})",
            top=_TOP + _BAR * number,
            length=round(unit * ratio, 1),
            is_met=ratio >= 1,
        )
        for number, (goal, ratio) in enumerate(zip(goals, reached))
    ]
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    picture = environment.get_template("ratios.svg.jinja").render(
        width=_WIDTH,
        height=_TOP + _BAR * len(bars) + _BOTTOM,
        left=_LEFT,
        goal=round(_LEFT + unit, 1),
        machine=machine,
        bars=bars,
    )
    path.write_text(picture + "\n", encoding="utf-8")
