"""Files under attack: what is never lost, opened to others, waited for or fenced wrongly."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import resource
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from rq import Queue
from rq.serializers import JSONSerializer

import worker
from selection import SelectionError, select_file
from selection.errors import (
    InputMissingError,
    InputNotFileError,
    OutOfMemoryError,
    OutputError,
    OutputFolderMissingError,
    OutputIsInputError,
    ReadError,
    WriteError,
)
from selection.parallel import cores
from selection.report.write import write_report
from selection.storage import temporary
from selection.storage.transient import is_transient
from tests.support.command import SELECTION, run
from tests.support.process import line_with
from tests.support.queue_server import Events, Workers
from worker import Settings, SettingsError

BATCH = b'{"articles": [{"newspaper4k": {"text": "a b"}}]}'
PICKED = b'{"articles": [{"newspaper4k": {"text": "a b"}, "selected_extractor": "newspaper4k"}]}'

# Names of an output that some code could take for the input, a.json.
REFUSED = {
    "a.json/": OutputError,
    "a.json//": OutputError,
    "a.json/.": OutputError,
    "a.json/./": OutputError,
    "a.json/..": OutputError,
    "a.json/../a.json": OutputError,
    "nodir/../a.json": OutputFolderMissingError,
    "nodir/x/../../a.json": OutputFolderMissingError,
    "folder/nodir/../../a.json": OutputFolderMissingError,
    "folder/../a.json/": OutputError,
    "a.json": OutputIsInputError,
    "./a.json": OutputIsInputError,
    "folder/../a.json": OutputIsInputError,
    "folder/here/a.json": OutputIsInputError,
    "symbolic": OutputIsInputError,
    "twice": OutputIsInputError,
    "hard": OutputIsInputError,
    "slash": OutputError,
    "through-nodir": OutputFolderMissingError,
    "folder": OutputError,
    "folder/": OutputError,
    ".": OutputError,
    "..": OutputError,
    "": OutputError,
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a working directory with a batch and with links to it."""
    (tmp_path / "a.json").write_bytes(BATCH)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "here").symlink_to("..")
    (tmp_path / "symbolic").symlink_to("a.json")
    (tmp_path / "twice").symlink_to("folder/here/symbolic")
    (tmp_path / "slash").symlink_to("a.json/")
    (tmp_path / "through-nodir").symlink_to("nodir/../a.json")
    os.link(tmp_path / "a.json", tmp_path / "hard")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(folder: Path) -> set[str]:
    return set(os.listdir(folder))


# ------------------------------------------------------------- 1: the output is the input


@pytest.mark.parametrize("write", [select_file, write_report], ids=["run", "report"])
@pytest.mark.parametrize("output", REFUSED)
def test_an_output_that_is_not_a_file_of_its_own_is_refused(
    place: Path, write: Callable[[str, str], object], output: str
) -> None:
    before = names(place)
    with pytest.raises(OutputError) as caught:
        write("a.json", output)
    assert type(caught.value) is REFUSED[output]
    assert (caught.value.exit_code, caught.value.path) == (73, output)
    assert (place / "a.json").read_bytes() == BATCH
    assert names(place) == before
    assert names(place / "folder") == {"here"}


@pytest.mark.parametrize("name", ["run", "report"])
@pytest.mark.parametrize("output", ["a.json/", "nodir/../a.json", "a.json/../a.json"])
def test_the_commands_end_with_73_for_it(place: Path, name: str, output: str) -> None:
    before = names(place)
    done = run(name, "a.json", "-o", output)
    assert done.returncode == 73
    assert f"selection: error: {output.rstrip('/')}" in done.stderr
    assert (place / "a.json").read_bytes() == BATCH
    assert names(place) == before


def test_a_job_is_refused_for_it(place: Path, workers: Workers, events: Events) -> None:
    (place / "victim.json").write_bytes(b"precious")
    connection = workers.settings.connect()
    queue = Queue("selection", connection=connection, serializer=JSONSerializer)
    outputs = {
        "a.json/": "OutputError",
        "victim.json/": "OutputError",
        "victim.json/.": "OutputError",
        "a.json/../a.json": "OutputError",
        "folder/../a.json": "OutputIsInputError",
        "nodir/../a.json": "OutputFolderMissingError",
    }
    jobs = {
        output: queue.enqueue("worker.jobs.select_batch", f"{place}/a.json", f"{place}/{output}")
        for output in outputs
    }
    workers.start("--burst", SELECTION_RETRY_DELAYS="0")
    ended = {output: events.wait_for(job.id, "failed")["error"] for output, job in jobs.items()}
    assert {output: json.loads(error)["type"] for output, error in ended.items()} == outputs
    assert (place / "a.json").read_bytes() == BATCH
    assert (place / "victim.json").read_bytes() == b"precious"


