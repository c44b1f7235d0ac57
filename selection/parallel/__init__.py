"""Several processes: the pool, and a batch cut into chunks for it."""
