"""Where the command ``selection-worker`` starts: see :mod:`selection.entry`."""

from __future__ import annotations

from selection.entry import end_at_once


def main() -> None:
    """Run ``selection-worker`` with the process's arguments."""
    end_at_once()
    from worker.cli import main as run

    run()