@pytest.mark.parametrize("output", ["a.json/", "victim.json/", "victim.json/.", "a.json/../x"])
def test_a_producer_does_not_shorten_a_name_to_another_file(
    place: Path, workers: Workers, output: str
) -> None:
    (place / "victim.json").write_bytes(b"precious")
    connection = workers.settings.connect()
    with pytest.raises(OutputError):
        worker.enqueue("a.json", output, connection=connection, settings=workers.settings)
    assert not connection.keys("rq:job:*")


def test_a_folder_behind_a_link_is_found_as_the_system_finds_it(tmp_path: Path) -> None:
    # Of link/../out.json the folder is the parent of what the link leads to.
    (tmp_path / "deep" / "down").mkdir(parents=True)
    (tmp_path / "link").symlink_to("deep/down")
    (tmp_path / "a.json").write_bytes(BATCH)
    select_file(tmp_path / "a.json", f"{tmp_path}/link/../out.json")
    assert (tmp_path / "deep" / "out.json").read_bytes() == PICKED
    assert names(tmp_path) == {"a.json", "deep", "link"}


def test_an_output_that_becomes_the_input_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    path, output = tmp_path / "a.json", tmp_path / "out.json"
    path.write_bytes(BATCH)

    def link(_: object) -> None:
        if not output.exists():
            os.link(path, output)

    with pytest.raises(OutputIsInputError):
        select_file(path, output, link)
    assert output.samefile(path)
    assert path.read_bytes() == BATCH
    assert names(tmp_path) == {"a.json", "out.json"}


def test_a_folder_that_is_swapped_for_a_link_meanwhile_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "a.json").write_bytes(BATCH)

    def swap(_: object) -> None:
        if not (tmp_path / "moved").exists():
            (tmp_path / "out").rename(tmp_path / "moved")
            (tmp_path / "out").symlink_to("elsewhere")

    select_file(tmp_path / "a.json", tmp_path / "out" / "b.json", swap)
    assert (tmp_path / "moved" / "b.json").read_bytes() == PICKED
    assert names(tmp_path / "elsewhere") == set()


# ------------------------------------------------------------------- 2: temporary files


def own_name(path: Path, target: str, inode: int | None = None, machine: str | None = None) -> Path:
    """Return the name of this machine's temporary file of a target, for an existing file."""
    number = path.stat().st_ino if inode is None else inode
    return path.with_name(
        f".{target}.{machine or temporary._machine()}-{number:x}-0123456789abcdef.tmp"
    )


def abandoned(folder: Path, target: str, content: bytes = b"{") -> Path:
    """Write a temporary file as a killed run leaves it."""
    path = folder / "new"
    path.write_bytes(content)
    return path.rename(own_name(path, target))


def test_a_batch_with_the_name_of_a_temporary_file_is_kept(tmp_path: Path) -> None:
    made = [f".b.json.{slot}.tmp" for slot in range(9)]
    for name in made:
        (tmp_path / name).write_bytes(BATCH)
    path = tmp_path / made[2]
    select_file(path, tmp_path / "b.json")
    assert names(tmp_path) == {*made, "b.json"}
    assert (tmp_path / "b.json").read_bytes() == PICKED


def test_a_copy_under_a_temporary_files_name_is_kept(tmp_path: Path) -> None:
    # Its name carries another file's inode number: it was copied, or restored from a backup.
    (tmp_path / "a.json").write_bytes(BATCH)
    path = own_name(tmp_path / "a.json", "b.json")
    path.write_bytes(BATCH)
    select_file(tmp_path / "a.json", tmp_path / "b.json")
    assert path.read_bytes() == BATCH


def test_the_input_is_kept_even_if_it_is_an_abandoned_file(tmp_path: Path) -> None:
    path = abandoned(tmp_path, "b.json", BATCH)
    other = abandoned(tmp_path, "c.json", BATCH)
    select_file(path, tmp_path / "b.json")
    assert path.read_bytes() == BATCH
    assert names(tmp_path) == {path.name, "b.json"}
    assert not other.exists()


