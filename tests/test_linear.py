"""What ijson is fed: no piece ends in a string, so that no byte is scanned again and again.

yajl scans a string that is not closed from its first byte with every piece. Only a string that is
longer than a mebibyte may be cut, into pieces that double, so that all scanning is linear.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from selection import select_file
from selection.stream import parser
from selection.stream.boundaries import OUTSIDE, find_in_python
from selection.text.backend import Backend, available

HELD = 1 << 20
PROSE = "the ferry leaves at nine"
KINDS = {
    "braces": '}{"][\\',
    "listing": json.dumps([{"id": 1, "tags": ["a"], "at": {"x": {}}}], indent=1),
    "script": 'function f(a){if(a){return{b:[a,{c:"}"}]}}}',
    "prose": PROSE,
}


def article(text: str, **more: Any) -> dict[str, Any]:
    return {"newspaper4k": {"text": text}, "trafilatura": {"text": PROSE}, **more}


PLACES: dict[str, Callable[[str], dict[str, Any]]] = {
    "text": lambda text: {"articles": [article(text), article(PROSE)]},
    "member": lambda text: {"articles": [article(PROSE, html=text), article(PROSE)]},
    "item": lambda text: {"articles": [text, article(PROSE)]},
    "key": lambda text: {"articles": [article(PROSE, **{text: 1})]},
    "before": lambda text: {"source": text, "articles": [article(PROSE)]},
    "behind": lambda text: {"articles": [article(PROSE)], "source": text},
}


class Recorder:
    """Wraps ijson and records the pieces of each parser."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend
        self.parsers: list[list[bytes]] = []

    def basic_parse_coro(self, events: Any) -> Any:
        return _Recorded(self._backend.basic_parse_coro(events), self.parsers)


class _Recorded:
    def __init__(self, coroutine: Any, parsers: list[list[bytes]]) -> None:
        self._coroutine = coroutine
        self._pieces: list[bytes] = []
        parsers.append(self._pieces)

    def send(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._coroutine.send(piece)

    def close(self) -> None:
        self._coroutine.close()


def cut_strings(pieces: list[bytes]) -> Iterator[list[int]]:
    """For each string that is cut, how long it is at each cut."""
    string = OUTSIDE
    length = 0
    cuts: list[int] = []
    # Behind the root the parser gets a quote, which closes a string that yajl would forgive.
    for piece in pieces[:-1] if pieces[-1] == b'"' else pieces:
        _, _, after = find_in_python(piece, 0, len(piece), 5, string)
        if after == OUTSIDE:
            if cuts:
                yield cuts
            length, cuts = 0, []
        else:
            length += len(piece)
            cuts.append(length)
        string = after
    if cuts:
        yield cuts


@pytest.mark.parametrize("backend", available().values(), ids=lambda backend: backend.name)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [300_000, pytest.param(5_000_000, marks=pytest.mark.slow)])
def test_no_piece_ends_in_a_string_that_is_not_longer_than_a_buffer(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    backend: Backend,
    place: str,
    kind: str,
    size: int,
) -> None:
    monkeypatch.setattr("selection.rules.default_backend", lambda: backend)
    monkeypatch.setenv("SELECTION_BACKEND", backend.name)
    recorder = Recorder(parser._BACKEND)
    monkeypatch.setattr("selection.stream.parser._BACKEND", recorder)
    path = tmp_path / "batch.json"
    text = KINDS[kind] * (size // len(KINDS[kind]))
    path.write_text(json.dumps(PLACES[place](text)))
    select_file(path)

    fed = sum(len(piece) for pieces in recorder.parsers for piece in pieces)
    # Only an article that is longer than a mebibyte is parsed twice.
    assert fed <= 2 * path.stat().st_size + 100
    cuts = [cut for pieces in recorder.parsers for cut in cut_strings(pieces)]
    if size < HELD:
        assert cuts == []
    for cut in cuts:
        assert cut[0] >= HELD
        assert all(later >= 2 * earlier for earlier, later in pairwise(cut))
