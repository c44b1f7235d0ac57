"""The batches of the suite through every form: the same picks, the same bytes, the same error."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Protocol

import pytest
from hypothesis import HealthCheck, assume, given, settings

from selection import ReadOptions, Summary, select_file
from selection.errors import DataError
from tests.support import reference
from tests.support.broken import AFTER, BEFORE, WRONG_VALUES, broken_batches, hostile_batches
from tests.support.command import run, shell
from tests.support.documents import Document, documents
from tests.support.examples import examples
from tests.support.object_server import ObjectServer
from tests.support.process import SECONDS

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Codec = Callable[[bytes], bytes]
CODECS: dict[str, tuple[Codec, Codec]] = {
    ".gz": (gzip.compress, gzip.decompress),
    # With a checksum, as zstd(1) writes it.
    ".zst": (
        partial(zstd.compress, options={zstd.CompressionParameter.checksum_flag: 1}),
        zstd.decompress,
    ),
    ".bz2": (bz2.compress, bz2.decompress),
    ".xz": (lzma.compress, lzma.decompress),
}


@dataclass(frozen=True)
class Result:
    """What came of a batch: its output and counts, or its error."""

    output: bytes | None = None
    counts: tuple[object, ...] = ()
    error: tuple[object, ...] = ()


EXAMPLE = Path(__file__).parents[1] / "examples/river_plate_extracted.json"


class Form(Protocol):
    """Select a batch, or lines with the ending ``.jsonl``, in one form."""

    def __call__(self, data: bytes, *, ending: str = ".json") -> Result: ...


def counted(summary: Summary) -> tuple[object, ...]:
    return summary.articles, summary.skipped, summary.picks, summary.rules, summary.bytes


def failed(error: DataError) -> tuple[object, ...]:
    return type(error), error.byte, error.line, error.column, error.article, error.message


class Files:
    """Forms of files in a folder: plain and compressed, by name and by a pipe.

    After a failure the folder has no new file.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def file(self, data: bytes, suffix: str = "", ending: str = ".json") -> Result:
        compress, decompress = CODECS.get(suffix, (bytes, bytes))
        path = self._folder / f"x{ending}{suffix}"
        path.write_bytes(compress(data))
        try:
            summary = select_file(path)
        except DataError as error:
            assert list(self._folder.iterdir()) == [path]
            return Result(error=failed(error))
        finally:
            path.unlink()
        output = self._folder / f"x_selected{ending}{suffix}"
        assert summary.output == str(output)
        content = output.read_bytes()
        output.unlink()
        return Result(decompress(content), counted(summary))

    def pipe(self, data: bytes, suffix: str = "", ending: str = ".json") -> Result:
        """Read a pipe and write standard output, which is not a batch after a failure."""
        compress, decompress = CODECS.get(suffix, (bytes, bytes))
        with filled_pipe(compress(data)) as name, caught_output() as file:
            try:
                options = ReadOptions(pipes=True, lines=ending == ".jsonl")
                summary = select_file(name, "-", options=options)
            except DataError as error:
                assert not is_complete(decompress, Path(file.name).read_bytes(), ending)
                return Result(error=failed(error))
            return Result(decompress(Path(file.name).read_bytes()), counted(summary))


def is_complete(decompress: Codec, content: bytes, ending: str) -> bool:
    """Return whether an output ends as a complete one: in its last line, if it has lines."""
    try:
        text = decompress(content)
        json.loads(text.splitlines()[-1] if ending == ".jsonl" and text else text)
    except (ValueError, EOFError, OSError, lzma.LZMAError, zstd.ZstdError):
        return False
    return True


@contextmanager
def filled_pipe(data: bytes) -> Iterator[str]:
    """Give the name of a pipe from which these bytes can be read."""
    reader, writer = os.pipe()

    def fill() -> None:
        with os.fdopen(writer, "wb") as file:
            try:
                file.write(data)
            except BrokenPipeError:  # the run failed before the end
                file.detach()

    thread = threading.Thread(target=fill, daemon=True)
    thread.start()
    try:
        yield f"/dev/fd/{reader}"
    finally:
        os.close(reader)
        thread.join(SECONDS)


@contextmanager
def caught_output() -> Iterator[IO[bytes]]:
    """Give the file that is standard output meanwhile."""
    before = os.dup(1)
    with tempfile.NamedTemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        try:
            yield file
        finally:
            os.dup2(before, 1)
            os.close(before)


