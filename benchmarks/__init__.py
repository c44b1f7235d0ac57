"""Benchmarks of speed, memory and quality: ``python -m benchmarks --help``."""
