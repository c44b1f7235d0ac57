"""``selection export`` and the articles of a batch in Python."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import random
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars
import pyarrow.parquet
import pytest

import selection
from benchmarks import corpus
from selection import Extractor, iter_articles, select_article, select_batch, select_file
from selection.cli.export import FORMATS
from selection.errors import ArticlesMissingError, ArticlesNotListError, RootNotObjectError
from selection.export import formats
from selection.export.columns import COLUMNS
from selection.export.formats import WRITERS
from tests.support import batches
from tests.support.batches import COMMON, OTHER
from tests.support.command import run

EXAMPLE = Path(__file__).parents[1] / "examples/river_plate_extracted.json"
TEXT_FIELDS = {"newspaper4k": "text", "readability": "cleaned_text", "trafilatura": "text"}


@pytest.fixture
def selected(tmp_path: Path) -> Path:
    """Return a selected batch of three articles and one item that is not an article."""
    path = batches.write(
        tmp_path / "batch.json",
        [
            batches.picks_newspaper4k(id="first", url="https://example.org/1"),
            batches.picks_readability(id=7),
            "not an object",
            batches.picks_trafilatura(),
        ],
    )
    return Path(select_file(path).output)


def rows(table: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in table.read_text(encoding="utf-8").splitlines()]


def test_each_column_has_its_value(selected: Path) -> None:
    done = run("export", selected.name, cwd=selected.parent)
    assert (done.returncode, done.stderr) == (0, "selection: -: 3 rows from 1 batch\n")
    first, second, third = map(json.loads, done.stdout.splitlines())
    # Two texts of six shingles are equal, so the consensus has six and each score is 1.
    assert first == {
        "batch": "batch_selected.json",
        "index": 0,
        "id": "first",
        "url": "https://example.org/1",
        "title": None,
        "extractor": "newspaper4k",
        "text": COMMON,
        "error": None,
        "rule": "tie_priority",
        "score": 1.0,
        "agreement": 1.0,
        "margin": 1.0,
        "tokens": 10,
    }
    assert (second["index"], second["id"], second["extractor"]) == (1, "7", "readability")
    assert (third["index"], third["extractor"], third["text"]) == (3, "trafilatura", COMMON)
    assert (third["rule"], third["score"], third["agreement"]) == ("single", None, None)
    assert list(first) == [column.name for column in COLUMNS]


@pytest.mark.slow
def test_parquet_has_the_documented_types(selected: Path, tmp_path: Path) -> None:
    table = tmp_path / "t.parquet"
    assert run("export", selected, "-o", table).returncode == 0
    read = pyarrow.parquet.read_table(table)
    assert {field.name: str(field.type) for field in read.schema} == {
        **dict.fromkeys(("batch", "id", "url", "title", "extractor", "text", "error"), "string"),
        **dict.fromkeys(("index", "tokens"), "int64"),
        **dict.fromkeys(("score", "agreement", "margin"), "double"),
        "rule": "string",
    }
    run("export", selected, "-o", tmp_path / "t.jsonl")
    assert read.to_pylist() == rows(tmp_path / "t.jsonl")
    assert polars.read_parquet(table).to_dicts() == rows(tmp_path / "t.jsonl")


@pytest.mark.parametrize("path", [*batches.REAL, None], ids=lambda path: path and path.name)
@pytest.mark.slow
def test_each_reader_of_parquet_finds_the_texts_of_the_picked_blocks(
    path: Path | None, tmp_path: Path
) -> None:
    import pandas  # here, as it takes a second on a slow machine and nothing else needs it

    if path is None:
        path = tmp_path / "generated.json"
        corpus.write(path, corpus.multilingual(3 * len(corpus.LANGUAGES), 60))
    table = tmp_path / "t.parquet"
    output = Path(select_file(path, tmp_path / "x_selected.json").output)
    assert run("export", output, "-o", table).returncode == 0
    articles = json.loads(path.read_bytes())["articles"]
    picks = [select_article(article).extractor for article in articles]
    texts = [article[pick][TEXT_FIELDS[pick]] or "" for article, pick in zip(articles, picks)]
    assert sum(map(bool, texts)) >= 18
    for read in (pyarrow.parquet.read_table, polars.read_parquet, pandas.read_parquet):
        found = read(table)
        assert list(map(str, found["text"])) == texts
        assert list(map(str, found["extractor"])) == picks
        assert list(map(int, found["index"])) == list(range(len(articles)))


PEAKS = """
import json, sys, tracemalloc
import pyarrow
from selection.export import formats
from selection.export.write import TableOptions, export_files
formats._CHARACTERS_IN_GROUP = 500_000
tracemalloc.start()
found = export_files([sys.argv[1]], sys.argv[2], TableOptions(sys.argv[3]))
_, peak = tracemalloc.get_traced_memory()
print(json.dumps([found.rows, peak, pyarrow.default_memory_pool().max_memory()]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("format", WRITERS)
def test_memory_does_not_grow_with_the_table(tmp_path: Path, format: str) -> None:
    # Texts of 30,000 random hexadecimal digits, which compress to half: 20 rows, then 400.
    randomness = random.Random(1)
    lines = []
    for _ in range(400):
        text = randomness.randbytes(15_000).hex()
        article = {"selected_extractor": "newspaper4k", "newspaper4k": {"text": text}}
        lines.append(json.dumps(article))
    peaks = []
    for number in (20, 400):
        path, table = tmp_path / f"{number}_selected.jsonl", tmp_path / f"{number}.{format}"
        path.write_text("\n".join(lines[:number]))
        command = [sys.executable, "-c", PEAKS, str(path), str(table), format]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        rows, *peak = json.loads(done.stdout)
        assert rows == number
        peaks.append(sum(peak))
    assert table.stat().st_size > 4_000_000
    # Two of 12 MB; the metadata of 24 row groups is some kilobytes.
    assert peaks[1] - peaks[0] < 1_000_000


def test_row_groups_are_written_as_rows_come(
    selected: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from selection.export.write import TableOptions, export_files

    monkeypatch.setattr(formats, "_ROWS_IN_GROUP", 2)
    table = tmp_path / "t.parquet"
    export_files([str(selected), str(selected)], str(table), TableOptions("parquet"))
    metadata = pyarrow.parquet.read_metadata(table)
    assert [metadata.row_group(i).num_rows for i in range(3)] == [2, 2, 2]
    assert metadata.num_row_groups == 3


def test_csv_quotes_what_it_must(tmp_path: Path) -> None:
    text = 'a "quoted", text\r\nof two lines'
    path = batches.write(tmp_path / "b_selected.json", [{**batches.article(text, "", "")}])
    select_file(path, tmp_path / "c_selected.json")
    assert run("export", tmp_path / "c_selected.json", "-o", tmp_path / "t.csv").returncode == 0
    content = (tmp_path / "t.csv").read_bytes()
    assert content.startswith(b"batch,index,id,")
    assert b'"a ""quoted"", text\r\nof two lines"' in content
    header, row = csv.reader(io.StringIO(content.decode(), newline=""))
    assert dict(zip(header, row))["text"] == text


def test_columns_and_agreement_choose(selected: Path, tmp_path: Path) -> None:
    done = run("export", selected, "--columns", "tokens,index", "--min-agreement", "0.5")
    assert done.stdout.splitlines() == ['{"tokens": 10, "index": 0}', '{"tokens": 10, "index": 1}']
    assert "2 rows from 1 batch, 1 article left out by their agreement" in done.stderr
    wrong = run("export", selected, "--columns", "index,colour")
    assert wrong.returncode == 2
    assert "the column 'colour' does not exist" in wrong.stderr


def test_several_batches_make_one_table_or_a_folder_of_tables(
    selected: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other_selected.jsonl.gz"
    lines = [json.dumps(article) for article in json.loads(selected.read_text())["articles"][:2]]
    other.write_bytes(gzip.compress("\n".join(lines).encode()))
    assert run("export", tmp_path, "-o", tmp_path / "t.jsonl").returncode == 0
    assert [row["index"] for row in rows(tmp_path / "t.jsonl")] == [0, 1, 3, 0, 1]
    done = run("export", selected, other, "-o", "tables/", "--json", cwd=tmp_path)
    assert [json.loads(line)["rows"] for line in done.stdout.splitlines()] == [3, 2]
    names = ["batch_selected.parquet", "other_selected.parquet"]
    assert sorted(os.listdir(tmp_path / "tables")) == names


def test_a_batch_without_picks_makes_no_table(tmp_path: Path) -> None:
    path = batches.write(tmp_path / "batch.json", [batches.picks_newspaper4k()])
    done = run("export", path, "-o", tmp_path / "t.parquet")
    assert done.returncode == 65
    assert "article 0" in done.stderr
    assert "the article has no 'selected_extractor'; run first: selection run" in done.stderr
    assert os.listdir(tmp_path) == ["batch.json"]


def test_a_pick_that_is_not_an_extractor_is_an_error(tmp_path: Path) -> None:
    article = batches.picks_newspaper4k(selected_extractor="nobody")
    path = batches.write(tmp_path / "b_selected.json", [article])
    done = run("export", path)
    assert done.returncode == 65
    assert "'selected_extractor' is not the name of an extractor" in done.stderr


def test_a_pick_that_is_not_that_of_the_rules_is_counted(tmp_path: Path) -> None:
    article = batches.picks_newspaper4k(selected_extractor="trafilatura")
    path = batches.write(tmp_path / "b_selected.json", [article])
    done = run("export", path)
    row = json.loads(done.stdout)
    assert (done.returncode, row["extractor"], row["text"]) == (0, "trafilatura", OTHER)
    # It shares no shingle with the other two.
    assert (row["rule"], row["score"], row["margin"]) == (None, 0.0, None)
    assert "warning: 1 row has a pick that is not that of the rules" in done.stderr


def test_strict_makes_a_pick_that_is_not_that_of_the_rules_an_error(tmp_path: Path) -> None:
    agreeing = batches.picks_newspaper4k(selected_extractor="newspaper4k")
    overruled = batches.picks_newspaper4k(selected_extractor="trafilatura")
    path = batches.write(tmp_path / "b_selected.json", [agreeing, overruled])
    done = run("export", path, "--strict", "-o", tmp_path / "t.csv")
    assert done.returncode == 65
    assert f"{path}, article 1, byte " in done.stderr
    assert ": the pick is trafilatura, and the rules pick newspaper4k" in done.stderr
    assert os.listdir(tmp_path) == ["b_selected.json"]
    batches.write(path, [agreeing])
    assert run("export", path, "--strict", "-o", tmp_path / "t.csv").returncode == 0


def test_the_table_never_replaces_a_batch(selected: Path) -> None:
    before = selected.read_bytes()
    link = selected.with_name("t.jsonl")
    link.symlink_to(selected)
    for arguments in ((selected, "-o", link), (EXAMPLE.name, selected, "-o", link)):
        done = run("export", *arguments, cwd=selected.parent)
        assert done.returncode in (66, 73)
    assert selected.read_bytes() == before


def test_without_pyarrow_the_extra_is_named(selected: Path) -> None:
    code = (
        "import sys; sys.modules['pyarrow'] = None; sys.argv[0] = 'selection';"
        "from selection.cli.commands import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "export", str(selected), "-o", "t.parquet"],
        capture_output=True,
        text=True,
        cwd=selected.parent,
        timeout=60,
    )
    assert done.returncode == 69
    assert "pip install 'deterministic-content-selection[export]'" in done.stderr
    assert not (selected.parent / "t.parquet").exists()


def test_the_formats_of_the_command_are_those_of_the_writers() -> None:
    assert list(FORMATS) == list(WRITERS)


# From Python


def test_articles_have_the_pick_and_text_of_the_batch(selected: Path) -> None:
    first, second, third = iter_articles(selected)
    assert (first.index, first.id, first.selected) == (0, "first", Extractor.NEWSPAPER4K)
    assert (second.text, third.text, third.index) == (COMMON, COMMON, 3)
    unselected = next(iter_articles(selected.with_name("batch.json")))
    assert (unselected.selected, unselected.text) == (None, COMMON)


def test_an_error_that_is_a_list_is_json(tmp_path: Path) -> None:
    article = batches.article(COMMON, "", "")
    article["newspaper4k"]["error"] = [{"code": 404}]
    path = batches.write(tmp_path / "a.json", [article])
    [found] = iter_articles(path)
    assert found.error == '[{"code": 404}]'


def test_a_batch_in_memory_gets_the_picks_of_a_file(tmp_path: Path) -> None:
    batch = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    before = json.dumps(batch)
    output = Path(select_file(EXAMPLE, tmp_path / "x.json").output)
    assert select_batch(batch) == json.loads(output.read_text(encoding="utf-8"))
    assert json.dumps(batch) == before
    assert select_batch({"articles": [1, {}], "x": 2}) == {
        "articles": [1, {"selected_extractor": select_article({}).extractor.value}],
        "x": 2,
    }


@pytest.mark.parametrize(
    ("batch", "error"),
    [
        ([], RootNotObjectError),
        ({}, ArticlesMissingError),
        ({"articles": {}}, ArticlesNotListError),
    ],
)
def test_what_is_not_a_batch_is_an_error(batch: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        select_batch(batch)


def test_the_version_is_that_of_the_package() -> None:
    assert selection.__version__ == version("deterministic-content-selection")


def test_an_error_that_python_cannot_read_is_as_written(tmp_path: Path) -> None:
    deep = "[" * 3000 + "]" * 3000
    written = '[1e999,\n "\\ud800", {"a" :"x ,y"}, ' + "1" * 5000 + f", {deep}]"
    article = json.dumps(batches.picks_newspaper4k())
    article = article.replace('"error": null', '"error": "first", "error": ' + written)
    path = tmp_path / "b.json"
    path.write_text(f'{{"articles": [{article}]}}')
    output = select_file(path).output
    expected = '[1e999, "\\ud800", {"a": "x ,y"}, ' + "1" * 5000 + f", {deep}]"
    assert [found.error for found in iter_articles(output)] == [expected]
    for name in FORMATS:
        done = run("export", output, "-o", tmp_path / f"t.{name}", "--columns", "error")
        assert done.returncode == 0, done.stderr
    table = pyarrow.parquet.read_table(tmp_path / "t.parquet")
    assert table.to_pylist() == rows(tmp_path / "t.jsonl") == [{"error": expected}]


@pytest.mark.parametrize(
    "value", ["1" * 5000, "[" * 200_000 + "]" * 200_000, "1e999", '"\\ud800"', "null", "{}"]
)
@pytest.mark.parametrize("name", FORMATS)
def test_a_pick_that_is_not_a_name_ends_each_format_with_one_message(
    value: str, name: str, tmp_path: Path
) -> None:
    article = json.dumps(batches.picks_newspaper4k(selected_extractor="newspaper4k"))
    article = article.replace(
        '"selected_extractor": "newspaper4k"', f'"selected_extractor":{value}'
    )
    path = tmp_path / "b_selected.json"
    path.write_text(f'{{"articles": [{article}]}}')
    done = run("export", path, "-o", tmp_path / f"t.{name}")
    assert done.returncode == 65
    assert done.stderr.count("is not the name of an extractor") == 1
    # pyarrow writes the end of a file when it is collected, and would log that it cannot.
    assert "Exception ignored" not in done.stderr
    assert os.listdir(tmp_path) == ["b_selected.json"]


def test_the_table_of_a_batch_never_replaces_another_batch(selected: Path) -> None:
    tables = selected.with_name("tables")
    tables.mkdir()
    other = tables / "batch_selected.jsonl"
    other.write_text(json.dumps(json.loads(selected.read_text())["articles"][0]) + "\n")
    before = other.read_bytes()
    link = selected.with_name("other_selected.jsonl")
    link.symlink_to(other)
    done = run("export", selected, link, "-o", tables, "--format", "jsonl")
    assert done.returncode == 2
    assert "would replace" in done.stderr
    assert (os.listdir(tables), other.read_bytes()) == ([other.name], before)


def test_an_agreement_that_is_not_a_number_is_wrong_usage(selected: Path) -> None:
    done = run("export", selected, "--min-agreement", "nan")
    assert (done.returncode, done.stdout) == (2, "")
