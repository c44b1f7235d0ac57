"""Process one batch by a worker and print the seconds: ``python -m benchmarks.one_job FILE``."""

from __future__ import annotations

import sys

from benchmarks.fleet import time_batches
from worker.local_fleet import local_queue
from worker.settings import SELECTION_WORKER, Settings


def main() -> None:
    """Run a private server and a worker for the time of one job."""
    with local_queue(Settings(), 1, SELECTION_WORKER) as (settings, _running):
        print(time_batches(settings, settings.connect(), sys.argv[1:]))


if __name__ == "__main__":
    main()
