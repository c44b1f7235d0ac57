"""The robustness suite counts effects and finds a wrong product."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from robustness import fuzz, storage_attacks
from robustness.batches import ExpectedBatch
from robustness.table import Effects, Table
from selection import Decision, Extractor, select_article
from tests.support.object_server import Break
from worker.state.job_state import JobState
from worker.state.status import JobStatus


def test_the_table_counts_tries_and_effects_separately() -> None:
    table = Table()
    table.add("a")
    table.add("a", Effects(lost="x", leaked="y"))
    table.add("a", Effects(lost="z"), tries=0)
    assert [str(line).split() for line in str(table).splitlines()] == [
        ["fault", "tried", "lost", "partial", "leaked", "stuck"],
        ["a", "2", "2", "0", "1", "0"],
        ["lost:", "a:", "x"],
        ["leaked:", "a:", "y"],
        ["lost:", "a:", "z"],
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


def test_the_fuzzer_knows_the_picks_of_a_document_whose_reference_has_thousands_of_digits() -> None:
    # `html.unescape` raises ValueError for the reference, as `json` does for invalid data.
    reference = b"&#" + b"9" * 5000 + b";"
    data = b'{"articles": [{"newspaper4k": {"text": "gol %b fim"}}]}' % reference
    assert fuzz._difference(data, 64) is None


def test_shrinking_keeps_what_is_wrong() -> None:
    assert fuzz.shrunk(b"abcxdefyg", lambda text: b"x" in text and b"y" in text) == b"xy"
    assert fuzz.shrunk("abc", lambda text: False) == "abc"


BATCHES = [
    ExpectedBatch(
        b'{"articles": [{"id": %d}]}' % number,
        b'{"articles": [{"id": %d, "selected_extractor": "newspaper4k"}]}' % number,
    )
    for number in range(2)
]


@pytest.mark.slow
def test_a_fault_of_the_storage_has_no_effect_on_the_product_and_each_effect_is_found(
    tmp_path: Path,
) -> None:
    with storage_attacks.storage(tmp_path) as place:

        def effects(begin: Break, codes: tuple[int, ...] = (0,), at: int = 0) -> Effects:
            fault = storage_attacks.Fault("x", lambda pid, change: replace(begin), codes)
            return storage_attacks._with_fault(place, fault, at, BATCHES, b"older")

        unavailable = Break("", status=503, code="SlowDown")
        assert effects(unavailable) == Effects()
        assert effects(unavailable, codes=(66,)).lost
        # A run whose input is denied leaves the older output.
        denied = Break("", status=403, code="AccessDenied", times=2)
        assert effects(denied, codes=(66,)) == Effects()
        assert effects(denied).lost
        leave = Break("", before=lambda: place.store.begin_upload("out/a.json"))
        assert "uploads" in effects(leave).leaked
        half = Break("PUT", after=lambda: place.store.put("out/a.json", b'{"articles": ['))
        found = effects(half)
        assert (bool(found.lost), bool(found.partial)) == (True, True)
        assert effects(unavailable) == Effects()


def test_a_job_on_objects_is_right_if_its_output_is_that_of_one_version(tmp_path: Path) -> None:
    def effects(output: bytes | None, first: JobStatus, last: JobStatus) -> Effects:
        if output is not None:
            place.store.put("out/0_selected.json", output)
        return storage_attacks._check(place, [(BATCHES[0], BATCHES[1])], first, last)

    path = "s3://bucket/in/0.json"
    done = JobStatus(id="1", state=JobState.FINISHED, path=path)
    error = {"message": "reading failed"}
    failed = JobStatus(id="1", state=JobState.FAILED, path=path, error=error)
    started = JobStatus(id="1", state=JobState.STARTED, path=path)
    with storage_attacks.storage(tmp_path) as place:
        assert effects(None, done, done).lost
        for batch in BATCHES:
            assert effects(batch.output, failed, done) == Effects()
        assert effects(None, failed, failed).lost
        assert effects(None, replace(failed, error=None), done).lost
        assert effects(None, started, started).stuck
        assert effects(b'{"articles": [', done, done).partial
