"""What Redis holds about jobs and workers, read as data."""