def in_store(store: ObjectServer, data: bytes, suffix: str = "", ending: str = ".json") -> Result:
    """Read an object and write another, which is removed."""
    compress, decompress = CODECS.get(suffix, (bytes, bytes))
    store.put(f"forms/x{ending}{suffix}", compress(data))
    try:
        summary = select_file(f"s3://bucket/forms/x{ending}{suffix}")
    except DataError as error:
        return Result(error=failed(error))
    key = f"forms/x_selected{ending}{suffix}"
    content = store.get(key)
    store.request("DELETE", f"bucket/{key}")
    return Result(decompress(content), counted(summary))


Share = Callable[[dict[str, bytes]], dict[str, bytes]]


def cleaned(number: int) -> settings:
    """Return settings for this number of examples; each form removes its files after a batch."""
    chosen = examples(number)
    suppressed = [*chosen.suppress_health_check, HealthCheck.function_scoped_fixture]
    return settings(chosen, suppress_health_check=suppressed)


FAST = ("file.gz", "pipe")
SLOW = ("file.zst", "file.bz2", "file.xz", "pipe.gz", "pipe.zst")
OBJECTS = ("object", "object.gz", "object.zst")
# Their parts are those of the forms above.
OTHERS = ("pipe.bz2", "pipe.xz", "object.bz2", "object.xz")


def forms(*slow: str, fast: Sequence[str] = ()) -> pytest.MarkDecorator:
    """Parametrize a test by forms."""
    marked = [pytest.param(name, marks=pytest.mark.slow) for name in slow]
    return pytest.mark.parametrize("form", [*fast, *marked], indirect=True)


every_form = forms(*SLOW, *OBJECTS, *OTHERS, fast=FAST)


@pytest.fixture
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("forms"))


@pytest.fixture
def form(request: pytest.FixtureRequest, files: Files) -> Iterator[Form]:
    """Give a form; of objects, failures have left none in the bucket, and no upload."""
    kind, dot, suffix = request.param.partition(".")
    if kind == "object":
        store: ObjectServer = request.getfixturevalue("store")
        yield partial(in_store, store, suffix=dot + suffix)
        assert not [key for key in store.keys() if "_selected" in key]  # noqa: SIM118
        assert store.uploads() == []
    else:
        yield partial(files.file if kind == "file" else files.pipe, suffix=dot + suffix)


@pytest.fixture
def share(request: pytest.FixtureRequest) -> Share:
    """Give what selects the batches of a form: all, of compressed objects every fourth.

    An object takes ten times as long as a file. Each batch is in an object without compression,
    in a file of every compression, and in an object of one.
    """
    kind, _, suffix = request.node.callspec.params["form"].partition(".")
    if kind != "object" or not suffix:
        return dict
    first = ("gz", "zst", "bz2", "xz").index(suffix)
    return lambda found: dict(islice(found.items(), first, None, 4))


@forms(*SLOW, fast=FAST)
@cleaned(40)
@given(document=documents())
def test_a_document_has_the_picks_and_the_bytes_of_the_plain_file(
    document: Document, form: Form, files: Files
) -> None:
    require_the_plain_output(document, form, files)


# Fewer, as each takes some ten requests, and nothing about them depends on the text.
@forms(*OBJECTS)
@cleaned(10)
@given(document=documents())
def test_a_document_in_an_object_has_the_picks_and_the_bytes_of_the_plain_file(
    document: Document, form: Form, files: Files
) -> None:
    require_the_plain_output(document, form, files)


def require_the_plain_output(document: Document, form: Form, files: Files) -> None:
    expected = files.file(document.input)
    assert expected.output is not None
    assert document.picks_in(expected.output) is not None
    assert form(document.input) == expected


@cleaned(40)
@given(document=documents())
def test_lines_have_the_picks_and_the_bytes_of_the_same_articles_in_a_batch(
    document: Document, files: Files
) -> None:
    # A line end can only be white space between tokens.
    lines = [re.sub(rb"[\r\n]", b" ", article.raw) for article in document.articles]
    assume(lines)  # an empty file is an error
    batch = files.file(b'{"articles": [' + b",".join(lines) + b"]}")
    assert batch.output is not None
    for suffix in ("", ".gz"):
        found = files.file(b"\n".join(lines), suffix, ".jsonl")
        assert found.output is not None
        rows = found.output.split(b"\n")
        assert b'{"articles": [' + b",".join(rows) + b"]}" == batch.output
        assert found.counts[:-1] == batch.counts[:-1]


@every_form
def test_the_example_has_the_picks_and_the_bytes_of_the_plain_file(
    form: Form, files: Files
) -> None:
    data = EXAMPLE.read_bytes()
    expected = files.file(data)
    picked = json.loads(expected.output or b"")["articles"]
    assert [each["selected_extractor"] for each in picked] == [
        reference.choose(each).extractor for each in json.loads(data)["articles"]
    ]
    assert form(data) == expected


