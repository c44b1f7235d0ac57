"""Several processes decide: the same output in the same order, bounded, and ended cleanly."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import batches
import pytest
from test_cli import SELECTION, run

from selection import Progress, select_file
from selection.crew import decided
from selection.document import Article, Gap
from selection.errors import HelperError, InvalidJsonError, WriteError
from selection.rules import Extractor, Rule

MAKERS = [batches.picks_newspaper4k, batches.picks_readability, batches.picks_trafilatura]
RULES = [Rule.TIE_PRIORITY, Rule.TIE_PRIORITY, Rule.SINGLE]
# Enough for helpers to be started, and for all of them to get something.
MANY = 10_000


def helpers() -> list[int]:
    """The process ids of this process's children."""
    return [
        int(child)
        for task in Path("/proc/self/task").iterdir()
        for child in (task / "children").read_text().split()
    ]


@pytest.fixture(scope="module")
def batch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Picks in turn, and between them items that are no articles."""
    path = tmp_path_factory.mktemp("crew") / "batch.json"
    articles = [MAKERS[n % 3](id=n) if n % 7 else "no object" for n in range(MANY)]
    return batches.write(path, articles, before=[{}], after={"articles": [1]})


@pytest.mark.parametrize("jobs", [2, 4])
def test_the_output_is_that_of_one_process(batch: Path, tmp_path: Path, jobs: int) -> None:
    alone = select_file(batch, tmp_path / "alone.json")
    together = select_file(batch, tmp_path / "together.json", jobs=jobs)
    assert (tmp_path / "together.json").read_bytes() == (tmp_path / "alone.json").read_bytes()
    for summary in (alone, together):
        assert (summary.articles, summary.skipped) == (MANY - MANY // 7 - 1, MANY // 7 + 1)
    assert (alone.picks, alone.rules) == (together.picks, together.rules)
    written = json.loads((tmp_path / "together.json").read_bytes())["articles"]
    for number, article in enumerate(written):
        if number % 7:
            assert article["id"] == number
            assert article["selected_extractor"] == list(Extractor)[number % 3]
    assert helpers() == []


def articles(number: int) -> Iterator[Article | Gap]:
    for index in range(number):
        fields = MAKERS[index % 3]()
        yield Gap(index, b" ", 0)
        yield Article(index, index, b"x" * 100_000, None, None, fields, False)


def test_helpers_decide_and_articles_in_flight_are_bounded() -> None:
    given = 0

    def counted() -> Iterator[Article | Gap]:
        nonlocal given
        for part in articles(3_000):
            given += 1
            yield part

    taken = 0
    for part, pick in decided(counted(), 3, "batch.json"):
        if pick:
            assert (pick.extractor, pick.rule) == (
                list(Extractor)[part.index % 3],  # type: ignore[union-attr]
                RULES[part.index % 3],  # type: ignore[union-attr]
            )
        taken += 1
        # Nine chunks of three articles and as many gaps, and the one that is being filled.
        assert given - taken <= 10 * 6
    assert taken == given == 6_000


def test_a_fault_in_the_data_ends_the_helpers(tmp_path: Path, batch: Path) -> None:
    path = tmp_path / "batch.json"
    path.write_bytes(batch.read_bytes()[:-10_000] + b"?")
    with pytest.raises(InvalidJsonError):
        select_file(path, jobs=3)
    assert helpers() == []
    assert os.listdir(tmp_path) == ["batch.json"]


def test_a_helper_that_is_killed_ends_the_run(tmp_path: Path, batch: Path) -> None:
    target = tmp_path / "picked.json"
    target.write_text("old")

    def kill_one(progress: Progress) -> None:
        for child in helpers()[:1]:
            os.kill(child, signal.SIGKILL)

    with pytest.raises(HelperError, match="ended by signal 9 before its time; run again") as caught:
        select_file(batch, target, kill_one, jobs=3)
    assert (caught.value.exit_code, caught.value.retryable) == (74, True)
    assert caught.value.path == str(batch)
    assert helpers() == []
    assert (os.listdir(tmp_path), target.read_text()) == (["picked.json"], "old")


def test_a_helper_that_cannot_be_started_ends_the_run(
    tmp_path: Path, batch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", "/nothing/python")
    with pytest.raises(HelperError, match="cannot be started: No such file"):
        select_file(batch, tmp_path / "picked.json", jobs=2)
    assert os.listdir(tmp_path) == []


def test_a_full_disk_ends_the_helpers(batch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: object, pieces: object) -> None:
        raise WriteError("writing failed: No space left on device")

    monkeypatch.setattr("selection.atomic.AtomicFile.write", full)
    with pytest.raises(WriteError):
        select_file(batch, jobs=3)
    assert helpers() == []
    assert os.listdir(batch.parent) == [batch.name]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_command_that_is_stopped_leaves_no_helper(tmp_path: Path, number: signal.Signals) -> None:
    # Its input ends never, so it is in the midst of it when the signal comes.
    path = batches.write_long(tmp_path / "long.json", 200)
    read, write = os.pipe()
    process = subprocess.Popen(
        [*SELECTION, "run", str(path), "--jobs", "3"],
        stdout=write,
        stderr=write,
        start_new_session=True,
    )
    os.close(write)
    while not any(tmp_path.glob(".long_selected.json.*.tmp")):
        assert process.poll() is None
    # As a terminal does it, all of its processes get the signal; SIGKILL is for one.
    os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    expected = -number if number == signal.SIGKILL else 128 + number
    assert process.wait(60) == expected
    # The helpers have this pipe for standard error: it ends with the last of them.
    with open(read, "rb") as messages:
        assert b"Traceback" not in messages.read()
    if number != signal.SIGKILL:
        assert os.listdir(tmp_path) == ["long.json"]


def test_the_command_takes_jobs(tmp_path: Path, batch: Path) -> None:
    # A folder of the package's name where the command is started is not the package.
    (tmp_path / "selection").mkdir()
    (tmp_path / "selection" / "__init__.py").write_text("raise SystemExit('the wrong one')")
    process = subprocess.run(
        [SELECTION[0], "-P", *SELECTION[1:], "run", batch, "-o", "picked.json", "--jobs", "2"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (process.returncode, "wrong" in process.stderr) == (0, False)
    assert run("verify", batch, tmp_path / "picked.json").returncode == 0
    assert run("run", batch, "--jobs", "0").returncode == 2
