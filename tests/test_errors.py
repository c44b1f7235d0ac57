"""What is wrong with a file is said by class and by exact place, and nothing is written."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from selection import SelectionError, errors, select_file
from selection.errors import (
    ArticlesMissingError,
    ArticlesNotListError,
    DataError,
    EmptyFileError,
    EncodingError,
    InvalidJsonError,
    NotANumberError,
    RootNotObjectError,
)
from tests.support.broken import AFTER, BEFORE, OTHER_ENCODINGS, VALID, WRONG_VALUES
from tests.support.json_reference import Members, parsed_batch

PICKS = {"newspaper4k", "readability", "trafilatura"}


def error_of(tmp_path: Path, data: bytes) -> DataError:
    """Return the error for a file with these bytes, which gets no output."""
    path = tmp_path / "batch.json"
    path.write_bytes(data)
    with pytest.raises(DataError) as caught:
        select_file(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["batch.json"]
    assert path.read_bytes() == data
    assert caught.value.path == str(path)
    assert str(path) in str(caught.value)
    return caught.value


def place(error: DataError) -> tuple[int | None, int | None, int | None, int | None]:
    return error.byte, error.line, error.column, error.article


# --------------------------------------------------------------- a value in an article


def test_the_file_around_the_wrong_value_is_right(tmp_path: Path) -> None:
    path = tmp_path / "batch.json"
    path.write_bytes(BEFORE + b"1" + AFTER)
    assert select_file(path).articles == 2
    assert len(BEFORE) == 62


@pytest.mark.parametrize(
    ("value", "kind", "offset"),
    [pytest.param(*wrong, id=name) for name, wrong in WRONG_VALUES.items()],
)
def test_a_wrong_value(tmp_path: Path, value: bytes, kind: type[DataError], offset: int) -> None:
    error = error_of(tmp_path, BEFORE + value + AFTER)
    assert type(error) is kind
    # A line break in the value is at the end of its line, so all are in line 4. What is
    # before the wrong byte is ASCII in every value, so a byte is a column.
    assert place(error) == (62 + offset, 4, 22 + offset, 0)
    assert f"batch.json, article 0: line 4 column {22 + offset}" in str(error).replace(
        ", line", ": line"
    )


@pytest.mark.parametrize("name", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_is_none_is_named(tmp_path: Path, name: str) -> None:
    assert name in error_of(tmp_path, BEFORE + name.encode() + AFTER).message.split()


def test_the_article_is_counted_with_the_items_that_are_none(tmp_path: Path) -> None:
    # {"articles": [ is 14 bytes; then 1, at 14, {}, at 17, [{}], at 21, and the { at 27.
    error = error_of(tmp_path, b'{"articles": [1, {}, [{}], {"a": x}]}')
    assert place(error) == (33, 1, 34, 3)


@pytest.mark.parametrize(
    ("data", "byte"),
    [
        pytest.param(b'{"x": y, "articles": [{}]}', 6, id="before the list"),
        pytest.param(b'{"articles": [{} {}]}', 17, id="between two articles"),
        pytest.param(b'{"articles": [{}], "x": y}', 24, id="behind the list"),
        pytest.param(b'{"articles": [[NaN]]}', 15, id="in an item that is no object"),
    ],
)
def test_a_place_outside_every_article(tmp_path: Path, data: bytes, byte: int) -> None:
    assert place(error_of(tmp_path, data)) == (byte, 1, byte + 1, None)


def test_a_place_behind_a_whole_read(tmp_path: Path) -> None:
    # 600,000 bytes of two lines and more than two reads, then the fault at the third column.
    start = b'{"articles": [{"a": "' + b"x" * 599_976 + b'",\n'
    assert len(start) == 600_000
    error = error_of(tmp_path, start + b'  b"}]}')
    assert place(error) == (600_002, 2, 3, 0)


# --------------------------------------------------------------------- the whole file


def test_an_empty_file(tmp_path: Path) -> None:
    error = error_of(tmp_path, b"")
    assert type(error) is EmptyFileError
    assert place(error) == (0, 1, 1, None)


@pytest.mark.parametrize("data", [b" ", b"\n\n", b"\xef\xbb\xbf"], ids=["space", "lines", "BOM"])
def test_a_file_of_nothing(tmp_path: Path, data: bytes) -> None:
    error = error_of(tmp_path, data)
    assert type(error) is InvalidJsonError
    assert error.byte == len(data)


@pytest.mark.parametrize(
    "data", [pytest.param(data, id=name) for name, data in OTHER_ENCODINGS.items()]
)
def test_another_encoding(tmp_path: Path, data: bytes) -> None:
    error = error_of(tmp_path, data)
    assert type(error) is EncodingError
    assert place(error) == (0, 1, 1, None)
    assert "UTF-16" in error.message


def test_a_file_that_is_cut_off(tmp_path: Path) -> None:
    error = error_of(tmp_path, BEFORE)
    assert type(error) is InvalidJsonError
    assert place(error) == (62, 4, 22, 0)
    assert "the file is truncated" in error.message


@pytest.mark.parametrize(
    ("garbage", "byte"),
    [
        *((b"x", 16), (b" x", 17), (b"\n{}", 17), (b"}", 16), (b",", 16), (b"5", 16), (b"-", 16)),
        *((b"\0", 16), (b"\x1a", 16), (b'"', 16), (b'"a}', 16), (b' "\\', 17), (b"tru", 16)),
    ],
)
def test_something_behind_the_root(tmp_path: Path, garbage: bytes, byte: int) -> None:
    error = error_of(tmp_path, b'{"articles": []}' + garbage)
    assert isinstance(error, InvalidJsonError)
    assert (error.byte, error.article) == (byte, None)


@pytest.mark.parametrize(
    "root", [b"[]", b'[{"articles": []}]', b'"articles"', b"5", b"-1.5", b"null", b"true"]
)
@pytest.mark.parametrize(
    ("before", "at"),
    [(b"", (0, 1, 1, None)), (b"\n ", (2, 2, 2, None)), (b"\xef\xbb\xbf\n", (4, 2, 1, None))],
    ids=["at once", "in line 2", "behind a BOM"],
)
def test_a_root_that_is_not_an_object(
    tmp_path: Path, root: bytes, before: bytes, at: tuple[int, int, int, None]
) -> None:
    error = error_of(tmp_path, before + root)
    assert type(error) is RootNotObjectError
    assert place(error) == at


@pytest.mark.parametrize(
    "data",
    [
        b"{}",
        b'{"Articles": []}',
        b'{"x": {"articles": []}}',
        b'{"articles.item": []}',
        b'{"x": "articles", "y": [[]]}',
    ],
)
def test_no_articles(tmp_path: Path, data: bytes) -> None:
    # It is missing as soon as the file ends without it, so the place is the end.
    error = error_of(tmp_path, data)
    assert type(error) is ArticlesMissingError
    assert place(error) == (len(data), 1, len(data) + 1, None)


@pytest.mark.parametrize("value", [b"{}", b'{"a": []}', b"null", b'"[]"', b"5", b"1e400", b"false"])
@pytest.mark.parametrize(
    ("before", "at"),
    [
        pytest.param(b'{"articles": ', (13, 1, 14, None), id="the only one"),
        pytest.param(b'{"x":[],\n"articles":\t', (21, 2, 13, None), id="in line 2"),
        pytest.param(b'{"articles":[{}],"articles":', (28, 1, 29, None), id="the second one"),
    ],
)
def test_articles_that_is_not_a_list(
    tmp_path: Path, value: bytes, before: bytes, at: tuple[int, int, int, None]
) -> None:
    error = error_of(tmp_path, before + value + b"}")
    assert type(error) is ArticlesNotListError
    assert place(error) == at


def test_the_first_of_two_faults_is_reported(tmp_path: Path) -> None:
    assert type(error_of(tmp_path, b'{"articles": 5, "x": "\xff"}')) is ArticlesNotListError
    assert type(error_of(tmp_path, b'{"articles": {}, "x": NaN}')) is ArticlesNotListError
    assert type(error_of(tmp_path, b'"root" "\xff"')) is RootNotObjectError
    assert type(error_of(tmp_path, b'{"x": NaN, "articles": 5}')) is NotANumberError


# ------------------------------------------------------- the classes as other programs see


def all_kinds(kind: type[SelectionError] = SelectionError) -> Iterator[type[SelectionError]]:
    yield kind
    for narrower in kind.__subclasses__():
        yield from all_kinds(narrower)


@pytest.mark.parametrize("kind", list(all_kinds()))
def test_an_error_survives_pickling(kind: type[SelectionError]) -> None:
    error = kind("café", path="a/b.json", byte=5, line=2, column=3, article=1)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        copy = pickle.loads(pickle.dumps(error, protocol))
        assert type(copy) is kind
        assert copy.place() == {
            "path": "a/b.json",
            "byte": 5,
            "line": 2,
            "column": 3,
            "article": 1,
        }
        assert (copy.message, str(copy)) == ("café", str(error))
        assert copy.args == error.args


@pytest.mark.parametrize("kind", list(all_kinds()))
def test_an_error_without_a_place_survives_pickling(kind: type[SelectionError]) -> None:
    copy = pickle.loads(pickle.dumps(kind("what")))
    assert (type(copy), str(copy), set(copy.place().values())) == (kind, "what", {None})


EXIT_CODES = {
    "SelectionError": 70,
    "BackendError": 2,
    "CompressionLevelError": 2,
    "EndpointError": 68,
    "ExtraMissingError": 69,
    "CredentialsError": 77,
    "DataError": 65,
    "InputError": 66,
    "OutputError": 73,
    "TransferError": 74,
}
RETRYABLE = {
    "InputMissingError",
    "OutputFolderMissingError",
    "TransferError",
    "ReadError",
    "WriteError",
    "InputChangedError",
    "WorkerProcessError",
    "OutOfMemoryError",
}


def test_each_family_has_its_exit_code_and_only_passing_faults_are_retried() -> None:
    for kind in all_kinds():
        family = next(c.__name__ for c in kind.__mro__ if c.__name__ in EXIT_CODES)
        assert kind.exit_code == EXIT_CODES[family], kind
        assert kind.retryable == (kind.__name__ in RETRYABLE), kind
    assert {kind.__name__ for kind in all_kinds()} >= RETRYABLE


def test_an_error_as_text() -> None:
    def text(**place: Any) -> str:
        return str(errors.DataError("what", **place))

    assert text() == "what"
    assert text(path="f.json") == "f.json: what"
    assert text(path="f.json", byte=7) == "f.json, byte 7: what"
    assert text(path="f.json", byte=7, line=1, column=8, article=0) == (
        "f.json, article 0, line 1 column 8 (byte 7): what"
    )
    assert text(article=3) == "article 3: what"


def test_an_error_as_data() -> None:
    assert EncodingError("what", path="f.json", byte=7, line=1, column=8).as_dict() == {
        "type": "EncodingError",
        "message": "what",
        "path": "f.json",
        "byte": 7,
        "line": 1,
        "column": 8,
        "article": None,
    }


# -------------------------------------------------------------- a valid file with a dent


def without_picks(root: Any) -> Any:
    """Remove the last member of every article, which must be a right pick."""
    return Members(
        (key, [without_pick(item) for item in value] if key == "articles" else value)
        for key, value in root
    )


def without_pick(item: Any) -> Any:
    if not isinstance(item, Members):
        return item
    key, value = item[-1]
    assert key == "selected_extractor"
    assert value in PICKS
    return Members(item[:-1])


def disagreement(tmp_path: Path, data: bytes) -> str | None:
    """Return what is wrong with the output of a file; None if it is right."""
    path, output = tmp_path / "batch.json", tmp_path / "batch_selected.json"
    path.write_bytes(data)
    try:
        right = parsed_batch(data)
    except ValueError as error:
        right = error
    try:
        select_file(path)
    except DataError as error:
        entries = {entry.name for entry in tmp_path.iterdir()}
        if entries != {"batch.json"}:
            return f"left {entries}"
        return None if isinstance(right, ValueError) else f"refused: {error}"
    found = output.read_bytes()
    output.unlink()
    if isinstance(right, ValueError):
        return f"accepted, though {right}"
    return None if without_picks(parsed_batch(found)) == right else f"became {found!r}"


def test_every_beginning_of_a_valid_file(tmp_path: Path) -> None:
    found = {
        length: wrong
        for length in range(len(VALID) + 1)
        if (wrong := disagreement(tmp_path, VALID[:length]))
    }
    assert found == {}


BYTES = [
    *(b"", b"\x80", b"\xc3", b"\xe9", b"\xff"),
    *(bytes([n]) for n in b'\0\t\n\x0b\x0c\r\x1f "+,-./019:AEN[\\]e{}\x7f'),
]
FIRST_TESTED = (b"", b"\xff", b"\0", b'"', b",", b"}")


@pytest.mark.parametrize(
    "byte",
    [
        pytest.param(
            byte,
            id=f"0x{byte.hex()}" if byte else "nothing",
            marks=() if byte in FIRST_TESTED else pytest.mark.slow,
        )
        for byte in BYTES
    ],
)
def test_every_byte_of_a_valid_file_in_place_of_which_is(tmp_path: Path, byte: bytes) -> None:
    # Either it is refused and leaves nothing, or `json` takes it too and finds all in it.
    dents = [VALID[:n] + byte + VALID[n + 1 :] for n in range(len(VALID))]
    found = [(dent, wrong) for dent in dents if (wrong := disagreement(tmp_path, dent))]
    assert found == []


@pytest.mark.parametrize("byte", [b"\0", b" ", b'"', b",", b"0", b"[", b"\\", b"}", b"\xff"])
def test_one_byte_more_anywhere_in_a_valid_file(tmp_path: Path, byte: bytes) -> None:
    dents = [VALID[:n] + byte + VALID[n:] for n in range(len(VALID) + 1)]
    found = [(dent, wrong) for dent in dents if (wrong := disagreement(tmp_path, dent))]
    assert found == []
