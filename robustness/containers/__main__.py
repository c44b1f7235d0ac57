"""Start an engine, make the images, check what the documentation promises, clean up.

Takes some ten minutes, needs root, Debian's packages and PyPI, and the ports 9000, 9109 and 9181 of
this machine. It ends with 0 and the reason where an engine cannot be started.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from robustness.containers import images
from robustness.containers.checks import CHECKS
from robustness.containers.engine import SkipError, running_engine
from robustness.containers.fleet import Fleet

ROOT = Path(__file__).parents[2]


def check_all(fleet: Fleet) -> bool:
    """Run every check and print its row; return whether all passed."""
    failed = 0
    for check in CHECKS:
        began = time.monotonic()
        try:
            wrong = check(fleet)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            wrong = f"{type(error).__name__}: {error}"
        failed += bool(wrong)
        name = check.__name__.replace("_", " ")
        seconds = time.monotonic() - began
        print(f"{'FAIL' if wrong else 'ok':4} {seconds:6.1f} s  {name}", flush=True)
        if wrong:
            print(f"                {wrong}", flush=True)
    print(f"{len(CHECKS) - failed} passed, {failed} failed")
    return not failed


def main() -> int:
    folder = Path(tempfile.mkdtemp(prefix="selection-containers-"))
    passed = False
    try:
        with running_engine(folder) as engine:
            images.make(engine)
            fleet = Fleet(engine, ROOT)
            try:
                passed = check_all(fleet)
            finally:
                fleet.compose("--profile", "*", "down", "--volumes", "--timeout", "5")
    except SkipError as reason:
        print(f"skipped: {reason}")
        passed = True
    finally:
        if not passed and (folder / "log").exists():
            kept = shutil.copy(folder / "log", Path(tempfile.gettempdir()) / f"{folder.name}.log")
            print(f"log: {kept}")
        shutil.rmtree(folder, ignore_errors=True)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
