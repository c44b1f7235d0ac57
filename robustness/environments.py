"""Unusual clocks, locales, names and permissions: a right output or a documented exit code."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import worker
from robustness import preload
from robustness.batches import ExpectedBatch, generate, generate_large
from robustness.table import Effects, Table
from tests.support.queue_server import Server, Workers, running_server
from worker.state.status import read_jobs

ROOT = Path(__file__).parents[1]
SECONDS = 60
NOBODY = 65534
_HOUR = 3600
_CLOCKS = {
    "an hour behind": -_HOUR,
    "an hour ahead": _HOUR,
    "in 1970": -56 * 365 * 24 * _HOUR,
    "after 2038": 20 * 365 * 24 * _HOUR,
}
_NAMES = {
    "spaces": "a  batch .json",
    "quotes": "a \"batch\" of 'mine' `x` $HOME.json",
    "newlines": "a\nbatch\r.json",
    "a leading hyphen": "-batch.json",
    "only dots": "...json",
    "Unicode": "日本\u202e\u0301😀.json",
    "escapes": "\x1b[31m\x07.json",
    "255 bytes": "b" * 250 + ".json",
}


@dataclass(frozen=True)
class Case:
    """One run of the command in one environment.

    Attributes:
        fault: the name of the environment, for the table.
        path: the batch.
        output: the output; None for the default one.
        codes: the permitted exit codes.
        environment: additional variables; None removes a variable.
        as_nobody: whether the command runs without privileges.
        folder: the working directory.
        is_gone: whether the working directory is removed before the command begins.
    """

    fault: str
    path: bytes
    output: bytes | None = None
    codes: tuple[int, ...] = (0,)
    environment: dict[str, str | None] = field(default_factory=dict)
    as_nobody: bool = False
    folder: bytes | None = None
    is_gone: bool = False


def run(table: Table, long: bool, seed: int) -> None:
    """Run every case once; in the long form some of them with many values."""
    randomness = random.Random(seed)
    # A process without privileges must be able to enter it.
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        library = preload.build(Path(name))
        for number, make in enumerate(_cases(Path(name), library, randomness, long)):
            batch = generate(randomness, 4, 30)
            folder = Path(name, str(number))
            folder.mkdir()
            if os.getuid() == 0:
                os.chown(folder, NOBODY, NOBODY)
            case = make(folder, batch)
            table.add(f"environments: {case.fault}", _run_one(case, batch))
        _through_the_queue(table, Path(name), library, randomness)


def _cases(
    top: Path, library: Path, randomness: random.Random, long: bool
) -> Iterator[Callable[[Path, ExpectedBatch], Case]]:
    """Yield functions that make a case in a folder of its own."""
    clock = [
        *("Pacific/Kiritimati", "Pacific/Pago_Pago", "Asia/Kathmandu", "America/Sao_Paulo"),
        *("No/Such_Zone", ":", "XXX-25:59:59"),
    ]
    for zone in clock:
        yield _with_environment("time zone", TZ=zone)
    for locale in ("C", "POSIX", "C.UTF-8", "no_SUCH.locale"):
        yield _with_environment(
            "locale and no UTF-8 mode", LC_ALL=locale, LANG=locale, PYTHONUTF8="0"
        )
        yield _with_environment(
            "locale, strictly", LC_ALL=locale, PYTHONUTF8="0", PYTHONCOERCECLOCALE="0", LANG=None
        )
    for _ in range(50 if long else 5):
        yield _with_environment(
            "random hash seed", PYTHONHASHSEED=str(randomness.randrange(1 << 32))
        )
    for seconds in _CLOCKS.values():
        yield _with_environment("wrong clock", LD_PRELOAD=str(library), FAULTS_CLOCK=str(seconds))
    for name in _NAMES.values():
        yield _named(name)
        yield _named(name, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    yield _not_utf_8
    for length in (3900, 4080, 4095):
        yield _deep(length, (0,))
    for length in (4096, 5000):
        yield _deep(length, (66, 73))
    for variable in ("TMPDIR", "HOME"):
        yield _with_environment(f"no {variable}", **{variable: str(top / "missing")})
    yield _with_environment("an empty environment", **dict.fromkeys(os.environ))
    yield _read_only
    yield _unreadable
    yield _no_folder
    yield _folder_gone
    yield _with_environment("no hard links", LD_PRELOAD=str(library), FAULTS_NO_LINKS="1")
    yield _with_environment("no locks", LD_PRELOAD=str(library), FAULTS_NO_LOCKS="1")


def _put(folder: Path, batch: ExpectedBatch, name: str = "batch.json") -> bytes:
    path = folder / name
    path.write_bytes(batch.input)
    return os.fsencode(path)


def _with_environment(
    fault: str, **environment: str | None
) -> Callable[[Path, ExpectedBatch], Case]:
    """Return a maker of cases with an ordinary batch and these variables."""
    return lambda folder, batch: Case(fault, _put(folder, batch), environment=environment)


def _named(name: str, **environment: str | None) -> Callable[[Path, ExpectedBatch], Case]:
    """Return a maker of cases with unusual relative names of batch and output."""

    def make(folder: Path, batch: ExpectedBatch) -> Case:
        _put(folder, batch, name)
        return Case(
            "unusual names",
            os.fsencode(f"./{name}"),
            os.fsencode(f"./{name[:-5][:240]}.out"),
            environment=environment,
            folder=os.fsencode(folder),
        )

    return make


def _not_utf_8(folder: Path, batch: ExpectedBatch) -> Case:
    path = os.fsencode(folder) + b"/\xff\xfe.json"
    with open(path, "wb") as file:
        file.write(batch.input)
    return Case("names that are not UTF-8", path, codes=(66,))


def _deep(length: int, codes: tuple[int, ...]) -> Callable[[Path, ExpectedBatch], Case]:
    """Return a maker of cases with nested folders and a path of ``length`` bytes."""

    def make(folder: Path, batch: ExpectedBatch) -> Case:
        here = os.getcwd()
        path = os.fsencode(folder)
        os.chdir(folder)
        # The default output's name is nine bytes longer; a named output is as short as the input.
        while (rest := length - len(path) - len(b"/b.json")) > 0:
            name = b"d" * (rest - 1 if rest <= 201 else min(200, rest - 3))
            os.mkdir(name)
            os.chdir(name)
            path += b"/" + name
        with open("b.json", "wb") as file:
            file.write(batch.input)
        os.chdir(here)
        # PATH_MAX is 4,096 bytes with the NUL.
        return Case("long paths", path + b"/b.json", path + b"/o.json", codes)

    return make


def _read_only(folder: Path, batch: ExpectedBatch) -> Case:
    path = _put(folder, batch)
    folder.chmod(0o555)
    return Case("a folder that may not be written", path, codes=(73,), as_nobody=True)


def _unreadable(folder: Path, batch: ExpectedBatch) -> Case:
    path = _put(folder, batch)
    os.chmod(path, 0)
    if os.getuid() == 0:
        os.chown(path, 0, 0)
    return Case("a batch that may not be read", path, codes=(66,), as_nobody=True)


def _no_folder(folder: Path, batch: ExpectedBatch) -> Case:
    path = _put(folder, batch)
    return Case("no folder for the output", path, os.fsencode(folder / "no/o.json"), codes=(73,))


def _folder_gone(folder: Path, batch: ExpectedBatch) -> Case:
    gone = folder / "gone"
    gone.mkdir()
    return Case(
        "a working directory that is gone",
        _put(folder, batch),
        codes=(66,),
        folder=os.fsencode(gone),
        is_gone=True,
    )


# The command in a process without privileges or without its working directory.
_START = """
import os, shutil, sys
from selection.cli.commands import main
nobody, gone = sys.argv[1:3]
if nobody == "1" and os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
if gone == "1":
    os.rmdir(os.getcwd())
