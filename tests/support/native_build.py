"""Builds of the C extensions with the flags of a test, and processes that load them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]

#: The modules in C, by their source files.
SOURCES = {
    "selection.text._native": ROOT / "selection/text/_native.c",
    "selection.stream._boundaries": ROOT / "selection/stream/_boundaries.c",
}
FAILING_ALLOCATIONS = Path(__file__).with_name("failing_allocations.c")

WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]

MISSING = "no C compiler: install one (Debian: apt-get install gcc libc6-dev)"


@cache
def compiler() -> str | None:
    """Return the C compiler: the one that ``CC`` names, or ``cc``."""
    return shutil.which(os.environ.get("CC") or "cc")


def sanitizer() -> str | None:
    """Return the library of AddressSanitizer, which a process preloads; None without one."""
    program = compiler()
    if program is None or sys.platform != "linux":
        return None
    command = [program, "-print-file-name=libasan.so"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout.strip()
    return found if os.path.isabs(found) else None


def build(source: Path, folder: Path, *flags: str) -> Path:
    """Compile and link an extension module into a folder; return its path.

    Raises:
        AssertionError: the compiler refuses it or has a warning about it.
    """
    program = compiler()
    assert program is not None, MISSING
    # The linker's flags are the platform's; the first word is the compiler that built Python.
    linking = str(sysconfig.get_config_var("LDSHARED")).split()[1:]
    include = sysconfig.get_path("include")
    library = folder / f"{source.stem}.so"
    command = [program, *linking, "-fPIC", "-isystem", include, *flags, str(source)]
    done = subprocess.run(
        [*command, "-o", str(library)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return library


def run_checks(
    check: str, folder: Path, preload: str | None = None, seconds: int = 120
) -> subprocess.CompletedProcess[str]:
    """Run a check of :mod:`tests.support.native_checks` in a process with the builds of a folder.

    Args:
        check: the name of its function.
        folder: where :func:`build` wrote the modules.
        preload: a library to load before all others.
        seconds: the bound.
    """
    environment = {
        **os.environ,
        "PYTHONMALLOC": "malloc",
        # CPython itself leaves memory allocated at its end.
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    if preload:
        environment["LD_PRELOAD"] = preload
    return subprocess.run(
        [sys.executable, "-m", "tests.support.native_checks", check, str(folder)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=seconds,
    )
