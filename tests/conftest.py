"""A real server and real workers for the tests of the queue."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fleet import Events, Server, Workers, running_server

from selection.backend import available


@pytest.fixture(scope="module", params=list(available()))
def each_backend(request: pytest.FixtureRequest) -> Iterator[None]:
    """Decide with every backend that was built here, one after the other."""
    chosen = available()[request.param]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("selection.rules.backend", lambda: chosen)
        yield


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
