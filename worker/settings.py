"""What can be set, all of it by environment variables."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from selection.storage.names import is_address
from selection.storage.object_address import parse_address
from worker.address import Address, AddressError, find_address, parse_url

# The health check reads settings, and may not take the time to import all that.
if TYPE_CHECKING:
    from redis import Redis
    from rq.serializers import Serializer

SAFE_WORKER = "worker.SelectionWorker"


class SettingsError(ValueError):
    """A variable has a value that cannot be used."""


@dataclass(frozen=True)
class Settings:
    """The settings of producers, workers and commands; the README's table has them all.

    Attributes:
        redis_url: ``redis://``, ``rediss://`` or ``unix://`` (``RQ_REDIS_URL``).
        redis_config: a module with RQ's connection settings, Sentinel's for example
            (``RQ_CONFIG``); the URL goes first.
        worker_class: ``worker.SelectionWorker`` for JSON jobs of this project alone
            (``RQ_WORKER_CLASS``).
        queue: the queue's name (``SELECTION_QUEUE``).
        roots: folders and addresses (``s3://bucket/in/``) of which one must hold each input
            and output, colon-separated; none: all
            (``SELECTION_ROOTS``).
        timeout: seconds that every job gets (``SELECTION_TIMEOUT``).
        timeout_per_mb: seconds more for every megabyte (``SELECTION_TIMEOUT_PER_MB``).
        retry_delays: seconds before each retry, comma-separated; as many retries as delays
            (``SELECTION_RETRY_DELAYS``).
        result_ttl: seconds that a result is kept (``SELECTION_RESULT_TTL``).
        failure_ttl: seconds that a failure is kept (``SELECTION_FAILURE_TTL``).
        status_interval: seconds between two writes of a running job's progress
            (``SELECTION_STATUS_INTERVAL``).
        heartbeat: seconds between a SelectionWorker's signs of life; a job of a worker
            that missed three is run again (``SELECTION_HEARTBEAT``).
        grace: seconds that a SelectionWorker which is told to stop gives its batch before it
            hands it back to the queue (``SELECTION_GRACE``).
        events: about how many events the stream keeps (``SELECTION_EVENTS``).
        jobs: processes that decide the articles of one batch, at most as many as there are
            cores; the fleet scales by workers (``SELECTION_JOBS``).
        log: ``text`` or ``json`` (``SELECTION_LOG``).
    """

    redis_url: str | None = None
    redis_config: str | None = None
    worker_class: str | None = None
    queue: str = "selection"
    roots: tuple[str, ...] = ()
    timeout: int = 120
    timeout_per_mb: float = 1.0
    retry_delays: tuple[int, ...] = (10, 60, 300)
    result_ttl: int = 86_400
    failure_ttl: int = 604_800
    status_interval: float = 0.5
    heartbeat: int = 15
    grace: int = 45
    events: int = 10_000
    jobs: int = 1
    log: str = "text"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Settings:
        """Read the variables; what is missing or empty has its default.

        Raises:
            SettingsError: a value that is not a number or not a known name, or a
                ``SELECTION_BACKEND`` that is not available.
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
        """Read the variables as :meth:`from_environment` does, without a look at the backend.

        Raises:
            SettingsError: a value that is not a number or not a known name.
        """
        reader = _Reader(environment)
        log = reader.text("SELECTION_LOG", cls.log)
        if log not in ("text", "json"):
            raise SettingsError(f"SELECTION_LOG must be 'text' or 'json', not {log!r}")
        return cls(
            redis_url=environment.get("RQ_REDIS_URL") or None,
            redis_config=environment.get("RQ_CONFIG") or None,
            worker_class=environment.get("RQ_WORKER_CLASS") or None,
            queue=reader.text("SELECTION_QUEUE", cls.queue),
            roots=reader.folders("SELECTION_ROOTS"),
            timeout=reader.whole("SELECTION_TIMEOUT", cls.timeout, least=1),
            timeout_per_mb=reader.number("SELECTION_TIMEOUT_PER_MB", cls.timeout_per_mb),
            retry_delays=reader.delays("SELECTION_RETRY_DELAYS", cls.retry_delays),
            result_ttl=reader.whole("SELECTION_RESULT_TTL", cls.result_ttl, least=1),
            failure_ttl=reader.whole("SELECTION_FAILURE_TTL", cls.failure_ttl, least=1),
            status_interval=reader.number("SELECTION_STATUS_INTERVAL", cls.status_interval),
            heartbeat=reader.whole("SELECTION_HEARTBEAT", cls.heartbeat, least=1),
            grace=reader.whole("SELECTION_GRACE", cls.grace, least=0),
            events=reader.whole("SELECTION_EVENTS", cls.events, least=1),
            jobs=reader.whole("SELECTION_JOBS", cls.jobs, least=1),
            log=log,
        )

    @property
    def is_safe(self) -> bool:
        """Whether the jobs are JSON, for SelectionWorker, and not RQ's pickles."""
        return self.worker_class == SAFE_WORKER

    @property
    def serializer(self) -> Serializer:
        """The serializer of new jobs; :mod:`worker.state.serialized` reads jobs without one."""
        from rq.serializers import DefaultSerializer, JSONSerializer

        return JSONSerializer if self.is_safe else DefaultSerializer

    def address(self) -> Address | None:
        """Return the server's address, or None if only ``RQ_CONFIG`` has it.

        Raises:
            SettingsError: it cannot be used.
        """
        if self.redis_config and not self.redis_url:
            return None
        try:
            return find_address(self.redis_url, os.environ)
        except AddressError as error:
            raise SettingsError(str(error)) from None

    def connect(self) -> Redis:
        """Return a client of the server that ``rq worker`` would use with the same environment.

        Raises:
            SettingsError: the address cannot be used.
        """
        from rq.cli.helpers import CliConfig, read_config_file

        found = self.address()
        # RQ looks for the module in the working directory, too, but there last.
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
            # A module may raise anything, and what it says may repeat a part of the password.
            name = "the server's address" if found else f"RQ_CONFIG={self.redis_config}"
            raise SettingsError(f"{name} cannot be used ({type(error).__name__})") from None
        return connection

    def job_timeout(self, size: int) -> int:
        """Seconds for a batch of ``size`` bytes."""
        return self.timeout + round(self.timeout_per_mb * size / 1_000_000)


class _Reader:
    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def text(self, name: str, default: str) -> str:
        return self._environment.get(name) or default

    def folders(self, name: str) -> tuple[str, ...]:
        text = self._environment.get(name, "")
        # The colon of an address is followed by two slashes.
        folders = tuple(part for part in re.split(r":(?!//)", text) if part.strip())
        # A fence that was meant and is not there would let everything through.
        if text and not folders:
            raise SettingsError(f"{name} must name folders, separated by colons, not {text!r}")
        for address in filter(is_address, folders):
            try:
                parse_address(address)
            except ValueError as error:
                raise SettingsError(f"{name}: {address!r}: {error}") from None
        return folders

    def whole(self, name: str, default: int, least: int) -> int:
        text = self._environment.get(name)
        if not text:
            return default
        if not text.isdecimal() or int(text) < least:
            raise SettingsError(f"{name} must be a whole number from {least} up, not {text!r}")
        return int(text)

    def number(self, name: str, default: float) -> float:
        text = self._environment.get(name)
        if not text:
            return default
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0 < value < float("inf"):
            raise SettingsError(f"{name} must be a number above 0, not {text!r}")
        return value

    def delays(self, name: str, default: tuple[int, ...]) -> tuple[int, ...]:
        text = self._environment.get(name)
        if not text:
            return default
        parts = [part.strip() for part in text.split(",")]
        if not all(part.isdecimal() for part in parts):
            raise SettingsError(f"{name} must be whole numbers with commas, not {text!r}")
        return tuple(map(int, parts))
