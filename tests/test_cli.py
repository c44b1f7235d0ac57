"""The command ``selection``, as a process: what it prints, where, and how it ends."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support import batches
from tests.support.command import SELECTION, run, run_without_root, shell
from tests.support.process import SECONDS, frozen_while_it_writes, killed_after
from tests.support.process import read as read_terminal

COMMANDS = ("run", "explain", "verify", "report", "export")


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    """Three articles, one pick for each extractor, and one item that is not an article."""
    return batches.write(
        tmp_path / "batch.json",
        [
            batches.picks_newspaper4k(id="first"),
            batches.picks_readability(id=7),
            "no object",
            batches.picks_trafilatura(title="[bold]\x1b[31m"),
        ],
    )


# selection run


def test_run_writes_beside_the_input_and_prints_a_table(batch: Path) -> None:
    done = run("run", batch)
    assert done.returncode == 0
    output = batch.with_name("batch_selected.json")
    articles = json.loads(output.read_text())["articles"]
    assert [a["selected_extractor"] for a in articles if isinstance(a, dict)] == [
        "newspaper4k",
        "readability",
        "trafilatura",
    ]
    row = next(line for line in done.stdout.splitlines() if str(output) in line).split()
    # output, articles, one pick for each extractor, one item skipped, seconds
    assert row[:6] == [str(output), "3", "1", "1", "1", "1"]
    assert re.search(r"tie_priority +2\b", done.stdout)
    assert re.search(r"single +1\b", done.stdout)


def test_run_logs_text_lines_without_a_terminal(batch: Path) -> None:
    done = run("run", batch)
    assert len(done.stderr.splitlines()) == 1
    assert "3 articles (newspaper4k 1, readability 1, trafilatura 1), 1 skipped" in done.stderr
    assert "\x1b" not in done.stderr + done.stdout


def test_run_json_prints_one_object_per_file_and_nothing_else(batch: Path, tmp_path: Path) -> None:
    other = batches.write(tmp_path / "other.json", [])
    done = run("run", batch, other, "--json")
    first, second = map(json.loads, done.stdout.splitlines())
    assert first["articles"] == 3
    assert first["skipped"] == 1
    assert first["picks"] == {"newspaper4k": 1, "readability": 1, "trafilatura": 1}
    assert first["rules"]["tie_priority"] == 2
    assert first["rules"]["single"] == 1
    assert first["output"] == str(batch.with_name("batch_selected.json"))
    assert first["bytes"] == batch.stat().st_size
    assert second["articles"] == 0


def test_run_goes_on_after_a_file_that_fails(batch: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('{"articles": [')
    done = run("run", broken, tmp_path / "missing.json", batch, "--json")
    assert done.returncode == 65  # the first failure's
    errors = [json.loads(line).get("error") for line in done.stdout.splitlines()]
    assert [error and error["type"] for error in errors] == [
        "InvalidJsonError",
        "InputMissingError",
        None,
    ]
    assert batch.with_name("batch_selected.json").exists()
    assert not (tmp_path / "broken_selected.json").exists()


def test_run_output_and_output_dir(batch: Path, tmp_path: Path) -> None:
    assert run("run", batch, "-o", tmp_path / "picked.json").returncode == 0
    assert run("run", batch, "--output-dir", tmp_path / "new" / "folder").returncode == 0
    by_name = (tmp_path / "picked.json").read_bytes()
    assert (tmp_path / "new" / "folder" / "batch_selected.json").read_bytes() == by_name
    assert not (tmp_path / "batch_selected.json").exists()


def test_run_refuses_what_would_overwrite_itself(batch: Path, tmp_path: Path) -> None:
    twin = tmp_path / "batch.txt"
    twin.write_bytes(batch.read_bytes())
    same_output = run("run", batch, twin, "--output-dir", tmp_path / "out")
    assert same_output.returncode == 2
    assert "same output" in same_output.stderr
    assert not (tmp_path / "out").exists()

    (tmp_path / "link.json").symlink_to(tmp_path / "batch_selected.json")
    run("run", batch)
    output_as_input = run("run", batch, tmp_path / "link.json")
    assert output_as_input.returncode == 2
    assert "leave it out" in output_as_input.stderr

    two_files = run("run", batch, twin, "-o", tmp_path / "one.json")
    assert two_files.returncode == 2
    both = run("run", batch, "-o", "x", "--output-dir", "y")
    assert both.returncode == 2


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["run"], 2),
        (["run", "--no-such-option", "batch.json"], 2),
        (["nonsense"], 2),
        (["run", "list.json"], 65),
        (["run", "missing.json"], 66),
        (["run", "missing*.json"], 66),
        (["explain", "."], 66),
        (["explain", "batch.json", "--index", "9"], 66),
        (["explain", "batch.json", "--id", "nobody"], 66),
        (["run", "batch.json", "-o", "batch.json"], 73),
        (["run", "batch.json", "-o", "missing/folder.json"], 73),
        (["run", "batch.json", "-o", "/dev/null"], 73),
    ],
)
def test_exit_codes(batch: Path, arguments: Sequence[str], code: int) -> None:
    (batch.parent / "list.json").write_text("[]")
    before = sorted(batch.parent.iterdir())
    done = run(*arguments, cwd=batch.parent)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert done.stderr
    assert sorted(batch.parent.iterdir()) == before


@pytest.mark.parametrize("arguments", ["run in", "explain in", "report in", "verify in in"])
def test_a_file_without_read_permission_is_not_a_usage_error(arguments: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        path = Path(folder, "in")
        path.write_text('{"articles": []}')
        path.chmod(0)
        done = run_without_root(*arguments.split(), cwd=Path(folder))
    assert done.returncode == 66
    assert "in: the file cannot be read; check its permissions" in done.stderr


def test_an_error_names_file_article_line_column_and_byte(tmp_path: Path) -> None:
    path = tmp_path / "nan.json"
    path.write_text('{"articles": [\n{"a": 1},\n{"é": NaN}]}', encoding="utf-8")
    done = run("run", path)
    # Line 3 is {"é": NaN; é is one column and two bytes.
    # Bytes before it: 15 + 10 for the two lines, then {"é":_ is 7.
    assert (
        f"{path}, article 1, line 3 column 7 (byte 32): invalid JSON: NaN is not allowed"
        in done.stderr
    )
    assert done.returncode == 65


# selection explain


def test_explain_without_a_choice_is_one_line_an_article(batch: Path) -> None:
    done = run("explain", batch)
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [(line[0], line[1], line[2]) for line in lines] == [
        ("0", "newspaper4k", "tie_priority"),
        ("1", "readability", "tie_priority"),
        ("3", "trafilatura", "single"),
    ]
    assert [line[-1] for line in lines[:2]] == ["first", "7"]


def test_explain_one_article_shows_the_arithmetic(batch: Path) -> None:
    done = run("explain", batch, "--index", "0")
    # 10 tokens are 6 shingles; all 6 are shared, so 2 x 6 / (6 + 6). The third text has
    # 6 tokens, 2 shingles, none shared.
    assert "2 x 6 / (6 + 6) = 1.0000" in done.stdout
    assert "2 x 0 / (6 + 2) = 0.0000" in done.stdout
    assert "Consensus: 6 shingles" in done.stdout
    assert "Picked: newspaper4k, by priority" in done.stdout


def test_explain_finds_an_id_that_is_a_number(batch: Path) -> None:
    done = run("explain", batch, "--id", "7", "--json")
    [found] = map(json.loads, done.stdout.splitlines())
    assert found["index"] == 1
    assert found["extractor"] == "readability"
    assert found["consensus"] == 6
    assert found["pool"] == ["readability", "trafilatura"]
    assert [c["extractor"] for c in found["candidates"]] == [
        "newspaper4k",
        "readability",
        "trafilatura",
    ]


def test_a_name_cannot_speak_to_the_terminal(tmp_path: Path) -> None:
    path = batches.write(tmp_path / "b.json", [batches.picks_trafilatura(id="x\x1b[31m\n")])
    done = run("explain", path)
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert r"x\x1b[31m\n" in done.stdout


def test_explain_is_right_in_a_locale_without_unicode(tmp_path: Path) -> None:
    path = batches.write(tmp_path / "b.json", [batches.picks_trafilatura(id="ação")])
    done = run("explain", path, "--index", "0", LC_ALL="C", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert r"a\xe7\xe3o" in done.stdout


# selection verify


def test_verify_accepts_what_run_wrote(batch: Path) -> None:
    run("run", batch)
    done = run("verify", batch, batch.with_name("batch_selected.json"))
    assert done.returncode == 0
    assert "3 articles with correct picks, 1 items skipped" in done.stdout


def test_verify_reports_where_an_output_differs(batch: Path) -> None:
    run("run", batch)
    output = batch.with_name("batch_selected.json")
    text = output.read_text()
    place = text.index('"selected_extractor": "readability"') + len('"selected_extractor": "')
    output.write_text(text[:place] + "trafilatura" + text[place + len("readability") :])
    done = run("verify", batch, output)
    assert done.returncode == 65
    assert "article 1" in done.stderr
    assert f"(byte {place})" in done.stderr
    assert "the rules pick 'readability'" in done.stderr
    as_json = run("verify", batch, output, "--json")
    assert as_json.returncode == 65
    assert json.loads(as_json.stdout)["error"]["byte"] == place


# How it ends


def test_help_has_an_example_for_each_command() -> None:
    for command in COMMANDS:
        assert f"  selection {command} batch" in run(command, "--help").stdout
    assert "73   the output cannot be made" in run("--help").stdout


@pytest.mark.parametrize(
    "example",
    [
        "selection run batch.json ",
        "selection run data --recursive ",
        "selection run batch.json.gz ",
        "selection run articles.jsonl ",
        "selection run crawl.log.zst --lines ",
        "| selection run - |",
        "selection run s3://bucket/in/batch.json ",
        "selection run gs://bucket/in/ --output-dir az://",
    ],
)
def test_help_of_run_has_an_example_of_each_form(example: str) -> None:
    assert f"  {example}" in run("run", "--help").stdout.replace("zcat batch.json.gz ", "  ")


def test_help_fits_80_columns_and_has_each_commands_first_sentence_whole() -> None:
    for command in (None, *COMMANDS):
        text = run(*filter(None, [command]), "--help", COLUMNS="80").stdout
        assert max(map(len, text.splitlines())) <= 80
    listed = run("--help", COLUMNS="80").stdout.split("Commands:\n")[1].split("\n\n")[0]
    for command, line in zip(sorted(COMMANDS), listed.splitlines(), strict=True):
        name, summary = line.split(maxsplit=1)
        described = run(command, "--help", COLUMNS="200").stdout.split("\n\n")[1].strip()
        assert (name, summary) == (command, described)
        assert summary.endswith(".")
        assert not summary.endswith("...")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_gets_its_completion(shell: str) -> None:
    name = {"_SELECTION_COMPLETE": f"{shell}_source"}
    code = "import sys; sys.argv[0] = 'selection'; from selection.entry import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **name},
        timeout=SECONDS,
    )
    assert done.returncode == 0
    assert "_SELECTION_COMPLETE" in done.stdout


def test_version_names_what_the_picks_depend_on() -> None:
    done = run("--version")
    assert re.fullmatch(
        r"selection \d+\.\d+\.\d+ \(backend (native|python), Python 3\.\S+, Unicode \S+\)\n",
        done.stdout,
    )


def test_a_reader_that_goes_away_ends_it_quietly(tmp_path: Path) -> None:
    path = batches.write(tmp_path / "many.json", [batches.picks_newspaper4k()] * 20_000)
    process = subprocess.Popen(
        [*SELECTION, "explain", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with killed_after(process):
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(60) == 128 + signal.SIGPIPE


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_nothing_behind(tmp_path: Path, number: signal.Signals) -> None:
    path = batches.write_long(tmp_path / "long.json", 400)
    terminals: list[Terminal] = []
    with ExitStack() as stack:

        def start() -> subprocess.Popen[bytes]:
            terminals.append(stack.enter_context(Terminal("run", str(path))))
            return terminals[-1].process

        process = frozen_while_it_writes(start, tmp_path / "long_selected.json")
        process.send_signal(number)
        process.send_signal(signal.SIGCONT)
        assert process.wait(60) == 128 + number
        assert "Traceback" not in terminals[-1].rest()
    assert os.listdir(tmp_path) == ["long.json"]


@pytest.mark.slow
def test_progress_on_a_terminal_is_a_bar(tmp_path: Path) -> None:
    path = batches.write_long(tmp_path / "long.json", 300)
    with Terminal("run", str(path)) as terminal:
        screen = terminal.wait_for("MB")
        assert re.search(r"articles, [\d,]+/s", screen)
        assert terminal.process.wait(60) == 0


@pytest.mark.parametrize("redirection", [">&-", "2>&-", "<&-", "2>/dev/full", ">&- 2>&- <&-"])
def test_streams_that_are_closed_or_full_do_not_stop_the_work(
    batch: Path, redirection: str
) -> None:
    command = f'"{sys.executable}" -m selection run batch.json -o out.json {redirection}'
    done = shell(command, batch.parent)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert (batch.parent / "out.json").exists()


@pytest.mark.parametrize("arguments", [("explain", "batch.json"), ("run", "batch.json", "--json")])
def test_standard_output_that_is_full_is_a_failure(batch: Path, arguments: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*SELECTION, *arguments],
            cwd=batch.parent,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=SECONDS,
        )
    assert done.returncode == 74
    assert done.stderr.endswith("selection: error: standard output: No space left on device\n")


def test_a_working_directory_that_does_not_exist(batch: Path) -> None:
    folder = batch.parent / "gone"
    folder.mkdir()
    command = f'rmdir ../gone; "{sys.executable}" -m selection run ../batch.json'
    done = shell(command, folder)
    assert done.returncode == 66
    assert (
        done.stderr == "selection: error: the working directory does not exist; change to another\n"
    )


def test_a_name_that_the_locale_cannot_spell(batch: Path) -> None:
    batch.rename(batch.with_name("café.json"))
    done = run(
        "run", "café.json", cwd=batch.parent, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0"
    )
    assert done.returncode == 0
    assert batch.with_name("café_selected.json").exists()


class Terminal:
    """A run of ``selection`` whose standard error is a terminal."""

    def __init__(self, *arguments: str) -> None:
        self._leader, follower = pty.openpty()
        self.process = subprocess.Popen(
            [*SELECTION, *arguments],
            stdout=subprocess.DEVNULL,
            stderr=follower,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "120", "PYTHONDEVMODE": "0"},
        )
        os.close(follower)

    def wait_for(self, text: str) -> str:
        """All that was shown up to that text."""
        shown = ""
        while text not in shown:
            more = read_terminal(self._leader)
            assert more, f"ended without {text!r}: {shown}"
            shown += more.decode()
        return shown

    def rest(self) -> str:
        """All that is shown until the process closes its terminal."""
        shown = b""
        try:
            while more := read_terminal(self._leader):
                shown += more
        except OSError:  # how Linux says that the other side is closed
            pass
        return shown.decode()

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(SECONDS)
        os.close(self._leader)
