"""Tests without a browser, and its installation."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ONE = "tests/test_report_page.py"


def run_without_browser(
    tmp_path: Path, *command: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run Python where no browser is on PATH, and Playwright has none."""
    inherited = {name: value for name, value in os.environ.items() if name != "CI"}
    nowhere = {"PATH": str(tmp_path), "PLAYWRIGHT_BROWSERS_PATH": str(tmp_path)}
    return subprocess.run(
        [sys.executable, *command],
        env={**inherited, **nowhere, **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )


def pytest_in(*options: str) -> list[str]:
    return ["-m", "pytest", "-q", "-p", "no:cacheprovider", *options, ONE]


@pytest.mark.slow
@pytest.mark.parametrize("ci", ["", "false"])
def test_the_reason_comes_before_the_first_test_and_those_of_the_browser_are_skipped(
    tmp_path: Path, ci: str
) -> None:
    done = run_without_browser(tmp_path, *pytest_in("-v"), CI=ci)
    assert done.returncode == 0, done.stdout
    header, _, tests = done.stdout.partition("collected")
    reason = "no Chromium: install it (Debian: apt-get install chromium)"
    assert f"browser: {reason}" in header
    assert " skipped" in tests
    assert reason in tests
    assert " failed" not in tests


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["-n", "2"]])
def test_in_ci_the_tests_of_a_missing_browser_fail(tmp_path: Path, options: list[str]) -> None:
    done = run_without_browser(tmp_path, *pytest_in("-x", *options), CI="true")
    assert done.returncode in (1, 2)  # with -n, -x interrupts
    assert "AssertionError: no Chromium: install it" in done.stdout
    assert " passed" not in done.stdout
    assert " skipped" not in done.stdout


def installers(folder: Path, *, apt_works: bool) -> Path:
    """Write an apt-get that logs its calls and, if it works, installs a browser that starts."""
    browser = folder / "chromium"
    install = f'printf "#!/bin/sh\\n" > {browser}; /bin/chmod 755 {browser}'
    steps = {"env": 'shift; exec "$@"', "apt-get": f"[ $2 = update ] || {install}"}
    if not apt_works:
        steps["apt-get"] = "exit 100"
    for name, step in steps.items():
        script = folder / name
        script.write_text(f'#!/bin/sh\necho "{name} $*" >> {folder}/calls\n{step}\n')
        script.chmod(0o755)
    return folder / "calls"


@pytest.mark.skipif(os.getuid() != 0, reason="apt-get is for root")
@pytest.mark.slow
def test_root_installs_chromium_with_apt_get(tmp_path: Path) -> None:
    calls = installers(tmp_path, apt_works=True)
    done = run_without_browser(tmp_path, "tests/support/browser.py", CI="true")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["browser: installing Chromium with apt-get"]
    asked = [line for line in calls.read_text().splitlines() if line.startswith("apt-get")]
    assert asked == [
        "apt-get -qq update",
        "apt-get -qq install --yes --no-install-recommends chromium",
    ]
    calls.unlink()
    assert run_without_browser(tmp_path, "tests/support/browser.py").stdout == ""
    assert not calls.exists()


@pytest.mark.slow
@pytest.mark.parametrize(("ci", "code"), [("", 0), ("true", 1)])
def test_a_failed_installation_of_a_browser_is_reported(tmp_path: Path, ci: str, code: int) -> None:
    installers(tmp_path, apt_works=False)
    # Playwright must not get as far as a download.
    broken = {"PLAYWRIGHT_DOWNLOAD_HOST": "http://127.0.0.1:1"}
    done = run_without_browser(tmp_path, "tests/support/browser.py", CI=ci, **broken)
    assert done.returncode == code
    lines = [line for line in done.stdout.splitlines() if line.startswith("browser: ")]
    assert lines[-2:][0] == "browser: downloading Playwright's Chromium"
    assert lines[-1].startswith("browser: no Chromium: install it")
