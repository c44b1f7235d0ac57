"""``python -m worker``."""

from worker.entry import main

main()
