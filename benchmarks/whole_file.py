"""``selection run`` on a whole file, against the baseline, jq and ijson alone."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import corpus
from benchmarks.process import run
from benchmarks.product import SAMPLE, backend_in_use, backends, environment, selection_run
from benchmarks.result import Cell, Goal, Result, Settings, Table

SIZE, QUICK_SIZE = 36_000_000, 2_000_000
PARSE = """
import sys
from collections import deque
import ijson.backends.yajl2_c as ijson
with open(sys.argv[1], "rb") as file:
    deque(ijson.basic_parse(file), maxlen=0)
"""
PRODUCT, BASELINE, JQ, IJSON = "selection run --jobs 1", "baseline", "jq -c .", "ijson alone"

HOW = (
    "Whole processes on one file of {megabytes:.0f} MB, {articles:,} articles: those of {source} "
    "repeated, with new words in every copy. Medians of {runs} runs, taken in turn. "
    "Working seconds are those less the seconds that the same command takes for a batch without "
    "articles. The baseline is `benchmarks/baseline.py`, `jq -c .` only copies, ijson alone "
    "only parses (yajl2_c, `basic_parse`)."
)


@dataclass(frozen=True, slots=True)
class _Command:
    command: Callable[[Path, Path], list[str]]
    prints: bool = False
    backend: str | None = None

    def seconds(self, batch: Path, output: Path) -> float:
        command = self.command(batch, output)
        chosen = environment(self.backend) if self.backend else None
        return run(command, output if self.prints else None, chosen)


def measure(settings: Settings) -> Result:
    """Measure all commands on one file."""
    source = settings.batch or SAMPLE
    batch, empty = settings.folder / "repeated.json", settings.folder / "empty.json"
    articles = corpus.write_repeated(batch, source, QUICK_SIZE if settings.quick else SIZE)
    corpus.write(empty, [])
    commands = _commands()
    whole: dict[str, list[float]] = {name: [] for name in commands}
    start: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(settings.runs):
        settings.log(f"whole file: run {number + 1} of {settings.runs}")
        for name, command in commands.items():
            output = settings.folder / f"{name}.output"
            start[name].append(command.seconds(empty, output))
            whole[name].append(command.seconds(batch, output))
    if _picks(settings.folder / f"{PRODUCT}.output") != _picks(
        settings.folder / f"{BASELINE}.output"
    ):
        raise SystemExit("the picks of selection run and of the baseline differ")

    seconds = {name: median(values) for name, values in whole.items()}
    working = {name: seconds[name] - median(values) for name, values in start.items()}
    megabytes = batch.stat().st_size / 1e6
    rows: list[tuple[Cell, ...]] = []
    for name in commands:
        times = seconds[name] / seconds[PRODUCT], working[name] / working[PRODUCT]
        rows.append((name, seconds[name], megabytes / seconds[name], working[name], *times))
    if JQ not in commands:
        rows.append((JQ, *[None] * 5))
    head = (
        "command",
        "seconds",
        "MB a second",
        "working seconds",
        "times selection",
        "working, times selection",
    )
    how = HOW.format(
        megabytes=megabytes,
        articles=articles,
        source="the batch" if settings.batch else "the sample",
        runs=settings.runs,
    )
    used = backend_in_use() or "python"
    goals = [
        Goal(
            f"whole file, {used}, speed to {name}",
            seconds[name] / seconds[PRODUCT] if name in seconds else None,
            goal,
        )
        for name, goal in ((BASELINE, 13.0), (JQ, 2.2), (IJSON, 0.45))
    ]
    title = f"Whole file ({used} backend unless named)"
    return Result("whole-file", how, (Table(title, head, tuple(rows)),), tuple(goals))


def _commands() -> dict[str, _Command]:
    commands = {
        PRODUCT: _Command(lambda batch, output: selection_run(batch, output, jobs=1)),
        BASELINE: _Command(
            lambda batch, output: [
                sys.executable,
                "-m",
                "benchmarks.baseline",
                str(batch),
                str(output),
            ]
        ),
        IJSON: _Command(lambda batch, output: [sys.executable, "-c", PARSE, str(batch)]),
    }
    for backend, there in backends().items():
        if there and backend != backend_in_use():
            commands[f"{PRODUCT}, {backend}"] = _Command(
                lambda batch, output: selection_run(batch, output, jobs=1), backend=backend
            )
    if shutil.which("jq"):
        commands[JQ] = _Command(lambda batch, output: ["jq", "-c", ".", str(batch)], prints=True)
    return commands


def _picks(path: Path) -> list[Any]:
    articles = json.loads(path.read_bytes())["articles"]
    return [article["selected_extractor"] for article in articles]
