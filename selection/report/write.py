"""The statistics of a batch's articles, and its report as one HTML page."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from selection.field_check import FieldCheck, texts_of
from selection.model import Extractor, Rule
from selection.reader import BY_NAME, BatchReader, Progress, ReadOptions
from selection.report.article_stats import ArticleStats, statistics_of
from selection.report.batch_stats import BatchStats
from selection.report.batch_warnings import BatchWarning, warnings_of
from selection.report.page import Batch, has_text, render, row_json, text_json
from selection.report.spool import RankedSpool, put_row_and_text
from selection.storage.names import default_report
from selection.storage.opening import open_output
from selection.stream.parts import Article

#: Default of the largest size in bytes of the texts in a page.
TEXT_LIMIT = 5_000_000
#: Largest size in bytes of the list in a page.
ROW_LIMIT = 8_000_000


@dataclass(frozen=True, slots=True)
class Report:
    """A written page.

    Attributes:
        input, output: the paths.
        articles: the number of articles of the batch.
        listed: the number of articles in the page's list.
        with_texts: the number of articles whose texts are in the page.
        bytes: the size of the page.
        statistics: the counts of the batch.
        seconds: wall-clock time.
        warnings: the warnings of the page, one sentence each.
    """

    input: str
    output: str
    articles: int
    listed: int
    with_texts: int
    bytes: int
    statistics: BatchStats
    seconds: float
    warnings: Sequence[str]


def read_statistics(
    path: str,
    progress: Callable[[Progress], object] | None = None,
    *,
    options: ReadOptions = BY_NAME,
) -> Iterator[ArticleStats]:
    """Return the statistics of each article of a batch, selected or not, as it streams.

    Args:
        path: the batch.
        progress: called after every article.
        options: how the batch is read.

    Raises:
        DataError: the file is not a batch; the articles before the error have been yielded.
        InputError, TransferError: as for ``select_file``.
    """
    with BatchReader(path, options=options) as reader:
        for stats, _ in _articles(reader, progress):
            yield stats


@dataclass(frozen=True, slots=True)
class ReadBatch:
    """The numbers of a batch without a page.

    Attributes:
        statistics, seconds, warnings: as of :class:`Report`.
    """

    statistics: BatchStats
    seconds: float
    warnings: Sequence[str]


def read_batch_statistics(
    path: str,
    progress: Callable[[Progress], object] | None = None,
    *,
    roots: Sequence[str] = (),
    options: ReadOptions = BY_NAME,
) -> ReadBatch:
    """Return the numbers of a batch, selected or not.

    Args:
        path, progress, roots, options: as for :func:`write_report`.

    Raises:
        SelectionError: as ``select_file``, about the input.
    """
    began = time.perf_counter()
    statistics = BatchStats()
    field_check = FieldCheck()
    with BatchReader(path, roots, options=options) as reader:
        for stats, article in _articles(reader, progress):
            statistics.add(stats)
            field_check.add(texts_of(article.fields), article.raw)
    warnings = warnings_of(statistics, field_check.by_extractor())
    return ReadBatch(statistics, time.perf_counter() - began, _sentences(warnings))


def write_report(
    path: str,
    output: str | None = None,
    text_limit: int = TEXT_LIMIT,
    progress: Callable[[Progress], object] | None = None,
    *,
    roots: Sequence[str] = (),
    options: ReadOptions = BY_NAME,
    index: str | None = None,
) -> Report:
    """Write one self-contained HTML page about a batch, selected or not.

    The charts count all articles. The list and the texts are limited in size; articles whose
    extractors agree least are included first. The page appears complete or not at all.

    Args:
        path: the batch.
        output: the page; by default :func:`default_report`.
        text_limit: the largest size in bytes of the texts in the page.
        progress: as for :func:`read_statistics`.
        roots, options: as for ``select_file``.
        index: the address of an index of several reports, relative to the page; None: there is
            not one.

    Raises:
        SelectionError: as ``select_file``.
    """
    target = default_report(path) if output is None else output
    began = time.perf_counter()
    statistics = BatchStats()
    field_check = FieldCheck()
    size = 0
    with (
        BatchReader(path, roots, options=options) as reader,
        open_output(target, reader.input, roots, pipes=options.pipes) as file,
        RankedSpool(ROW_LIMIT) as rows,
        RankedSpool(text_limit) as texts,
    ):
        for stats, article in _articles(reader, progress):
            statistics.add(stats)
            field_check.add(texts_of(article.fields), article.raw)
            put_row_and_text(
                rows,
                texts,
                _rank(stats),
                stats.index,
                partial(row_json, stats, article),
                partial(text_json, article, stats.decision) if has_text(article) else None,
            )
        # The page shows a text from its row in the list.
        texts.retain(rows.indexes())
        # Not as the locale reads it: the bytes are UTF-8, the reader refuses other names.
        name = os.fsencode(os.path.basename(path)).decode()
        warnings = warnings_of(statistics, field_check.by_extractor())
        batch = Batch(name, reader.bytes_done, reader.skipped, text_limit, warnings, index)
        for piece in render(batch, statistics, rows, texts):
            file.write((piece,))
            size += len(piece)
        return Report(
            input=path,
            output=target,
            articles=statistics.articles,
            listed=len(rows),
            with_texts=len(texts),
            bytes=size,
            statistics=statistics,
            seconds=time.perf_counter() - began,
            warnings=_sentences(warnings),
        )


def _articles(
    reader: BatchReader, progress: Callable[[Progress], object] | None
) -> Iterator[tuple[ArticleStats, Article]]:
    picks = Counter[Extractor]()
    for article in reader.articles():
        stats = statistics_of(article)
        yield stats, article
        picks[stats.decision.extractor] += 1
        if progress:
            progress(reader.progress(picks))


def _sentences(warnings: Sequence[BatchWarning]) -> Sequence[str]:
    return tuple(warning.sentence for warning in warnings)


def _rank(stats: ArticleStats) -> float:
    """Return an article's priority in the page.

    It is 2 without any text, 1 - agreement if texts were compared, -1 for a single candidate.
    """
    if stats.agreement is not None:
        return 1.0 - stats.agreement
    return 2.0 if stats.decision.rule is Rule.FALLBACK else -1.0
