"""``python -m selection``."""

from selection.entry import main

if __name__ == "__main__":
    main()
