"""Files in other forms than a batch say what they are and what to do."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import zipfile
from pathlib import Path

import pytest

from selection import SelectionError, errors, select_file
from selection.errors import DataError

BATCH = b'{"articles": [{"id": 1}]}'


def error_of(folder: Path, data: bytes) -> DataError:
    path = folder / "batch.json"
    path.write_bytes(data)
    with pytest.raises(SelectionError) as caught:
        select_file(path)
    assert isinstance(caught.value, DataError)
    assert [entry.name for entry in folder.iterdir()] == ["batch.json"]
    return caught.value


def zipped() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("batch.json", BATCH)
    return file.getvalue()


# Of a frame of zstd only the magic number is known here (RFC 8878).
@pytest.mark.parametrize(
    ("data", "name"),
    [
        pytest.param(gzip.compress(BATCH), "gzip", id="gzip"),
        pytest.param(b"\x28\xb5\x2f\xfd\x24\x19" + BATCH, "zstd", id="zstd"),
        pytest.param(bz2.compress(BATCH), "bzip2", id="bzip2"),
        pytest.param(lzma.compress(BATCH), "xz", id="xz"),
        pytest.param(zipped(), "zip", id="zip"),
    ],
)
def test_a_compressed_file(tmp_path: Path, data: bytes, name: str) -> None:
    error = error_of(tmp_path, data)
    assert type(error) is errors.CompressedError
    assert error.exit_code == 65
    assert f"compressed ({name}); unpack it first" in error.message
    assert (error.byte, error.line, error.column) == (0, 1, 1)


@pytest.mark.parametrize(
    ("data", "kind", "byte", "words"),
    [
        pytest.param(b"\0" * 5000, "OtherFormError", 0, "NUL bytes", id="NUL bytes"),
        pytest.param(b"\0\0\0", "OtherFormError", 0, "NUL bytes", id="three NUL bytes"),
        pytest.param(BATCH.decode().encode("utf-16"), "EncodingError", 0, "iconv", id="UTF-16"),
        pytest.param(
            b"<!DOCTYPE html><title>404</title>", "OtherFormError", 0, "fetch it again", id="HTML"
        ),
        pytest.param(b"\r\n  <html>", "OtherFormError", 4, "HTML", id="HTML behind lines"),
        pytest.param(b"\xef\xbb\xbf<?xml ?>", "OtherFormError", 3, "XML", id="XML with a mark"),
        pytest.param(
            b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
            "OtherFormError",
            0,
            "git lfs pull",
            id="Git LFS pointer",
        ),
        pytest.param(b"", "EmptyFileError", 0, "fetch it again", id="empty"),
        pytest.param(b"\n", "InvalidJsonError", 1, "white space", id="a line's end"),
        # Not taken for a page: what is wrong is the sign.
        pytest.param(b"<3", "InvalidJsonError", 0, "JSON", id="a sign"),
    ],
)
def test_a_file_that_is_not_json(
    tmp_path: Path, data: bytes, kind: str, byte: int, words: str
) -> None:
    error = error_of(tmp_path, data)
    assert type(error) is getattr(errors, kind)
    assert error.exit_code == 65
    assert error.byte == byte
    assert words in error.message


@pytest.mark.parametrize(
    ("data", "byte", "place", "form"),
    [
        pytest.param(b'{"id": 1}\n{"id": 2}\n', 10, (2, 1), "JSON Lines", id="lines"),
        pytest.param(b'{"id": 1}\r\n\n {"id": 2}', 13, (3, 2), "JSON Lines", id="empty lines"),
        pytest.param(BATCH + b"\n" + BATCH, 26, (2, 1), "JSON Lines", id="batches"),
        pytest.param(b'{"id": 1}{"id": 2}', 9, (1, 10), "one after another", id="no space"),
        pytest.param(b'{"id": 1} [1]', 10, (1, 11), "one after another", id="a list behind"),
    ],
)
def test_several_values(
    tmp_path: Path, data: bytes, byte: int, place: tuple[int, int], form: str
) -> None:
    error = error_of(tmp_path, data)
    assert type(error) is errors.SeveralValuesError
    assert form in error.message
    assert error.byte == byte
    assert (error.line, error.column) == place


def test_long_lines_of_json_are_known_too(tmp_path: Path) -> None:
    # The first line is longer than a read.
    line = json.dumps({"text": "x" * 600_000}).encode() + b"\n"
    error = error_of(tmp_path, line * 2)
    assert type(error) is errors.SeveralValuesError
    assert (error.byte, error.line) == (len(line), 2)


def test_other_data_behind_the_root_is_not_called_json_lines(tmp_path: Path) -> None:
    error = error_of(tmp_path, BATCH + b"\nend")
    assert type(error) is errors.InvalidJsonError
    assert error.byte == len(BATCH) + 1
