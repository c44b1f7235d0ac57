"""Splicing: one member more per article, in the article's own style, and no other byte."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selection.model import Extractor
from selection.rules import select_article
from selection.stream.parts import Article
from selection.stream.scan import parsed_parts
from selection.stream.splice import insert_pick, pick_spans
from tests.support import documents
from tests.support.documents import Document
from tests.support.examples import examples


def selected(data: bytes, read_size: int = 1 << 20) -> bytes:
    """Return the whole batch with every pick in it."""
    return b"".join(
        with_pick(part, select_article(part.fields).extractor)
        if isinstance(part, Article)
        else part.raw
        for part in parsed_parts(io.BytesIO(data), "batch.json", read_size)
    )


def with_pick(article: Article, pick: Extractor) -> bytes:
    spans = list(pick_spans(article.raw)) if article.has_pick else []
    return b"".join(insert_pick(article.raw, pick, spans))


def spliced(article: bytes) -> bytes:
    """One article with its pick, which is always readability."""
    (found,) = (
        part
        for part in parsed_parts(io.BytesIO(b'{"articles": [' + article + b"]}"), "batch.json")
        if isinstance(part, Article)
    )
    return with_pick(found, Extractor.READABILITY)


# ------------------------------------------------------------------- for any document


@examples(40)
@given(documents.documents(), st.sampled_from([1, 2, 3, 5, 8, 13, 1 << 20]))
def test_the_output_is_the_input_plus_one_right_pick_per_article(
    document: Document, read_size: int
) -> None:
    # The rules have tests of their own; here they are given what `json` reads.
    right = [
        {str(select_article(documents.parsed(article.raw)).extractor)}
        for article in document.articles
    ]
    assert document.picks_in(selected(document.input, read_size)) == right


@examples(40)
@given(documents.documents())
def test_selecting_the_output_again_changes_nothing(document: Document) -> None:
    once = selected(document.input)
    assert selected(once) == once


# ------------------------------------------------------------------------------- style


@pytest.mark.parametrize(
    ("article", "right"),
    [
        pytest.param(
            b'{\n  "a": 1,\n  "b": [\n    2\n  ]\n}',
            b'{\n  "a": 1,\n  "b": [\n    2\n  ],\n  "selected_extractor": "readability"\n}',
            id="indented",
        ),
        pytest.param(
            b'{\n\t"a": 1\n}',
            b'{\n\t"a": 1,\n\t"selected_extractor": "readability"\n}',
            id="tabs",
        ),
        pytest.param(
            b'{\r\n    "a" : 1\r\n}',
            b'{\r\n    "a" : 1,\r\n    "selected_extractor" : "readability"\r\n}',
            id="CRLF and a space before the colon",
        ),
        pytest.param(
            b'{"a":1,"b":2}', b'{"a":1,"b":2,"selected_extractor":"readability"}', id="compact"
        ),
        pytest.param(
            b'{"a": 1, "b": 2}',
            b'{"a": 1, "b": 2, "selected_extractor": "readability"}',
            id="comma space, colon space",
        ),
        pytest.param(
            b'{ "a": 1 }',
            b'{ "a": 1, "selected_extractor": "readability" }',
            id="spaces within the braces",
        ),
        pytest.param(
            b'{"a":{"b" : 1},"c":[ ]}',
            b'{"a":{"b" : 1},"c":[ ],"selected_extractor":"readability"}',
            id="the article's own style, not a block's",
        ),
        pytest.param(b"{}", b'{"selected_extractor": "readability"}', id="empty"),
        pytest.param(
            b"{ \n }", b'{"selected_extractor": "readability" \n }', id="empty with white space"
        ),
        pytest.param(
            b'{"a":"}"}', b'{"a":"}","selected_extractor":"readability"}', id="a brace at the end"
        ),
        pytest.param(
            b'{"a\\"":"\\\\"}',
            b'{"a\\"":"\\\\","selected_extractor":"readability"}',
            id="escaped quotes and backslashes",
        ),
        pytest.param(
            b'{"":{}}', b'{"":{},"selected_extractor":"readability"}', id="an object at the end"
        ),
    ],
)
def test_an_added_member_has_the_articles_style(article: bytes, right: bytes) -> None:
    assert spliced(article) == right


def test_an_indented_batch_gets_one_line_per_article() -> None:
    data = (
        b'{\n  "articles": [\n    {\n      "id": 1,\n      "n": 2\n    },\n    {\n'
        b'      "id": 3\n    }\n  ]\n}\n'
    )
    line = b'      "selected_extractor": "newspaper4k"'
    assert selected(data).split(b"\n") == [
        b"{",
        b'  "articles": [',
        b"    {",
        b'      "id": 1,',
        b'      "n": 2,',
        line,
        b"    },",
        b"    {",
        b'      "id": 3,',
        line,
        b"    }",
        b"  ]",
        b"}",
        b"",
    ]


# ------------------------------------------------------------------- a pick is replaced


@pytest.mark.parametrize(
    "old",
    [
        pytest.param(old, id=re.sub(r"\W+", "_", old.decode())[:20] or "punctuation")
        for old in (
            b"null",
            b"true",
            b"-1.5E+3",
            b'""',
            b'"newspaper4k"',
            b'"a\\"}, {\\\\"',
            b"[]",
            b"{}",
            b'[1, {"selected_extractor": [2, "]"]}, "}"]',
            b'{"selected_extractor": {"selected_extractor": 1}, "b": [{}]}',
            b"9" * 5000,
            b'"\\ud83d"',
        )
    ],
)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(b'{"selected_extractor":', b"}", id="alone"),
        pytest.param(b'{"selected_extractor" : \n', b'\n, "b": {}}', id="first"),
        pytest.param(b'{"a": ["x"],"selected_extractor": ', b' ,"b": 1}', id="between"),
        pytest.param(b'{"a": "\\"", "selected_\\u0065xtractor": ', b"\t}", id="last, escaped"),
    ],
)
def test_a_value_of_any_kind_is_replaced_in_its_place(
    before: bytes, old: bytes, after: bytes
) -> None:
    assert spliced(before + old + after) == before + b'"readability"' + after


def test_a_repeated_key_is_replaced_twice() -> None:
    # Readers take the last one or the first one; both must find the pick.
    assert spliced(b'{"selected_extractor": 1, "a": 2, "selected\\u005fextractor":[]}') == (
        b'{"selected_extractor": "readability", "a": 2, "selected\\u005fextractor":"readability"}'
    )


@pytest.mark.parametrize(
    "member",
    [
        pytest.param(b'"trafilatura": {"selected_extractor": null}', id="in a block"),
        pytest.param(b'"x": [{"selected_extractor": null}]', id="in a list"),
        pytest.param(b'"x": "selected_extractor"', id="as a value"),
        pytest.param(b'"x": ["selected_extractor", ":"]', id="as an item"),
        pytest.param(b'"x": "\\"selected_extractor\\": null"', id="in a string"),
        pytest.param(b'"trafilatura.selected_extractor": null', id="behind a dot"),
        pytest.param(b'"Selected_Extractor": null', id="in another case"),
        pytest.param(b'"selected_extractor ": null', id="with a space"),
        pytest.param(b'"\\\\u0073elected_extractor": null', id="with an escaped backslash"),
    ],
)
def test_data_that_looks_like_the_member_stays(member: bytes) -> None:
    assert spliced(b"{" + member + b"}") == (
        b"{" + member + b', "selected_extractor": "readability"}'
    )
    assert spliced(b'{"selected_extractor": 0, ' + member + b"}") == (
        b'{"selected_extractor": "readability", ' + member + b"}"
    )


def test_an_item_that_is_not_an_article_gets_no_pick() -> None:
    assert selected(
        b'{"selected_extractor": 1, "x": [{}], "articles": [1, [{}], "{}", {}], "y": {}}'
    ) == (
        b'{"selected_extractor": 1, "x": [{}], "articles": [1, [{}], "{}",'
        b' {"selected_extractor": "newspaper4k"}], "y": {}}'
    )


def test_both_lists_of_a_root_that_names_articles_twice() -> None:
    assert selected(b'{"articles":[{"a":1}],"articles":[{"trafilatura":{"text":"x"}}]}') == (
        b'{"articles":[{"a":1,"selected_extractor":"newspaper4k"}],'
        b'"articles":[{"trafilatura":{"text":"x"},"selected_extractor":"trafilatura"}]}'
    )
