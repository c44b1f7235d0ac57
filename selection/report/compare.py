"""Compare two selected batches: the differences as data, or as one HTML page."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from selection.model import Extractor
from selection.reader import BY_NAME, BatchReader, Progress, ReadOptions
from selection.report.comparison import ComparisonStats, Difference, version_of
from selection.report.comparison_page import (
    Pair,
    has_text,
    place_of,
    rank_of,
    render,
    row_json,
    text_json,
)
from selection.report.matching import Matcher, Side
from selection.report.page import LONGEST_TEXT
from selection.report.spool import RankedSpool, put_row_and_text
from selection.report.write import ROW_LIMIT, TEXT_LIMIT
from selection.storage.names import STANDARD_STREAM, default_comparison
from selection.storage.opening import check_output, open_output

#: Given the path of a batch, returns the context of the function to call after every article.
ShowProgress: TypeAlias = Callable[[str], AbstractContextManager[Callable[[Progress], object]]]


def _show_nothing(path: str) -> AbstractContextManager[Callable[[Progress], object]]:
    return nullcontext(lambda progress: None)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Represent a written page.

    Attributes:
        old, new, output: the paths.
        statistics: the counts of all articles.
        listed: the number of changed articles in the page.
        with_texts: the number of these whose texts are in the page.
        bytes: the size of the page.
    """

    old: str
    new: str
    output: str
    statistics: ComparisonStats
    listed: int
    with_texts: int
    bytes: int


def read_differences(
    old: str,
    new: str,
    progress: ShowProgress = _show_nothing,
    *,
    options: ReadOptions = BY_NAME,
) -> Iterator[Difference]:
    """Return every article of two selected batches, without texts, in bounded memory.

    The order is that of the new batch, then, of those that are only in the old batch, that of
    the old batch.

    Args:
        old, new: the batches; the order of their articles can differ.
        progress: shows the progress in each batch.
        options: how the batches are read.

    Raises:
        PickMissingError: an article has no pick.
        SelectionError: as ``select_file``.
    """
    with (
        BatchReader(old, options=options) as first,
        BatchReader(new, options=options) as second,
        Matcher() as matcher,
    ):
        _add(matcher, Side.OLD, first, 0, progress)
        _add(matcher, Side.NEW, second, 0, progress)
        yield from matcher.differences()


def write_comparison(
    old: str,
    new: str,
    output: str | None = None,
    text_limit: int = TEXT_LIMIT,
    progress: ShowProgress = _show_nothing,
    *,
    roots: Sequence[str] = (),
    options: ReadOptions = BY_NAME,
) -> Comparison:
    """Write one self-contained HTML page about the differences of two selected batches.

    The counts are those of all articles. The list and the texts are limited in size; articles
    whose pick changed are included first. The page appears complete or not at all.

    Args:
        old, new, progress: as for :func:`read_differences`.
        output: the page; by default :func:`default_comparison` of the new batch.
        text_limit: the largest size in bytes of the texts in the page.
        roots, options: as for ``select_file``.

    Raises:
        PickMissingError: an article has no pick.
        SelectionError: as ``select_file``.
    """
    target = default_comparison(new) if output is None else output
    statistics = ComparisonStats()
    size = 0
    with (
        BatchReader(old, roots, options=options) as first,
        BatchReader(new, roots, options=options) as second,
        open_output(target, second.input, roots, pipes=options.pipes) as file,
        Matcher() as matcher,
        RankedSpool(ROW_LIMIT) as rows,
        RankedSpool(text_limit) as texts,
    ):
        if not (options.pipes and target == STANDARD_STREAM):
            check_output(target, first.input, roots)
        _add(matcher, Side.OLD, first, LONGEST_TEXT, progress)
        _add(matcher, Side.NEW, second, LONGEST_TEXT, progress)
        for order, difference in enumerate(matcher.differences()):
            statistics.add(difference)
            if difference.kinds:
                put_row_and_text(
                    rows,
                    texts,
                    rank_of(difference),
                    place_of(difference, order),
                    partial(row_json, difference),
                    partial(text_json, difference) if has_text(difference) else None,
                )
        texts.retain(rows.indexes())
        pair = Pair(*_names(old, new), first.bytes_done, second.bytes_done, text_limit)
        for piece in render(pair, statistics, rows, texts):
            file.write((piece,))
            size += len(piece)
        return Comparison(old, new, target, statistics, len(rows), len(texts), size)


def _add(
    matcher: Matcher,
    side: Side,
    reader: BatchReader,
    longest_text: int,
    progress: ShowProgress,
) -> None:
    picks = Counter[Extractor]()
    with progress(reader.path) as show:
        for article in reader.articles():
            version = version_of(article, reader.path, longest_text)
            matcher.add(side, version)
            picks[version.pick] += 1
            show(reader.progress(picks))


def _names(old: str, new: str) -> tuple[str, str]:
    """Return the names of the files, with as many of their folders as distinguish them."""
    # Not as the locale reads it: the bytes are UTF-8, the reader refuses other names.
    first, second = (os.fsencode(path).decode().split("/") for path in (old, new))
    length = 1
    while first != second and first[-length:] == second[-length:]:
        length += 1
    return "/".join(first[-length:]), "/".join(second[-length:])
