"""Select a batch: write a copy of a file in which every article has its pick."""

from __future__ import annotations

import os
import sys
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from selection.errors import (
    ArticlesMissingError,
    ArticlesNotListError,
    OutputFolderMissingError,
    RootNotObjectError,
    SelectionError,
)
from selection.field_check import FieldCheck
from selection.model import MEMBER, Extractor, Rule
from selection.reader import BY_NAME, WORTH_WORKERS, BatchReader, Progress, ReadOptions
from selection.rules import select_article
from selection.storage.address import is_address
from selection.storage.interface import READ_SIZE
from selection.storage.names import compression_of, default_output
from selection.storage.opening import (
    check_output,
    format_without_name,
    is_pipe,
    open_output,
    open_stored,
)
from selection.stream.parts import Gap
from selection.stream.splice import insert_pick

if TYPE_CHECKING:
    from selection.parallel.pool import Pool

# JSON becomes four to ten times smaller.
_TIMES_DECOMPRESSED = 5


@dataclass(frozen=True, slots=True)
class Summary:
    """The result of selecting one batch.

    Attributes:
        input, output: the paths.
        articles: number of articles with a pick.
        skipped: number of items of ``articles`` that are not objects, and of lines that
            ``skip_bad_lines`` skips; they were copied unchanged.
        picks: number of articles per extractor, for all three extractors.
        rules: number of articles per rule, for all rules.
        bytes: size of the input in bytes.
        seconds: wall-clock time.
        python, unicode: versions. The Unicode tables, which define letters and digits, come
            with Python, so the picks are the same for the same versions.
        warnings: sentences on fields in which few articles or none have a text.
    """

    input: str
    output: str
    articles: int
    skipped: int
    picks: Mapping[Extractor, int]
    rules: Mapping[Rule, int]
    bytes: int
    seconds: float
    python: str
    unicode: str
    warnings: Sequence[str] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain data for JSON."""
        return asdict(self)


def select_file(
    input: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    progress: Callable[[Progress], object] | None = None,
    *,
    roots: Sequence[str] = (),
    read_size: int = READ_SIZE,
    jobs: int = 1,
    options: ReadOptions = BY_NAME,
    compression_level: int | None = None,
) -> Summary:
    """Write a copy of a batch in which every article has its ``selected_extractor``.

    The output has the bytes of the input, except for that member. It appears complete or
    not at all; the input is never written to.

    Args:
        input: the batch.
        output: the file to write; by default :func:`default_output`.
        progress: called after every part of the file, some thousand times a second; an
            exception that it raises ends the run without an output.
        roots: folders of which one must hold each of the two files, links resolved; none: any
            place.
        read_size: how many bytes to read at once.
        jobs: number of processes that decide, including this one. A batch of less than 8 MiB
            is decided by this process alone.
        options: how the batch is read: JSON Lines, bad lines, pipes.
        compression_level: of a compressed output; None: the format's default.

    Returns:
        The counts of the batch.

    Raises:
        DataError: the input is not a batch.
        InputError: the input cannot be opened.
        OutputError: the output cannot be made, or is the input.
        TransferError: reading or writing failed, the input changed meanwhile, or a worker
            process ended early.
    """
    path = os.fspath(input)
    target = default_output(path) if output is None else os.fspath(output)
    select = partial(
        select_with,
        path=path,
        target=target,
        progress=progress,
        roots=roots,
        read_size=read_size,
        options=options,
        compression_level=compression_level,
    )
    if jobs == 1 or not is_large(path, roots):
        return select(None)
    # The pool takes longer to import than a small batch takes to select.
    from selection.parallel.pool import Pool

    with Pool(jobs - 1) as pool:
        return select(pool)


def select_batch(batch: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a batch in memory in which each article has its pick.

    Args:
        batch: a root object with a list ``articles``, as ``json.load`` gives it. It is not
            changed; what is not an article is in the copy as it is.

    Raises:
        RootNotObjectError: the root is not an object.
        ArticlesMissingError: it has no ``articles``.
        ArticlesNotListError: ``articles`` is not a list.
    """
    if not isinstance(batch, Mapping):
        raise RootNotObjectError("the root must be an object with a list 'articles'")
    if "articles" not in batch:
        raise ArticlesMissingError("the root has no list 'articles'")
    if not isinstance(batch["articles"], list):
        raise ArticlesNotListError("'articles' must be a list")
    articles = [
        {**article, MEMBER: select_article(article).extractor.value}
        if isinstance(article, Mapping)
        else article
        for article in batch["articles"]
    ]
    return {**batch, "articles": articles}


