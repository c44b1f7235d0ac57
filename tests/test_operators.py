"""What operators meet: odd jobs, wrong addresses, full servers, and what the commands say."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from selection import Extractor
from worker.job_state import JobState, State
from worker.serialized import Form, read

# The schema of job.meta


class Boom:
    """Unpickling this would write a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (str(self._path), "w")


@pytest.mark.parametrize("protocol", [1, 2, 3, 4, 5])
def test_meta_is_read_alike_from_json_and_from_every_pickle(protocol: int) -> None:
    meta = {
        "state": "retrying",
        "path": "/data/ä.json",
        "articles": 70_000,
        "picks": {Extractor.READABILITY: 3},
        "started_at": "2026-01-02T03:04:05.678+02:00",
        "error": {"type": "ReadError", "message": "m", "byte": 0, "retryable": True},
        "retry_in": 10,
        "order": [1, 2.5, None, True, (1, 2), b"x"],
    }
    state = JobState.from_bytes(pickle.dumps(meta, protocol))
    del meta["order"]
    assert JobState.from_bytes(json.dumps(meta).encode()) == state
    assert (state.state, state.path, state.articles) == (State.RETRYING, "/data/ä.json", 70_000)
    assert state.picks == {"readability": 3}
    assert state.started_at == "2026-01-02T01:04:05.678+00:00"
    assert state.error is not None
    assert state.error == {"type": "ReadError", "message": "m", "byte": 0, "retryable": True}
    assert JobState.from_meta(state.as_meta()) == state


@pytest.mark.parametrize(
    "odd",
    [
        {"articles": "12"},
        {"articles": 10**400},
        {"articles": True},
        {"bytes_done": -1},
        {"error": "boom"},
        {"error": {"type": 5, "message": "m"}},
        {"worker": 5},
        {"started_at": "2026-01-01T00:00:00"},
        {"updated_at": "0001-01-01T00:00:00+23:00"},
        {"path": "a\0b"},
        {"path": "\ud800"},
        {"picks": [1]},
        {"state": []},
        {"state": "unheard of"},
        ["state"],
        "state",
        None,
    ],
)
def test_odd_meta_has_the_defaults(odd: object) -> None:
    assert JobState.from_meta(odd) == JobState()
    assert JobState.from_bytes(json.dumps(odd).encode()) == JobState()
    assert JobState.from_bytes(pickle.dumps(odd)) == JobState()


@pytest.mark.parametrize(
    "raw",
    [None, b"", b"{", b"\x80", b"\x80\x05.", b"[" * 99_999, b"9" * 5_000, b"\xff", b"x" * 600_000],
)
def test_bytes_that_are_neither_json_nor_a_pickle_are_unreadable(raw: bytes | None) -> None:
    assert read(raw).form is Form.UNREADABLE
    assert JobState.from_bytes(raw) == JobState()


def test_a_pickle_is_read_without_running_it(tmp_path: Path) -> None:
    proof = tmp_path / "proof"
    found = read(pickle.dumps({"path": "/a", "other": Boom(proof)}))
    assert found.form is Form.PICKLE
    assert found.value["path"] == "/a"
    assert not proof.exists()