@pytest.mark.parametrize("write", [select_file, write_report], ids=["run", "report"])
def test_abandoned_files_of_all_outputs_are_removed(
    tmp_path: Path, write: Callable[[str], object]
) -> None:
    # The last try of a job that was killed: no other run writes the same output.
    (tmp_path / "a.json").write_bytes(BATCH)
    abandoned(tmp_path, "killed.json")
    abandoned(tmp_path, "killed.json", b"")
    (tmp_path / own_name(tmp_path / "a.json", "made.json", inode=0).name).touch()
    write(str(tmp_path / "a.json"))
    assert len(names(tmp_path)) == 2
    assert not list(tmp_path.glob(".*"))


def test_an_abandoned_file_of_another_machine_is_removed_after_a_day(tmp_path: Path) -> None:
    # Its lock may be one that this machine does not see.
    (tmp_path / "a.json").write_bytes(BATCH)
    for target, hours in (("old", 25), ("young", 23)):
        path = tmp_path / target
        path.write_bytes(b"{")
        path = path.rename(own_name(path, target, machine="00000000"))
        os.utime(path, (0, time.time() - hours * 3600))
    select_file(tmp_path / "a.json")
    left = [name for name in names(tmp_path) if name.startswith(".")]
    assert [name.split(".")[1] for name in left] == ["young"]


def test_a_locked_temporary_file_is_kept_and_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(BATCH)
    path = abandoned(tmp_path, "a_selected.json")
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = run("run", tmp_path / "a.json")
    assert done.returncode == 0
    assert names(tmp_path) == {"a.json", "a_selected.json", path.name}


@pytest.mark.parametrize("kind", ["pipe", "folder", "link", "dangling"])
@pytest.mark.parametrize("name", [".b.json.0.tmp", "of a temporary file"])
def test_what_only_has_a_temporary_files_name_is_kept_and_not_waited_for(
    tmp_path: Path, kind: str, name: str
) -> None:
    (tmp_path / "a.json").write_bytes(BATCH)
    path = tmp_path / ".b.json.0.tmp"
    if name != path.name:
        path = own_name(tmp_path / "a.json", "b.json", inode=0)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("a.json" if kind == "link" else "nowhere")
    done = run("run", tmp_path / "a.json", "-o", tmp_path / "b.json")
    assert done.returncode == 0
    assert names(tmp_path) == {"a.json", "b.json", path.name}
    assert (tmp_path / "a.json").read_bytes() == BATCH
    assert (tmp_path / "b.json").read_bytes() == PICKED


def test_a_temporary_file_is_private_and_locked(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(BATCH)
    (tmp_path / "a.json").chmod(0o666)
    seen: set[int] = set()

    def look(_: object) -> None:
        [path] = tmp_path.glob(".*.tmp")
        seen.add(stat.S_IMODE(path.stat().st_mode))
        with path.open("rb") as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)

    select_file(tmp_path / "a.json", progress=look)
    assert seen == {0o600}


