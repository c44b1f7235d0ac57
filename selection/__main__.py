"""``python -m selection``."""

from selection.cli import main

main()
