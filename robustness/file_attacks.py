"""Names, pipes and locks that could make a run lose a file, publish it or wait for ever."""

from __future__ import annotations

import fcntl
import json
import os
import random
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rq import Queue

from robustness.batches import ExpectedBatch, generate
from robustness.table import Effects, Table
from tests.support.queue_server import Workers, running_server
from worker.state.status import read_jobs

FUNCTION = "worker.jobs.select_batch"
SECONDS = 60

# Outputs that are, or could be confused with, the input a.json or the unrelated bystander.json.
_OUTPUTS = (
    *("a.json", "./a.json", "sub/../a.json", "sub/up/a.json", "symbolic", "twice", "hard"),
    *("a.json/", "a.json//", "a.json/.", "a.json/./", "a.json/..", "sub/../a.json/"),
    *("nodir/../a.json", "a.json/../a.json", "nodir/x/../../a.json", "sub/no/../../a.json"),
    *("slash", "through-nodir", "bystander.json/", "bystander.json/.", "nodir/../bystander.json"),
    "",
)
# Folders: a file cannot be there, but `run` and `report` make files in them; a job does not.
_FOLDERS = ("sub", "sub/", "sub/.", "sub/up", ".", "..", "/")
_BYSTANDER = b"a file that is not part of this"


def run(table: Table, long: bool, seed: int) -> None:
    """Make every attack once; in the long form 20 times with other batches."""
    randomness = random.Random(seed)
    for _ in range(20 if long else 1):
        batch = generate(randomness, 5, 40)
        _outputs(table, batch)
        for kind, attack in _TEMPORARIES.items():
            with _attacked_folder(batch) as folder:
                table.add(f"file-attacks: {kind}", attack(folder, batch))
        _outputs_of_jobs(table, batch)