@every_form
def test_a_broken_batch_has_the_error_of_the_plain_file(
    form: Form, files: Files, share: Share
) -> None:
    for name, data in share(broken_batches()).items():
        expected = files.file(data)
        assert expected.error, name
        assert form(data) == expected, name


@pytest.mark.parametrize(
    "name", [name for name, (value, _, _) in WRONG_VALUES.items() if b"\n" not in value]
)
def test_a_broken_line_has_the_error_of_the_article_in_a_batch(name: str, files: Files) -> None:
    value, kind, offset = WRONG_VALUES[name]
    article = BEFORE[BEFORE.rindex(b'{"a"') :] + value + AFTER[: AFTER.index(b"\n") - 1]
    found = files.file(b'{"id": 1}\n' + article + b"\n", ending=".jsonl").error
    assert found[0] is kind
    # Behind the first line of 10 bytes, 21 bytes are before the value, which are 17 characters.
    assert found[1:5] == (31 + offset, 2, 18 + offset, 1)


@every_form
def test_broken_lines_have_the_error_of_the_plain_file(
    form: Form, files: Files, share: Share
) -> None:
    broken = {
        name: b'{"id": 1}\n{"x": ' + value + b"}\n" for name, (value, _, _) in WRONG_VALUES.items()
    }
    broken |= {"a list": b'{}\n[{"id": 1}]\n{}', "a batch and more": b'{"articles": []}\r\nx'}
    for name, data in share(broken).items():
        expected = files.file(data, ending=".jsonl")
        assert expected.error, name
        assert form(data, ending=".jsonl") == expected, name


@every_form
@pytest.mark.slow
def test_hostile_lines_have_the_output_of_the_same_articles_in_a_batch(
    form: Form, files: Files
) -> None:
    for name, data in hostile_batches().items():
        # Without an article a file of lines is empty, which is an error.
        lines = [b"{}", *(re.sub(rb"[\r\n]", b" ", each) for each in articles_of(data))]
        batch = files.file(b'{"articles": [' + b",".join(lines) + b"]}")
        found = form(b"\n".join(lines), ending=".jsonl")
        assert found.output is not None, name
        rows = found.output.split(b"\n")
        assert b'{"articles": [' + b",".join(rows) + b"]}" == batch.output, name


def articles_of(data: bytes) -> list[bytes]:
    """Return the objects of a batch that begins with its articles, as they are written."""
    text = data.decode()
    decoder = json.JSONDecoder(parse_int=str)
    between = re.compile(r"[, \n\t]*")
    found = []
    end = len('{"articles": [')
    while text[begin := between.match(text, end).end()] != "]":  # type: ignore[union-attr]
        article, end = decoder.raw_decode(text, begin)
        if isinstance(article, dict):
            found.append(text[begin:end].encode())
    return found


@every_form
@pytest.mark.slow
def test_a_hostile_batch_has_the_output_of_the_plain_file(form: Form, files: Files) -> None:
    for name, data in hostile_batches().items():
        expected = files.file(data)
        assert expected.output is not None, name
        assert form(data) == expected, name


@pytest.mark.parametrize("kind", ["file", "pipe", pytest.param("object", marks=pytest.mark.slow)])
@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize(
    ("ending", "data"),
    [(".json", b'{"articles": [{}, {"x": nan}]}'), (".jsonl", b'{}\n{"x": nan}\n')],
)
def test_the_command_ends_with_the_same_code_and_place_for_every_form(
    kind: str,
    suffix: str,
    ending: str,
    data: bytes,
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    content = CODECS[suffix][0](data) if suffix else data
    name = f"x{ending}{suffix}"
    path = tmp_path / name
    path.write_bytes(content)
    if kind == "pipe":
        options = "--lines" if ending == ".jsonl" else ""
        done = shell(f"cat {name} | {sys.executable} -m selection run - {options} > out", tmp_path)
        written = (tmp_path / "out").read_bytes()
        assert not is_complete(bytes, written, ending)
        assert {each.name for each in tmp_path.iterdir()} <= {name, "out", "cache"}
    elif kind == "file":
        done = run("run", path)
        assert [each.name for each in tmp_path.iterdir()] == [name]
    else:
        store: ObjectServer = request.getfixturevalue("store")
        store.put(f"forms/{name}", content)
        done = run("run", f"s3://bucket/forms/{name}")
        assert {each.name for each in tmp_path.iterdir()} <= {name, "cache"}
        assert store.keys() == [f"forms/{name}", "in/a.json"]
    byte = data.index(b"nan") + 1
    assert done.returncode == 65
    found = re.sub(r"\s+", " ", done.stderr)
    assert f"(byte {byte}" in found
    assert ("of the decompressed text" in found) == bool(suffix)
    assert "article 1" in found
