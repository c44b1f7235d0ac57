"""Names, pipes and locks that could make a run lose a file, open it to others or wait for ever."""

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

from robustness.batches import Made, made
from robustness.table import Harm, Table
from tests.support.queue_server import Workers, running_server
from worker.state.status import read_jobs

FUNCTION = "worker.jobs.select_batch"
SECONDS = 60

# Outputs that are, or could be taken for, the input a.json or the bystander victim.json.
_OUTPUTS = (
    *("a.json", "./a.json", "sub/../a.json", "sub/up/a.json", "symbolic", "twice", "hard"),
    *("a.json/", "a.json//", "a.json/.", "a.json/./", "a.json/..", "sub/../a.json/"),
    *("nodir/../a.json", "a.json/../a.json", "nodir/x/../../a.json", "sub/no/../../a.json"),
    *("slash", "through-nodir", "victim.json/", "victim.json/.", "nodir/../victim.json"),
    "",
)
# Folders: a file cannot be there, but `run` makes one in them.
_FOLDERS = ("sub", "sub/", "sub/.", "sub/up", ".", "..", "/")
_VICTIM = b"a file that is not part of this"


def run(table: Table, long: bool, seed: int) -> None:
    """Every attack once; in the long form many times with other batches."""
    randomness = random.Random(seed)
    for _ in range(20 if long else 1):
        batch = made(randomness, 5, 40)
        _outputs(table, batch)
        for kind, attack in _TEMPORARIES.items():
            with _place(batch) as place:
                table.add(f"files: {kind}", attack(place, batch))
        _outputs_of_jobs(table, batch)


