"""Shared test code: references, batches, a queue server, a browser, waits."""
