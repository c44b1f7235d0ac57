"""The index of several reports: one HTML page with a row for each batch."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any
from urllib.parse import quote

from selection.errors import SelectionError
from selection.model import Extractor
from selection.report import rendering
from selection.report.batch_stats import LOW_AGREEMENT
from selection.report.write import ReadBatch, Report
from selection.storage.interface import NoInput
from selection.storage.names import INDEX
from selection.storage.opening import open_output


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a batch has no page.

    Attributes:
        type: the name of the error's class.
        message: what is wrong and where.
        exit_code: the exit code of the error.
    """

    type: str
    message: str
    exit_code: int

    @classmethod
    def of(cls, error: SelectionError) -> Failure:
        """Return the failure that an error describes; the row has the path."""
        message = str(error)
        for mark in (", ", ": "):
            message = message.removeprefix(f"{error.path}{mark}")
        return cls(type(error).__name__, message, error.exit_code)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One batch of an index: the numbers of its report, or its failure.

    Attributes:
        path: the batch, as the caller named it.
        job: the id of the job that selected it; None without a queue.
        failure: None if the batch could be read.
        is_earlier: whether the failure is that of the job and not of its report.
        page: the page's path relative to the index.
        articles: the number of articles.
        picks: the number of articles per extractor.
        agreement: the mean agreement of the compared articles; None without one.
        low_agreement: the number of articles with low agreement.
        fallbacks: the number of articles without an active candidate (rule 5.1).
        warnings: as of ``Report``.
        seconds: wall-clock time in which it was selected or read; None if it is unknown.
    """

    path: str
    job: str | None = None
    failure: Failure | None = None
    is_earlier: bool = False
    page: str = ""
    articles: int = 0
    picks: Mapping[Extractor, int] | None = None
    agreement: float | None = None
    low_agreement: int = 0
    fallbacks: int = 0
    warnings: Sequence[str] = ()
    seconds: float | None = None

    def with_page(self, report: Report, folder: str) -> Row:
        """Return the row with the numbers and the page of a report.

        Args:
            report: the report of the batch.
            folder: the folder of the index, which contains the report.
        """
        page = report.output.removeprefix(os.path.join(folder, ""))
        return replace(self.with_numbers(report), page=page)

    def with_numbers(self, found: Report | ReadBatch) -> Row:
        """Return the row with the numbers of a batch; a time that is known is kept."""
        statistics = found.statistics
        return replace(
            self,
            articles=statistics.articles,
            picks=statistics.picks,
            agreement=statistics.agreement,
            low_agreement=statistics.low_agreement,
            fallbacks=statistics.fallbacks,
            warnings=found.warnings,
            seconds=found.seconds if self.seconds is None else self.seconds,
        )

    @property
    def link(self) -> str:
        """The page's address relative to the index; it cannot have a scheme or a host."""
        return quote(os.fsencode(self.page))

    def as_dict(self) -> dict[str, Any]:
        """Return the row as plain data, ready for JSON; of a failure only the error."""
        row = {"input": self.path, "job": self.job}
        if self.failure is not None:
            return {**row, "error": asdict(self.failure)}
        return {
            **row,
            "articles": self.articles,
            "picks": dict(self.picks or {}),
            "agreement": self.agreement,
            "low_agreement": self.low_agreement,
            "without_text": self.fallbacks,
            "warnings": list(self.warnings),
            "seconds": self.seconds,
            "error": None,
        }


def index_of(folder: str) -> str:
    """Return the path of a folder's index."""
    return os.path.join(folder, INDEX)


def index_from(page: str, folder: str) -> str:
    """Return the address of a folder's index relative to one of its pages."""
    return "../" * page.removeprefix(os.path.join(folder, "")).count("/") + INDEX


@dataclass(frozen=True, slots=True)
class Index:
    """A written index.

    Attributes:
        path: the page.
        rows: the batches.
    """

    path: str
    rows: Sequence[Row]


def write_index(rows: Iterable[Row], folder: str, roots: Sequence[str] = ()) -> Index:
    """Write the index of a folder of reports, complete or not at all.

    Args:
        rows: the batches, in the order of the page. The first is requested when the index can be
            written, so that a folder that is not writable is found before a report is made.
        folder: the folder of the pages; it exists.
        roots: as for ``select_file``.

    Raises:
        SelectionError: as ``select_file``, about the output.
    """
    with open_output(index_of(folder), NoInput(), roots) as file:
        complete = list(rows)
        for piece in _render(complete):
            file.write((piece,))
    return Index(file.path, complete)


def _render(rows: Sequence[Row]) -> Iterator[bytes]:
    done = [row for row in rows if row.failure is None]
    totals = Row(
        path="",
        articles=sum(row.articles for row in done),
        picks={name: sum((row.picks or {}).get(name, 0) for row in done) for name in Extractor},
        low_agreement=sum(row.low_agreement for row in done),
        fallbacks=sum(row.fallbacks for row in done),
    )
    return rendering.static_page(
        "index.html",
        "index.js",
        rows=rows,
        totals=totals,
        failed=len(rows) - len(done),
        extractors=list(Extractor),
        low_agreement=LOW_AGREEMENT,
    )
