"""A real Chromium for the tests, with everything recorded that a page must not do."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, Playwright, sync_playwright

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


def chromium() -> str:
    """The browser's program."""
    for name in _NAMES:
        if found := shutil.which(name):
            return found
    raise AssertionError(
        f"the tests of the report need a browser: install Chromium (Debian: apt-get install "
        f"chromium) or Chrome so that one of {', '.join(_NAMES)} is on PATH"
    )


@contextmanager
def launched() -> Iterator[Browser]:
    """Chromium, until the end."""
    with sync_playwright() as playwright:
        browser = _launch(playwright)
        yield browser
        browser.close()


def _launch(playwright: Playwright) -> Browser:
    return playwright.chromium.launch(executable_path=chromium(), args=_ARGUMENTS)


@dataclass
class Recorded:
    """What a page did besides being looked at."""

    console: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def require_nothing(self, file: Path) -> None:
        """It loaded its own file and said and asked nothing."""
        assert self.console == []
        assert self.errors == []
        assert self.dialogs == []
        assert {url.partition("#")[0] for url in self.requests} == {file.as_uri()}


@contextmanager
def opened(
    browser: Browser,
    file: Path,
    hash: str = "",
    scheme: Literal["light", "dark"] = "light",
    size: tuple[int, int] = DESKTOP,
) -> Iterator[Page]:
    """A page of a file in a profile of its own; in the end nothing may have been recorded."""
    recorded = Recorded()
    context = browser.new_context(
        color_scheme=scheme, viewport={"width": size[0], "height": size[1]}
    )
    page = context.new_page()
    page.on("console", lambda message: recorded.console.append(message.text))
    page.on("pageerror", lambda error: recorded.errors.append(str(error)))
    # Of the page's own icon, a data: address, nothing leaves it.
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
