"""Whether a worker on this host is alive: the health check of its container."""

from __future__ import annotations

import os
import socket

from worker.settings import Settings
from worker.status import open_queue, read_workers


def is_alive(settings: Settings) -> bool:
    """Whether a worker of this host and this queue gave a sign of life lately and still runs.

    The sign is written by the worker's main loop over its connection, so it proves that the
    loop runs and the server answers (see :func:`worker.status.read_workers`). A worker that
    was killed a moment ago has left one, too, but no process.

    Raises:
        redis.exceptions.RedisError: the server cannot be reached.
    """
    host = socket.gethostname()
    workers = read_workers(open_queue(settings.connect(), settings), settings)
    return any(worker.host == host and _runs(worker.pid) for worker in workers)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # another user's
    return True
