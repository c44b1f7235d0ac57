"""The robustness suite finds faults: what it counts, and what it reports of a wrong product."""

from __future__ import annotations

from dataclasses import replace

import pytest

from robustness import fuzz
from robustness.oldest import constraints
from robustness.table import Harm, Table
from selection import Decision, Extractor, select_article


def test_the_table_counts_tries_and_harm_apart() -> None:
    table = Table()
    table.add("a")
    table.add("a", Harm(lost="x", leaked="y"))
    table.add("a", Harm(lost="z"), tries=0)
    assert [str(line).split() for line in str(table).splitlines()] == [
        ["fault", "tried", "lost", "partial", "leaked", "stuck"],
        ["a", "2", "2", "0", "1", "0"],
    ]
    assert [found["what"] for found in table.as_dict()["found"]] == ["x", "y", "z"]


@pytest.mark.parametrize("figure", ["lost", "partial", "leaked", "stuck"])
def test_the_table_is_clean_only_if_all_was_tried_and_nothing_did_harm(figure: str) -> None:
    table = Table()
    table.add("a")
    assert table.is_clean
    table.add("b", tries=0)
    assert not table.is_clean
    table.add("b")
    assert table.is_clean
    table.add("b", Harm(**{figure: "x"}))
    assert not table.is_clean


def test_the_fuzzer_finds_a_wrong_decision_and_what_makes_it_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def wrong(article: object) -> Decision:
        decision = select_article(article)
        is_wrong = "ß" in str(article)
        return replace(decision, extractor=Extractor.TRAFILATURA) if is_wrong else decision

    monkeypatch.setitem(fuzz.BACKENDS, "wrong", wrong)
    texts = {"newspaper4k": "a b ß c", "readability": "a", "trafilatura": ""}
    fields = {"newspaper4k": "text", "readability": "cleaned_text", "trafilatura": "text"}
    article = {name: {fields[name]: text, "error": None} for name, text in texts.items()}
    assert fuzz._disagreement({**article, "newspaper4k": {"text": "a b c"}}) is None
    shortest = fuzz._shortest(article)
    assert shortest.startswith("wrong: ('trafilatura',")
    assert r"'newspaper4k': {'text': '\xdf', 'error': None}" in shortest


def test_the_fuzzer_tells_a_right_document_from_a_wrong_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = b'{"articles": [{"newspaper4k": {"text": "a"}}]}'
    assert fuzz._difference(data, 3) is None
    assert fuzz._difference(data[:-1], 3) is None
    monkeypatch.setattr(fuzz, "_selected", lambda *_: data)
    first = next(iter(fuzz.BACKENDS))
    assert fuzz._difference(data, 3) == f"{first}: became {data!r}"
    assert str(fuzz._difference(data[:-1], 3)).startswith(f"{first}: accepted, though ")


def test_shrinking_leaves_what_is_wrong() -> None:
    assert fuzz.shrunk(b"abcxdefyg", lambda text: b"x" in text and b"y" in text) == b"xy"
    assert fuzz.shrunk("abc", lambda text: False) == "abc"


def test_the_oldest_versions_are_the_lower_bounds() -> None:
    project = (
        '[project]\ndependencies = ["a>=1.2,<2", "b-c[x]>=3"]\n[project.optional-dependencies]\n'
        'dev = ["project[embedded]", "d==0.9.0"]\nembedded = ["e>=9.1"]\nmonitoring = ["f>=0.2"]\n'
    )
    right = ["a==1.2", "b-c==3", "d==0.9.0", "e==9.1", "f==0.2"]
    assert constraints(project) == right
