"""``selection run`` on compressed batches, against jq between the tools of the formats."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks import corpus
from benchmarks.process import run
from benchmarks.product import SAMPLE, selection_run
from benchmarks.result import Cell, Goal, Result, Settings, Table

SIZE, QUICK_SIZE = 36_000_000, 1_000_000

HOW = (
    "Whole commands on one batch of {megabytes:.0f} MB, medians of {runs} runs, taken in turn. "
    "`jq -c .` only copies. The last command of a format is the ceiling: decompressing and "
    "compressing at the same time, as processes of their own. `selection run` starts as many "
    "processes as it does by default, or one with `--jobs 1`."
)


@dataclass(frozen=True, slots=True)
class _Format:
    name: str
    suffix: str
    unpack: str
    pack: str

    def commands(self, batch: Path, output: Path) -> dict[str, list[str]]:
        """Return the commands by name; the first is the one to compare."""
        pipes = [f"{self.unpack} | jq -c . | {self.pack}", f"{self.unpack} | {self.pack}"]
        if shutil.which("jq") is None:
            del pipes[0]
        in_shell = {
            pipe: ["sh", "-c", f'{self.unpack} "$0" {pipe.removeprefix(self.unpack)} > "$1"',
                   str(batch), str(output)]
            for pipe in pipes
        }  # fmt: skip
        return {
            "selection run": selection_run(batch, output),
            "selection run --jobs 1": selection_run(batch, output, 1),
            **in_shell,
        }


FORMATS = (
    _Format("gzip", ".gz", "zcat", "gzip -6"),
    _Format("zstd", ".zst", "zstdcat", "zstd -3"),
)


def measure(settings: Settings) -> Result:
    """Measure each format whose tools are installed, and the plain batch."""
    batch = settings.folder / "plain.json"
    size = QUICK_SIZE if settings.quick else SIZE
    corpus.write_repeated(batch, settings.batch or SAMPLE, size)
    megabytes = batch.stat().st_size / 1e6
    rows: list[tuple[Cell, ...]] = []
    goals = []
    plain = {"selection run": selection_run(batch, batch.with_name("output.json"))}
    seconds = _seconds(settings, "plain", plain)
    rows.append(("plain", *_cells("selection run", seconds["selection run"], megabytes)))
    for each in FORMATS:
        what = f"speed of selection run on {each.name} against jq in a pipe"
        if shutil.which(each.unpack) is None:
            goals.append(Goal(what, None, 1.0))
            continue
        packed, output = (batch.with_name(f"{name}.json{each.suffix}") for name in "io")
        run(["sh", "-c", f'{each.pack} < "$0" > "$1"', str(batch), str(packed)])
        commands = each.commands(packed, output)
        seconds = _seconds(settings, each.name, commands)
        rows += [(each.name, *_cells(name, seconds[name], megabytes)) for name in commands]
        jq = next((seconds[name] for name in commands if "jq" in name), None)
        goals.append(Goal(what, jq / seconds["selection run"] if jq else None, 1.0))
    head = ("format", "command", "seconds", "MB a second")
    how = HOW.format(megabytes=megabytes, runs=settings.runs)
    return Result("compressed", how, (Table("Compressed", head, tuple(rows)),), tuple(goals))


def _seconds(settings: Settings, name: str, commands: dict[str, list[str]]) -> dict[str, float]:
    """Return the median of each command's seconds."""
    taken: dict[str, list[float]] = {command: [] for command in commands}
    for number in range(settings.runs):
        settings.log(f"compressed: {name}, run {number + 1} of {settings.runs}")
        for command, words in commands.items():
            taken[command].append(run(words))
    return {command: median(values) for command, values in taken.items()}


def _cells(command: str, seconds: float, megabytes: float) -> Sequence[Cell]:
    return command, seconds, megabytes / seconds
