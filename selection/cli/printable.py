"""Text that is safe to print on a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """Return the text with every character escaped that a terminal executes or cannot show.

    Names and titles come from the web or from a disk: a control character in one must not
    move the cursor, and a lone surrogate must not raise an error.
    """
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )
