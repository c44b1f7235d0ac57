"""The checks of ``selection-worker doctor``."""
