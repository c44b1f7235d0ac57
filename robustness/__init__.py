"""Break everything around the product and count the effects: ``python -m robustness``.

Batches, the reference implementation, servers and workers come from :mod:`tests.support`.
"""
