"""The entry point of the command ``selection-worker``; see :mod:`selection.signals`."""

from __future__ import annotations

import sys

from selection.signals import end_at_once


def main() -> None:
    """Run ``selection-worker`` with the process's arguments."""
    end_at_once()
    if sys.argv[1:] == ["health"]:
        # Each worker is checked every few seconds, and the other imports take ten times longer.
        from worker import health

        sys.exit(health.main())
    from worker.cli.commands import main as run

    run()
