"""Chunks of a batch's parts, which a process pool decides.

A worker process gets the offsets of a chunk's articles and reads them from the file itself; this
process, which has read them already to find the offsets, needs only the picks. Of an input that
is not a local file, the worker process gets the bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from selection.decide import Decide, Pick
from selection.errors import InputChangedError
from selection.model import Extractor, Rule
from selection.parallel.pool import Pool, Work
from selection.storage.input import Identity, InputFile
from selection.storage.interface import Input
from selection.stream.parts import Gap, Item
from selection.stream.splice import Span

_CHUNK_BYTES, _CHUNK_PARTS = 1 << 18, 256

_EXTRACTORS, _RULES = tuple(Extractor), tuple(Rule)
_EXTRACTOR_NUMBER = {extractor: number for number, extractor in enumerate(_EXTRACTORS)}
_RULE_NUMBER = {rule: number for number, rule in enumerate(_RULES)}

_NO_PICK = (255, 255, 255)

# Three bytes an article, for the extractor, the rule and the texts that there are, and the spans of
# those that have any.
_Picks = tuple[bytes, dict[int, tuple[Span, ...]]]


def decided_by(
    pool: Pool, parts: Iterable[Gap | Item], source: Input, decide: Decide
) -> Iterator[tuple[Gap | Item, Pick | None]]:
    """Decide the articles among the parts of a batch.

    Args:
        pool: the processes that decide.
        parts: the gaps and articles.
        source: the input that they are read from.
        decide: decides one article; importable in a worker process.

    Raises:
        DataError: an article is not valid JSON; without a place.
        WorkerProcessError: a worker process ended early.
    """
    for chunk, picks_of in pool.ordered(_works(parts, source, decide)):
        picks = iter(_unpacked(picks_of()))
        for part in chunk:
            yield part, None if isinstance(part, Gap) else next(picks)


def _works(
    parts: Iterable[Gap | Item], source: Input, decide: Decide
) -> Iterator[tuple[list[Gap | Item], Work[_Picks]]]:
    for chunk in _chunks(parts):
        items = [part for part in chunk if isinstance(part, Item)]
        articles = [item.raw for item in items]
        here = partial(_decide_articles, decide, articles)
        size = chunk[-1].end - chunk[0].start
        if isinstance(source, InputFile):
            spans = [(item.start, item.end) for item in items]
            args = decide, source.path, source.identity, spans
            yield chunk, Work(_decide_spans, args, here, size)
        else:
            yield chunk, Work(_decide_articles, (decide, articles), here, size, is_small=False)


def _chunks(parts: Iterable[Gap | Item]) -> Iterator[list[Gap | Item]]:
    chunk: list[Gap | Item] = []
    size = 0
    for part in parts:
        chunk.append(part)
        size += len(part.raw)
        if size >= _CHUNK_BYTES or len(chunk) >= _CHUNK_PARTS:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _decide_spans(decide: Decide, path: str, identity: Identity, spans: list[Span]) -> _Picks:
    """Decide the articles at some places of a file; called in a worker process."""
    if not spans:
        return _packed([])
    source = _OpenFile.get(path, identity)
    start = spans[0][0]
    raw = source.read_at(start, spans[-1][1] - start)
    return _decide_articles(decide, [raw[begin - start : end - start] for begin, end in spans])


def _decide_articles(decide: Decide, articles: list[bytes]) -> _Picks:
    """Decide articles by their bytes."""
    return _packed([decide(raw) for raw in articles])


class _OpenFile:
    """The file that this worker process read last; all chunks of a batch come in a row."""

    source: InputFile | None = None

    @classmethod
    def get(cls, path: str, identity: Identity) -> InputFile:
        if cls.source is None or cls.source.identity != identity:
            if cls.source is not None:
                cls.source.close()
            cls.source = InputFile(path)
        if cls.source.identity != identity:
            raise InputChangedError("the file was replaced while it was read; run again", path=path)
        return cls.source


def _packed(picks: list[Pick | None]) -> _Picks:
    numbers = [
        (_EXTRACTOR_NUMBER[pick.extractor], _RULE_NUMBER[pick.rule], pick.with_text)
        if pick
        else _NO_PICK
        for pick in picks
    ]
    spans = {index: pick.spans for index, pick in enumerate(picks) if pick and pick.spans}
    return bytes([number for three in numbers for number in three]), spans


def _unpacked(picks: _Picks) -> Iterator[Pick | None]:
    numbers, spans = picks
    for index, (extractor, rule, texts) in enumerate(
        zip(numbers[::3], numbers[1::3], numbers[2::3])
    ):
        if (extractor, rule, texts) == _NO_PICK:
            yield None
        else:
            yield Pick(_EXTRACTORS[extractor], _RULES[rule], texts, spans.get(index, ()))
