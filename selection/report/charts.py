"""Chart data: the bars of each chart with their sizes, ready for the page's template.

The template draws the bars in HTML. Their sizes go into the page's style sheet, since the
page's Content-Security-Policy does not allow ``style`` attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from selection.report.batch_stats import ChartData, ColorScheme

# An axis has at most this number of steps.
_STEPS = 4


@dataclass(frozen=True, slots=True)
class Part:
    """One coloured part of a bar.

    Attributes:
        id: the name of its rule in the style sheet.
        series: the name of what is counted.
        query: what the list shows of it, as in the page's address.
        color: the number of the series, from 0.
        count: the number of articles or candidates.
        size: the length in percent of the longest possible bar.
    """

    id: str
    series: str
    query: str
    color: int
    count: int
    size: float


@dataclass(frozen=True, slots=True)
class Bar:
    """The parts that have one label: stacked, or side by side in a distribution."""

    label: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Tick:
    """A labelled line of an axis, at ``size`` percent of its length."""

    id: str
    count: int
    size: float


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart of the page.

    Attributes:
        key: its name in the page.
        title, note: what is counted, in a few words and in a sentence.
        colors: the name of the set of colours of its series.
        series: the names of the series.
        bars: in the order of the page.
        ticks: the axis of a distribution, from 0 upwards; empty for other charts, which
            print each count beside its bar.
        scale: what the labels of a distribution measure.
    """

    key: str
    title: str
    note: str
    colors: str
    series: tuple[str, ...]
    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]
    scale: str

    @property
    def is_stacked(self) -> bool:
        """Return whether a bar has several parts in one line."""
        return not self.ticks and any(len(bar.parts) > 1 for bar in self.bars)

    @property
    def sized(self) -> tuple[Part | Tick, ...]:
        """Return everything whose size the style sheet sets."""
        return (*(part for bar in self.bars for part in bar.parts), *self.ticks)


def chart(data: ChartData) -> Chart:
    """Return the chart of a batch's counts.

    Bars are sized relative to the longest one, or to the axis of a distribution.
    """
    columns = list(zip(*data.series.values()))
    if data.is_distribution:
        lines = axis(max(filter(None, sum(columns, ())), default=0))
        full = lines[-1]
    else:
        lines = ()
        full = max((sum(filter(None, column)) for column in columns), default=0) or 1
    return Chart(
        key=data.key,
        title=data.title,
        note=data.note,
        colors=data.colors.value,
        series=tuple(data.series),
        bars=tuple(
            Bar(label, _parts(f"{data.key}-{number}", label, data, column, full))
            for number, (label, column) in enumerate(zip(data.labels, columns))
        ),
        ticks=tuple(
            Tick(f"{data.key}-tick-{number}", line, _percent(line, full))
            for number, line in enumerate(lines)
        ),
        scale=data.scale,
    )


def axis(largest: int) -> tuple[int, ...]:
    """Return the counts at which an axis has lines: 0 and up to four equal whole steps.

    A step is 1, 2 or 5 times a power of ten; the last line is at ``largest`` or above.
    """
    sizes = (digit * 10**power for power in count() for digit in (1, 2, 5))
    step = next(size for size in sizes if size * _STEPS >= largest)
    steps = max(1, -(-largest // step))
    return tuple(range(0, steps * step + 1, step))


def _parts(
    id: str, label: str, data: ChartData, column: Sequence[int | None], full: int
) -> tuple[Part, ...]:
    return tuple(
        Part(
            f"{id}-{color}",
            series,
            _query(f"{id}-{color}", label, data, series),
            color,
            number,
            _percent(number, full),
        )
        for color, (series, number) in enumerate(zip(data.series, column))
        if number is not None
    )


def _query(id: str, label: str, data: ChartData, series: str) -> str:
    """Return the filter of the list: one of its menus, or the bar itself."""
    match data.colors, data.is_distribution:
        case ColorScheme.EXTRACTORS, False:
            return f"pick={label}"
        case ColorScheme.RULES, _:
            return f"rule={label}"
        case ColorScheme.STATES, _:
            return f"state={label}.{series}"
    return f"bar={id}"


def _percent(number: int, full: int) -> float:
    return round(100 * number / full, 2)
