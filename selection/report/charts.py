"""Figures as static SVG, coloured by the page that they stand in."""

from __future__ import annotations

import sys
from xml.etree import ElementTree

import pygal
from pygal.style import Style

from selection.report.batch_stats import Figure

# pygal adds an importer of Python 2's kind, at which whoever asks all importers stumbles.
sys.meta_path[:] = [finder for finder in sys.meta_path if hasattr(finder, "find_spec")]

_WIDTH = 350
_BAR, _AXIS = 34, 34
_DISTRIBUTION_HEIGHT = 210
_ROOM_FOR_VALUES = 44
_TEXT = 12

# Nothing of pygal's own style, script and tooltips goes into the page; sizes are what it
# reckons the space for texts with.
_STYLE = Style(
    label_font_size=_TEXT,
    major_label_font_size=_TEXT,
    value_font_size=_TEXT,
    font_family="sans-serif",
)
_NOT_DRAWN = ("defs", "desc", "title")


def has_legend(figure: Figure) -> bool:
    """Whether the colours of a figure have to be explained; the drawing does not."""
    return len(figure.series) > 1 and not is_diagonal(figure)


def is_diagonal(figure: Figure) -> bool:
    """Whether every series is one bar, named by its label."""
    return any(None in counts for counts in figure.series.values())


def draw(figure: Figure) -> str:
    """One figure as an ``svg`` element without style, script or id.

    Its marks have pygal's classes: ``color-0`` and so on for the series, ``bar``, ``axis``,
    ``guide``.
    """
    tree = _chart(figure).render_tree()
    _strip(tree)
    tree.attrib.pop("id", None)
    tree.attrib.pop("xmlns", None)
    tree.set("aria-hidden", "true")
    tree.set("focusable", "false")
    return ElementTree.tostring(tree, encoding="unicode")


def _chart(figure: Figure) -> pygal.graph.graph.Graph:
    options = {
        "style": _STYLE,
        "css": [],
        "js": [],
        "no_prefix": True,
        "width": _WIDTH,
        "margin": 6,
        "truncate_label": -1,
        "show_legend": False,
        "formatter": "{:,.0f}".format,
        "value_formatter": _whole,
        "min_scale": 2,
        "max_scale": 5,
    }
    if figure.is_distribution:
        chart = pygal.Bar(height=_DISTRIBUTION_HEIGHT, **options)
        chart.x_labels = list(figure.labels)
        for name, counts in figure.series.items():
            chart.add(name, list(counts))
        return chart
    has_values = not has_legend(figure)
    if has_values:
        options["margin_right"] = _ROOM_FOR_VALUES
    chart = pygal.HorizontalStackedBar(
        height=_BAR * len(figure.labels) + _AXIS,
        print_values=has_values,
        print_values_position="top",
        **options,
    )
    # The first label is drawn at the bottom.
    chart.x_labels = list(reversed(figure.labels))
    for name, counts in figure.series.items():
        # Of a count that is not there pygal would print a zero.
        chart.add(name, list(reversed(counts)), formatter=_present if is_diagonal(figure) else None)
    return chart


def _whole(count: float) -> str:
    """An axis of few counts has steps between whole numbers, too; those get no number."""
    return f"{count:,.0f}" if count == int(count) else ""


def _present(count: float | None) -> str:
    return f"{count:,.0f}" if count else ""


def _strip(element: ElementTree.Element) -> None:
    """Leave shapes and texts alone; comments and what is styled or titled inside go."""
    for child in list(element):
        if not isinstance(child.tag, str) or child.tag in _NOT_DRAWN or _is_tooltip(child):
            element.remove(child)
        else:
            child.attrib.pop("style", None)
            _strip(child)


def _is_tooltip(element: ElementTree.Element) -> bool:
    return "tooltip" in element.get("class", "").split()
