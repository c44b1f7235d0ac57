"""Random articles and bytes against the reference implementation and Python's ``json``."""

from __future__ import annotations

import io
import multiprocessing
import os
import random
import signal
import time
import traceback
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any, TypeVar

import hypothesis

from robustness import mutations, texts
from robustness.table import Effects, Table
from selection import Decision, select_article
from selection.errors import DataError
from selection.model import Extractor
from selection.stream import boundaries
from selection.stream.boundaries import Find
from selection.stream.parts import Article
from selection.stream.scan import parsed_parts
from selection.stream.splice import insert_pick, pick_spans
from selection.text.backend import available
from tests.support import documents, reference
from tests.support.compare import as_data, expected_data
from tests.support.json_reference import parsed_batch, with_right_picks

# Every way to decide an article; all must agree with the reference.
BACKENDS = {name: partial(select_article, backend=b) for name, b in available().items()}

SECONDS_FOR_ONE = 20
_CHUNK = 500
_SECONDS_BETWEEN_LINES = 10
_FOUND_PER_CHUNK = 3


def run(table: Table, long: bool, seed: int) -> None:
    """Fuzz with articles, with valid and broken documents, and with Hypothesis."""
    table.log(f"fuzz: backends {', '.join(BACKENDS)}")
    pool_size = os.cpu_count() or 1
    with multiprocessing.Pool(pool_size) as pool:
        for name, kind, number, seconds in (
            ("articles", _articles, 1_000_000 if long else 40_000, 10),
            ("documents", _documents, 100_000 if long else 10_000, 12),
        ):
            end = time.monotonic() + seconds
            logged_at = time.monotonic()
            chunks = [(kind, f"{seed} {name} {n}") for n in range(number // _CHUNK)]
            step = 4 * pool_size
            for start in range(0, len(chunks), step):
                if not long and time.monotonic() > end:
                    break
                for tries, found in pool.imap_unordered(_try_chunk, chunks[start : start + step]):
                    table.add(f"fuzz: {name}", tries=tries)
                    for effects in found:
                        table.add(f"fuzz: {name}", effects, tries=0)
                if time.monotonic() - logged_at > _SECONDS_BETWEEN_LINES:
                    logged_at = time.monotonic()
                    table.log(f"fuzz: {start * _CHUNK:,} of {number:,} {name}")
            table.log(f"fuzz: {table.rows[f'fuzz: {name}'].tried:,} {name}")
    _with_hypothesis(table, 5_000 if long else 150, seed)


Kind = Callable[[random.Random], "str | None"]


class TooSlowError(Exception):
    """An article or a document takes too long."""


def _too_slow(number: int, frame: FrameType | None) -> None:
    raise TooSlowError


def _try_chunk(task: tuple[Kind, str]) -> tuple[int, list[Effects]]:
    """Try some hundred of a kind, in a process of the pool."""
    kind, seed = task
    signal.signal(signal.SIGALRM, _too_slow)
    randomness = random.Random(seed)
    found: list[Effects] = []
    for number in range(_CHUNK):
        signal.alarm(SECONDS_FOR_ONE)
        try:
            wrong = kind(randomness)
        except TooSlowError:
            found.append(Effects(stuck=f"number {number} of seed {seed!r}"))
            continue
        finally:
            signal.alarm(0)
        if wrong:
            found.append(Effects(lost=f"{wrong} (number {number} of seed {seed!r})"))
            if len(found) >= _FOUND_PER_CHUNK:
                return number + 1, found
    return _CHUNK, found


# ------------------------------------------------------------------------------ articles


def _articles(randomness: random.Random) -> str | None:
    article = texts.article(randomness, _corpus())
    return _shortest(article) if _disagreement(article) else None


_CORPUS: list[list[str]] = []


def _corpus() -> list[list[str]]:
    if not _CORPUS:
        _CORPUS.extend(texts.corpus())
    return _CORPUS


def _disagreement(article: Any) -> str | None:
    right = expected_data(article)
    for name, backend in BACKENDS.items():
        try:
            found = as_data(backend(article))
        except TooSlowError:
            raise
        except Exception:
            return f"{name}: {traceback.format_exc(limit=-3)}"
        if found != right:
            return f"{name}: {found}, not {right}"
    return None


def _shortest(article: Any) -> str:
    """Shrink the texts of an article that is decided wrongly; describe the result."""
    for name, field in reference.TEXT_FIELDS.items():
        block = article[name]
        if isinstance(block[field], str):

            def is_wrong(text: str, name: str = name, field: str = field) -> bool:
                changed = {**article, name: {**article[name], field: text}}
                return _disagreement(changed) is not None

            block[field] = shrunk(block[field], is_wrong)
    return f"{_disagreement(article)}: {article!a}"


Text = TypeVar("Text", str, bytes)


def shrunk(text: Text, is_wrong: Callable[[Text], bool]) -> Text:
    """Return the text without all pieces that are not needed for it to be wrong."""
    size = len(text)
    while size:
        place = 0
        while place < len(text):
            shorter = text[:place] + text[place + size :]
            if is_wrong(shorter):
                text = shorter
            else:
                place += size
        size //= 2
    return text


# ----------------------------------------------------------------------------- documents


def _documents(randomness: random.Random) -> str | None:
    data = mutations.batch(randomness, _corpus())
    if randomness.random() < 0.7:
        data = mutations.mutated(randomness, data)
    size = randomness.choice((1, 2, 3, 7, 64, 1 << 18))
    if _difference(data, size) is None:
        return None
    shortest = shrunk(data, lambda some: _difference(some, size) is not None)
    return f"{_difference(shortest, size)}: {shortest!r}, read {size} bytes at once"


def _difference(data: bytes, read_size: int) -> str | None:
    """Return what is wrong with the output for a document; None if it is right."""
    try:
        root = parsed_batch(data)
    except ValueError as error:
        right: Any = error
    else:
        right = with_right_picks(root)
    for name, backend in BACKENDS.items():
        try:
            output = _selected(data, read_size, backend, boundaries.available()[name])
        except DataError as error:
            if not isinstance(right, ValueError):
                return f"{name}: refused: {error}"
            if error.byte is None or not 0 <= error.byte <= len(data):
                return f"{name}: no valid byte offset: {error}"
            continue
        except TooSlowError:
            raise
        except Exception:
            return f"{name}: {traceback.format_exc(limit=-3)}"
        if isinstance(right, ValueError):
            return f"{name}: accepted, though {right}"
        if parsed_batch(output) != right:
            return f"{name}: became {output!r}"
    return None


def _selected(
    data: bytes, read_size: int, backend: Callable[[object], Decision], find: Find
) -> bytes:
    return b"".join(
        _with_pick(part, backend(part.fields).extractor) if isinstance(part, Article) else part.raw
        for part in parsed_parts(io.BytesIO(data), "batch.json", read_size, find)
    )


def _with_pick(article: Article, pick: Extractor) -> bytes:
    spans = list(pick_spans(article.raw)) if article.has_pick else []
    return b"".join(insert_pick(article.raw, pick, spans))


def _with_hypothesis(table: Table, number: int, seed: int) -> None:
    """Fuzz with the tests' strategy for documents of every legal form."""

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=number,
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(documents.documents(), hypothesis.strategies.sampled_from([1, 5, 1 << 18]))
    def check(document: documents.Document, read_size: int) -> None:
        table.add("fuzz: documents of every form")
        wrong = _difference(document.input, read_size)
        assert wrong is None, f"{wrong}: {document.input!r}"

    try:
        check()
    except AssertionError as error:
        table.add("fuzz: documents of every form", Effects(lost=str(error)), tries=0)