@contextmanager
def _attacked_folder(batch: ExpectedBatch) -> Iterator[Path]:
    """Make a folder with a batch, an unrelated file, and links to the batch."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "folder")
        (folder / "sub").mkdir(parents=True)
        (folder / "a.json").write_bytes(batch.input)
        (folder / "bystander.json").write_bytes(_BYSTANDER)
        (folder / "sub" / "up").symlink_to("..")
        (folder / "symbolic").symlink_to("a.json")
        (folder / "twice").symlink_to("sub/up/symbolic")
        (folder / "slash").symlink_to("a.json/")
        (folder / "through-nodir").symlink_to("nodir/../a.json")
        os.link(folder / "a.json", folder / "hard")
        yield folder


def _command(folder: Path, *arguments: str) -> int | None:
    """Return the exit code of the command; None if it does not end in time."""
    try:
        return subprocess.run(
            [sys.executable, "-m", "selection", *arguments],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=SECONDS,
        ).returncode
    except subprocess.TimeoutExpired:
        return None


def _state(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def _effects(
    what: str, before: dict[str, bytes], after: dict[str, bytes], code: int | None
) -> Effects:
    """Compare the files before and after a run that must end with 73."""
    if code is None:
        return Effects(stuck=what)
    changed = [name for name, content in before.items() if after.get(name) != content]
    more = sorted(set(after) - set(before))
    lost = f"{what}: changed or removed: {changed}" if changed else ""
    return Effects(
        lost=lost or ("" if code == 73 else f"{what}: ended with {code}"),
        leaked=f"{what}: {more}" if more else "",
    )


def _outputs(table: Table, batch: ExpectedBatch) -> None:
    for name in ("run", "report"):
        for output in _OUTPUTS:
            with _attacked_folder(batch) as folder:
                before = _state(folder)
                code = _command(folder, name, "a.json", "-o", output)
                effects = _effects(f"{name} -o {output!r}", before, _state(folder), code)
                table.add(f"file-attacks: the output is the input, {name}", effects)


def _outputs_of_jobs(table: Table, batch: ExpectedBatch) -> None:
    with (
        tempfile.TemporaryDirectory() as name,
        running_server() as server,
        _attacked_folder(batch) as folder,
    ):
        workers = Workers(server, Path(name))
        workers.environment["SELECTION_RETRY_DELAYS"] = "0"
        settings = workers.settings
        connection = settings.connect()
        queue = Queue(settings.queue, connection=connection, serializer=settings.serializer)
        before = _state(folder)
        ids = [
            queue.enqueue(FUNCTION, str(folder / "a.json"), f"{folder}/{output}").id
            for output in (*_OUTPUTS, *_FOLDERS)
        ]
        try:
            workers.start("--burst").wait(SECONDS)
        except subprocess.TimeoutExpired:
            table.add("file-attacks: the output is the input, a job", Effects(stuck="the worker"))
            return
        finally:
            workers.stop()
        after = _state(folder)
        for output, found in zip((*_OUTPUTS, *_FOLDERS), read_jobs(connection, settings, ids)):
            refused = found.state == "failed" and "Output" in json.dumps(found.error)
            effects = _effects(f"-o {output!r}: {found.state}", before, after, 73 if refused else 0)
            table.add("file-attacks: the output is the input, a job", effects)


def _selects(
    folder: Path, batch: ExpectedBatch, kept: dict[str, bytes], name: str = "a.json"
) -> Effects:
    """Check that a run to b.json succeeds and keeps these files."""
    code = _command(folder, "run", name, "-o", "b.json")
    if code is None:
        return Effects(stuck=f"with {sorted(kept)}")
    after = _state(folder)
    lost = [path for path, content in kept.items() if after.get(path) != content]
    if lost or code != 0 or after.get("b.json") != batch.output:
        return Effects(lost=f"ended with {code}; changed or removed: {lost}")
    return Effects()


def _as_temporary(folder: Path, batch: ExpectedBatch) -> Effects:
    """Give batches, also the input, the names of temporary files."""
    kept = {f".b.json.{slot}.tmp": batch.input for slot in range(9)}
    kept[".b.json.00000000-1-0123456789abcdef.tmp"] = batch.input
    for name, content in kept.items():
        (folder / name).write_bytes(content)
    return _selects(folder, batch, kept, ".b.json.2.tmp")


def _pipes(folder: Path, batch: ExpectedBatch) -> Effects:
    """Give pipes without a reader or a writer the names of temporary files."""
    for name in _pipe_names():
        os.mkfifo(folder / name)
    effects = _selects(folder, batch, {})
    gone = [name for name in _pipe_names() if not stat.S_ISFIFO((folder / name).lstat().st_mode)]
    return Effects(lost=f"{gone}") if gone else effects


def _pipe_names() -> list[str]:
    return [
        *(f".b.json.{slot}.tmp" for slot in range(9)),
        ".b.json.00000000-0-0123456789abcdef.tmp",
    ]


def _killed(folder: Path, batch: ExpectedBatch) -> Path:
    """Kill a run for another output while it writes; return its temporary file."""
    script = (
        "import os, signal, sys; from selection import select_file\n"
        "select_file('a.json', 'c.json', lambda _: os.kill(os.getpid(), signal.SIGKILL))"
    )
    before = set(os.listdir(folder))
    subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        timeout=SECONDS,
    )
    [left] = set(os.listdir(folder)) - before
    return folder / left


def _last_try(folder: Path, batch: ExpectedBatch) -> Effects:
    """Let a run for another output remove the temporary file of a killed one."""
    left = _killed(folder, batch)
    effects = _selects(folder, batch, {})
    return Effects(leaked=left.name) if left.exists() else effects


def _locked(folder: Path, batch: ExpectedBatch) -> Effects:
    """Lock a temporary file in another process: it is kept and not waited for."""
    left = _killed(folder, batch)
    with left.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        return _selects(folder, batch, {left.name: left.read_bytes()})


def _private(folder: Path, batch: ExpectedBatch) -> Effects:
    """Check that a private batch gets a private output and a private page."""
    (folder / "a.json").chmod(0o600)
    for name, output in (("run", "b.json"), ("report", "b.html")):
        _command(folder, name, "a.json", "-o", output)
        mode = stat.S_IMODE((folder / output).stat().st_mode)
        if mode != 0o600:
            return Effects(leaked=f"{name}: {mode:o}")
    return Effects()


_TEMPORARIES: dict[str, Callable[[Path, ExpectedBatch], Effects]] = {
    "a batch has a temporary file's name": _as_temporary,
    "pipes have temporary files' names": _pipes,
    "the last try was killed": _last_try,
    "a temporary file is locked": _locked,
    "a private batch": _private,
}
