"""The program ``selection-worker``, also as ``python -m worker``."""

from __future__ import annotations

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run ``selection-worker`` with the process's arguments."""
    if sys.argv[1:] == ["health"]:
        # Every worker is checked every few seconds, and all other imports take ten times longer.
        from worker import health

        sys.exit(health.main())
    from worker.cli import main as run

    run()


if __name__ == "__main__":
    main()
