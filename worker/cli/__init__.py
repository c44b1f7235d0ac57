"""The command ``selection-worker``."""
