"""Small batches for tests: articles whose pick can be seen at a glance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

# Ten tokens, so six shingles, of which two extractors share all.
COMMON = "one two three four five six seven eight nine ten"
OTHER = "eleven twelve thirteen fourteen fifteen sixteen"


def article(newspaper4k: str, readability: str, trafilatura: str, **members: Any) -> dict[str, Any]:
    """An article in the PRD's format with the three texts and no errors."""
    return {
        **members,
        "trafilatura": {"text": trafilatura, "error": None},
        "newspaper4k": {"text": newspaper4k, "error": None},
        "readability": {"cleaned_text": readability, "error": None},
    }


def picks_newspaper4k(**members: Any) -> dict[str, Any]:
    """Two equal texts, and a third with nothing in common: a tie by priority."""
    return article(COMMON, COMMON, OTHER, **members)


def picks_readability(**members: Any) -> dict[str, Any]:
    """Readability and Trafilatura agree, Newspaper4k is elsewhere."""
    return article(OTHER, COMMON, COMMON, **members)


def picks_trafilatura(**members: Any) -> dict[str, Any]:
    """Only Trafilatura has a text."""
    return article("", "", COMMON, **members)


def write(path: Path, articles: list[Any], **root: Any) -> Path:
    """A batch file with these articles."""
    path.write_text(json.dumps({**root, "articles": articles}, indent=2))
    return path


def write_long(path: Path, articles: int) -> Path:
    """A batch that takes a while: ``articles`` times three texts of 2,000 tokens and one word
    that NFKC makes eighteen times longer, which takes every backend some milliseconds."""
    text = " ".join(f"w{n}" for n in range(2000)) + " " + "\ufdfa" * 300
    return write(path, [article(text, text + " tail", "head " + text)] * articles)
