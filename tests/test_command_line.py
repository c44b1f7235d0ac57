"""The command ``selection`` with many files, on narrow terminals and with hostile names."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from selection.cli.plan import plan
from selection.cli.tables import shorten
from tests.support import batches
from tests.support.command import SELECTION, run, run_worker
from tests.support.process import frozen_while_it_writes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Batches of equal names in two folders, one deeper, a note and an output."""
    for name in ("2026-01", "2026-02/deep"):
        (tmp_path / "in" / name).mkdir(parents=True)
    for name in ("2026-01/a.json", "2026-02/a.json", "2026-02/deep/b.json"):
        batches.write(tmp_path / "in" / name, [batches.picks_newspaper4k()])
    (tmp_path / "in" / "2026-01" / "note.txt").write_text("not a batch")
    batches.write(tmp_path / "in" / "2026-01" / "a_selected.json", [])
    return tmp_path / "in"


@pytest.fixture
def cached(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(tmp_path / "cache")}


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def on_terminal(columns: int, *arguments: str | Path, cwd: Path) -> tuple[int, str]:
    """Run ``selection`` with all streams on a terminal; its exit code and what it shows."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [*SELECTION, *map(str, arguments)],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        cwd=cwd,
        env={**os.environ, "TERM": "xterm", "COLUMNS": str(columns)},
    )
    os.close(follower)
    shown = b""
    try:
        while more := os.read(leader, 65536):
            shown += more
    except OSError:  # the process has closed its end
        pass
    os.close(leader)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())
    return process.wait(60), re.sub(r"\r+\n?", "\n", text)


# Which files are meant


def test_plan_takes_names_patterns_and_folders_without_repetition(folder: Path) -> None:
    one = str(folder / "2026-01" / "a.json")
    planned = plan([str(folder / "2026-01"), one, str(folder / "2026-*" / "a.json")])
    assert [batch.path for batch in planned.batches] == [one, str(folder / "2026-02" / "a.json")]
    assert planned.left_out == (str(folder / "2026-01" / "a_selected.json"),)
    assert planned.errors == ()
    odd = batches.write(folder / "x[1].json", [])
    assert [batch.path for batch in plan([str(odd)]).batches] == [str(odd)]


def test_plan_looks_into_folders_of_folders_if_asked(folder: Path) -> None:
    (folder / ".hidden").mkdir()
    batches.write(folder / ".hidden" / "c.json", [])
    [error] = plan([str(folder)]).errors
    assert error.exit_code == 66
    assert "--recursive searches its folders" in str(error)
    found = [batch.path for batch in plan([str(folder)], recursive=True).batches]
    assert [os.path.relpath(path, folder) for path in found] == [
        "2026-01/a.json",
        "2026-02/a.json",
        "2026-02/deep/b.json",
    ]


def test_each_argument_without_a_batch_is_an_error_of_its_own(folder: Path) -> None:
    planned = plan([str(folder / "no*.json"), str(folder / "2026-01"), str(folder / "gone.json")])
    assert [error.message for error in planned.errors] == ["no file matches the pattern"]
    # A name is not looked at here: the run says what is wrong with it.
    assert [os.path.basename(batch.path) for batch in planned.batches] == ["a.json", "gone.json"]


def test_the_same_pattern_works_the_second_time(folder: Path) -> None:
    names = [path.name for path in sorted((folder / "2026-02").glob("*.json"))]
    assert run("run", *names, cwd=folder / "2026-02").returncode == 0
    names = [path.name for path in sorted((folder / "2026-02").glob("*.json"))]
    assert names == ["a.json", "a_selected.json"]
    again = run("run", *names, cwd=folder / "2026-02")
    assert again.returncode == 0
    assert "selection: a_selected.json: left out, an output by its name\n" in again.stderr
    assert files_in(folder / "2026-02") == ["a.json", "a_selected.json", "deep/b.json"]


def test_an_output_alone_is_selected_again_only_into_a_named_file(folder: Path) -> None:
    output = folder / "2026-01" / "a_selected.json"
    refused = run("run", output)
    assert refused.returncode == 66
    assert "name its output with --output" in refused.stderr
    assert run("run", output, "-o", folder / "again.json").returncode == 0
    assert (folder / "again.json").read_bytes() == output.read_bytes()


# Where the outputs go


def test_equal_names_keep_their_folders_below_the_output_folder(folder: Path) -> None:
    for arguments in (
        ["in", "-r", "--output-dir", "picked"],
        ["in/2026-01", "in/2026-02", "-r", "-o", "picked/"],
        ["in/2026-*/a.json", "in/2026-02/deep/b.json", "-o", "picked/."],
    ):
        done = run("run", *arguments, cwd=folder.parent)
        assert done.returncode == 0
        assert files_in(folder.parent / "picked") == [
            "2026-01/a_selected.json",
            "2026-02/a_selected.json",
            "2026-02/deep/b_selected.json",
        ]
        shutil.rmtree(folder.parent / "picked")


def test_the_only_batch_of_a_folder_keeps_its_place(folder: Path) -> None:
    # It must not move when a second batch comes: the base is the folder that was named.
    done = run("run", folder / "2026-02", "-r", "-o", f"{folder.parent}/picked/")
    assert done.returncode == 0
    before = files_in(folder.parent / "picked")
    (folder / "2026-02" / "a.json").unlink()
    run("run", folder / "2026-02", "-r", "-o", f"{folder.parent}/picked/")
    assert (
        files_in(folder.parent / "picked") == before == ["a_selected.json", "deep/b_selected.json"]
    )


def test_an_existing_folder_is_a_folder_and_a_file_is_not_one(folder: Path) -> None:
    (folder / "made").mkdir()
    assert run("run", folder / "2026-02" / "a.json", "-o", folder / "made").returncode == 0
    assert files_in(folder / "made") == ["a_selected.json"]
    path = folder / "2026-02" / "a.json"
    before = path.read_bytes()
    done = run("run", path, "-o", f"{path}/")
    assert done.returncode == 73
    assert "the folder cannot be created" in done.stderr
    assert path.read_bytes() == before


# --if-changed


def test_if_changed_keeps_what_is_up_to_date(folder: Path, cached: dict[str, str]) -> None:
    path = folder / "2026-02" / "a.json"
    output = path.with_name("a_selected.json")

    def state() -> bool:
        done = run("run", path, "--if-changed", "--json", cwd=folder, **cached)
        assert done.returncode == 0
        return json.loads(done.stdout).get("unchanged", False) is True

    assert run("run", path, cwd=folder, **cached).returncode == 0
    assert not state()  # nothing is on record of a run without the option
    before = output.stat()
    assert state()
    assert output.stat() == before
    # A newer input, of the same size.
    batches.write(path, [batches.picks_newspaper4k()])
    assert not state()
    assert state()
    # An older input in its place, as a copy that keeps times.
    os.utime(path, (1, 1))
    assert not state()
    assert state()
    # Another output.
    output.write_text(output.read_text().replace("newspaper4k", "trafilatura"))
    assert not state()
    output.unlink()
    assert not state()
    assert state()


def test_if_changed_makes_again_what_other_code_made(
    folder: Path, cached: dict[str, str], tmp_path: Path
) -> None:
    package = Path(__file__).parents[1] / "selection"
    copy = shutil.copytree(package, tmp_path / "other" / "selection")
    path = folder / "2026-02" / "a.json"
    environment = {**cached, "PYTHONPATH": str(tmp_path / "other")}

    def states() -> list[bool]:
        command = [sys.executable, "-c", "from selection.cli.commands import main; main()"]
        done = subprocess.run(
            [*command, "run", str(path), "--if-changed", "--json"],
            capture_output=True,
            text=True,
            env={**os.environ, **environment},
            cwd=tmp_path,
            timeout=60,
        )
        assert done.returncode == 0
        return [json.loads(line).get("unchanged", False) for line in done.stdout.splitlines()]

    assert states() == [False]
    assert states() == [True]
    with (copy / "rules.py").open("a") as file:
        file.write("\n# another version\n")
    assert states() == [False]
    assert states() == [True]


def test_if_changed_without_a_place_for_records_selects(folder: Path) -> None:
    path = folder / "2026-02" / "a.json"
    for _ in range(2):
        done = run("run", path, "--if-changed", "--json", XDG_CACHE_HOME="/dev/null")
        assert done.returncode == 0
        assert json.loads(done.stdout)["articles"] == 1
        assert "--if-changed cannot write its record" in done.stderr


# What is said at the end


def test_failures_are_summed_up_with_what_to_do(folder: Path) -> None:
    (folder / "bad.json").write_text('{"articles": [NaN]}')
    names = ["bad.json", "2026-01/a.json", "2026-02/a.json", "gone.json"]
    done = run("run", *names, cwd=folder)
    assert done.returncode == 65
    lines = done.stderr.splitlines()
    summary = lines[lines.index("selection: 2 of 4 files failed; their outputs are not written") :]
    assert summary[1] == "selection: correct these files:"
    assert summary[2].startswith("selection:   bad.json, line 1 column 15 (byte 14): ")
    assert summary[3] == "selection: check names and permissions:"
    assert summary[4] == "selection:   gone.json: the file does not exist"
    [total] = [line for line in done.stdout.splitlines() if "total" in line]
    assert total.split()[:6] == ["total", "(2", "selected,", "2", "failed)", "2"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_reports_what_is_done_and_what_is_not(
    tmp_path: Path, number: signal.Signals
) -> None:
    batches.write(tmp_path / "a.json", [])
    os.mkfifo(tmp_path / "b.json")
    batches.write_long(tmp_path / "c.json", 400)
    batches.write(tmp_path / "d.json", [])
    process = frozen_while_it_writes(
        partial(
            subprocess.Popen,
            [*SELECTION, "run", "a.json", "b.json", "c.json", "d.json"],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ),
        tmp_path / "c_selected.json",
    )
    assert process.stderr is not None
    process.send_signal(number)
    process.send_signal(signal.SIGCONT)
    rest = process.stderr.read().splitlines()
    process.stderr.close()
    assert process.wait(60) == 128 + number
    assert rest[-3:] == [
        "selection: stopped: 1 done, 1 failed, 2 not done:",
        "selection:   c.json",
        "selection:   d.json",
    ]
    assert sorted(path.name for path in tmp_path.glob("*_selected.json")) == ["a_selected.json"]


# Numbers as ids


@pytest.mark.parametrize("number", ["1e3", "1E+3", "1.10", "-0", "0", "12", "1e400"])
def test_an_id_is_found_and_shown_as_it_is_written(tmp_path: Path, number: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(f'{{"articles": [{{"id": 1000}}, {{"id": {number}, "a": "\\ud800"}}]}}')
    done = run("explain", path, "--id", number, "--json")
    [found] = map(json.loads, done.stdout.splitlines())
    assert (found["index"], found["id"]) == (1, number)


def test_the_last_of_two_ids_counts_whatever_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"articles": [{"id": 1e3, "id": "x"}, {"id": "x", "id": 1e3}]}')
    ids = [json.loads(line)["id"] for line in run("explain", path, "--json").stdout.splitlines()]
    assert ids == ["x", "1e3"]


# Terminals


@pytest.mark.parametrize("columns", [80, 120])
def test_tables_fit_the_terminal(tmp_path: Path, columns: int) -> None:
    deep = tmp_path / ("a-folder-with-a-long-name-" * 2) / ("and-another-one-" * 3)
    deep.mkdir(parents=True)
    article = batches.article("w " * 1_234_567, "w " * 1_234_567, "x", id="i" * 100)
    path = batches.write(deep / "batch-of-a-site.json", [article])
    target = path.with_name("batch-of-a-site_selected.json")
    shown = ""
    commands: list[list[str | Path]]
    commands = [["explain", path, "--index", "0"], ["explain", path], ["run", path]]
    for arguments in commands:
        code, text = on_terminal(columns, *arguments, cwd=tmp_path)
        assert code == 0
        # The log's lines have paths in one piece, so that they can be copied.
        lines = text.splitlines()
        shown += "\n".join(line for line in lines if str(deep) not in line) + "\n"
    assert max(map(len, shown.splitlines())) <= columns
    # 1,234,567 tokens are one shingle: w five times.
    assert "  Score of newspaper4k: 2 x 1 / (1 + 1) = 1.0000\n" in shown
    layout = "1 article: newspaper4k 1, " if columns == 80 else "newspaper4k +readability +traf"
    assert re.search(layout, shown)
    assert str(target)[-20:] in shown


def test_a_pipe_has_whole_paths(tmp_path: Path) -> None:
    deep = tmp_path / ("a-folder-with-a-long-name-" * 4)
    deep.mkdir()
    path = batches.write(deep / "b.json", [])
    assert str(path.with_name("b_selected.json")) in run("run", path).stdout


def test_paths_are_shortened_in_the_middle() -> None:
    assert shorten("picked/2026/a.json", 18) == "picked/2026/a.json"
    # 15 columns are 12 and the dots: 4 of the beginning, 8 of the end.
    assert shorten("picked/2026/a.json", 15) == "pick...6/a.json"
    # Letters of two columns: of eight columns two are the beginning's, six the end's.
    assert shorten("中" * 10, 11) == "中...中中中"
    # A letter that does not fit is left out: one column of the beginning, then four of the end.
    assert shorten("日本語日本語", 7) == "...本語"
    assert shorten("abcdef", 2) == ".."


# Names that a terminal would obey

NAME = "x\x1b[31m\u202e.json"
ESCAPED = r"x\x1b[31m\u202e.json"


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", NAME, "-o", "a", "--output-dir", NAME],
        ["run", NAME, f"{NAME}x", "-o", NAME],
        ["run", "a.json", "a.txt", "--output-dir", NAME],
        ["run", f"--{NAME}"],
        ["run", "a.json", "--jobs", NAME],
        ["explain", "a.json", NAME],
        ["explain", NAME],
        ["report", "a.json", "--text-limit", NAME],
        ["verify", NAME, NAME],
        [NAME],
    ],
)
def test_no_control_character_of_an_argument_reaches_the_terminal(
    tmp_path: Path, arguments: list[str]
) -> None:
    batches.write(tmp_path / "a.json", [])
    batches.write(tmp_path / "a.txt", [])
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode in (2, 66)
    assert "Traceback" not in done.stderr
    everything = done.stdout + done.stderr
    assert all(char.isprintable() for char in everything.replace("\n", ""))


def test_a_name_in_a_usage_error_is_escaped(tmp_path: Path) -> None:
    batches.write(tmp_path / NAME, [])
    batches.write(tmp_path / NAME.replace(".json", ".txt"), [])
    done = run("run", NAME, NAME.replace(".json", ".txt"), cwd=tmp_path)
    assert done.returncode == 2
    assert f"{ESCAPED} and " in done.stderr


# Processes


@pytest.mark.slow
def test_there_are_never_more_processes_than_cores(tmp_path: Path) -> None:
    path = batches.write_long(tmp_path / "a.json", 400)  # long enough for workers to start
    command = [*SELECTION, "run", str(path), "--jobs", "1000", "--json"]
    # Each worker process starts with these variables.
    trace = tmp_path / "started"
    (tmp_path / "sitecustomize.py").write_text(
        f"import os\nopen({str(trace)!r}, 'a').write(f'{{os.getpid()}}\\n')\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert len(trace.read_text().splitlines()) == len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "ADDRESS", "--json"],
        ["run", "x.json", "-o", "ADDRESS"],
        ["explain", "ADDRESS"],
        ["verify", "x.json", "ADDRESS"],
        ["report", "x.json", "ADDRESS"],
        ["export", "ADDRESS"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("address", ["s3://me:secret@bucket/x.json", "S3://me:secret@bucket"])
def test_an_address_with_credentials_is_refused_without_them(
    address: str, arguments: list[str]
) -> None:
    done = run(*(address if each == "ADDRESS" else each for each in arguments))
    assert (done.returncode, done.stdout) == (2, "")
    assert "an address has no credentials: set them in the environment" in done.stderr
    assert "secret" not in done.stderr


@pytest.mark.parametrize("command", ["enqueue", "local"])
def test_a_batch_is_not_enqueued_by_an_address_with_credentials(command: str) -> None:
    done = run_worker(os.environ, command, "s3://me:secret@bucket/x.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "an address has no credentials: set them in the environment" in done.stderr
    assert "secret" not in done.stderr
