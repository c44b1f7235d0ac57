"""``python -m selection``."""

from selection.entry import main

main()
