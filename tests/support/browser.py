"""A real Chromium for the tests, and a record of what a page must not do.

``python -m tests.support.browser`` installs a browser if there is none.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

DESKTOP, PHONE = (1280, 900), (390, 844)
Scheme = Literal["light", "dark"]

MISSING = (
    "no Chromium: install it (Debian: apt-get install chromium) or let Playwright download its "
    "own (python -m playwright install chromium --with-deps)"
)


@cache
def chromium() -> str | None:
    """Find a browser that starts: one on PATH, or Playwright's own."""
    for name in _NAMES:
        if (found := shutil.which(name)) and _starts(found):
            return found
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
    return own if os.path.exists(own) and _starts(own) else None


def _starts(program: str) -> bool:
    """Return whether it starts, which needs its libraries."""
    return _succeeds([program, "--version"], seconds=30, quiet=True)


def install() -> bool:
    """Install a browser if possible; return whether there is one afterwards."""
    if os.getuid() == 0 and shutil.which("apt-get"):
        print("browser: installing Chromium with apt-get", flush=True)
        apt = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
        _succeeds([*apt, "update"])
        _succeeds([*apt, "install", "--yes", "--no-install-recommends", "chromium"])
    if not _is_there():
        print("browser: downloading Playwright's Chromium", flush=True)
        _succeeds([sys.executable, "-m", "playwright", "install", "--no-shell", "chromium"])
    return _is_there()


def _is_there() -> bool:
    chromium.cache_clear()
    return chromium() is not None


def is_ci() -> bool:
    """Return whether this is continuous integration, where no test is skipped."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def _succeeds(command: list[str], seconds: int = 600, quiet: bool = False) -> bool:
    output = subprocess.DEVNULL if quiet else None
    try:
        done = subprocess.run(command, stdout=output, stderr=output, timeout=seconds)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


@contextmanager
def launched() -> Iterator[Browser]:
    """Start Chromium and close it at the end."""
    program = chromium()  # may use Playwright itself, which cannot be started twice
    assert program is not None, MISSING
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=_ARGUMENTS)
        yield browser
        browser.close()


@dataclass
class Recorded:
    """Console messages, errors, requests and dialogs of a page."""

    console: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def require_nothing(self, file: Path) -> None:
        """Check that the page requested only its own file and had no message or dialog."""
        assert self.console == []
        assert self.errors == []
        assert self.dialogs == []
        assert {url.partition("#")[0] for url in self.requests} == {file.as_uri()}


@contextmanager
def opened(
    browser: Browser,
    file: Path,
    hash: str = "",
    scheme: Scheme = "light",
    size: tuple[int, int] = DESKTOP,
    **options: Any,
) -> Iterator[Page]:
    """Open a file in a new profile, with further options of it; at the end, check the record."""
    recorded = Recorded()
    context = browser.new_context(
        color_scheme=scheme, viewport={"width": size[0], "height": size[1]}, **options
    )
    page = context.new_page()
    page.on("console", lambda message: recorded.console.append(message.text))
    page.on("pageerror", lambda error: recorded.errors.append(str(error)))
    # The page's icon is a data: address, which causes no traffic.
    page.on(
        "request",
        lambda request: None if request.url == "data:," else recorded.requests.append(request.url),
    )

    def dismiss(dialog: object) -> None:
        recorded.dialogs.append(str(dialog))
        page.close()

    page.on("dialog", dismiss)
    page.goto(file.as_uri() + hash)
    yield page
    recorded.require_nothing(file)
    context.close()


_AXE_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def violations(page: Page, rules: Sequence[str] = ()) -> list[str]:
    """Return what axe-core finds; it runs beside the page's scripts, whose policy stays.

    Args:
        page: the open page.
        rules: the rules to check; none: all of WCAG 2.2 AA and the best practices.
    """
    only = {"type": "rule", "values": rules} if rules else {"type": "tag", "values": _AXE_TAGS}
    options: dict[str, Any] = {"runOnly": only, "resultTypes": ["violations"]}
    found = Axe().run(page, options=options).response["violations"]
    return [f"{rule['id']}: {node['html'][:200]}" for rule in found for node in rule["nodes"]]


if __name__ == "__main__":
    if chromium() is None and not install():
        print(f"browser: {MISSING}")
        sys.exit(is_ci())
