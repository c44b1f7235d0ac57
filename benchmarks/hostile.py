"""Hostile texts: seconds to decide an article of them, by its size."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

from benchmarks.growth import exponent
from benchmarks.process import output_of
from benchmarks.product import backends, environment
from benchmarks.result import Cell, Goal, Result, Settings, Table
from selection import select_article

SIZES = (250_000, 500_000, 1_000_000, 2_000_000)
QUICK_SIZES = (25_000, 50_000, 100_000, 200_000)
LONGEST_SECONDS, HIGHEST_EXPONENT = 1.0, 1.5

HOW = (
    "One article, three texts that differ at their ends, seconds by their total size in MB; "
    "the better of two runs. The exponent is that of seconds against size: 1 is linear, 2 "
    "quadratic; tables that outgrow the processor's cache cost a little more than linear."
)


def repeated(unit: str) -> Callable[[int], str]:
    """Return a function that repeats the unit up to a number of characters."""
    return lambda size: unit * (size // len(unit))


KINDS: dict[str, Callable[[int], str]] = {
    "<": repeated("<"),
    "<>": repeated("<>"),
    "[": repeated("["),
    "![": repeated("!["),
    "![](": repeated("![]("),
    "[a](": repeated("[a]("),
    "[](": repeated("[]("),
    "! and spaces": lambda size: "!" + " " * size + "!",
    "&#9999...;": lambda size: "&#" + "9" * size + ";",
    "&#xffff...;": lambda size: "&#x" + "f" * size + ";",
    "&amp;amp;...": repeated("&amp;"),
    "&aaa...": repeated("&" + "a" * 31),
    "marks of two classes": lambda size: "a" + "\u0301\u0316" * (size // 2),
    "composed marks": lambda size: "a" + "\u0f73" * size,
    "halfwidth marks": lambda size: "a" + "\uff9e\u0301" * (size // 2),
    "capital sigma": repeated("\u03a3"),
    "sigma and dots": repeated("\u03a3."),
    "ligature of 18": repeated("\ufdfa"),
    "one long number": repeated("7"),
    "Chinese": repeated("\u5317\u4eac\u5927\u5b66"),
    "distinct words": lambda size: " ".join(map(str, range(size // 7))),
}


def measure(settings: Settings) -> Result:
    """Measure all kinds of hostile texts with both backends."""
    sizes = QUICK_SIZES if settings.quick else SIZES
    head = ("text", *(f"{size / 1e6:g} MB" for size in sizes), "exponent")
    tables = []
    goals = []
    for backend, there in backends().items():
        longest = highest = None
        if there:
            settings.log(f"hostile: {backend}")
            found = _in_new_process(backend, sizes)
            slopes = {kind: exponent(sizes, times) for kind, times in found.items()}
            rows: list[tuple[Cell, ...]] = [(k, *found[k], slopes[k]) for k in found]
            tables.append(Table(f"Hostile texts, {backend}", head, tuple(rows)))
            longest = max(times[2] for times in found.values())
            highest = max(slopes.values())
        megabytes = sizes[2] / 1e6
        goals += [
            Goal(
                f"seconds, {megabytes:g} MB of the slowest kind, {backend}",
                longest,
                LONGEST_SECONDS,
                True,
            ),
            Goal(f"exponent of the steepest kind, {backend}", highest, HIGHEST_EXPONENT, True),
        ]
    return Result("hostile", HOW, tuple(tables), tuple(goals))


def _in_new_process(backend: str, sizes: tuple[int, ...]) -> dict[str, list[float]]:
    command = [sys.executable, "-m", "benchmarks.hostile", *map(str, sizes)]
    printed = output_of(command, environment(backend))
    if printed is None:
        raise SystemExit(f"the hostile texts could not be decided by {backend}")
    found: dict[str, list[float]] = json.loads(printed)
    return found


def _seconds(make: Callable[[int], str], size: int) -> float:
    in_one_text = size // 3
    text = make(in_one_text * in_one_text // len(make(in_one_text).encode()))
    article = {
        "newspaper4k": {"text": text},
        "readability": {"cleaned_text": text + " end"},
        "trafilatura": {"text": "start " + text},
    }
    began = time.perf_counter()
    select_article(article)
    return time.perf_counter() - began


def _time_all(sizes: list[int]) -> None:
    found = {
        kind: [min(_seconds(make, size) for _ in range(2)) for size in sizes]
        for kind, make in KINDS.items()
    }
    print(json.dumps(found))


if __name__ == "__main__":
    _time_all([int(size) for size in sys.argv[1:]])
