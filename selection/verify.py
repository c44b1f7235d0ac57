"""Check that an output is its input plus one correct pick per article and nothing else."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from selection.errors import DifferenceError
from selection.model import MEMBER, Extractor
from selection.reader import BatchReader, Progress
from selection.rules import select_article
from selection.stream.locate import line_and_column
from selection.stream.parts import Article, Gap
from selection.stream.splice import members_end, pick_spans

_VALUE = rb'"(?P<pick>[^"\\]*)"'
_REPLACED_VALUE = re.compile(_VALUE)
_ADDED_MEMBER = re.compile(rb',?\s*"%s"\s*:\s*' % MEMBER.encode() + _VALUE)


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of a check without a difference.

    Attributes:
        input, output: the paths.
        articles: number of articles; each has a correct pick and otherwise the input's bytes.
        skipped: number of items of ``articles`` that are not objects.
    """

    input: str
    output: str
    articles: int
    skipped: int

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain data for JSON."""
        return asdict(self)


def verify_files(
    input: str | os.PathLike[str],
    output: str | os.PathLike[str],
    progress: Callable[[Progress], object] | None = None,
) -> Verification:
    """Compare an output with its input, streaming both.

    White space and commas around an added member are free; all other bytes must be equal.

    Args:
        input: the batch.
        output: the output to check.
        progress: called after every article with the progress in the output.

    Raises:
        DifferenceError: the first difference, by article and by byte of the output.
        SelectionError: one of the files cannot be read or is not a batch.
    """
    input_path, output_path = os.fspath(input), os.fspath(output)
    picks = Counter[Extractor]()
    skipped = 0
    with BatchReader(input_path) as left, BatchReader(output_path) as right:
        try:
            for ours, theirs in _aligned(left.parts(), right.parts()):
                if isinstance(ours, Gap) and isinstance(theirs, Gap):
                    _require_same(ours.raw, theirs.raw, theirs.start)
                    skipped += ours.skipped
                elif isinstance(ours, Article) and isinstance(theirs, Article):
                    picks[_compare_article(ours, theirs)] += 1
                    if progress:
                        progress(right.progress(picks))
                else:
                    raise DifferenceError(
                        "the files do not have the same articles in the same places",
                        byte=theirs.start if theirs else right.bytes_done,
                    )
        except DifferenceError as difference:
            difference.path = output_path
            difference.line, difference.column = line_and_column(right.input, difference.byte or 0)
            raise
    return Verification(input_path, output_path, picks.total(), skipped)


def _aligned(
    left: Iterator[Gap | Article], right: Iterator[Gap | Article]
) -> Iterator[tuple[Gap | Article | None, Gap | Article | None]]:
    """Pair the parts of two files, with gaps cut to equal length."""
    ours, theirs = next(left, None), next(right, None)
    while ours or theirs:
        if isinstance(ours, Gap) and isinstance(theirs, Gap):
            length = min(len(ours.raw), len(theirs.raw))
            yield _head(ours, length), _head(theirs, length)
            ours = _rest(ours, length) or next(left, None)
            theirs = _rest(theirs, length) or next(right, None)
        else:
            yield ours, theirs
            ours, theirs = next(left, None), next(right, None)


def _head(gap: Gap, length: int) -> Gap:
    return Gap(gap.start, gap.raw[:length], gap.skipped if length == len(gap.raw) else 0)


def _rest(gap: Gap, length: int) -> Gap | None:
    rest = gap.raw[length:]
    return Gap(gap.start + length, rest, gap.skipped) if rest else None


def _compare_article(ours: Article, theirs: Article) -> Extractor:
    """Compare an article of the input with that of the output; return its pick."""
    pick = select_article(ours.fields).extractor
    if ours.has_pick:
        places, pattern = list(pick_spans(ours.raw)), _REPLACED_VALUE
    else:
        end = members_end(ours.raw)
        places, pattern = [(end, end)], _ADDED_MEMBER
    done = at = 0
    try:
        for start, end in places:
            at = _step_over(ours.raw[done:start], theirs, at)
            at = _step_over_pick(pattern, pick, theirs, at)
            done = end
        at = _step_over(ours.raw[done:], theirs, at)
        _require_same(b"", theirs.raw[at:], theirs.start + at)
    except DifferenceError as difference:
        difference.article = ours.index
        raise
    return pick


def _step_over(same: bytes, theirs: Article, at: int) -> int:
    end = at + len(same)
    _require_same(same, theirs.raw[at:end], theirs.start + at)
    return end


def _step_over_pick(pattern: re.Pattern[bytes], pick: Extractor, theirs: Article, at: int) -> int:
    found = pattern.match(theirs.raw, at)
    if found is None:
        raise DifferenceError(f"here '{MEMBER}' should be '{pick}'", byte=theirs.start + at)
    if found["pick"] != pick.encode():
        raise DifferenceError(
            f"the pick is '{found['pick'].decode()}', the rules pick '{pick}'",
            byte=theirs.start + found.start("pick"),
        )
    return found.end()


def _require_same(ours: bytes, theirs: bytes, start: int) -> None:
    if ours != theirs:
        pairs = enumerate(zip(ours, theirs))
        same = next((i for i, (a, b) in pairs if a != b), min(len(ours), len(theirs)))
        raise DifferenceError("the output differs from the input here", byte=start + same)
