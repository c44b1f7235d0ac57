"""The pages of a folder of reports: which batches have one, and the name of each."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from unicodedata import normalize

import click

from selection.cli.plan import Found, Plan, Planned, below, find, is_folder, normalized, place, real
from selection.cli.printable import printable
from selection.storage.address import is_address
from selection.storage.names import (
    INDEX,
    REPORTS,
    STANDARD_STREAM,
    default_output,
    default_report,
    is_output,
    is_standard_input,
)

_ENDING = ".html"


@dataclass(frozen=True, slots=True)
class PagePlan:
    """The batches of a folder of reports.

    Attributes:
        folder: the folder, which is created if it does not exist.
        plan: the batches, each with its page as the output.
    """

    folder: str
    plan: Plan


def means_folder(names: Sequence[str], output: str | None) -> bool:
    """Return whether arguments mean several batches, or the output is a folder.

    Args:
        names: as for ``plan``.
        output: the argument of ``--output``.
    """
    return (
        (output is not None and output != STANDARD_STREAM and is_folder(output))
        or len(set(names)) > 1
        or not all(_is_file(name) for name in names)
    )


def plan_pages(
    names: Iterable[str], folder: str | None = None, *, recursive: bool = False
) -> PagePlan:
    """Find the batches and the path of each one's page, without opening a file.

    An output that is not an argument is left out if its batch is found, too: their pages are the
    same. Below the folder the pages have the folders of the batches, as for ``output_dir``.

    Args:
        names, recursive: as for ``plan``.
        folder: the folder of the pages; by default ``selection_report`` in the deepest folder
            that all arguments have in common, or in the working directory for addresses.

    Raises:
        click.UsageError: standard input is one of several arguments, the folder has the name of
            a page, or the index would replace a batch.
    """
    _check_folder(folder)
    everything, errors = find(names, recursive)
    if any(is_standard_input(each.path) for each in everything):
        raise click.UsageError("standard input has no name: name its page with --output FILE")
    selected = {
        normalized(default_output(each.path)) for each in everything if not is_output(each.path)
    }
    found: dict[str, Found] = {}
    left_out: list[str] = []
    for each in everything:
        path = normalized(each.path)
        if path in selected and not each.is_typed:
            left_out.append(each.path)
        else:
            found.setdefault(path, each)
    chosen = list(found.values())
    where = _default_folder(chosen) if folder is None else folder
    pages = place_pages([each.path for each in chosen], [each.base for each in chosen], where)
    batches = tuple(
        Planned(each.path, page, is_below=True) for each, page in zip(chosen, pages, strict=True)
    )
    return PagePlan(where, Plan(batches, tuple(dict.fromkeys(left_out)), tuple(errors)))


def place_pages(
    paths: Sequence[str], bases: Sequence[str], folder: str, kept: Iterable[str] = ()
) -> list[str]:
    """Return the path of each batch's page below a folder.

    Two batches never have the same page, also where a file system does not distinguish case or
    Unicode normalization forms, and a page is never a batch, a kept file or the index.

    Args:
        paths: the batches.
        bases: for each batch the folder from which its folders are counted.
        folder: the folder of the pages.
        kept: other files that are not replaced.

    Raises:
        click.UsageError: the index would replace a batch or a kept file.
    """
    not_replaced = {real(path): path for path in (*paths, *kept)}
    index = real(os.path.join(folder, INDEX))
    if index in not_replaced:
        raise click.UsageError(
            f"the index would replace {printable(not_replaced[index])}; name another folder "
            "with --output"
        )
    pages: list[str] = []
    taken: set[str] = set()
    numbers: dict[str, Iterator[int]] = {}
    for name in below(paths, bases):
        stem = _page(name).removesuffix(_ENDING)
        page = stem
        while _key(page) in taken or real(os.path.join(folder, page + _ENDING)) in not_replaced:
            page = f"{stem}-{next(numbers.setdefault(_key(stem), count(2)))}"
        taken.add(_key(page))
        pages.append(os.path.join(folder, page + _ENDING))
    return pages


def _page(name: str) -> str:
    """Return the page of a relative path; no folder of it has the name of a page or the index."""
    *folders, last = name.split("/")
    page = os.path.basename(default_report(f"./{last}"))
    return "/".join(
        [*(f"{each}_" if _key(each).endswith(_ENDING) else each for each in folders), page]
    )


def _key(name: str) -> str:
    return normalize("NFC", normalize("NFC", name).casefold())


def _check_folder(folder: str | None) -> None:
    if folder == STANDARD_STREAM:
        raise click.UsageError(
            "standard output is for the page of one FILE; name a folder with --output"
        )
    if folder is not None and not is_folder(folder) and _key(folder).endswith((_ENDING, ".htm")):
        raise click.UsageError(
            f"several batches give a folder of pages; for a folder of this name: {folder}/"
        )


def _is_file(name: str) -> bool:
    if is_address(name):
        return not name.endswith("/")
    return not os.path.isdir(name) and (os.path.lexists(name) or not glob.has_magic(name))


def _default_folder(found: Sequence[Found]) -> str:
    bases = list(dict.fromkeys(each.base for each in found))
    if any(is_address(base) for base in bases):
        return REPORTS
    if len(bases) < 2:
        return os.path.join("".join(bases), REPORTS)
    return os.path.join(os.path.commonpath([place(base) for base in bases]), REPORTS)