@contextmanager
def _place(batch: Made) -> Iterator[Path]:
    """A folder with a batch, a bystander, and links that lead to the batch."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name, "place")
        (place / "sub").mkdir(parents=True)
        (place / "a.json").write_bytes(batch.input)
        (place / "victim.json").write_bytes(_VICTIM)
        (place / "sub" / "up").symlink_to("..")
        (place / "symbolic").symlink_to("a.json")
        (place / "twice").symlink_to("sub/up/symbolic")
        (place / "slash").symlink_to("a.json/")
        (place / "through-nodir").symlink_to("nodir/../a.json")
        os.link(place / "a.json", place / "hard")
        yield place


def _command(place: Path, *arguments: str) -> int | None:
    """How the command ends; None if it does not."""
    try:
        return subprocess.run(
            [sys.executable, "-m", "selection", *arguments],
            cwd=place,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=SECONDS,
        ).returncode
    except subprocess.TimeoutExpired:
        return None


def _state(place: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(place)): path.read_bytes()
        for path in sorted(place.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def _harm(what: str, before: dict[str, bytes], after: dict[str, bytes], code: int | None) -> Harm:
    """What was done to the files by a run that must end with 73."""
    if code is None:
        return Harm(stuck=what)
    changed = [name for name, content in before.items() if after.get(name) != content]
    more = sorted(set(after) - set(before))
    lost = f"{what}: changed or removed: {changed}" if changed else ""
    return Harm(
        lost=lost or ("" if code == 73 else f"{what}: ended with {code}"),
        leaked=f"{what}: {more}" if more else "",
    )


def _outputs(table: Table, batch: Made) -> None:
    for name, outputs in (("run", _OUTPUTS), ("report", (*_OUTPUTS, *_FOLDERS))):
        for output in outputs:
            with _place(batch) as place:
                before = _state(place)
                code = _command(place, name, "a.json", "-o", output)
                harm = _harm(f"{name} -o {output!r}", before, _state(place), code)
                table.add(f"files: the output is the input, {name}", harm)


def _outputs_of_jobs(table: Table, batch: Made) -> None:
    with (
        tempfile.TemporaryDirectory() as name,
        running_server() as server,
        _place(batch) as place,
    ):
        workers = Workers(server, Path(name))
        workers.environment["SELECTION_RETRY_DELAYS"] = "0"
        settings = workers.settings
        connection = settings.connect()
        queue = Queue(settings.queue, connection=connection, serializer=settings.serializer)
        before = _state(place)
        ids = [
            queue.enqueue(FUNCTION, str(place / "a.json"), f"{place}/{output}").id
            for output in (*_OUTPUTS, *_FOLDERS)
        ]
        try:
            workers.start("--burst").wait(SECONDS)
        except subprocess.TimeoutExpired:
            table.add("files: the output is the input, a job", Harm(stuck="the worker"))
            return
        finally:
            workers.stop()
        after = _state(place)
        for output, found in zip((*_OUTPUTS, *_FOLDERS), read_jobs(connection, settings, ids)):
            refused = found.state == "failed" and "Output" in json.dumps(found.error)
            harm = _harm(f"-o {output!r}: {found.state}", before, after, 73 if refused else 0)
            table.add("files: the output is the input, a job", harm)


def _selects(place: Path, batch: Made, kept: dict[str, bytes], name: str = "a.json") -> Harm:
    """A run to b.json must end well and keep these files."""
    code = _command(place, "run", name, "-o", "b.json")
    if code is None:
        return Harm(stuck=f"with {sorted(kept)}")
    after = _state(place)
    lost = [path for path, content in kept.items() if after.get(path) != content]
    if lost or code != 0 or after.get("b.json") != batch.output:
        return Harm(lost=f"ended with {code}; changed or removed: {lost}")
    return Harm()


def _as_temporary(place: Path, batch: Made) -> Harm:
    """Batches have the names of temporary files, the input one of them."""
    kept = {f".b.json.{slot}.tmp": batch.input for slot in range(9)}
    kept[".b.json.00000000-1-0123456789abcdef.tmp"] = batch.input
    for name, content in kept.items():
        (place / name).write_bytes(content)
    return _selects(place, batch, kept, ".b.json.2.tmp")


def _pipes(place: Path, batch: Made) -> Harm:
    """Pipes without a reader or a writer have the names of temporary files."""
    for name in _pipe_names():
        os.mkfifo(place / name)
    harm = _selects(place, batch, {})
    gone = [name for name in _pipe_names() if not stat.S_ISFIFO((place / name).lstat().st_mode)]
    return Harm(lost=f"{gone}") if gone else harm


def _pipe_names() -> list[str]:
    return [
        *(f".b.json.{slot}.tmp" for slot in range(9)),
        ".b.json.00000000-0-0123456789abcdef.tmp",
    ]


def _killed(place: Path, batch: Made) -> Path:
    """The temporary file of a run for another output that was killed while it wrote."""
    script = (
        "import os, signal, sys; from selection import select_file\n"
        "select_file('a.json', 'c.json', lambda _: os.kill(os.getpid(), signal.SIGKILL))"
    )
    before = set(os.listdir(place))
    subprocess.run(
        [sys.executable, "-c", script],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        timeout=SECONDS,
    )
    [left] = set(os.listdir(place)) - before
    return place / left


def _last_try(place: Path, batch: Made) -> Harm:
    """No run comes for the killed one's output; one for another output tidies up."""
    left = _killed(place, batch)
    harm = _selects(place, batch, {})
    return Harm(leaked=left.name) if left.exists() else harm


def _locked(place: Path, batch: Made) -> Harm:
    """Another process holds the lock of a temporary file: it is kept and not waited for."""
    left = _killed(place, batch)
    with left.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        return _selects(place, batch, {left.name: left.read_bytes()})


def _private(place: Path, batch: Made) -> Harm:
    """A private batch has a private output and a private page."""
    (place / "a.json").chmod(0o600)
    for name, output in (("run", "b.json"), ("report", "b.html")):
        _command(place, name, "a.json", "-o", output)
        mode = stat.S_IMODE((place / output).stat().st_mode)
        if mode != 0o600:
            return Harm(leaked=f"{name}: {mode:o}")
    return Harm()


_TEMPORARIES: dict[str, Callable[[Path, Made], Harm]] = {
    "a batch has a temporary file's name": _as_temporary,
    "pipes have temporary files' names": _pipes,
    "the last try was killed": _last_try,
    "a temporary file is locked": _locked,
    "a private batch": _private,
}
