"""Where the command ``selection`` starts: what signals do is decided before any other import."""

from __future__ import annotations

from selection.signals import end_at_once


def main() -> None:
    """Run ``selection`` with the process's arguments."""
    end_at_once()
    # The import takes a tenth of a second, in which Ctrl-C would end in a traceback.
    from selection.cli.commands import main as run

    run()
