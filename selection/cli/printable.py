"""Text that is safe to print on a terminal, and what reports progress."""

from __future__ import annotations

from typing import Protocol


class Report(Protocol):
    """Told how far a file is: bytes done, bytes in all, articles so far."""

    def __call__(self, bytes_done: int, bytes_total: int, articles: int) -> object: ...


def printable(text: str) -> str:
    """The text with everything escaped that a terminal would obey or cannot show.

    Names and titles come from the web or from a disk; a control character in one must not
    move the cursor, and a lone surrogate must not raise.
    """
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )
