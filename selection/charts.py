"""Figures as static SVG, coloured by the page that they stand in."""

from __future__ import annotations

from xml.etree import ElementTree

import pygal
from pygal.style import Style

from selection.overview import Figure

_WIDTH = 350
_BAR, _AXIS, _LEGEND_LINE = 34, 34, 24
_DISTRIBUTION_HEIGHT = 240
_TEXT = 12

# Nothing of pygal's own style, script and tooltips goes into the page; sizes are what it
# reckons the space for texts with.
_STYLE = Style(
    label_font_size=_TEXT,
    major_label_font_size=_TEXT,
    value_font_size=_TEXT,
    legend_font_size=_TEXT,
    font_family="sans-serif",
)
_NOT_DRAWN = ("defs", "desc", "title")

# So many that their names do not run into each other.
_LEGEND_COLUMNS = {1: 1, 3: 3, 4: 2}


def draw(figure: Figure) -> str:
    """One figure as an ``svg`` element without style, script or id.

    Its marks have pygal's classes: ``color-0`` and so on for the series, ``bar``, ``axis``,
    ``guide``, ``legend``.
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
        "truncate_legend": -1,
        "legend_at_bottom": True,
        "legend_at_bottom_columns": _LEGEND_COLUMNS[len(figure.series)],
        "legend_box_size": 10,
        "formatter": "{:,.0f}".format,
        "min_scale": 2,
        "max_scale": 5,
    }
    if figure.is_distribution:
        chart = pygal.Bar(height=_DISTRIBUTION_HEIGHT, show_legend=True, **options)
        chart.x_labels = list(figure.labels)
        chart.x_title = None
        for name, counts in figure.series.items():
            chart.add(name, list(counts))
        return chart
    is_diagonal = any(None in counts for counts in figure.series.values())
    has_legend = len(figure.series) > 1 and not is_diagonal
    lines = len(figure.series) // _LEGEND_COLUMNS[len(figure.series)] if has_legend else 0
    chart = pygal.HorizontalStackedBar(
        height=_BAR * len(figure.labels) + _AXIS + _LEGEND_LINE * lines,
        show_legend=has_legend,
        print_values=not has_legend,
        print_values_position="top",
        **options,
    )
    # The first label is drawn at the bottom.
    chart.x_labels = list(reversed(figure.labels))
    for name, counts in figure.series.items():
        # Of a count that is not there pygal would print a zero.
        chart.add(name, list(reversed(counts)), formatter=_present if is_diagonal else None)
    return chart


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
