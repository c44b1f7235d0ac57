"""No test and no fault waits without a bound, and the bounds hold."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.process import line_with, read, until

ROOT = Path(__file__).parents[1]
FILES = sorted(path for folder in ("tests", "robustness") for path in (ROOT / folder).rglob("*.py"))
# The position of each call's timeout; None: only by name.
WAITS = {"wait": 0, "join": 0, "communicate": 1, "run": None, "check_output": None, "urlopen": 2}
SLEEPING = "import time; print('began', flush=True); time.sleep(600)"


def unbounded(tree: ast.Module) -> Iterator[str]:
    """Yield the calls that may wait for ever, each with its line."""
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in WAITS:
            continue
        name, place = call.func.attr, WAITS[call.func.attr]
        owner = ast.unparse(call.func.value)
        if (name == "join" and call.args) or (name == "run" and owner != "subprocess"):
            continue  # of strings and paths; of this project
        if any(word.arg in ("timeout", None) for word in call.keywords):
            continue
        if place is None or len(call.args) <= place:
            yield f"{call.lineno}: {owner}.{name}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_wait_has_a_bound(path: Path) -> None:
    assert list(unbounded(ast.parse(path.read_text()))) == []


def test_a_wait_without_a_bound_is_found() -> None:
    code = (
        "p.wait()\np.wait(60)\np.communicate()\np.communicate(None, 60)\nsubprocess.run(c)\n"
        "subprocess.run(c, timeout=60)\n'x'.join(y)\nt.join()\nurlopen(u)\nr.urlopen(u)\n"
    )
    found = [line.split(":")[0] for line in unbounded(ast.parse(code))]
    assert found == ["1", "3", "5", "8", "10"]


def sleeping() -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", SLEEPING], stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_a_line_that_never_comes_ends_the_process_and_shows_the_others() -> None:
    with sleeping() as process:
        with pytest.raises(AssertionError, match=r"no line with 'ended' in 1 s: began"):
            line_with("ended", process.stdout, process, seconds=1)
        assert process.wait(60) == -9


def test_a_condition_that_never_holds_is_named() -> None:
    with pytest.raises(AssertionError, match=r"not after 0\.1 s: the moon is green"):
        until(lambda: False, "the moon is green", seconds=0.1)
    with sleeping() as process:
        process.kill()
        with pytest.raises(AssertionError, match="the process ended before it is done"):
            until(lambda: False, "it is done", process)


def test_a_pipe_without_data_is_not_read_for_ever() -> None:
    reader, writer = os.pipe()
    with pytest.raises(AssertionError, match=r"nothing to read in 0\.1 s"):
        read(reader, seconds=0.1)
    os.write(writer, b"x")
    assert read(reader) == b"x"
    os.close(writer)
    assert read(reader) == b""
    os.close(reader)
