"""Case-folding tables for the C tokenizer, one for each page of 256 code points."""

from __future__ import annotations

import unicodedata
from array import array

from selection.text.tokens import is_context_free

#: Code points of a page.
PAGE_SIZE = 256

#: Entries of a table for characters that are not a letter or digit of a token.
IN_ITS_WORD, SEPARATOR, SPACE = 0, 1, 2

_JAMO = "\u1100"


def fold_page(number: int) -> bytes:
    """Return the case-folding table of one page (rules 2.5 to 2.8).

    Args:
        number: number of the page, 0 to 255; its first code point is ``number * PAGE_SIZE``.

    Returns:
        256 numbers of four bytes: the folded code point of a letter or digit; :data:`SEPARATOR`
        or :data:`SPACE` for a character between tokens or words; :data:`IN_ITS_WORD` for a
        character whose word has to be tokenised by :func:`selection.text.tokens.word_tokens`.
    """
    codes = range(number * PAGE_SIZE, (number + 1) * PAGE_SIZE)
    page = "".join(map(chr, codes))
    # Whole pages consist of letters that do not change, such as Chinese ones. Of the characters
    # that depend on their neighbours, only jamo are letters and fill a page.
    is_itself = page == page.lower() == unicodedata.normalize("NFKC", page)
    if is_itself and page.isalnum() and _JAMO not in page:
        return array("I", codes).tobytes()
    return array("I", map(_fold, codes)).tobytes()


def _fold(code: int) -> int:
    char = chr(code)
    if char.isspace():
        return SPACE
    normal = unicodedata.normalize("NFKC", char)
    if not is_context_free(normal):
        return IN_ITS_WORD
    lower = normal.lower()
    if len(lower) == 1 and lower.isalnum():
        return ord(lower)
    return IN_ITS_WORD if any(map(str.isalnum, lower)) else SEPARATOR
