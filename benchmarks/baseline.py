"""The baseline of the benchmarks: ``python benchmarks/baseline.py BATCH OUTPUT``.

A short script that loads the whole batch, applies one regular expression per step of rule 2.1
and compares sets of tuples with floats. It is neither tuned nor slowed down.
"""

from __future__ import annotations

import html
import json
import re
import sys
import unicodedata
from typing import Any

TEXT = {"newspaper4k": "text", "readability": "cleaned_text", "trafilatura": "text"}
IMAGE = re.compile(r"!\s*\[[^\]]*\]\([^)]*\)")
LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")
TAG = re.compile(r"<[^>]+>")
SPACE = re.compile(r"\s+")
TOKEN = re.compile(r"[^\W_]+")

Shingles = set[tuple[str, ...]]


def shingles(text: str) -> Shingles:
    """Return the shingles of one text."""
    text = html.unescape(text)
    text = IMAGE.sub(" ", text)
    text = LINK.sub(r"\1", text)
    text = TAG.sub(" ", text)
    text = unicodedata.normalize("NFKC", text).lower()
    tokens = TOKEN.findall(SPACE.sub(" ", text).strip())
    if len(tokens) < 5:
        return {tuple(tokens)} if tokens else set()
    return {tuple(tokens[i : i + 5]) for i in range(len(tokens) - 4)}


def pick(article: dict[str, Any]) -> str:
    """Return the name of the extractor for one article."""
    usable: dict[str, Shingles] = {}
    degraded: dict[str, Shingles] = {}
    for name, field in TEXT.items():
        block = article.get(name)
        if not isinstance(block, dict) or not isinstance(block.get(field), str):
            continue
        if found := shingles(block[field]):
            (degraded if block.get("error") else usable)[name] = found
    active = usable or degraded
    if len(active) < 2:
        return next(iter(active), "newspaper4k")
    counts: dict[tuple[str, ...], int] = {}
    for found in active.values():
        for shingle in found:
            counts[shingle] = counts.get(shingle, 0) + 1
    consensus = {shingle for shingle, count in counts.items() if count >= 2}
    if consensus:
        scores = {}
        for name, found in active.items():
            coverage = len(found & consensus) / len(consensus)
            support = len(found & consensus) / len(found)
            total = coverage + support
            scores[name] = 2 * coverage * support / total if total else 0.0
        best = max(scores.values())
        tie = [name for name in active if best - scores[name] <= 0.03 + 1e-9]
        return min(tie, key=lambda name: len(active[name]))
    sizes = sorted(len(found) for found in active.values())
    return next(name for name in active if len(active[name]) == sizes[1])


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        batch = json.load(file)
    for article in batch["articles"]:
        article["selected_extractor"] = pick(article)
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(batch, file, ensure_ascii=False, indent=2)


if __name__ == "__main__":
    main()
