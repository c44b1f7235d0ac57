"""The entry point of the command ``selection``: signal handlers first, then the imports."""

from __future__ import annotations

from selection.signals import end_at_once


def main() -> None:
    """Run ``selection`` with the process's arguments."""
    end_at_once()
    # During the import, which takes 0.1 s, Ctrl-C would otherwise end in a traceback.
    from selection.cli.commands import main as run

    run()
