"""Several processes decide: the same output in the same order, bounded, and ended cleanly."""

from __future__ import annotations

import json
import operator
import os
import signal
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest

from selection import Progress, select_file
from selection.errors import InvalidJsonError, WorkerProcessError, WriteError
from selection.model import Extractor
from selection.parallel.pool import Pool, Work
from selection.stream.parser import parse_article
from selection.stream.parts import Content
from tests.support import batches
from tests.support.command import SELECTION, run
from tests.support.process import frozen_while_it_writes, read

MAKERS = [batches.picks_newspaper4k, batches.picks_readability, batches.picks_trafilatura]
# Enough for workers to be started, and for all of them to get something.
MANY = 10_000


def workers() -> list[int]:
    """Return the process ids of this process's pools, and of children that are not waited for."""
    return [child.pid for child in psutil.Process().children() if _is_of_a_pool(child)]


def _is_of_a_pool(child: psutil.Process) -> bool:
    # Other tests leave servers for the whole session.
    if child.status() == psutil.STATUS_ZOMBIE:
        return True
    return "selection.parallel.worker_process" in child.cmdline()


@pytest.fixture(autouse=True)
def worth_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("selection.batch.WORTH_WORKERS", 1)


@pytest.fixture(scope="module")
def batch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write picks in turn, with items between them that are not articles."""
    path = tmp_path_factory.mktemp("pool") / "batch.json"
    articles = [MAKERS[n % 3](id=n) if n % 7 else "no object" for n in range(MANY)]
    return batches.write(path, articles, before=[{}], after={"articles": [1]})


@pytest.mark.parametrize("jobs", [2, pytest.param(4, marks=pytest.mark.slow)])
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
    assert workers() == []


def doubling(number: int, done_here: list[int]) -> Work[int]:
    def here() -> int:
        done_here.append(number)
        return 2 * number

    return Work(operator.mul, (2, number), here)


def test_results_come_in_order_and_the_work_in_flight_is_bounded() -> None:
    begun = taken = 0
    done_here: list[int] = []

    def works() -> Iterator[tuple[int, Work[int]]]:
        nonlocal begun
        for number in range(20_000):
            begun = number + 1
            yield number, doubling(number, done_here)

    with Pool(2) as pool:
        for number, result in pool.ordered(works()):
            assert (number, result()) == (taken, 2 * taken)
            taken += 1
            # Two tasks for each of two workers, as many again, and the one that begins.
            assert begun - taken <= 8
    assert taken == begun == 20_000
    assert 0 < len(done_here) < 20_000  # both this process and the workers have worked
    assert workers() == []


def test_what_work_raises_is_raised_by_its_result_alone() -> None:
    def works() -> Iterator[tuple[int, Work[Content]]]:
        for number in range(5_000):
            raw = b"]" if number % 100 == 7 else b"{}"
            yield number, Work(parse_article, (raw,), partial(parse_article, raw))

    with Pool(1) as pool:
        for number, result in pool.ordered(works()):
            if number % 100 == 7:
                with pytest.raises(InvalidJsonError):
                    result()
            else:
                assert result() == Content(None, None, {}, False)


def test_work_that_was_not_begun_when_its_worker_died_is_done_all_the_same() -> None:
    done_here: list[int] = []
    with Pool(1) as pool:
        given = 0
        while len(done_here) == given:  # until the worker process has begun
            given += 1
            for _, result in pool.ordered([(0, doubling(1, done_here))]):
                assert result() == 2
        fatal: Work[int] = Work(signal.raise_signal, (signal.SIGKILL,), lambda: 0)  # type: ignore[arg-type]
        works = [(1, fatal), *((n, doubling(n, done_here)) for n in (2, 3, 4))]
        outcomes = [result for _, result in pool.ordered(works)]
        with pytest.raises(WorkerProcessError, match="ended early, by signal 9"):
            outcomes[0]()
        assert [outcome() for outcome in outcomes[1:]] == [4, 6, 8]


@pytest.mark.slow
def test_a_fault_in_the_data_ends_the_workers(tmp_path: Path, batch: Path) -> None:
    path = tmp_path / "batch.json"
    path.write_bytes(batch.read_bytes()[:-10_000] + b"?")
    with pytest.raises(InvalidJsonError):
        select_file(path, jobs=3)
    assert workers() == []
    assert os.listdir(tmp_path) == ["batch.json"]


def test_a_worker_that_is_killed_ends_the_run(tmp_path: Path, batch: Path) -> None:
    target = tmp_path / "picked.json"
    target.write_text("old")

    def kill_one(progress: Progress) -> None:
        for child in workers()[:1]:
            os.kill(child, signal.SIGKILL)

    with pytest.raises(WorkerProcessError, match="ended early, by signal 9; run again") as caught:
        select_file(batch, target, kill_one, jobs=3)
    assert (caught.value.exit_code, caught.value.retryable) == (74, True)
    assert caught.value.path == str(batch)
    assert workers() == []
    assert (os.listdir(tmp_path), target.read_text()) == (["picked.json"], "old")


def test_a_worker_that_cannot_be_started_ends_the_run(
    tmp_path: Path, batch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", "/nothing/python")
    with pytest.raises(WorkerProcessError, match="cannot be started: No such file"):
        select_file(batch, tmp_path / "picked.json", jobs=2)
    assert os.listdir(tmp_path) == []


def test_a_full_disk_ends_the_workers(batch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: object, pieces: object) -> None:
        raise WriteError("writing failed: No space left on device")

    monkeypatch.setattr("selection.storage.output.OutputFile.write", full)
    with pytest.raises(WriteError):
        select_file(batch, jobs=3)
    assert workers() == []
    assert os.listdir(batch.parent) == [batch.name]


def begin_run(folder: Path, output: int) -> subprocess.Popen[bytes]:
    path = batches.write_long(folder / "long.json", 400)
    return frozen_while_it_writes(
        partial(
            subprocess.Popen,
            [*SELECTION, "run", str(path), "--jobs", "2"],
            stdout=output,
            stderr=output,
            start_new_session=True,
        ),
        folder / "long_selected.json",
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_command_that_is_stopped_leaves_no_worker(tmp_path: Path, number: signal.Signals) -> None:
    reader, writer = os.pipe()
    process = begin_run(tmp_path, writer)
    os.close(writer)
    # As a terminal does it, all of its processes get the signal; SIGKILL is for one.
    os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    process.send_signal(signal.SIGCONT)
    expected = -number if number == signal.SIGKILL else 128 + number
    assert process.wait(60) == expected
    # The workers have this pipe for standard error: it ends with the last of them.
    messages = b""
    while more := read(reader):
        messages += more
    os.close(reader)
    assert b"Traceback" not in messages
    if number != signal.SIGKILL:
        assert os.listdir(tmp_path) == ["long.json"]


@pytest.mark.slow
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


@pytest.fixture(scope="module")
def small_batches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write 40 files of 0.3 MB, enough for several processes; one is invalid."""
    folder = tmp_path_factory.mktemp("small")
    padding = "x" * 3_000
    for number in range(40):
        articles = [MAKERS[(number + n) % 3](id=n, html=padding) for n in range(80)]
        batches.write(folder / f"{number:02}.json", articles)
    assert sum(path.stat().st_size for path in folder.iterdir()) > 9_000_000
    (folder / "20.json").write_bytes(b'{"articles": [{]}')
    return folder


