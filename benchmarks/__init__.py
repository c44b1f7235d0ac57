"""What the product costs and what it is good for: ``python -m benchmarks --help``."""
