"""The tests, and what they share in :mod:`tests.support`."""
