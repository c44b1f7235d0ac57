"""The product against the obvious script, on one batch: ``python benchmarks/run_file.py [BATCH]``.

Both are whole processes, in turn, several times. Without a batch one of 20 MB is made. Prints
the median seconds, the ratio and both peak memories, and fails if the picks differ.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import make_batch
from process import Measured, measure, selection_run

OBVIOUS = str(Path(__file__).with_name("obvious.py"))


def picks(path: Path) -> list[Any]:
    """The picks of a selected batch, in order."""
    articles = json.loads(path.read_bytes())["articles"]
    return [article["selected_extractor"] for article in articles]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("batch", type=Path, nargs="?")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        batch = arguments.batch or folder / "made.json"
        if not arguments.batch:
            make_batch.write(batch, 20_000_000)
        outputs = {"obvious script": folder / "obvious", "selection run": folder / "product"}
        commands = {
            "obvious script": [sys.executable, OBVIOUS, str(batch), str(outputs["obvious script"])],
            "selection run": selection_run(str(batch), str(outputs["selection run"])),
        }
        measured: dict[str, list[Measured]] = {label: [] for label in commands}
        for _ in range(arguments.runs):
            for label, command in commands.items():
                measured[label].append(measure(command))
        obvious, product = (picks(path) for path in outputs.values())
        if obvious != product:
            raise SystemExit("the picks differ")
        seconds = {}
        print(f"{batch.stat().st_size / 1e6:.1f} MB, {len(product):,} articles")
        for label, runs in measured.items():
            seconds[label] = statistics.median(run.seconds for run in runs)
            peak = max(run.megabytes for run in runs)
            print(f"{label:16} {seconds[label]:8.2f} s {peak:8.0f} MB peak")
        print(f"ratio            {seconds['obvious script'] / seconds['selection run']:8.2f}")


if __name__ == "__main__":
    main()
