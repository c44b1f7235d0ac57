"""Fixtures for servers, workers and backends; markers by the fixtures of a test."""

from __future__ import annotations

import gc
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from selection import Decision, select_article
from selection.text.backend import available
from tests.support import azure_server, browser
from tests.support.examples import register_profiles
from tests.support.object_server import (
    ObjectServer,
    Proxy,
    running_object_server,
    running_proxy,
)
from tests.support.queue_server import Events, Server, Workers, running_server

# pytest-xdist sets it, and the commands that the tests run would wrap their tables.
os.environ.pop("COLUMNS", None)

register_profiles()

# The marker of a test that uses one of these fixtures.
_MARKERS = {
    "server": "queue",
    "stack": "queue",
    "object_server": "storage",
    "azure": "azure",
    "browser": "browser",
}
_LONG = (*_MARKERS.values(), "slow")


# A file system in memory, and the bytes that all tests together need at most.
_IN_MEMORY = Path("/dev/shm")
_NEEDED = 4 << 30


def pytest_configure() -> None:
    """Restore signals that are ignored in a shell's background, so that tests can send them.

    Temporary folders are in memory where there is enough: the product synchronises each output to
    disk, which takes longer than the rest of a short test.
    """
    if _IN_MEMORY.is_dir() and shutil.disk_usage(_IN_MEMORY).free >= _NEEDED:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_IN_MEMORY))
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def pytest_report_header() -> list[str]:
    skipped = "its tests are skipped"
    otherwise = f"{browser.MISSING}; {'its tests fail' if browser.is_ci() else skipped}"
    header = [f"browser: {browser.chromium() or otherwise}"]
    if azure_server.azurite():
        return [*header, f"azurite: {azure_server.azurite()}"]
    return [*header, f"azurite: {azure_server.MISSING}; {skipped}"]


# First, so that -m selects by these markers.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests by their fixtures; skip those of what is missing.

    In CI a missing browser is a failure. Azurite is optional everywhere: it needs Node.js and
    360 MB.
    """
    for item in items:
        fixtures = getattr(item, "fixturenames", [])
        for name in {_MARKERS[fixture] for fixture in fixtures if fixture in _MARKERS}:
            item.add_marker(name)
    in_browser = [item for item in items if item.get_closest_marker("browser")]
    if in_browser and not browser.is_ci() and browser.chromium() is None:
        for item in in_browser:
            item.add_marker(pytest.mark.skip(reason=browser.MISSING))
    if not azure_server.azurite():
        for item in items:
            if item.get_closest_marker("azure"):
                item.add_marker(pytest.mark.skip(reason=azure_server.MISSING))
    # The longest first, so that at the end no process waits for one of them.
    items.sort(key=lambda item: not any(map(item.get_closest_marker, _LONG)))


def pytest_collection_finish() -> None:
    """Let no later collection of garbage look at the tests and modules, which stay."""
    gc.freeze()


@pytest.fixture(scope="module", params=list(available()))
def decide(request: pytest.FixtureRequest) -> Callable[[object], Decision]:
    """Decide with every backend that was built here, one after the other."""
    return partial(select_article, backend=available()[request.param])


@pytest.fixture(scope="session", name="browser")
def chromium() -> Iterator[Browser]:
    with browser.launched() as started:
        yield started


@pytest.fixture
def server() -> Iterator[Server]:
    with running_server() as started:
        yield started


@pytest.fixture
def workers(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    started = Workers(server, tmp_path_factory.mktemp("workers"))
    yield started
    started.stop()


@pytest.fixture
def events(server: Server) -> Events:
    return Events(server.client())


@pytest.fixture(scope="session")
def object_server() -> Iterator[ObjectServer]:
    with running_object_server() as started:
        yield started


@pytest.fixture
def store(
    object_server: ObjectServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> ObjectServer:
    """Empty the server, and use it by the environment's variables."""
    object_server.reset()
    for name, value in object_server.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    object_server.put("in/a.json", b"0123456789")
    return object_server


@pytest.fixture
def proxy(store: ObjectServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """Use the server through a proxy."""
    with running_proxy(store) as started:
        for name, value in started.environment.items():
            monkeypatch.setenv(name, value)
        yield started
