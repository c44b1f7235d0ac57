"""Whether a worker on this host is alive: the health check of its container."""

from __future__ import annotations

import socket
from datetime import UTC, datetime

from rq import Worker

from worker.settings import SAFE_WORKER, Settings
from worker.status import open_queue

# A plain worker that waits for jobs gives no sign for the 405 seconds that RQ waits.
_LONGEST_SILENCE_OF_A_PLAIN_WORKER = 480


def is_alive(settings: Settings) -> bool:
    """Whether a worker of this host and this queue gave a sign of life lately.

    A SelectionWorker gives one every ``heartbeat`` seconds, with a job and without; three
    missed ones are too many. The sign is written by the worker's main loop over its
    connection, so it proves that the loop runs and the server answers.

    Raises:
        redis.exceptions.RedisError: the server cannot be reached.
    """
    is_safe = settings.worker_class == SAFE_WORKER
    limit = 3 * settings.heartbeat + 1 if is_safe else _LONGEST_SILENCE_OF_A_PLAIN_WORKER
    queue = open_queue(settings.connect(), settings)
    host = socket.gethostname()
    now = datetime.now(UTC)
    return any(
        (now - worker.last_heartbeat.replace(tzinfo=UTC)).total_seconds() < limit
        for worker in Worker.all(queue=queue, serializer=queue.serializer)
        if worker.hostname == host and worker.last_heartbeat is not None
    )
