"""Compressed files, JSON Lines and pipes give the picks and bytes of the plain file."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import signal
import subprocess
import sys
import zlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selection import ReadOptions, SelectionError, errors, select_file
from selection.batch import select_with
from selection.explain import explain_file
from selection.parallel.pool import Pool
from selection.storage.compressed import CompressedInput
from selection.storage.compression import FORMATS, Decompressor, Format, recognized
from selection.storage.input import InputFile
from selection.storage.interface import READ_SIZE
from selection.storage.names import default_output, default_report, is_batch, is_output
from selection.storage.opening import open_input
from selection.stream.lines import unparsed_lines
from selection.stream.parts import Item
from selection.verify import verify_files
from tests.support import batches
from tests.support.command import SELECTION, piped, run, shell
from tests.support.documents import Document, documents
from tests.support.examples import examples
from tests.support.process import read
from worker.jobs import select_batch

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Codec = Callable[[bytes], bytes]
COMPRESS: dict[str, Codec] = {
    ".gz": gzip.compress,
    # With a checksum, as zstd(1) writes it.
    ".zst": partial(zstd.compress, options={zstd.CompressionParameter.checksum_flag: 1}),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}
DECOMPRESS: dict[str, Codec] = {
    ".gz": gzip.decompress,
    ".zst": zstd.decompress,
    ".bz2": bz2.decompress,
    ".xz": lzma.decompress,
}
SUFFIXES = sorted(COMPRESS)
ARTICLES = [batches.picks_newspaper4k(id=1), batches.picks_trafilatura(id=2)]


def plain(tmp_path: Path) -> tuple[bytes, bytes]:
    """Return a batch and its output."""
    path = batches.write(tmp_path / "plain.json", ARTICLES)
    return path.read_bytes(), Path(select_file(path).output).read_bytes()


def error_of(path: Path, options: ReadOptions | None = None) -> SelectionError:
    before = sorted(path.parent.iterdir())
    with pytest.raises(SelectionError) as caught:
        select_file(path, options=options or ReadOptions())
    assert sorted(path.parent.iterdir()) == before
    return caught.value


# Compressed files


@pytest.mark.parametrize("suffix", SUFFIXES)
@examples(40)
@given(document=documents(), cut=st.integers(0, 1000))
def test_a_compressed_batch_in_two_members_has_the_output_of_the_plain_one(
    suffix: str, document: Document, cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("compressed")
    (folder / "x.json").write_bytes(document.input)
    compress = COMPRESS[suffix]
    members = compress(document.input[:cut]) + compress(document.input[cut:])
    (folder / f"x.json{suffix}").write_bytes(members)
    expected = select_file(folder / "x.json")
    done = select_file(folder / f"x.json{suffix}")
    assert done.output == str(folder / f"x_selected.json{suffix}")
    output = DECOMPRESS[suffix](Path(done.output).read_bytes())
    assert output == Path(expected.output).read_bytes()
    assert (done.picks, done.skipped, done.bytes) == (
        expected.picks,
        expected.skipped,
        len(document.input),
    )
    assert verify_files(folder / f"x.json{suffix}", done.output).articles == done.articles


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_first_bytes_and_not_the_name_say_that_an_input_is_compressed(
    tmp_path: Path, suffix: str
) -> None:
    data, expected = plain(tmp_path)
    (tmp_path / "a.json").write_bytes(COMPRESS[suffix](data))
    output = Path(select_file(tmp_path / "a.json").output)
    assert output.name == "a_selected.json"
    assert DECOMPRESS[suffix](output.read_bytes()) == expected
    (tmp_path / f"b.json{suffix}").write_bytes(COMPRESS[suffix](data))
    select_file(tmp_path / f"b.json{suffix}", tmp_path / "c.json")
    assert (tmp_path / "c.json").read_bytes() == expected
    (tmp_path / f"d.json{suffix}").write_bytes(data)
    output = Path(select_file(tmp_path / f"d.json{suffix}").output)
    assert DECOMPRESS[suffix](output.read_bytes()) == expected


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_cut_file_is_an_error_at_every_length(tmp_path: Path, suffix: str) -> None:
    data = COMPRESS[suffix](plain(tmp_path)[0])
    path = tmp_path / f"x.json{suffix}"
    first = len(next(f.magic[0] for f in FORMATS if f.suffix == suffix))
    for length in range(max(first, 2), len(data), 7):
        path.write_bytes(data[:length])
        error = error_of(path)
        assert type(error) is errors.CompressedDataError, length
        assert f"data: truncated at byte {length:,}" in error.message
        assert (error.byte, error.exit_code) == (None, 65)


@pytest.mark.parametrize(
    ("suffix", "behind", "message"),
    [
        (".gz", b"x", "trailing data"),
        (".gz", b"\0\0x", "trailing data"),
        (".gz", b"\0" * 1000, None),
        (".gz", b"\0" + gzip.compress(b"\n", mtime=0), "trailing NUL bytes"),
        (".xz", b"\0" * 8, None),
        (".xz", b"\0" * 4 + lzma.compress(b"\n"), None),
        (".xz", b"\0" * 3, "trailing NUL bytes"),
        (".xz", b"\0" * 4 + b"x", "trailing data"),
        (".bz2", b"\0", "trailing data"),
        (".zst", b"\0", "trailing data"),
        (".zst", b"\x50\x2a\x4d\x18\x02\0\0\0ab", None),  # a skippable frame of two bytes
        (".zst", zstd.compress(b"\n") * 2, None),
    ],
    ids=str,
)
def test_bytes_behind_the_last_member(
    tmp_path: Path, suffix: str, behind: bytes, message: str | None
) -> None:
    data = COMPRESS[suffix](plain(tmp_path)[0])
    path = tmp_path / f"x.json{suffix}"
    path.write_bytes(data + behind)
    if message is None:
        assert select_file(path).articles == 2
    else:
        assert message in error_of(path).message


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_damaged_data_is_an_error(tmp_path: Path, suffix: str) -> None:
    data = bytearray(COMPRESS[suffix](plain(tmp_path)[0]))
    data[len(data) // 2] ^= 0xFF
    path = tmp_path / f"x.json{suffix}"
    path.write_bytes(data)
    assert type(error_of(path)) in (errors.CompressedDataError, errors.InvalidJsonError)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_damage_is_the_error_and_not_the_wrong_text_or_line_that_comes_of_it(
    tmp_path: Path, suffix: str
) -> None:
    """The first line is not JSON, and the checksum or the end is wrong, too."""
    data = COMPRESS[suffix](b"oops\n" + GOOD)
    path = tmp_path / f"x.jsonl{suffix}"
    for damaged in (data[:-1], data + b"x"):
        path.write_bytes(damaged)
        for options in (ReadOptions(), ReadOptions(skip_bad_lines=True)):
            assert type(error_of(path, options)) is errors.CompressedDataError


def test_an_error_before_the_first_byte_of_text_keeps_its_reason(tmp_path: Path) -> None:
    header = b"\x1f\x8b\x08\xe0" + bytes(6)  # with reserved flags
    (tmp_path / "x.json.gz").write_bytes(header + gzip.compress(b"{}")[10:])
    assert "unknown header flags set" in error_of(tmp_path / "x.json.gz").message
    with closing(open_input(str(tmp_path / "x.json.gz"))) as source:
        for _ in range(2):  # after seek(0) the input gives the same error again
            source.seek(0)
            with pytest.raises(errors.CompressedDataError, match="unknown header flags"):
                source.read(10)


def test_a_read_of_a_bomb_returns_no_more_than_it_asks_for(tmp_path: Path) -> None:
    compressor = zlib.compressobj(9, zlib.DEFLATED, 31)
    data = b"".join(compressor.compress(b" " * (1 << 20)) for _ in range(64)) + compressor.flush()
    assert len(data) * 900 < 64 << 20
    (tmp_path / "x").write_bytes(data)
    source = open_input(str(tmp_path / "x"))
    assert isinstance(source, CompressedInput)
    sizes = []
    while chunk := source.read(READ_SIZE):
        sizes.append(len(chunk))
    assert max(sizes) <= READ_SIZE
    assert sum(sizes) == 64 << 20
    source.close()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_output_has_the_same_bytes_each_time_and_a_level(tmp_path: Path, suffix: str) -> None:
    data, _ = plain(tmp_path)
    path = tmp_path / f"x.json{suffix}"
    path.write_bytes(COMPRESS[suffix](data * 1))
    outputs = []
    for name in ("a", "b"):
        select_file(path, tmp_path / f"{name}.json{suffix}", compression_level=1)
        outputs.append((tmp_path / f"{name}.json{suffix}").read_bytes())
    assert outputs[0] == outputs[1]
    done = run("run", path, "--compression-level", "99")
    assert (done.returncode, "not 99" in done.stderr) == (2, True)


def test_gzip_output_has_no_time_and_no_name(tmp_path: Path) -> None:
    (tmp_path / "x.json.gz").write_bytes(gzip.compress(plain(tmp_path)[0]))
    header = Path(select_file(tmp_path / "x.json.gz").output).read_bytes()[:8]
    assert header[:4] == b"\x1f\x8b\x08\0"
    assert header[4:] == bytes(4)


def test_an_error_in_compressed_text_says_that_its_place_is_in_the_decompressed_text(
    tmp_path: Path,
) -> None:
    (tmp_path / "x.json.gz").write_bytes(gzip.compress(b'{"articles": [1,\n {"a" 1}]}'))
    error = error_of(tmp_path / "x.json.gz")
    assert (error.byte, error.line, error.column, error.article) == (23, 2, 7, 1)
    assert "line 2 column 7 (byte 23 of the decompressed text)" in str(error)


def test_without_its_library_a_zstd_file_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.json").write_bytes(zstd.compress(plain(tmp_path)[0]))
    monkeypatch.setitem(sys.modules, "backports.zstd", None)
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    monkeypatch.delattr("backports.zstd", raising=False)
    error = error_of(tmp_path / "x.json")
    assert type(error) is errors.ExtraMissingError
    assert "deterministic-content-selection[compression]" in error.message


@pytest.mark.slow
def test_a_pool_decides_a_compressed_batch(tmp_path: Path) -> None:
    path = batches.write_long(tmp_path / "x.json", 200)
    expected = Path(select_file(path).output).read_bytes()
    (tmp_path / "x.json.gz").write_bytes(gzip.compress(path.read_bytes(), 1))
    with Pool(1) as pool:
        select_with(pool, str(tmp_path / "x.json.gz"), str(tmp_path / "out.json"))
    assert (tmp_path / "out.json").read_bytes() == expected


@pytest.mark.parametrize(
    ("name", "output", "report"),
    [
        ("x.json", "x_selected.json", "x_report.html"),
        ("a.b/x", "a.b/x_selected.json", "a.b/x_report.html"),
        ("x.json.gz", "x_selected.json.gz", "x.json.gz_report.html"),
        ("x.log.gz", "x_selected.json.gz", "x.log.gz_report.html"),
        ("x.jsonl", "x_selected.jsonl", "x.jsonl_report.html"),
        ("x.ndjson.zst", "x_selected.ndjson.zst", "x.ndjson.zst_report.html"),
        ("a/.jsonl.gz", "a/.jsonl_selected.jsonl.gz", "a/.jsonl.gz_report.html"),
        ("-", "-", "-"),
    ],
)
def test_names(name: str, output: str, report: str) -> None:
    assert default_output(name) == output
    assert default_report(name) == report
    assert is_output(output) is (output != "-")
    assert is_batch("x.txt") is False


# JSON Lines


def lines_of(document: Document) -> tuple[bytes, list[bytes]]:
    """Lines, and their articles: an empty one and those that have no line feed in them."""
    raws = [b"{}", *(a.raw for a in document.articles if b"\n" not in a.raw)]
    return b"\xef\xbb\xbf\n" + b"".join(b" %s \r\n\t\n" % raw for raw in raws), raws


@examples(40)
@given(document=documents(), read_size=st.integers(1, 300), is_ended=st.booleans())
def test_parts_of_lines_are_the_file_and_the_articles(
    document: Document, read_size: int, is_ended: bool
) -> None:
    data, raws = lines_of(document)
    data = data if is_ended else data.rstrip()
    parts = list(unparsed_lines(io.BytesIO(data), read_size))
    assert b"".join(part.raw for part in parts) == data
    items = [part for part in parts if isinstance(part, Item)]
    assert [(item.index, item.raw) for item in items] == list(enumerate(raws))
    assert all(data[item.start : item.end] == item.raw for item in items)


@examples(40)
@given(document=documents())
def test_lines_get_the_picks_of_the_same_articles_in_a_batch(
    document: Document, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("lines")
    data, raws = lines_of(document)
    (folder / "x.json").write_bytes(b'{"articles": [' + b",".join(raws) + b"]}")
    (folder / "x.jsonl").write_bytes(data)
    done = select_file(folder / "x.jsonl")
    assert done.output == str(folder / "x_selected.jsonl")
    assert [e.decision for e in explain_file(folder / "x.jsonl")] == [
        e.decision for e in explain_file(folder / "x.json")
    ]
    assert verify_files(folder / "x.jsonl", done.output).articles == len(raws)


GOOD = b'{"trafilatura": {"text": "a b"}}'


@pytest.mark.parametrize(
    ("line", "kind", "column"),
    [
        (b'{"a" 1}', errors.InvalidJsonError, 6),
        (b'"\xc3\xa9"', errors.LineNotObjectError, 1),
        (b"[1]", errors.LineNotObjectError, 1),
        (b'{"\xc3\xa9": tru}', errors.InvalidJsonError, 10),
        (b'{"a": NaN}', errors.NotANumberError, 7),
        (b'{"a": 1', errors.InvalidJsonError, 8),
        (b'{"a": "x', errors.InvalidJsonError, 9),
        (b"{}]}", errors.InvalidJsonError, 3),
        (b'{} {"b": 1}', errors.InvalidJsonError, 4),
        (b'{"a": 1} "}', errors.InvalidJsonError, 10),
        (b'{"a": "\xff"}', errors.EncodingError, 8),
    ],
)
def test_a_bad_line_is_an_error_at_its_place_or_is_copied(
    tmp_path: Path, line: bytes, kind: type[SelectionError], column: int
) -> None:
    path = tmp_path / "x.jsonl"
    before = GOOD + b"\r\n\n"
    path.write_bytes(before + line + b"\n" + GOOD)
    error = error_of(path)
    assert (type(error), error.line, error.article) == (kind, 3, 1)
    assert error.column == column
    assert error.byte is not None
    assert error.byte - len(before) == len(line.decode("latin-1")[: column - 1]) + (
        b"\xc3\xa9" in line[: column - 1]
    )
    skipping = ReadOptions(skip_bad_lines=True)
    done = select_file(path, options=skipping)
    assert (done.articles, done.skipped) == (2, 1)
    selected = GOOD[:-1] + b', "selected_extractor": "trafilatura"}'
    assert Path(done.output).read_bytes() == selected + b"\r\n\n" + line + b"\n" + selected
    assert verify_files(path, done.output, options=skipping).skipped == 1
    with Pool(1) as pool:
        again = select_with(pool, str(path), str(tmp_path / "y.jsonl"), options=skipping)
    assert (again.articles, again.skipped) == (2, 1)


@pytest.mark.parametrize("size", [1, 511, 512, pytest.param(600_000, marks=pytest.mark.slow)])
def test_a_file_of_empty_lines_is_an_error_whatever_its_size(tmp_path: Path, size: int) -> None:
    (tmp_path / "x.jsonl").write_bytes(b"\n" * size)
    for options in (ReadOptions(), ReadOptions(skip_bad_lines=True)):
        error = error_of(tmp_path / "x.jsonl", options)
        assert "only white space" in error.message
        assert (error.byte, error.line, error.column) == (size, size + 1, 1)


def test_empty_lines_are_gaps_of_the_size_of_a_read() -> None:
    data = b"\n" * 1000 + GOOD + b"\n\n"
    parts = list(unparsed_lines(io.BytesIO(data), 300))
    assert [(part.start, len(part.raw)) for part in parts] == [
        *((0, 300), (300, 300), (600, 300), (900, 100)),
        *((1000, len(GOOD)), (1000 + len(GOOD), 2)),
    ]


def test_lines_under_another_name_need_the_option(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(GOOD + b"\n" + GOOD)
    assert "--lines" in error_of(tmp_path / "x.json").message
    assert run("run", tmp_path / "x.json", "--lines").returncode == 0
    assert len((tmp_path / "x_selected.json").read_bytes().splitlines()) == 2


def test_a_folder_gives_its_lines_and_compressed_files(tmp_path: Path) -> None:
    for name in ("a.json.xz", "b.jsonl", "c.ndjson.gz", "c_selected.ndjson.gz", "d.txt"):
        suffix = Path(name).suffix
        data = GOOD if "json." not in name or "nd" in name else b'{"articles": [%s]}' % GOOD
        (tmp_path / name).write_bytes(COMPRESS.get(suffix, bytes)(data))
    done = run("run", tmp_path, "--json")
    inputs = [Path(json.loads(line)["input"]).name for line in done.stdout.splitlines()]
    assert inputs == ["a.json.xz", "b.jsonl", "c.ndjson.gz"]


# Pipes


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_a_pipe_has_the_output_of_the_file_on_standard_output(tmp_path: Path, name: str) -> None:
    data, expected = plain(tmp_path)
    done = piped(data, "run", name)
    assert (done.returncode, done.stdout) == (0, expected)
    assert b"done, 2 articles" in done.stderr
    done = piped(gzip.compress(data), "run", name, "--json")
    assert gzip.decompress(done.stdout) == expected
    assert json.loads(done.stderr.splitlines()[-1])["articles"] == 2
    done = piped(data, "run", name, "-o", str(tmp_path / "out.json"))
    assert (tmp_path / "out.json").read_bytes() == expected


def test_a_named_pipe_and_a_process_substitution_are_inputs(tmp_path: Path) -> None:
    data, expected = plain(tmp_path)
    (tmp_path / "x.gz").write_bytes(gzip.compress(data))
    done = subprocess.run(
        ["bash", "-c", f"{' '.join(SELECTION)} run <(gzip -dc x.gz) -o - | cat"],
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == expected


@pytest.mark.parametrize("wrong", [b"", b" x", b"]}", b' "a', b"1 2"])
def test_the_output_of_a_failed_run_does_not_look_complete(wrong: bytes) -> None:
    data = b'{"articles": [' + GOOD + (b"]}" + wrong if wrong else b"")
    done = piped(data, "run", "-")
    assert done.returncode == 65
    with pytest.raises(ValueError, match=r"Expecting|delimiter|Extra|Unterminated"):
        json.loads(done.stdout)
    lines = GOOD + b"\n" + GOOD + b"\n{"
    done = piped(lines, "run", "-", "--lines")
    assert done.returncode == 65
    assert not done.stdout.rstrip().endswith(b"}")


def test_an_error_in_a_pipe_has_its_exact_place() -> None:
    rest = b",\n" + GOOD * 0 + b'{"a": "%s"}' % (b"x" * 3_000_000)
    data = b'{"articles": [' + GOOD + rest + b',\n {"a" 1}]}'
    done = piped(data, "run", "-")
    byte = data.index(b'"a" 1') + 4
    assert f"article 2, line 3 column 7 (byte {byte})".encode() in done.stderr


def test_the_other_commands_read_pipes(tmp_path: Path) -> None:
    data, expected = plain(tmp_path)
    assert piped(data, "explain", "-").stdout.count(b"\n") == 2
    assert piped(expected, "verify", str(tmp_path / "plain.json"), "-").returncode == 0
    page = str(tmp_path / "page.html")
    assert piped(data, "report", "-", "-o", page).returncode == 0
    assert Path(page).read_bytes().endswith(b"</html>\n")


def test_a_closed_reader_ends_the_run_with_141(tmp_path: Path) -> None:
    path = batches.write_long(tmp_path / "x.json", 100)
    reader, writer = os.pipe()
    with path.open("rb") as data:
        process = subprocess.Popen(
            [*SELECTION, "run", "-"], stdin=data, stdout=writer, stderr=subprocess.DEVNULL
        )
    os.close(writer)
    os.close(reader)
    assert process.wait(60) == 141


def test_standard_input_is_the_only_batch() -> None:
    for name in ("-", "/dev/stdin"):
        for args in (["run", name, "x.json"], ["run", name, "--output-dir", "x"]):
            assert piped(b"", *args).returncode == 2
        assert piped(b"", "verify", name, "-").returncode == 2


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_a_file_at_standard_input_is_read_and_never_replaced(tmp_path: Path, name: str) -> None:
    data, expected = plain(tmp_path)
    command = " ".join(SELECTION)
    done = shell(f"{command} run {name} < plain.json", tmp_path)
    assert done.stdout.encode() == expected
    done = shell(f"{command} run {name} -o plain.json < plain.json", tmp_path)
    assert done.returncode == 73
    assert "the output is the input" in done.stderr
    assert (tmp_path / "plain.json").read_bytes() == data


@pytest.mark.parametrize(
    "arguments",
    [
        "run x.jsonl -o -",
        "run - --lines < x.jsonl",
        "explain x.jsonl --json",
        "verify x.jsonl x.jsonl",
        "report x.jsonl --json",
    ],
)
def test_standard_output_is_not_the_input(tmp_path: Path, arguments: str) -> None:
    (tmp_path / "x.jsonl").write_bytes(GOOD)
    done = shell(f"{' '.join(SELECTION)} {arguments} >> x.jsonl", tmp_path)
    assert done.returncode == 73
    assert "standard output is redirected to the input" in done.stderr
    assert (tmp_path / "x.jsonl").read_bytes() == GOOD


def test_the_report_of_a_pipe_goes_to_standard_output(tmp_path: Path) -> None:
    plain(tmp_path)
    done = subprocess.run(
        ["bash", "-c", f"{' '.join(SELECTION)} report <(cat plain.json) | tail -c 8"],
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == b"</html>\n"


def test_a_run_to_standard_output_has_no_record(tmp_path: Path) -> None:
    _, expected = plain(tmp_path)
    (tmp_path / "-").write_bytes(b"")
    for _ in range(2):
        done = run(
            *("run", "plain.json", "-o", "-", "--if-changed"), cwd=tmp_path, XDG_CACHE_HOME="cache"
        )
        assert done.stdout.encode() == expected
        assert "record" not in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_run_whose_reader_does_not_read(
    tmp_path: Path, number: signal.Signals
) -> None:
    path = batches.write_long(tmp_path / "x.json", 100)
    process = subprocess.Popen(
        [*SELECTION, "run", str(path), "-o", "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout
    read(process.stdout.fileno())  # it writes more than a pipe takes
    process.send_signal(number)
    assert process.wait(60) == 128 + number
    process.communicate(timeout=60)


def test_a_pipe_is_not_an_input_of_the_library(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.json")
    assert type(error_of(tmp_path / "x.json")) is errors.InputNotFileError


def test_a_job_takes_compressed_and_line_files_and_no_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data, _ = plain(tmp_path)
    (tmp_path / "x.json.xz").write_bytes(lzma.compress(data))
    (tmp_path / "y.jsonl.gz").write_bytes(gzip.compress(GOOD))
    assert select_batch(str(tmp_path / "x.json.xz"))["articles"] == 2
    done = select_batch(str(tmp_path / "y.jsonl.gz"))
    assert done["output"] == str(tmp_path / "y_selected.jsonl.gz")
    with pytest.raises(errors.InputMissingError):
        select_batch("-")


def test_every_format_is_recognized_by_its_first_bytes() -> None:
    for suffix, compress in COMPRESS.items():
        found = recognized(compress(b"{}"))
        assert found is not None
        assert found.suffix == suffix
    assert recognized(b"{") is None


@pytest.mark.parametrize("compression", FORMATS, ids=lambda each: each.name)
def test_a_member_of_a_few_bytes_costs_no_copy_of_all_that_is_read(
    compression: Format, tmp_path: Path
) -> None:
    fed: list[int] = []

    def counting() -> Decompressor:
        member = compression.decompressor()
        decompress = member.decompress

        def counted(data: bytes, max_length: int) -> bytes:
            fed.append(len(data))
            return decompress(data, max_length)

        return cast(Decompressor, Counting(member, counted))

    member = compression.compressor(compression.levels[0])
    empty = member.compress(b"") + member.flush()
    member = compression.compressor(compression.levels[0])
    text = os.urandom(100_000)
    last = member.compress(text) + member.flush()
    path = tmp_path / "x"
    path.write_bytes(empty * 2000 + last)
    source = CompressedInput(InputFile(str(path)), replace(compression, decompressor=counting))
    try:
        assert b"".join(iter(lambda: source.read(READ_SIZE), b"")) == text
    finally:
        source.close()
    # A piece of at most 1 KiB for each empty member, and twice the size for the last one.
    assert sum(fed) <= 2000 * 1024 + 2 * len(last)


class Counting:
    """A decompressor whose calls are counted."""

    def __init__(self, member: Decompressor, decompress: Callable[[bytes, int], bytes]) -> None:
        self._member = member
        self.decompress = decompress

    def __getattr__(self, name: str) -> Any:
        return getattr(self._member, name)
