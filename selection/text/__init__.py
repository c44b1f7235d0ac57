"""Texts to overlap counts: markup, tokens and shingles. Knows nothing of JSON."""
