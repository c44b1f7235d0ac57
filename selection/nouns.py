"""Numbers with their nouns, in messages and warnings."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number and its noun: 1 article, 1,200 articles.

    Args:
        number: at least 0.
        noun: the singular.
        plural: by default the singular with an s.
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
