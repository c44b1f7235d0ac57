"""Random batches with the outputs that the reference implementation expects."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import Any

from tests.support import reference

_WORDS = [f"w{number}" for number in range(500)]
_ERRORS = [*[None] * 9, "timeout"]


@dataclass(frozen=True)
class ExpectedBatch:
    """The bytes of a batch and of its expected output."""

    input: bytes
    output: bytes


def generate(randomness: random.Random, articles: int, words: int) -> ExpectedBatch:
    """Return a batch of ``articles`` articles with about ``words`` words in each text."""
    parts = [_article(randomness, number, words) for number in range(articles)]
    return with_picks(parts, {"source": f"batch {randomness.random()}"})


def generate_large(randomness: random.Random, megabytes: int) -> ExpectedBatch:
    """Return a batch of about ``megabytes`` MB that repeats the same articles."""
    articles = [_article(randomness, number, 200) for number in range(20)]
    times = megabytes * 1_000_000 // len(json.dumps(articles))
    return with_picks(articles * times, {"source": f"batch {randomness.random()}"})


def with_article_members(batch: ExpectedBatch, members: dict[str, Any]) -> ExpectedBatch:
    """Return a batch whose articles begin with these members, which no rule reads."""
    begin = f"{json.dumps(members)[:-1]}, ".encode()
    return ExpectedBatch(
        *(text.replace(b'{"id": ', begin + b'"id": ') for text in (batch.input, batch.output))
    )


def with_picks(articles: list[dict[str, Any]], root: dict[str, Any]) -> ExpectedBatch:
    """Return the batch of these articles with the picks of the reference implementation."""
    texts = [json.dumps(article) for article in articles]
    # A repeated article is decided once.
    picks = {
        text: reference.choose(article).extractor
        for text, article in dict(zip(texts, articles)).items()
    }
    picked = [f'{text[:-1]}, "selected_extractor": "{picks[text]}"}}' for text in texts]
    begin = f'{json.dumps(root)[:-1]}, "articles": [\n'
    return ExpectedBatch(
        *((begin + ",\n".join(some) + "\n]}\n").encode() for some in (texts, picked))
    )


def _article(randomness: random.Random, number: int, words: int) -> dict[str, Any]:
    body = randomness.choices(_WORDS, k=words)
    texts = {}
    for name in reference.TEXT_FIELDS:
        start, end = randomness.randrange(words // 3 + 1), randomness.randrange(words // 3 + 1)
        around = randomness.choices(_WORDS, k=randomness.randrange(words // 4 + 1))
        texts[name] = " ".join(body[start : words - end] + around)
    return {
        "id": number,
        **{
            name: {
                reference.TEXT_FIELDS[name]: text,
                "error": randomness.choice([None] * 9 + ["timeout"]),
            }
            for name, text in texts.items()
        },
    }