def test_a_temporary_file_that_is_replaced_does_not_become_the_output(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(BATCH)

    def replace(_: object) -> None:
        [path] = tmp_path.glob(".*.tmp")
        path.unlink()
        path.write_bytes(b"not ours")

    with pytest.raises(WriteError):
        select_file(tmp_path / "a.json", progress=replace)
    assert not (tmp_path / "a_selected.json").exists()


def test_a_file_system_without_locks_is_written_to_and_never_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    (tmp_path / "a.json").write_bytes(BATCH)
    path = abandoned(tmp_path, "a_selected.json")
    monkeypatch.setattr(fcntl, "flock", no_locks)
    select_file(tmp_path / "a.json")
    assert names(tmp_path) == {"a.json", "a_selected.json", path.name}


# -------------------------------------------------------------------------- 3: the modes


@pytest.mark.parametrize("write", [select_file, write_report], ids=["run", "report"])
@pytest.mark.parametrize(
    ("input", "umask", "before", "after"),
    [
        (0o600, 0o022, None, 0o600),
        (0o640, 0o022, None, 0o640),
        (0o644, 0o022, None, 0o644),
        (0o666, 0o022, None, 0o644),
        (0o664, 0o002, None, 0o664),
        (0o666, 0o077, None, 0o600),
        (0o400, 0o022, None, 0o400),
        (0o644, 0o022, 0o600, 0o600),
        (0o600, 0o077, 0o644, 0o644),
        (0o600, 0o022, 0o666, 0o666),
        (0o644, 0o022, 0o440, 0o440),
    ],
)
def test_an_output_keeps_its_mode_and_a_new_one_gets_the_inputs(
    tmp_path: Path,
    write: Callable[[str, str], object],
    input: int,
    umask: int,
    before: int | None,
    after: int,
) -> None:
    path, output = tmp_path / "a.json", tmp_path / "out"
    path.write_bytes(BATCH)
    path.chmod(input)
    if before is not None:
        output.touch()
        output.chmod(before)
    previous = os.umask(umask)
    try:
        write(str(path), str(output))
        assert os.umask(umask) == umask
    finally:
        os.umask(previous)
    assert stat.S_IMODE(output.stat().st_mode) == after
    assert output.stat().st_size > 0


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_the_owner_of_an_output_keeps_it(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(BATCH)
    output = tmp_path / "out.json"
    output.touch(0o600)
    os.chown(output, 65534, 65533)
    select_file(tmp_path / "a.json", output)
    found = output.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (65534, 65533, 0o600)
    assert output.read_bytes() == PICKED


@pytest.mark.parametrize(("other", "mode"), [(0, 0o664), (1, 0o644)], ids=["same", "other"])
def test_a_group_that_cannot_be_kept_gets_no_more_than_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: int, mode: int
) -> None:
    def forbidden(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    (tmp_path / "a.json").write_bytes(BATCH)
    output = tmp_path / "out.json"
    output.touch()
    output.chmod(0o664)
    real = os.stat

    def of_a_group(path: str | int, **options: Any) -> os.stat_result:
        found = real(path, **options)
        if path != "out.json":
            return found
        return os.stat_result([*found[: stat.ST_GID], found.st_gid + other, *found[6:10]])

    monkeypatch.setattr(os, "fchown", forbidden)
    monkeypatch.setattr(os, "stat", of_a_group)
    select_file(tmp_path / "a.json", output)
    monkeypatch.undo()
    assert stat.S_IMODE(output.stat().st_mode) == mode


# ------------------------------------------------------------------------- 4: the fence


@pytest.mark.parametrize("value", [":", "::", " ", " : "])
def test_roots_that_name_no_folder_are_a_wrong_setting(value: str) -> None:
    with pytest.raises(SettingsError, match="SELECTION_ROOTS must name folders"):
        Settings.from_environment({"SELECTION_ROOTS": value})


def test_roots_that_name_folders() -> None:
    def roots(value: str) -> Sequence[str]:
        return Settings.from_environment({"SELECTION_ROOTS": value}).roots

    assert roots("") == ()
    assert roots("/data") == roots(":/data:") == ("/data",)
    assert roots("/data:/more") == roots("/data::/more") == ("/data", "/more")


def test_a_root_that_cannot_be_looked_at_now_is_not_a_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "root").symlink_to("real")
    path = tmp_path / "real" / "a.json"
    path.write_bytes(BATCH)
    real = os.lstat

    def away(name: str, **options: int) -> os.stat_result:
        if os.path.basename(name) == "root":
            raise OSError(errno.ENOTCONN, "Transport endpoint is not connected")
        return real(name, **options)

    monkeypatch.setattr(os, "lstat", away)
    with pytest.raises(ReadError) as caught:
        select_file(path, roots=[str(tmp_path / "root")])
    assert caught.value.retryable


# ------------------------------------------------- 9: broken pipes, memory, Ctrl-C, cores


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "a.json"),
        ("run", "a.json", "--json"),
        ("explain", "a.json"),
        ("explain", "a.json", "--index", "0"),
        ("report", "a.json"),
        ("--help",),
    ],
)
def test_a_reader_that_is_gone_ends_it_with_141(place: Path, arguments: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "selection", *arguments],
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    finally:
        os.close(writer)
    assert done.returncode == 141
    assert "error" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["watch", "doctor"])
def test_a_reader_of_the_queue_that_is_gone_ends_it_with_141(workers: Workers, name: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "worker", name],
            env=workers.environment,
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_file_that_needs_more_memory_than_there_is_does_not_stop_the_others(
    tmp_path: Path, jobs: int
) -> None:
    # The article needs some ten times its size of 24 MB.
    (tmp_path / "big.json").write_text(
        '{"articles": [{"newspaper4k": {"text": "%s"}}]}' % ("a b c d e f " * 2_000_000)
    )
    (tmp_path / "small.json").write_bytes(BATCH)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (250_000_000, 250_000_000))

    done = subprocess.run(
        [*SELECTION, "run", "big.json", "small.json", "--json", "--jobs", str(jobs)],
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=limit,
        cwd=tmp_path,
    )
    assert done.returncode == OutOfMemoryError.exit_code == 74
    assert "Traceback" not in done.stderr
    big, small = map(json.loads, done.stdout.splitlines())
    assert big["error"]["type"] == "OutOfMemoryError"
    assert big["error"]["path"] == "big.json"
    assert small["articles"] == 1
    assert names(tmp_path) == {"big.json", "small.json", "small_selected.json"}


