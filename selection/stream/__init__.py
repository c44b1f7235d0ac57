"""Bytes to articles and back: boundaries, parsing, the place of an error, the splice."""
