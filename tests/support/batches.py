"""Small batches for tests, of articles with an evident pick."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from selection import select_file

EXAMPLE = Path(__file__).parents[2] / "examples" / "river_plate_extracted.json"
# The sample of the repository and the batches that a variable names; see CONTRIBUTING.md.
REAL = [
    EXAMPLE,
    *map(Path, filter(None, os.environ.get("SELECTION_TEST_BATCHES", "").split(os.pathsep))),
]

# Ten tokens, so six shingles, of which two extractors share all.
COMMON = "one two three four five six seven eight nine ten"
OTHER = "eleven twelve thirteen fourteen fifteen sixteen"


def article(newspaper4k: str, readability: str, trafilatura: str, **members: Any) -> dict[str, Any]:
    """Return an article with the three texts and no errors."""
    return {
        **members,
        "trafilatura": {"text": trafilatura, "error": None},
        "newspaper4k": {"text": newspaper4k, "error": None},
        "readability": {"cleaned_text": readability, "error": None},
    }


def picks_newspaper4k(**members: Any) -> dict[str, Any]:
    """Return an article with two equal texts and a different one: a tie by priority."""
    return article(COMMON, COMMON, OTHER, **members)


def picks_readability(**members: Any) -> dict[str, Any]:
    """Return an article in which Readability and Trafilatura agree."""
    return article(OTHER, COMMON, COMMON, **members)


def picks_trafilatura(**members: Any) -> dict[str, Any]:
    """Return an article in which only Trafilatura has a text."""
    return article("", "", COMMON, **members)


def write(path: Path, articles: list[Any], **root: Any) -> Path:
    """Write a batch file with these articles and return its path."""
    path.write_text(json.dumps({**root, "articles": articles}, indent=2))
    return path


def write_long(path: Path, articles: int) -> Path:
    """Write a batch whose articles take every backend some milliseconds each.

    Each of the three texts has 2,000 tokens and a word that NFKC makes 18 times longer.
    """
    text = " ".join(f"w{n}" for n in range(2000)) + " " + "\ufdfa" * 300
    return write(path, [article(text, text + " tail", "head " + text)] * articles)


def selected(content: bytes, folder: Path) -> bytes:
    """Return what a run of the same batch on local files writes."""
    path = folder / "local.json"
    path.write_bytes(content)
    return Path(select_file(path).output).read_bytes()
