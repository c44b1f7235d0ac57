"""What ``doctor`` checks."""
