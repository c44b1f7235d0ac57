"""The measured ratios beside their goals, as one SVG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pygal
from pygal.style import Style

from benchmarks.result import Goal
from benchmarks.tables import cell

_BAR, _AROUND = 36, 150
_TEXT = 12
_STYLE = Style(
    colors=("#1f6fb4", "#b8b8b8"),
    background="white",
    plot_background="white",
    font_family="sans-serif",
    label_font_size=_TEXT,
    major_label_font_size=_TEXT,
    legend_font_size=_TEXT,
    title_font_size=14,
)


def write(path: Path, ratios: Sequence[Goal], machine: str) -> None:
    """Draw a bar for each goal and one for each measured ratio."""
    chart = pygal.HorizontalBar(
        style=_STYLE,
        # Nothing from the network.
        js=[],
        width=900,
        height=_AROUND + _BAR * len(ratios),
        title=f"Times as fast\n{machine}",
        value_formatter=lambda value: f"{value:g}",
        truncate_label=-1,
        legend_at_bottom=True,
        show_y_guides=True,
    )
    # The first is drawn at the bottom.
    ratios = ratios[::-1]
    chart.x_labels = [f"{goal.what}: {cell(goal.value)} (goal {goal.goal:g})" for goal in ratios]
    chart.add("measured", [goal.value for goal in ratios])
    chart.add("goal", [goal.goal for goal in ratios])
    chart.render_to_file(str(path))
