"""The settings of producers, workers and commands: one table of environment variables.

The variables are read here and not with environs or pydantic-settings, because the health check
of each container imports this module every few seconds. Measured with Python 3.13, CPU time of a
process that only imports: this module 48 ms, environs 15 117 ms, pydantic-settings 2 258 ms. The
whole health check takes 70 ms.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from selection.storage.address import is_address
from worker.address import Address, AddressError, find_address, parse_url

# The health check must not import these.
if TYPE_CHECKING:
    from redis import Redis
    from rq.serializers import Serializer

#: The value of ``RQ_WORKER_CLASS`` for this project's worker.
SELECTION_WORKER = "worker.SelectionWorker"


class SettingsError(ValueError):
    """A variable has a value that cannot be used; the message names the variable."""


def _text(name: str, text: str) -> str:
    return text


def _folders(name: str, text: str) -> tuple[str, ...]:
    # The colon of an address is followed by two slashes.
    folders = tuple(part for part in re.split(r":(?!//)", text) if part.strip())
    # An intended restriction without a folder would allow every path.
    if not folders:
        raise SettingsError(f"{name} must name folders, separated by colons, not {text!r}")
    for address in filter(is_address, folders):
        _check_address(name, address)
    return folders


def _check_address(name: str, address: str) -> None:
    from selection.storage.object_address import parse_address

    try:
        parse_address(address)
    except ValueError as error:
        raise SettingsError(f"{name}: {address!r}: {error}") from None


def _whole(least: int) -> Callable[[str, str], int]:
    def read(name: str, text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise SettingsError(f"{name} must be a whole number from {least} up, not {text!r}")
        return int(text)

    return read


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf"):
        raise SettingsError(f"{name} must be a number above 0, not {text!r}")
    return value


def _delays(name: str, text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise SettingsError(f"{name} must be whole numbers with commas, not {text!r}")
    return tuple(map(int, parts))


def _log_format(name: str, text: str) -> str:
    if text not in ("text", "json"):
        raise SettingsError(f"{name} must be 'text' or 'json', not {text!r}")
    return text


def _switch(name: str, text: str) -> bool:
    if text not in ("0", "1"):
        raise SettingsError(f"{name} must be 0 or 1, not {text!r}")
    return text == "1"


def _setting(name: str, default: Any, read: Callable[[str, str], Any], meaning: str) -> Any:
    """Return a field that is read from the variable ``name``; docs/queue.md has the meaning."""
    metadata = {"name": name, "read": read, "meaning": meaning}
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Settings:
    """The settings, one row each: variable, default, reader, meaning."""

    redis_url: str | None = _setting(
        "RQ_REDIS_URL", None, _text, "`redis://`, `rediss://` or `unix://`"
    )
    redis_config: str | None = _setting(
        "RQ_CONFIG",
        None,
        _text,
        "a Python module with RQ's connection settings, for example `SENTINEL`",
    )
    worker_class: str | None = _setting(
        "RQ_WORKER_CLASS",
        None,
        _text,
        "`worker.SelectionWorker`; producers and workers must agree",
    )
    queue: str = _setting("SELECTION_QUEUE", "selection", _text, "name of the queue")
    roots: tuple[str, ...] = _setting(
        "SELECTION_ROOTS",
        (),
        _folders,
        "folders and [addresses](storage.md#allowed-addresses), separated by colons; inputs and "
        "outputs must be in one of them; unset: any",
    )
    timeout: int = _setting("SELECTION_TIMEOUT", 120, _whole(1), "seconds for every job")
    timeout_per_mb: float = _setting(
        "SELECTION_TIMEOUT_PER_MB", 1.0, _number, "additional seconds per megabyte"
    )
    retry_delays: tuple[int, ...] = _setting(
        "SELECTION_RETRY_DELAYS",
        (10, 60, 300),
        _delays,
        "seconds before each retry; there are as many retries as delays",
    )
    result_ttl: int = _setting(
        "SELECTION_RESULT_TTL", 86_400, _whole(1), "seconds that a result is kept"
    )
    failure_ttl: int = _setting(
        "SELECTION_FAILURE_TTL", 604_800, _whole(1), "seconds that a failure is kept"
    )
    status_interval: float = _setting(
        "SELECTION_STATUS_INTERVAL",
        0.5,
        _number,
        "seconds between two writes of a job's progress",
    )
    heartbeat: int = _setting(
        "SELECTION_HEARTBEAT",
        15,
        _whole(1),
        "seconds between two heartbeats of a SelectionWorker",
    )
    grace: int = _setting(
        "SELECTION_GRACE",
        45,
        _whole(0),
        "seconds that a stopped SelectionWorker gives its batch",
    )
    events: int = _setting(
        "SELECTION_EVENTS", 10_000, _whole(1), "about how many events the stream keeps"
    )
    jobs: int = _setting(
        "SELECTION_JOBS",
        1,
        _whole(1),
        "processes per batch, at most one per core; a fleet scales by workers",
    )
    skip_bad_lines: bool = _setting(
        "SELECTION_SKIP_BAD_LINES",
        False,
        _switch,
        "`1`: copy lines of [JSON Lines](formats.md#json-lines) that are not objects, and count "
        "them",
    )
    log: str = _setting("SELECTION_LOG", "text", _log_format, "`text` or `json`")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Settings:
        """Read the variables; a missing or empty one has its default.

        Raises:
            SettingsError: a value is not a number or not a known name, or the backend of
                ``SELECTION_BACKEND`` is not available.
        """
        from selection.errors import BackendError
        from selection.text.backend import backend

        try:
            backend()
        except BackendError as error:
            raise SettingsError(error.message) from None
        return cls.from_variables(environment)

    @classmethod
    def from_variables(cls, environment: Mapping[str, str]) -> Settings:
        """Read the variables as :meth:`from_environment` does, without a check of the backend.

        Raises:
            SettingsError: a value is not a number or not a known name.
        """
        found = {}
        for each in fields(cls):
            name = each.metadata["name"]
            if text := environment.get(name):
                found[each.name] = each.metadata["read"](name, text)
        return cls(**found)

    @property
    def uses_json(self) -> bool:
        """True if jobs are JSON, for SelectionWorker, instead of RQ's pickles."""
        return self.worker_class == SELECTION_WORKER

    @property
    def serializer(self) -> Serializer:
        """The serializer of new jobs; :mod:`worker.state.serialized` reads jobs of both."""
        from rq.serializers import DefaultSerializer, JSONSerializer

        return JSONSerializer if self.uses_json else DefaultSerializer

    def address(self) -> Address | None:
        """Return the server's address, or None if only ``RQ_CONFIG`` has it.

        Raises:
            SettingsError: the address cannot be used.
        """
        if self.redis_config and not self.redis_url:
            return None
        try:
            return find_address(self.redis_url, os.environ)
        except AddressError as error:
            raise SettingsError(str(error)) from None

    def connect(self) -> Redis:
        """Return a client of the server that ``rq worker`` uses in the same environment.

        Raises:
            SettingsError: the address cannot be used.
        """
        from rq.cli.helpers import CliConfig, read_config_file

        found = self.address()
        # As in RQ, the module can be in the working directory, which is searched last.
        path = None if found else [os.getcwd()]
        config = CliConfig(url=self.redis_url, config=self.redis_config, path=path)
        try:
            if found is None:
                module: dict[str, Any] = read_config_file(self.redis_config)  # type: ignore[no-untyped-call]
                if url := module.get("REDIS_URL"):
                    parse_url("REDIS_URL", url)
            connection: Redis = config.connection
            pool = connection.connection_pool
            pool.connection_class(**pool.connection_kwargs)
        except AddressError as error:
            raise SettingsError(f"RQ_CONFIG={self.redis_config}: {error}") from None
        except Exception as error:
            # A module can raise any error, and its message can contain the password.
            name = "the server's address" if found else f"RQ_CONFIG={self.redis_config}"
            raise SettingsError(f"{name} cannot be used ({type(error).__name__})") from None
        return connection

    def job_timeout(self, size: int) -> int:
        """Return the timeout in seconds of a batch of ``size`` bytes."""
        return self.timeout + round(self.timeout_per_mb * size / 1_000_000)
