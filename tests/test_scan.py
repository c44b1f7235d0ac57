"""Scanning: the parts are the file's bytes, and the articles are the parser's."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from selection.errors import DataError, InvalidJsonError
from selection.stream.forms import HEAD_BYTES
from selection.stream.parts import Article, Gap
from selection.stream.scan import parsed_parts
from tests.support import documents
from tests.support.documents import Document
from tests.support.examples import examples

ALL_AT_ONCE = 1 << 20


def parts_of(data: bytes, read_size: int = ALL_AT_ONCE) -> list[Gap | Article]:
    return list(parsed_parts(io.BytesIO(data), "batch.json", read_size))


def articles_of(data: bytes, read_size: int = ALL_AT_ONCE) -> list[Article]:
    return [part for part in parts_of(data, read_size) if isinstance(part, Article)]


def skipped_in(data: bytes, read_size: int = ALL_AT_ONCE) -> int:
    return sum(part.skipped for part in parts_of(data, read_size) if isinstance(part, Gap))


def fields_of(block: Any, extractor: str) -> dict[str, Any] | None:
    """Return the three relevant fields of a block as ``json`` reads them; None without a block."""
    if not isinstance(block, dict):
        return None
    names = (documents.TEXT_FIELDS[extractor], "error", "title")
    return {name: comparable(block[name]) for name in names if name in block}


def comparable(value: Any) -> Any:
    """Reduce a list or object to whether it is empty, a number or a boolean to its type."""
    if isinstance(value, (list, dict)):
        return ("container", bool(value))
    if value is None or isinstance(value, str):
        return value
    return "a number or a boolean"


def expected_fields(raw: bytes) -> dict[str, Any]:
    article = documents.parsed(raw)
    return {
        extractor: fields_of(article[extractor], extractor)
        for extractor in documents.TEXT_FIELDS
        if extractor in article
    }


def scanned_fields(article: Article) -> dict[str, Any]:
    return {
        extractor: None if block is None else {k: comparable(v) for k, v in block.items()}
        for extractor, block in article.fields.items()
    }


# ------------------------------------------------------------------- for any document


@examples(40)
@given(documents.documents(), st.sampled_from([*range(1, 21), 61, 4096, ALL_AT_ONCE]))
def test_the_parts_are_the_input_and_the_articles_are_where_they_were_put(
    document: Document, read_size: int
) -> None:
    data = document.input
    offset = 0
    for part in parts_of(data, read_size):
        assert part.start == offset
        assert part.raw
        offset = part.end
        assert data[part.start : part.end] == part.raw
    assert offset == len(data)

    articles = articles_of(data, read_size)
    assert [(a.index, a.start, a.raw) for a in articles] == [
        (a.index, a.start, a.raw) for a in document.articles
    ]
    assert skipped_in(data, read_size) == document.skipped


@examples(40)
@given(documents.documents(), st.integers(1, 20))
def test_the_fields_are_what_json_reads_in_them(document: Document, read_size: int) -> None:
    for size in (read_size, ALL_AT_ONCE):
        for article in articles_of(document.input, size):
            assert scanned_fields(article) == expected_fields(article.raw)
            assert article.has_pick == (documents.MEMBER in documents.parsed(article.raw))


# All that has to be seen at a read boundary, in one document small enough for every size.
DENSE = (
    b'\xef\xbb\xbf {"articles.item": [{}], "x": {"articles": [{"a": 1}]},\r\n'
    b'"\\u0061rticles" :[ {"id":"\\ud83d\\ude00","trafilatura":{"text":"\\ud83d\\ud83d\\ude00'
    b'\\\\ud83d\\"}{","error":{"a":[]}}}\t,12345,"{", [{"articles":[{}]}], {},'
    + '{"newspaper4k":{"text":"日é😀"},"n":'.encode()
    + b"9" * 4400
    + b',"selected\\u005Fextractor":null}], "y": -1e99999999999999999999,'
    b' "articles": [{"id": 7.0}, true] }\n'
)


@pytest.mark.parametrize("read_size", [*range(1, 41), 4399, 4400, 4401, ALL_AT_ONCE])
def test_every_read_size_gives_the_same_articles(read_size: int) -> None:
    # Items of the two lists are numbered through: 0 to 5 in the first, 6 and 7 in the second.
    articles = articles_of(DENSE, read_size)
    assert [article.index for article in articles] == [0, 4, 5, 6]
    assert [article.raw[:7] for article in articles] == [b'{"id":"', b"{}", b'{"newsp', b'{"id": ']
    assert [article.id for article in articles] == ["\U0001f600", None, None, "7.0"]
    assert [article.has_pick for article in articles] == [False, False, True, False]
    assert articles[0].fields == {
        "trafilatura": {"text": '\ufffd\U0001f600\\ud83d"}{', "error": [None]}
    }
    assert articles[2].fields == {"newspaper4k": {"text": "日é😀"}}
    assert skipped_in(DENSE, read_size) == 4
    assert b"".join(part.raw for part in parts_of(DENSE, read_size)) == DENSE


# ------------------------------------------------------------------ where articles are


@pytest.mark.parametrize(
    ("data", "found"),
    [
        pytest.param(b'{"articles": [{"a": 1}]}', [b'{"a": 1}'], id="alone"),
        pytest.param(b'{"articles": [{}], "z": [{"b": 1}]}', [b"{}"], id="early"),
        pytest.param(b'{"z": [{"b": 1}], "articles": [{}]}', [b"{}"], id="late"),
        pytest.param(b'{"articles": []}', [], id="none"),
        pytest.param(b'{"articles": [{"a":1}], "articles": [{"b":2}]}', [b'{"a":1}', b'{"b":2}']),
        pytest.param(b'{"\\u0061rticle\\u0073": [{}]}', [b"{}"], id="the key in escapes"),
        pytest.param(b'{"articles.item": {"x": 1}, "articles": []}', [], id="a key with a dot"),
        pytest.param(b'{"x": {"articles": [{"a": 1}]}, "articles": []}', [], id="deeper"),
        pytest.param(b'{"Articles": [{"a": 1}], "articles": []}', [], id="another case"),
        pytest.param(b'{"articles": [{"articles": [{}]}]}', [b'{"articles": [{}]}'], id="within"),
        pytest.param(b'{"articles": [[{"a": 1}]]}', [], id="in a list in the list"),
        pytest.param(b'{"x": ["articles", [{"a": 1}]], "articles": []}', [], id="as a value"),
        pytest.param(b'{"articles": ["}{", {"a": "}"}]}', [b'{"a": "}"}'], id="braces in strings"),
    ],
)
def test_only_objects_directly_in_the_roots_articles_are_articles(
    data: bytes, found: list[bytes]
) -> None:
    for read_size in (1, 2, 7, ALL_AT_ONCE):
        assert [article.raw for article in articles_of(data, read_size)] == found


def test_items_that_are_not_objects_count_as_skipped_and_in_the_numbering() -> None:
    data = b'{"articles": [1, "a", null, {}, [], [{}], true, {}, -0.5]}'
    for read_size in (1, 5, ALL_AT_ONCE):
        assert [article.index for article in articles_of(data, read_size)] == [3, 7]
        assert skipped_in(data, read_size) == 7


def test_skipped_items_are_counted_once_when_a_long_number_makes_a_second_pass() -> None:
    # The first pass has given gaps with skipped items before it meets the number.
    data = b'{"articles": [1, 2, 3, 44444, {}, 5, ' + b"6" * 5000 + b", 7, {}, 8]}"
    for read_size in [*range(1, 24), ALL_AT_ONCE]:
        assert skipped_in(data, read_size) == 8
        assert [article.index for article in articles_of(data, read_size)] == [4, 8]


# ----------------------------------------------------------------------- the six fields


@pytest.mark.parametrize(
    ("article", "fields"),
    [
        pytest.param(
            b'{"trafilatura": {"text": "a", "error": null, "title": "t", "author": "x"}}',
            {"trafilatura": {"text": "a", "error": None, "title": "t"}},
            id="text, error and title alone",
        ),
        pytest.param(
            b'{"readability": {"text": "no", "cleaned_text": "yes"}}',
            {"readability": {"cleaned_text": "yes"}},
            id="readability's text is another field",
        ),
        pytest.param(
            b'{"newspaper4k": {"cleaned_text": "no"}}', {"newspaper4k": {}}, id="and not elsewhere"
        ),
        pytest.param(
            b'{"newspaper4k": {"text": "a"}, "newspaper4k": {"error": "b"}}',
            {"newspaper4k": {"error": "b"}},
            id="of two blocks the last one",
        ),
        pytest.param(
            b'{"newspaper4k": {"text": "a"}, "newspaper4k": 5}',
            {"newspaper4k": None},
            id="though it is no object",
        ),
        pytest.param(
            b'{"newspaper4k": {"text": "a", "error": [1], "text": "b", "error": ""}}',
            {"newspaper4k": {"text": "b", "error": ""}},
            id="of two fields the last one",
        ),
        pytest.param(
            b'{"newspaper4k": [{"text": "a"}]}', {"newspaper4k": None}, id="a list is no block"
        ),
        pytest.param(
            b'{"x": {"newspaper4k": {"text": "a"}}, "articles": [{"newspaper4k": {}}]}',
            {},
            id="blocks deeper down",
        ),
        pytest.param(
            b'{"newspaper4k": {"x": {"text": "a", "error": "b"}, "y": [{"text": "c"}]}}',
            {"newspaper4k": {}},
            id="fields deeper down",
        ),
        pytest.param(
            b'{"newspaper4k": {"text": {"text": "a"}, "error": false}}',
            {"newspaper4k": {"text": ("container", True), "error": "a number or a boolean"}},
            id="a text that is no string",
        ),
        pytest.param(
            b'{"news\\u0070aper4k": {"\\u0074ext": "\\ud83d x\\udc00\\u0041"}}',
            {"newspaper4k": {"text": "\ufffd x\ufffdA"}},
            id="escapes, and surrogates without a partner",
        ),
        pytest.param(
            b'{"newspaper4k": {"error": {}}, "readability": {"error": []}}',
            {
                "newspaper4k": {"error": ("container", False)},
                "readability": {"error": ("container", False)},
            },
            id="empty error containers",
        ),
        pytest.param(
            b'{"newspaper4k": {"error": {"a": 1}}, "readability": {"error": [[]]}}',
            {
                "newspaper4k": {"error": ("container", True)},
                "readability": {"error": ("container", True)},
            },
            id="error containers with something in them",
        ),
    ],
)
def test_fields(article: bytes, fields: dict[str, Any]) -> None:
    for read_size in (1, 3, ALL_AT_ONCE):
        (found,) = articles_of(b'{"articles": [' + article + b"]}", read_size)
        assert scanned_fields(found) == fields


def test_an_article_gets_nothing_of_the_one_before() -> None:
    first, second = articles_of(
        b'{"articles": [{"id": "a", "selected_extractor": 1, "newspaper4k": {"text": "x"}}, {}]}'
    )
    assert (first.id, first.has_pick) == ("a", True)
    assert (second.id, second.has_pick, second.fields) == (None, False, {})


@pytest.mark.parametrize(
    ("value", "id"),
    [
        (b'"x"', "x"),
        (b'""', ""),
        (b"17", "17"),
        (b"null", None),
        (b"true", None),
        (b'["x"]', None),
        (b'{"id": "x"}', None),
        (b'"x", "id": "y"', "y"),
        # More than the parser holds; it must not pass for another number.
        (b"7" * 5000, None),
        (b"1e" + b"7" * 20, None),
    ],
)
def test_the_id_of_an_article(value: bytes, id: str | None) -> None:
    (found,) = articles_of(b'{"articles": [{"id": ' + value + b"}]}")
    assert found.id == id


# ------------------------------------------------------------------------------ limits


def test_nesting_of_100_000_levels() -> None:
    # More than any recursive reader takes.
    deep = b"[" * 50_000 + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"]" * 50_000
    article = b'{"deep":' + deep + b',"newspaper4k":{"text":"a","error":' + deep + b"}}"
    found, last = articles_of(b'{"deep":' + deep + b',"articles":[' + article + b",{}]}", 1 << 18)
    assert found.raw == article
    assert found.fields == {"newspaper4k": {"text": "a", "error": [None]}}
    assert last.index == 1


def test_a_number_has_at_most_a_mebibyte() -> None:
    # 1 MiB of characters is the documented limit; what is longer has a typed error.
    longest = b"1" * (1 << 20)
    (found,) = articles_of(b'{"articles": [{"n": ' + longest + b"}]}", 1 << 18)
    assert found.raw == b'{"n": ' + longest + b"}"
    with pytest.raises(InvalidJsonError) as caught:
        parts_of(b'{"articles": [{"n": ' + longest * 2 + b"}]}", 1 << 18)
    assert (caught.value.byte, caught.value.article) == (20, 0)


def test_parts_come_before_the_whole_file_is_read() -> None:
    # Memory holds one article: the first is given although what follows is not there yet.
    source = io.BytesIO(b'{"articles": [{"a": 1}, ' + b" " * 5000 + b"{}]}")
    for part in parsed_parts(source, "batch.json", 64):
        if isinstance(part, Article):
            break
    # What the beginning is looked at for, and one read.
    assert source.tell() <= HEAD_BYTES + 64


_SCRAPS = (
    *(b'"', b"\\", b"\\u", b"d83d", b"{", b"}", b"[", b"]", b",", b":", b"1", b"-", b"e9", b" "),
    *(b"tru", b"NaN", b"\xff", b"\xc3", b'"articles"', b'"x"', b"{}", b"[]", b"7" * 4400),
)


@examples(40)
@given(
    st.sampled_from([b"", b'{"articles":', b'{"articles":[', b'{"articles":[{"a":']),
    st.lists(st.sampled_from(_SCRAPS), max_size=12).map(b"".join),
    st.integers(1, 9),
)
@example(b'{"articles":', b'5, "x": "\xff"}', 1)
@example(b"", b'"ab" "\xff"', 2)
@example(b'{"articles":[{"a":', b"1, NaN", 1)
def test_a_broken_file_has_one_error_whatever_the_read_size(
    head: bytes, tail: bytes, read_size: int
) -> None:
    # How the system cuts a file into reads must not decide what is said about it.
    def error_of(size: int) -> dict[str, Any] | None:
        try:
            parts_of(head + tail, size)
        except DataError as error:
            return error.as_dict()
        return None

    assert error_of(read_size) == error_of(ALL_AT_ONCE)


@pytest.mark.parametrize("read_size", [1, 7, 30, 1 << 18])
def test_skipped_items_are_counted_once_when_a_long_number_comes_late(read_size: int) -> None:
    # The pass is begun again for the number; by then parts with skipped items were given.
    data = b'{"articles": [1, "a", [2], {}, null, ' + b"9" * 5000 + b", true, {}, 7]}"
    skipped = 0
    raw = b""
    for part in parsed_parts(io.BytesIO(data), "batch.json", read_size):
        raw += part.raw
        skipped += part.skipped if isinstance(part, Gap) else 0
    assert raw == data
    assert skipped == 7