@pytest.mark.slow
def test_many_small_batches_are_selected_as_by_one_process(
    small_batches: Path, tmp_path: Path
) -> None:
    reports = []
    for jobs in ("1", "2"):
        done = run(
            *("run", small_batches, "--output-dir", tmp_path / jobs, "--jobs", jobs, "--json")
        )
        assert (done.returncode, "Traceback" in done.stderr) == (65, False)
        reports.append([json.loads(line) for line in done.stdout.splitlines()])
    for alone, together in zip(*reports, strict=True):
        for report in (alone, together):
            report.pop("seconds", None)
            report["output"] = os.path.basename(report["output"])
        assert alone == together
    assert [os.path.basename(report["input"]) for report in reports[1]] == [
        f"{number:02}.json" for number in range(40)
    ]
    assert [index for index, report in enumerate(reports[1]) if "error" in report] == [20]
    assert reports[1][20]["error"]["byte"] == 15
    names = {f"{number:02}_selected.json" for number in range(40)} - {"20_selected.json"}
    assert set(os.listdir(tmp_path / "1")) == set(os.listdir(tmp_path / "2")) == names
    for name in names:
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_worker_that_writes_a_file_when_the_command_is_stopped_removes_it(
    small_batches: Path, tmp_path: Path, number: signal.Signals
) -> None:
    process = frozen_while_it_writes(
        partial(
            subprocess.Popen,
            [*SELECTION, "run", small_batches, "--output-dir", tmp_path, "--jobs", "2"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ),
        tmp_path / "0",  # any of the first ten
    )
    os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    process.send_signal(signal.SIGCONT)
    _, messages = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert "Traceback" not in messages
    assert [name for name in os.listdir(tmp_path) if name.startswith(".")] == []
