"""Run the benchmarks: ``python -m benchmarks [PART...] [--batch FILE [--truth FILE]]``."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import NoReturn

from benchmarks import (
    compressed,
    corpus,
    decide,
    fleet,
    hostile,
    hostile_files,
    jobs,
    plot,
    quality,
    report,
    size,
    storage,
    tables,
    whole_file,
)
from benchmarks.machine import machine
from benchmarks.result import Result, Settings

PARTS: dict[str, Callable[[Settings], Result]] = {
    "decide": decide.measure,
    "whole-file": whole_file.measure,
    "jobs": jobs.measure,
    "size": size.measure,
    "hostile": hostile.measure,
    "hostile-files": hostile_files.measure,
    "quality": quality.measure,
    "fleet": fleet.measure,
    "report": report.measure,
    "storage": storage.measure,
    "compressed": compressed.measure,
}


def main() -> None:
    """Measure the parts, print the tables and write them to files."""
    arguments = _arguments()
    out: Path = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, _stop)
    began = time.monotonic()

    def log(what: str) -> None:
        print(f"[{time.monotonic() - began:5.0f} s] {what}", file=sys.stderr, flush=True)

    # The usual folder for temporary files may be in memory.
    with tempfile.TemporaryDirectory(prefix="running-", dir=out) as folder:
        settings = Settings(
            batch=arguments.batch,
            truth=arguments.truth,
            quick=arguments.quick,
            largest=arguments.largest,
            folder=Path(folder).resolve(),
            log=log,
        )
        results = []
        for part in arguments.parts or PARTS:
            log(part)
            results.append(PARTS[part](settings))
    here = machine()
    _write(out, results, here)
    if arguments.json:
        document = {"machine": here, "results": [asdict(result) for result in results]}
        print(json.dumps(document, indent=2))
    else:
        _print(results, here)
    log(f"done, see {out}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"default: all of {', '.join(PARTS)}"
    )
    parser.add_argument("--batch", type=_file, help="additional batch of real pages")
    parser.add_argument(
        "--truth", type=_file, help="JSON object: article id to the text that a person marked"
    )
    parser.add_argument("--out", type=Path, default=Path("build/bench"), help="folder to write to")
    parser.add_argument("--largest", type=corpus.parse_size, default="1G", help="such as 5G")
    parser.add_argument(
        "--quick", action="store_true", help="small sizes and one run each, to try the suite"
    )
    parser.add_argument("--json", action="store_true", help="print the results as one JSON object")
    arguments = parser.parse_args()
    if unknown := [part for part in arguments.parts if part not in PARTS]:
        parser.error(f"unknown part {unknown[0]!r}; the parts are {', '.join(PARTS)}")
    return arguments


def _file(text: str) -> Path:
    path = Path(text)
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"there is no file {text}")
    return path.resolve()


def _write(out: Path, results: Sequence[Result], here: str) -> None:
    goals = tables.goals_table(results)
    blocks = ["# Benchmarks", f"{here}."]
    if goals.rows:
        blocks.append(tables.markdown(goals))
    for result in results:
        blocks += [f"## {result.part}", result.how]
        for table in result.tables:
            blocks += [f"### {table.title}", tables.markdown(table)]
    (out / "results.md").write_text("\n\n".join(blocks) + "\n")
    ratios = [goal for result in results for goal in result.goals if not goal.at_most]
    if ratios:
        plot.write(out / "ratios.svg", ratios, here)


def _print(results: Sequence[Result], here: str) -> None:
    print(here)
    for result in results:
        print(f"\n== {result.part}\n{result.how}")
        for table in result.tables:
            print(f"\n{tables.as_text(table)}")
    goals = tables.goals_table(results)
    if goals.rows:
        print(f"\n{tables.as_text(goals)}")


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    """Exit as on Ctrl-C, so that files and processes are cleaned up."""
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
