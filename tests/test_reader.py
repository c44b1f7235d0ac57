"""The reader of a batch, with an input that is not a local file."""

from __future__ import annotations

import io
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from selection import Extractor, Progress, SelectionError, select_file
from selection.batch import select_with
from selection.errors import InputChangedError, InvalidJsonError
from selection.explain import explain_file
from selection.parallel.pool import Pool
from selection.reader import BatchReader
from selection.report.write import read_statistics, write_report
from selection.verify import verify_files
from tests.support import batches


class MemoryInput(io.BytesIO):
    """A batch in memory, whose size is known only at its end."""

    path = "memory.json"
    size = None
    status = None
    format = None
    is_changed = False

    def check_unchanged(self) -> None:
        if self.is_changed:
            raise InputChangedError("changed", path=self.path)


Opener = Callable[[bytes], MemoryInput]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opener:
    """Return a function that sets the bytes which every reader opens and returns the input."""

    def make(data: bytes) -> MemoryInput:
        source = MemoryInput(data)
        monkeypatch.setattr("selection.reader.open_input", lambda path, roots, pipes: source)
        return source

    return make


def batch_of(articles: int, length: int = 1) -> bytes:
    """Give a batch whose articles go to newspaper4k and to trafilatura in turns."""
    long = " ".join(f"word{number}" for number in range(length))
    texts = [{"newspaper4k": {"text": long}}, {"trafilatura": {"text": long}}]
    return json.dumps({"articles": [texts[index % 2] for index in range(articles)]}).encode()


@pytest.mark.parametrize("length", [1, pytest.param(200_000, marks=pytest.mark.slow)])
def test_worker_processes_get_the_articles_of_an_input_that_they_cannot_open(
    opened: Opener, tmp_path: Path, length: int
) -> None:
    # 2,000 short articles in eight chunks; eight articles of 2 MB, longer than any pipe.
    data = batch_of(2_000 if length == 1 else 8, length)
    (tmp_path / "batch.json").write_bytes(data)
    expected = Path(select_file(tmp_path / "batch.json").output).read_bytes()
    opened(data)
    with Pool(1) as pool:
        summary = select_with(pool, "memory.json", str(tmp_path / "out.json"))
    assert (tmp_path / "out.json").read_bytes() == expected
    half = summary.articles // 2
    assert summary.picks == {
        Extractor.NEWSPAPER4K: half,
        Extractor.READABILITY: 0,
        Extractor.TRAFILATURA: half,
    }


def test_a_summary_has_the_bytes_read_and_a_progress_no_total_without_a_known_size(
    opened: Opener, tmp_path: Path
) -> None:
    data = batch_of(2)
    opened(data)
    seen: list[Progress] = []
    summary = select_with(None, "memory.json", str(tmp_path / "out.json"), seen.append)
    assert summary.bytes == len(data)
    assert {progress.bytes_total for progress in seen} == {None}
    assert seen[-1].bytes_done == len(data)


def test_an_output_of_an_input_without_permissions_gets_those_of_a_new_file(
    opened: Opener, tmp_path: Path
) -> None:
    opened(batch_of(1))
    before = os.umask(0o027)
    try:
        select_with(None, "memory.json", str(tmp_path / "out.json"))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "out.json").stat().st_mode) == 0o640


@pytest.mark.parametrize("data", [batch_of(1), b'{"articles": [{]}'])
def test_a_changed_input_is_that_error_and_leaves_no_output(
    opened: Opener, tmp_path: Path, data: bytes
) -> None:
    commands: list[Callable[[], object]] = [
        lambda: select_with(None, "memory.json", str(tmp_path / "out.json")),
        lambda: write_report("memory.json", str(tmp_path / "out.html")),
        lambda: list(read_statistics("memory.json")),
        lambda: list(explain_file("memory.json")),
        lambda: list(explain_file("memory.json", index=0)),
    ]
    for command in commands:
        opened(data).is_changed = True
        with pytest.raises(InputChangedError):
            command()
    assert list(tmp_path.iterdir()) == []


def test_verify_reports_a_change_in_place_of_a_difference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sources = {"in": MemoryInput(batch_of(1)), "out": MemoryInput(batch_of(2))}
    monkeypatch.setattr("selection.reader.open_input", lambda path, roots, pipes: sources[path])
    sources["in"].is_changed = True
    with pytest.raises(InputChangedError):
        verify_files("in", "out")


def test_an_error_has_its_place_and_the_path_as_the_caller_named_it(opened: Opener) -> None:
    source = opened(b'{"articles": [\n {]}')
    with pytest.raises(InvalidJsonError) as caught, BatchReader("memory.json") as reader:
        list(reader.parts())
    error = caught.value
    place = (error.path, error.article, error.line, error.column, error.byte)
    assert place == ("memory.json", 0, 2, 3, 17)
    assert source.closed


def test_the_parts_of_a_reader_join_to_the_batch(tmp_path: Path) -> None:
    path = batches.write(tmp_path / "b.json", [batches.picks_newspaper4k(), 5])
    with BatchReader(str(path)) as reader:
        assert b"".join(part.raw for part in reader.parts()) == path.read_bytes()
    with BatchReader(str(path)) as reader:
        assert [article.index for article in reader.articles()] == [0]
        assert reader.bytes_done == path.stat().st_size


def test_running_out_of_memory_names_the_batch(opened: Opener) -> None:
    opened(batch_of(1))
    with (
        pytest.raises(SelectionError, match=r"memory\.json: out of memory"),
        BatchReader("memory.json"),
    ):
        raise MemoryError
