"""``python -m worker``."""

from worker.entry import main

if __name__ == "__main__":
    main()
