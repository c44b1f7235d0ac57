"""The retry policies of a worker's connections: how long they wait for the server."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any, TypeVar

from redis import ConnectionPool, Redis
from redis.backoff import ExponentialBackoff, NoBackoff
from redis.exceptions import (
    ClusterDownError,
    MasterDownError,
    OutOfMemoryError,
    ReadOnlyError,
    ResponseError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.retry import Retry
from rq.connections import parse_connection

from worker import log_format

_T = TypeVar("_T")

# A connection attempt is itself retried, so the tries multiply to some 20 seconds.
_TRIES_AT_START, _LONGEST_PAUSE = 5, 5.0
_SECONDS_BETWEEN_LINES = 30.0
_SECONDS_FOR_ONE_COMMAND = 2.0

# The answers of a server that works but does not take writes at the moment.
_REFUSAL = re.compile(
    "(^|caused error: )(OOM|READONLY|MISCONF|NOREPLICAS|MASTERDOWN|CLUSTERDOWN|LOADING|UNBLOCKED) "
)
# Redis-py removes the code from the message if it has a class for the error.
_REFUSAL_TYPES = (OutOfMemoryError, ReadOnlyError, MasterDownError, ClusterDownError)


class WriteRefusedError(RedisConnectionError):
    """The server answers, but does not take writes at the moment."""


class OutageRetry(Retry):
    """A retry policy of redis-py that changes with the phase of the worker.

    At the start there are a few tries, so that a wrong address ends the worker. While it
    works, it waits as long as an outage lasts. During its shutdown it does not wait.
    """

    def __init__(self) -> None:
        super().__init__(ExponentialBackoff(_LONGEST_PAUSE, 0.1), _TRIES_AT_START)
        self._logged = float("-inf")

    def __deepcopy__(self, memo: object) -> OutageRetry:
        # Each connection copies its policy; this one must stay one object.
        return self

    def retry_forever(self) -> None:
        """Retry until the server answers, from now on."""
        self.update_retries(-1)

    def retry_never(self) -> None:
        """Do not retry, from now on."""
        self.update_retries(0)

    def call_with_retry(
        self, do: Callable[[], _T], fail: Callable[..., Any], *arguments: Any, **options: Any
    ) -> _T:
        """Call a function, and retry after an outage; a refused write counts as one."""

        def log_and_fail(error: Exception, *more: Any) -> None:
            self._log(error)
            fail(error, *more)

        return super().call_with_retry(lambda: _call(do), log_and_fail, *arguments, **options)

    def _log(self, error: Exception) -> None:
        if time.monotonic() - self._logged > _SECONDS_BETWEEN_LINES:
            self._logged = time.monotonic()
            log_format.log_outage(error)


def _call(do: Callable[[], _T]) -> _T:
    try:
        return do()
    except ResponseError as error:
        if isinstance(error, _REFUSAL_TYPES) or _REFUSAL.search(str(error)):
            raise WriteRefusedError(str(error)) from None
        raise


def fail_fast_connection(connection: Redis) -> Redis:
    """Return a client of the same server that fails at once instead of retrying."""
    client, pooled, options = parse_connection(connection)
    limits = {
        "socket_timeout": _SECONDS_FOR_ONE_COMMAND,
        "socket_connect_timeout": _SECONDS_FOR_ONE_COMMAND,
        "retry": Retry(NoBackoff(), 0),
    }
    pool = ConnectionPool(connection_class=pooled, **{**options, **limits})
    return client(connection_pool=pool)


def server_time(connection: Redis) -> float:
    """Return the server's time in seconds, the clock that all machines share."""
    answer: Any = connection.time()
    seconds, microseconds = answer
    return float(seconds) + float(microseconds) / 1e6