sys.argv[1:] = sys.argv[3:]
main()
"""


def _run_one(case: Case, batch: ExpectedBatch) -> Effects:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **case.environment}
    nobody, gone = str(int(case.as_nobody)), str(int(case.is_gone))
    command: list[str | bytes] = [sys.executable, "-c", _START, nobody, gone, "run", case.path]
    if case.output:
        command += ["-o", case.output]
    try:
        done = subprocess.run(
            [*command, "--json"],
            env={name: value for name, value in environment.items() if value is not None},
            cwd=case.folder,
            capture_output=True,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return Effects(stuck=f"{case}")
    return _check(case, batch, done)


def _check(case: Case, batch: ExpectedBatch, done: subprocess.CompletedProcess[bytes]) -> Effects:
    what = f"{case.path[-60:]!a} {case.environment}: {done.returncode} {done.stderr[-300:]!a}"
    lost = partial = leaked = ""
    if done.returncode not in case.codes:
        lost = f"ended with another code than {case.codes}: {what}"
    if b"Traceback" in done.stderr:
        lost = f"a traceback: {what}"
    here = os.getcwd()
    try:
        # By parts, because a path may be longer than one call accepts.
        folder, name = os.path.split(case.path)
        _go(os.path.join(b"." if case.is_gone else case.folder or b".", folder))
        content = _read(os.path.basename(case.output) if case.output else _default(name))
        if case.codes == (0,) and done.returncode == 0:
            if content != batch.output:
                lost = f"a wrong output: {what}"
            elif not isinstance(json.loads(done.stdout), dict):
                lost = f"no summary: {what}"
        if content not in (None, batch.output):
            partial = what
        if _read(name) != batch.input:
            lost = f"the input was changed: {what}"
        if left := [entry for entry in os.listdir(b".") if entry.endswith(b".tmp")]:
            leaked = f"{left}: {what}"
    finally:
        os.chdir(here)
    return Effects(lost, partial, leaked)


def _go(path: bytes) -> None:
    if path.startswith(b"/"):
        os.chdir(b"/")
    for part in path.split(b"/"):
        if part:
            os.chdir(part)


def _default(name: bytes) -> bytes:
    return name.removesuffix(b".json") + b"_selected.json"


def _read(name: bytes) -> bytes | None:
    try:
        with open(name, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except PermissionError:
        os.chmod(name, 0o600)
        return _read(name)


@dataclass(frozen=True)
class Fleet:
    """Workers in unusual environments.

    Attributes:
        fault: the name of the environments, for the table.
        environments: the additional variables of each worker.
        refusal: a part of the error that every batch must have; empty: all are selected.
    """

    fault: str
    environments: tuple[dict[str, str], ...]
    refusal: str = ""


def _through_the_queue(
    table: Table, folder: Path, library: Path, randomness: random.Random
) -> None:
    """Run workers in the same environments; of two workers one has a wrong clock."""
    strict = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    fleets = [
        Fleet("time zone", ({"TZ": "Pacific/Kiritimati"},)),
        Fleet("locale", ({"LC_ALL": "C"}, {"LANG": "C", "LC_ALL": "", "PYTHONUTF8": "0"})),
        # A name that is not ASCII cannot be opened in this environment.
        Fleet("locale, strictly", (strict,), refusal="PYTHONUTF8=1"),
        Fleet("random hash seed", ({"PYTHONHASHSEED": str(randomness.randrange(1 << 32))},)),
        Fleet("no TMPDIR", ({"TMPDIR": str(folder / "missing")},)),
    ]
    for seconds in _CLOCKS.values():
        clock = {"LD_PRELOAD": str(library), "FAULTS_CLOCK": str(seconds)}
        fleets.append(Fleet("wrong clock", ({}, clock)))
    for number, fleet in enumerate(fleets):
        directory = folder / f"queue {number} é \n"
        directory.mkdir()
        batches = [
            generate_large(randomness, 5),
            *(generate(randomness, 20, 100) for _ in range(4)),
        ]
        with running_server() as server:
            workers = Workers(server, folder)
            try:
                effects = _select_all(fleet, server, workers, directory, batches)
            finally:
                workers.stop()
        table.add(f"environments: {fleet.fault}, workers", effects, tries=len(batches))


def _select_all(
    fleet: Fleet, server: Server, workers: Workers, directory: Path, batches: list[ExpectedBatch]
) -> Effects:
    connection = server.client()
    paths = [directory / f"{number}.json" for number in range(len(batches))]
    ids = []
    for path, batch in zip(paths, batches):
        path.write_bytes(batch.input)
        job = worker.enqueue(path, connection=connection, settings=workers.settings)
        ids.append(job.id)
    for process in [workers.start("--burst", **more) for more in fleet.environments]:
        try:
            process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            return Effects(stuck=f"{read_jobs(connection, workers.settings, ids)}")
    lost = partial = ""
    for path, batch, found in zip(
        paths, batches, read_jobs(connection, workers.settings, ids), strict=True
    ):
        output = path.with_name(f"{path.stem}_selected.json")
        content = output.read_bytes() if output.exists() else None
        if content not in (None, batch.output):
            partial = f"{fleet}: {path.name}"
        if fleet.refusal:
            if found.state != "failed" or fleet.refusal not in (found.error or {})["message"]:
                lost = f"{fleet}: {found}"
        elif content is None or found.state != "finished":
            lost = f"{fleet}: {found}"
    left = [entry.name for entry in directory.iterdir() if entry.name.endswith(".tmp")]
    return Effects(lost, partial, f"{left}" if left else "")
