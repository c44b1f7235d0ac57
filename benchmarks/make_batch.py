"""Make a batch of any size, the same every time, never holding it in memory.

``python benchmarks/make_batch.py OUTPUT --size 2G [--seed 1]``
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

VOCABULARY = """
o a los the um jogo cidade river club equipe ponte mercado results não está años después government
people música ciência water goal partido estádio señal report tomorrow ontem preço trabajo between
através história coração número &amp; “quoted” **bold** <b>tag</b> [link](https://example.org/x)
![photo](p.jpg) 2026 3-1 50% R$ ação café naïve
"""
WORDS = VOCABULARY.split()
POOL = 400
UNITS = {"K": 1_000, "M": 1_000_000, "G": 1_000_000_000}


def passage(randomness: random.Random, words: int) -> str:
    """So many words in lines of about a dozen."""
    chosen = randomness.choices(WORDS, k=words)
    return "\n".join(" ".join(chosen[i : i + 12]) for i in range(0, words, 12))


def article(randomness: random.Random, number: int) -> dict[str, Any]:
    """Three texts that share their body and differ in what is around it."""
    body = passage(randomness, randomness.randrange(80, 1200))
    before = passage(randomness, randomness.randrange(1, 60))
    after = passage(randomness, randomness.randrange(1, 200))
    return {
        "id": f"article-{number}",
        "url": f"https://example.org/{number}",
        "status_code": 200,
        "trafilatura": {"title": "t", "text": body + "\n" + after, "error": None},
        "newspaper4k": {"title": "t", "text": body, "error": None},
        "readability": {
            "title": "t",
            "content_html": f"<div><p>{body}</p></div>",
            "cleaned_text": before + "\n" + body,
            "error": None,
        },
    }


def batch(size: int, seed: int) -> Iterator[bytes]:
    """The bytes of a batch of about ``size`` bytes, in pieces."""
    randomness = random.Random(seed)
    pool = [
        json.dumps(article(randomness, n), ensure_ascii=False, indent=2).encode()
        for n in range(POOL)
    ]
    yield b'{\n"source": "made",\n"articles": ['
    written = number = 0
    while written < size:
        piece = (b",\n" if number else b"\n") + randomness.choice(pool)
        yield piece
        written += len(piece)
        number += 1
    yield b'\n],\n"total": %d\n}\n' % number


def write(path: Path, size: int, seed: int = 1) -> None:
    """Write a batch of about ``size`` bytes."""
    with path.open("wb", buffering=1 << 20) as file:
        file.writelines(batch(size, seed))


def parse_size(text: str) -> int:
    """``500K``, ``20M``, ``2G`` or plain bytes."""
    unit = UNITS.get(text[-1:].upper())
    return int(float(text[:-1]) * unit) if unit else int(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--size", type=parse_size, default="20M")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    write(arguments.output, arguments.size, arguments.seed)


if __name__ == "__main__":
    main()