def is_large(path: str, roots: Sequence[str] = ()) -> bool:
    """Return whether a batch can be worth more than one process, which every pipe can."""
    return is_pipe(path) or decompressed_size(path, stored_size(path, roots)) >= WORTH_WORKERS


def stored_size(path: str, roots: Sequence[str] = ()) -> int:
    """Return how many bytes a batch has, compressed or not; 0 if that cannot be found out.

    Nothing is read, and nothing outside the roots is looked at.
    """
    with suppress(SelectionError), closing(open_stored(path, roots)) as source:
        return source.size or 0
    return 0


def decompressed_size(path: str, size: int) -> int:
    """Return about how many bytes of JSON a batch of ``size`` bytes has, by its name."""
    return size * _TIMES_DECOMPRESSED if compression_of(path) else size


def select_with(
    pool: Pool | None,
    path: str,
    target: str,
    progress: Callable[[Progress], object] | None = None,
    *,
    roots: Sequence[str] = (),
    read_size: int = READ_SIZE,
    options: ReadOptions = BY_NAME,
    compression_level: int | None = None,
) -> Summary:
    """Select a batch as :func:`select_file` does, with the processes of a pool, if any."""
    began = time.perf_counter()
    picks = Counter(dict.fromkeys(Extractor, 0))
    rules = Counter(dict.fromkeys(Rule, 0))
    skipped = 0
    field_check = FieldCheck()
    with (
        BatchReader(path, roots, read_size, options) as reader,
        open_output(
            target,
            reader.input,
            roots,
            pipes=options.pipes,
            format=format_without_name(reader.input),
            level=compression_level,
        ) as file,
    ):
        for part, pick in reader.decided_parts(pool):
            if isinstance(part, Gap):
                file.write((part.raw,))
                skipped += part.skipped
            elif pick is None:
                file.write((part.raw,))
                skipped += 1
            else:
                file.write(insert_pick(part.raw, pick.extractor, pick.spans))
                picks[pick.extractor] += 1
                rules[pick.rule] += 1
                field_check.add(pick.with_text, part.raw)
            if progress:
                progress(reader.progress(picks))
    return Summary(
        input=path,
        output=target,
        articles=picks.total(),
        skipped=skipped,
        picks=dict(picks),
        rules=dict(rules),
        bytes=reader.bytes_done,
        seconds=time.perf_counter() - began,
        python=".".join(map(str, sys.version_info[:3])),
        unicode=unicodedata.unidata_version,
        warnings=field_check.warnings(),
    )


def check_files(
    path: str, output: str | None = None, roots: Sequence[str] = ()
) -> tuple[tuple[str, ...], int | None, str]:
    """Check, without reading it, that a batch can be opened and its output can be made.

    The folder of the output can be missing: it can exist for the workers, or appear later.

    Args:
        path, output, roots: as for :func:`select_file`.

    Returns:
        What is read, its size as it is stored, and the path of its output. The first is the
        path, links resolved, and the version, which differ between two versions of a batch.

    Raises:
        InputError, OutputError, TransferError: as :func:`select_file`.
    """
    target = default_output(path) if output is None else output
    with closing(open_stored(path, roots)) as source:
        with suppress(OutputFolderMissingError):
            check_output(target, source, roots)
        name = path if is_address(path) else os.path.realpath(path)
        return (name, *source.version), source.size, target
