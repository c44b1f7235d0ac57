"""Texts to numbers: markup, tokens and shingles; knows nothing of JSON."""
