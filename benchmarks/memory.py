"""Peak memory on a large batch: ``python benchmarks/memory.py [--size 2G] [--folder DIR]``.

Ends with 1 if it is 100 MB or more.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import make_batch
from process import measure, selection_run

LIMIT = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=make_batch.parse_size, default="2G")
    parser.add_argument("--folder", type=Path, help="where there is room for twice the size")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        batch = Path(name, "made.json")
        make_batch.write(batch, arguments.size)
        result = measure(selection_run(str(batch), str(Path(name, "output.json"))))
    rate = arguments.size / 1e6 / result.seconds
    print(f"{arguments.size / 1e6:,.0f} MB in {result.seconds:.1f} s ({rate:.1f} MB/s)")
    print(f"peak memory {result.megabytes:.0f} MB")
    if result.megabytes >= LIMIT:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