def test_out_of_memory_is_a_typed_error_that_is_tried_again(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(BATCH)

    def exhaust(_: object) -> None:
        raise MemoryError

    with pytest.raises(SelectionError) as caught:
        select_file(tmp_path / "a.json", progress=exhaust)
    assert type(caught.value) is OutOfMemoryError
    assert (caught.value.retryable, caught.value.path) == (True, str(tmp_path / "a.json"))
    assert names(tmp_path) == {"a.json"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    ("program", "module"), [("selection", "click"), ("selection-worker", "rq")]
)
def test_a_signal_during_the_imports_ends_it_without_a_word(
    tmp_path: Path, program: str, module: str, number: signal.Signals
) -> None:
    # A module that stops in the middle of its import takes the place of a heavy one.
    (tmp_path / f"{module}.py").write_text(
        "import sys\nprint('importing', flush=True)\nsys.stdin.readline()\n"
    )
    process = subprocess.Popen(
        [Path(sys.executable).with_name(program), "--help"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    line_with("importing", process.stdout, process)
    process.send_signal(number)
    _, shown = process.communicate(timeout=60)
    assert (process.returncode, shown) == (128 + number, "")


def test_a_signal_that_is_ignored_from_outside_stays_ignored(place: Path) -> None:
    def ignore() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    script = (
        "import os, signal, sys\n"
        "from selection.entry import main\n"
        "from selection.cli import commands as cli\n"
        "real = cli.backend\n"
        "cli.backend = lambda: (os.kill(os.getpid(), signal.SIGHUP), real())\n"
        "sys.argv[1:] = ['run', 'a.json']\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        preexec_fn=ignore,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, "done, 1 article" in done.stderr) == (0, True)


def test_the_packages_import_what_they_export_when_it_is_used() -> None:
    script = (
        "import sys, selection, worker\n"
        "print(sorted({'ijson', 'click', 'rq', 'redis', 'rich'} & set(sys.modules)))\n"
        "from selection import *\n"
        "from worker import *\n"
        "print(select_file.__module__, enqueue.__module__, hasattr(selection, 'nothing'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines() == ["[]", "selection.batch worker.producer False"]


def test_the_number_of_cores_without_an_affinity_mask(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert cores.usable_cores() == len(os.sched_getaffinity(0))
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert cores.usable_cores() == 3
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert cores.usable_cores() == 1


# ------------------------------------------------------- operators 10: transient errors

TRANSIENT = [
    *("ENOTCONN", "ESHUTDOWN", "EHOSTDOWN", "EREMOTEIO", "ENETUNREACH", "ECONNRESET", "EBUSY"),
    *("ENXIO", "ENOLCK", "EIO", "ENOSPC", "EDQUOT", "ESTALE", "ETIMEDOUT", "EMFILE", "ENOMEM"),
]


@pytest.mark.parametrize("name", TRANSIENT)
@pytest.mark.parametrize(
    "call", ["open", "fstat", "stat", "readlink", "rename", "fchmod", "fsync", "replace"]
)
def test_a_transient_error_is_tried_again_whatever_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, name: str
) -> None:
    (tmp_path / "a.json").write_bytes(BATCH)
    number = getattr(errno, name)
    real = getattr(os, call)
    calls = 0

    def fail(*arguments: object, **options: object) -> object:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise OSError(number, os.strerror(number))
        return real(*arguments, **options)

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(SelectionError) as caught:
        select_file(tmp_path / "a.json")
    monkeypatch.undo()
    assert calls
    assert (caught.value.exit_code, caught.value.retryable) == (74, True)
    assert names(tmp_path) == {"a.json"}


def test_errors_that_stay_are_final(tmp_path: Path) -> None:
    for name in ("ENOENT", "EACCES", "EPERM", "ENOTDIR", "EISDIR", "ELOOP", "EROFS", "EINVAL"):
        assert not is_transient(OSError(getattr(errno, name), name))
    assert not is_transient(OSError("without a number"))


def test_a_socket_is_not_a_file_server_that_is_away(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "s"))
        with pytest.raises(InputNotFileError):
            select_file(tmp_path / "s", tmp_path / "out.json")
    with pytest.raises(InputMissingError):
        select_file(tmp_path / "missing", tmp_path / "out.json")
