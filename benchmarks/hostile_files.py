"""Batches with hostile strings: seconds to select a file of them, by its size."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.growth import exponent
from benchmarks.hostile import repeated
from benchmarks.process import output_of
from benchmarks.product import backends, environment
from benchmarks.result import Cell, Goal, Result, Settings, Table
from selection import select_file

SIZES = (1_000_000, 4_000_000, 16_000_000)
QUICK_SIZES = (20_000, 80_000, 320_000)
LONG_STRING, QUICK_LONG_STRING = 80_000_000, 1_000_000
LONGEST_SECONDS, HIGHEST_EXPONENT = 1.0, 1.1

HOW = (
    "`select_file` on one file, seconds of CPU by the megabytes of the string; the better of two "
    "runs. The exponent is that of seconds against size: 1 is linear, 2 quadratic. Of each "
    "kind the slowest place is shown. One string of {long:g} MB is compared with one of {large:g}."
)

PROSE = "the ferry to the island leaves at nine and comes back before the storm "
_LISTING = json.dumps([{"id": i, "tags": ["a"], "at": {"x": i, "y": {}}} for i in range(50)])
_SCRIPT = 'function f(a){if(a){return{b:[a,{c:"}"}]}}else{for(;;){}}};var o={"k":"\\u007b"};'

KINDS: dict[str, Callable[[int], str]] = {
    "}": repeated("}"),
    "{": repeated("{"),
    "[": repeated("["),
    "]": repeated("]"),
    'escaped "': repeated('"'),
    "escaped \\": repeated("\\"),
    '"}\\"{': repeated('"}\\"{'),
    "JSON listing": repeated(_LISTING),
    "minified JavaScript": repeated(_SCRIPT),
    "base64": repeated("QWxsIHdvcmsgYW5kIG5vIHBsYXk0"),
    "prose": repeated(PROSE),
    "combining marks": lambda size: "a" + "\u0301\u0316" * (size // 4),
}


def _article(text: str, **more: Any) -> dict[str, Any]:
    return {
        "newspaper4k": {"text": text},
        "readability": {"cleaned_text": PROSE},
        "trafilatura": {"text": PROSE},
        **more,
    }


PLACES: dict[str, Callable[[str], dict[str, Any]]] = {
    "a text": lambda text: {"articles": [_article(text), _article(PROSE)]},
    "a raw html member": lambda text: {"articles": [_article(PROSE, html=text)]},
    "a nested member": lambda text: {"articles": [_article(PROSE, raw={"page": [text]})]},
    "a key": lambda text: {"articles": [_article(PROSE, **{text: 1})]},
    "a string item": lambda text: {"articles": [text, _article(PROSE)]},
    "before the list": lambda text: {"source": text, "articles": [_article(PROSE)]},
    "behind the list": lambda text: {"articles": [_article(PROSE)], "source": text},
}


def measure(settings: Settings) -> Result:
    """Measure both backends."""
    sizes = QUICK_SIZES if settings.quick else SIZES
    long = QUICK_LONG_STRING if settings.quick else LONG_STRING
    head = ("string", *(f"{size / 1e6:g} MB" for size in sizes), "slowest in", "exponent")
    tables: list[Table] = []
    goals: list[Goal] = []
    for backend, there in backends().items():
        longest = steepest = None
        if there:
            settings.log(f"hostile files: {backend}")
            found = _in_new_process(backend, [*sizes, long], settings.folder)
            slopes = {name: exponent(sizes, times[:3]) for name, times in found.items()}
            rows: list[tuple[Cell, ...]] = []
            for kind in KINDS:
                place = max(PLACES, key=lambda place: found[f"{kind} in {place}"][2])
                name = f"{kind} in {place}"
                rows.append((kind, *found[name][:3], place, slopes[name]))
            tables.append(Table(f"Hostile strings in files, {backend}", head, tuple(rows)))
            tables.append(_long_strings(found, long, sizes[-1], backend))
            longest = max(times[0] for times in found.values())
            steepest = max(slopes.values())
        what = f"seconds, file with a string of {sizes[0] / 1e6:g} MB, {backend}"
        goals.append(Goal(what, longest, LONGEST_SECONDS, True))
        what = f"exponent of the steepest file, {backend}"
        goals.append(Goal(what, steepest, HIGHEST_EXPONENT, True))
    how = HOW.format(long=long / 1e6, large=sizes[-1] / 1e6)
    return Result("hostile-files", how, tuple(tables), tuple(goals))


def _long_strings(found: dict[str, list[float]], long: int, large: int, backend: str) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for place in PLACES:
        *_, before, seconds = found[f"prose in {place}"]
        rows.append((place, seconds, long / large, seconds / before))
    head = ("in", "seconds", "times the size", "times the seconds")
    return Table(f"One string of {long / 1e6:g} MB, {backend}", head, tuple(rows))


def _in_new_process(backend: str, sizes: list[int], folder: Path) -> dict[str, list[float]]:
    command = [sys.executable, "-m", "benchmarks.hostile_files", str(folder), *map(str, sizes)]
    printed = output_of(command, environment(backend))
    if printed is None:
        raise SystemExit(f"the hostile files could not be selected by {backend}")
    found: dict[str, list[float]] = json.loads(printed)
    return found


def _seconds(make: Callable[[int], str], place: str, size: int, folder: Path) -> float:
    path = folder / "hostile.json"
    path.write_text(json.dumps(PLACES[place](make(size)), ensure_ascii=False), "utf-8")
    began = time.process_time()
    select_file(path)
    return time.process_time() - began


def _time_all(folder: Path, sizes: list[int]) -> None:
    found: dict[str, list[float]] = {}
    for kind, make in KINDS.items():
        for place in PLACES:
            seconds = partial(_seconds, make, place, folder=folder)
            measured = sizes if kind == "prose" else sizes[:-1]
            found[f"{kind} in {place}"] = [
                min(seconds(size=size) for _ in range(2)) for size in measured
            ]
    print(json.dumps(found))


if __name__ == "__main__":
    _time_all(Path(sys.argv[1]), [int(size) for size in sys.argv[2:]])
