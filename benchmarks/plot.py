"""The measured ratios beside their goals, as one SVG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pygal
from pygal.style import Style

from benchmarks.result import Goal

_BAR, _AROUND = 44, 130


def write(path: Path, goals: Sequence[Goal], machine: str) -> None:
    """A bar for each goal that is a ratio, and one for what was measured."""
    ratios = [goal for goal in goals if not goal.at_most]
    chart = pygal.HorizontalBar(
        style=Style(colors=("#1f6fb4", "#c9c9c9"), font_family="sans-serif", background="white"),
        # Nothing from the network.
        js=[],
        width=900,
        height=_AROUND + _BAR * len(ratios),
        title=f"Times as fast\n{machine}",
        print_values=True,
        value_formatter=lambda value: f"{value:.2f}",
        truncate_label=-1,
        legend_at_bottom=True,
        show_y_guides=True,
    )
    # The first is drawn at the bottom.
    ratios.reverse()
    chart.x_labels = [
        goal.what if goal.value is not None else f"{goal.what} (not available)" for goal in ratios
    ]
    chart.add("measured", [goal.value for goal in ratios])
    chart.add("goal", [goal.goal for goal in ratios])
    chart.render_to_file(str(path))
