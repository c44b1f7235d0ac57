"""The robustness suite counts effects and finds a wrong product."""

from __future__ import annotations

from dataclasses import replace

import pytest

from robustness import fuzz
from robustness.table import Effects, Table
from selection import Decision, Extractor, select_article


def test_the_table_counts_tries_and_effects_separately() -> None:
    table = Table()
    table.add("a")
    table.add("a", Effects(lost="x", leaked="y"))
    table.add("a", Effects(lost="z"), tries=0)
    assert [str(line).split() for line in str(table).splitlines()] == [
        ["fault", "tried", "lost", "partial", "leaked", "stuck"],
        ["a", "2", "2", "0", "1", "0"],
    ]
    assert [found["what"] for found in table.as_dict()["found"]] == ["x", "y", "z"]


@pytest.mark.parametrize("effect", ["lost", "partial", "leaked", "stuck"])
def test_the_table_is_clean_only_if_every_fault_was_tried_without_an_effect(effect: str) -> None:
    table = Table()
    table.add("a")
    assert table.is_clean
    table.add("b", tries=0)
    assert not table.is_clean
    table.add("b")
    assert table.is_clean
    table.add("b", Effects(**{effect: "x"}))
    assert not table.is_clean


def test_the_fuzzer_finds_a_wrong_decision_and_shrinks_its_article(
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


def test_the_fuzzer_finds_a_wrong_output_and_accepts_a_right_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = b'{"articles": [{"newspaper4k": {"text": "a"}}]}'
    assert fuzz._difference(data, 3) is None
    assert fuzz._difference(data[:-1], 3) is None
    monkeypatch.setattr(fuzz, "_selected", lambda *_: data)
    first = next(iter(fuzz.BACKENDS))
    assert fuzz._difference(data, 3) == f"{first}: became {data!r}"
    assert str(fuzz._difference(data[:-1], 3)).startswith(f"{first}: accepted, though ")


def test_shrinking_keeps_what_is_wrong() -> None:
    assert fuzz.shrunk(b"abcxdefyg", lambda text: b"x" in text and b"y" in text) == b"xy"
    assert fuzz.shrunk("abc", lambda text: False) == "abc"
