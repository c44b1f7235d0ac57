"""The batches that the arguments of a command name, and the output of each."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import click

from selection.cli.printable import printable
from selection.errors import (
    InputDeniedError,
    InputMissingError,
    OutputError,
    OutputForbiddenError,
    SelectionError,
)
from selection.storage.address import is_address
from selection.storage.names import (
    STANDARD_STREAM,
    default_output,
    is_batch,
    is_output,
    is_standard_input,
)
from selection.storage.opening import is_pipe
from selection.storage.roots import is_folder_inside


@dataclass(frozen=True, slots=True)
class Planned:
    """A batch and its output.

    Attributes:
        path: the batch.
        output: the output that the arguments name; None: the default beside the batch.
        is_below: whether the output is in a folder that is created if it does not exist.
        can_be_pipe: whether it is the only batch, so that a pipe does not delay others.
    """

    path: str
    output: str | None
    is_below: bool = False
    can_be_pipe: bool = False

    @property
    def target(self) -> str:
        """The path of the output."""
        return default_output(self.path) if self.output is None else self.output


@dataclass(frozen=True, slots=True)
class Plan:
    """The batches of a command's arguments.

    Attributes:
        batches: in order, without repetition.
        left_out: paths whose names are those of outputs.
        errors: one for each argument that does not name a batch.
    """

    batches: tuple[Planned, ...]
    left_out: tuple[str, ...]
    errors: tuple[SelectionError, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """A batch that an argument names.

    Attributes:
        path: the batch.
        base: the folder that the argument names.
        is_typed: whether the argument is the path.
    """

    path: str
    base: str
    is_typed: bool


def plan(
    names: Iterable[str],
    output: str | None = None,
    output_dir: str | None = None,
    *,
    recursive: bool = False,
) -> Plan:
    """Find the batches and the path of each output, without opening a file.

    The name of an output, ``x_selected.json``, is left out, unless it is an argument together
    with the name of an output file.

    Args:
        names: files, patterns (``out/*.json``) or folders (their ``*.json``,
            ``*.jsonl``, ``*.ndjson`` and the compressed forms of these).
        output: the output of the only batch, or a folder if it exists as one or ends with "/".
        output_dir: the folder for all outputs. Below it the batches keep their folders, from
            the deepest folder that all arguments have in common.
        recursive: search folders to any depth.

    Raises:
        click.UsageError: the options contradict each other, or an output would be overwritten.
    """
    if output is not None and output_dir is not None:
        raise click.UsageError("give --output or --output-dir, not both")
    if output is not None and is_folder(output):
        output, output_dir = None, output
    found: dict[str, Found] = {}
    left_out: list[str] = []
    everything, errors = find(names, recursive)
    for each in everything:
        is_wanted = each.is_typed and output is not None
        if is_output(each.path) and not is_wanted:
            left_out.append(each.path)
        else:
            found.setdefault(normalized(each.path), each)
    if left_out and not found and not errors:
        errors.append(
            InputMissingError(
                "nothing to select: files named *_selected.json are outputs; to select one "
                "again, name its output with --output",
                path=left_out[0],
            )
        )
    if len(found) > 1 and any(is_standard_input(each.path) for each in found.values()):
        raise click.UsageError("standard input must be the only FILE")
    batches = _placed(list(found.values()), output, output_dir)
    _check(batches)
    return Plan(batches, tuple(dict.fromkeys(left_out)), tuple(errors))


def find_outputs(names: Iterable[str], *, recursive: bool = False) -> list[str]:
    """Find selected batches, in order, without repetition and without opening a file.

    Args:
        names: files, patterns, folders or addresses; of a pattern, folder or prefix only the
            names of outputs, ``x_selected.json``.
        recursive: search folders to any depth.

    Raises:
        InputMissingError: an argument does not name an output.
    """
    found: dict[str, str] = {}
    for name in dict.fromkeys(names):
        each = [f.path for f in _expand(name, recursive) if f.is_typed or is_output(f.path)]
        if not each:
            raise InputMissingError("nothing here is named *_selected.json", path=name)
        for path in each:
            found.setdefault(normalized(path), path)
    return list(found.values())


def make_folder(batch: Planned, roots: Sequence[str] = ()) -> None:
    """Create the folder of an output below ``output_dir``, or nothing if it is not allowed.

    Args:
        batch: the batch and its output.
        roots: as for ``select_file``.

    Raises:
        OutputError: it cannot be created, or it or a folder that it needs is outside the roots.
    """
    if not batch.is_below or is_address(batch.target):
        return
    folder = os.path.dirname(batch.target)
    try:
        if not all(is_folder_inside(roots, each) for each in _missing_folders(folder)):
            raise OutputForbiddenError("the folder is outside the allowed folders", path=folder)
        os.makedirs(folder, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a file name"
        raise OutputError(f"the folder cannot be created: {reason}", path=folder) from None


def _missing_folders(folder: str) -> Iterator[str]:
    while folder and not os.path.isdir(folder):
        yield folder
        folder = os.path.dirname(folder)


def is_folder(output: str) -> bool:
    """Return whether the name of an output means a folder."""
    if is_address(output):
        return output.endswith("/")
    return os.path.basename(output) in ("", ".", "..") or os.path.isdir(output)


def normalized(path: str) -> str:
    """Return a path that is the same for two spellings of one file."""
    return path if is_address(path) else os.path.normpath(path)


def find(names: Iterable[str], recursive: bool) -> tuple[list[Found], list[SelectionError]]:
    """Find the batches of arguments in order; an argument without one gives an error."""
    found: list[Found] = []
    errors: list[SelectionError] = []
    for name in dict.fromkeys(names):
        try:
            found.extend(_expand(name, recursive))
        except SelectionError as error:
            errors.append(error)
    return found, errors


def _expand(name: str, recursive: bool) -> Iterator[Found]:
    if is_address(name):
        yield from _in_store(name, recursive)
    elif os.path.isdir(name):
        yield from _in_folder(name, name, recursive)
    elif glob.has_magic(name) and not os.path.lexists(name):
        matches = sorted(glob.glob(name, recursive=True))
        if not matches:
            raise InputMissingError("no file matches the pattern", path=name)
        for match in matches:
            if os.path.isdir(match):
                yield from _in_folder(match, _fixed_part(name), recursive)
            else:
                yield Found(match, _fixed_part(name), False)
    else:
        yield Found(name, os.path.dirname(name), True)


def _in_store(name: str, recursive: bool) -> Iterator[Found]:
    if not name.endswith("/"):
        yield Found(name, os.path.dirname(name), True)
        return
    from selection.storage.object_list import list_addresses

    found = [each for each in list_addresses(name, recursive) if is_batch(each)]
    if not found:
        raise _no_batches(name, recursive)
    for each in found:
        yield Found(each, name, False)


def _fixed_part(pattern: str) -> str:
    """Return the folder of a pattern up to its first part with a wildcard."""
    folder = os.path.dirname(pattern)
    while glob.has_magic(folder):
        folder = os.path.dirname(folder)
    return folder


def _in_folder(folder: str, base: str, recursive: bool) -> Iterator[Found]:
    is_empty = True
    for parent, folders, names in os.walk(folder, onerror=_refuse):
        folders[:] = sorted(each for each in folders if recursive and not each.startswith("."))
        for name in sorted(names):
            if is_batch(name) and not name.startswith("."):
                is_empty = False
                yield Found(os.path.join(parent, name), base, False)
    if is_empty:
        raise _no_batches(folder, recursive)


def _no_batches(folder: str, recursive: bool) -> InputMissingError:
    hint = "" if recursive else "; --recursive searches its folders, too"
    return InputMissingError(f"the folder has no *.json, *.jsonl or *.ndjson{hint}", path=folder)


def _refuse(error: OSError) -> None:
    raise InputDeniedError(f"the folder cannot be read: {error.strerror}", path=str(error.filename))


def _placed(
    found: Sequence[Found], output: str | None, output_dir: str | None
) -> tuple[Planned, ...]:
    if output_dir is None:
        if output is not None and len(found) > 1:
            raise click.UsageError(
                f"--output names one file, and there are {len(found)} batches; "
                "name a folder with --output-dir"
            )
        return tuple(_beside(each, output, is_alone=len(found) == 1) for each in found)
    if not found:
        return ()
    if any(is_standard_input(each.path) for each in found):
        raise click.UsageError("standard input has no name: name its output with --output FILE")
    names = below([each.path for each in found], [each.base for each in found])
    targets = [os.path.join(output_dir, default_output(name)) for name in names]
    return tuple(Planned(each.path, target, is_below=True) for each, target in zip(found, targets))


def below(paths: Sequence[str], bases: Sequence[str]) -> list[str]:
    """Return the batches' paths relative to the deepest folder that all bases have in common."""
    if not bases:
        return []
    # By name: a link to a folder is a folder of that name.
    base = os.path.commonpath([place(each) for each in bases])
    return [os.path.relpath(place(path), base) for path in paths]


def _beside(found: Found, output: str | None, *, is_alone: bool) -> Planned:
    can_be_pipe = is_alone and (found.is_typed or output == STANDARD_STREAM)
    if output is None and can_be_pipe and is_pipe(found.path):
        output = STANDARD_STREAM
    return Planned(found.path, output, can_be_pipe=can_be_pipe)


def place(path: str) -> str:
    """Return an absolute path. An address is in a folder of its scheme."""
    return f"/{path.replace('://', '/', 1)}" if is_address(path) else os.path.abspath(path)


def _check(batches: Sequence[Planned]) -> None:
    """Refuse two batches with one output, and an output that is another batch."""
    inputs = {real(batch.path): batch.path for batch in batches}
    taken: dict[str, str] = {}
    for batch in batches:
        target = real(batch.target)
        if target in taken:
            raise click.UsageError(
                f"{printable(taken[target])} and {printable(batch.path)} have the same output: "
                f"{printable(batch.target)}"
            )
        if inputs.get(target, batch.path) != batch.path:
            raise click.UsageError(
                f"{printable(inputs[target])} is the output of {printable(batch.path)}: "
                "leave it out"
            )
        taken[target] = batch.path


def real(path: str) -> str:
    """Return a path with its links resolved; an address, and what cannot be a path, unchanged."""
    if is_address(path):
        return path
    try:
        return os.path.realpath(path)
    except ValueError:
        return path
