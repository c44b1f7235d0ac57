"""Peak memory and page size of a report: ``python benchmarks/report.py [--size 2G]``.

Ends with 1 if memory is 150 MB or more, or the page is larger than its two limits and the
rest of it, 300 kB.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import make_batch
from process import measure

from selection.report import ROW_LIMIT, TEXT_LIMIT

MEMORY_LIMIT = 150
PAGE_LIMIT = TEXT_LIMIT + ROW_LIMIT + 300_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=make_batch.parse_size, default="2G")
    parser.add_argument("--folder", type=Path, help="where there is room for the batch")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        batch, page = Path(name, "made.json"), Path(name, "page.html")
        make_batch.write(batch, arguments.size)
        command = [sys.executable, "-m", "selection", "report", str(batch), "-o", str(page)]
        result = measure(command)
        size = page.stat().st_size
    rate = arguments.size / 1e6 / result.seconds
    print(f"{arguments.size / 1e6:,.0f} MB in {result.seconds:.1f} s ({rate:.1f} MB/s)")
    print(f"peak memory {result.megabytes:.0f} MB, page {size / 1e6:.1f} MB")
    if result.megabytes >= MEMORY_LIMIT or size > PAGE_LIMIT:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
