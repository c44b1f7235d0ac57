"""RQ's worker with a registration by the server's clock, which a restart or a kill cannot spoil."""

from __future__ import annotations

import os
import socket
from datetime import UTC, datetime
from typing import Any

from redis.client import Pipeline
from rq import Worker, worker_registration

from worker.connections import server_time
from worker.processes import is_running
from worker.settings import Settings
from worker.state.registrations import (
    WorkerRegistration,
    read_registration,
    registration_fields,
)

# RQ's margin between the time that a worker waits for a job and the lifetime of its key.
_SECONDS_MORE = 60


class RegisteredWorker(Worker):
    """RQ's worker with three differences.

    - Its registration has what ``status``, ``doctor`` and the health check need.
    - Heartbeats are measured by the server's clock, and each writes the whole registration.
    - The name of a killed worker is free at once.
    """

    _settings: Settings

    def serialize(self) -> dict[str, Any]:
        """Return RQ's registration with the fields of a SelectionWorker."""
        fields: dict[str, Any] = super().serialize()
        # Not the number of this process: a job's process sends heartbeats of its worker, too.
        return fields | registration_fields(self.pid or 0, self._settings)

    def register_birth(self) -> None:
        """Register, also under the name of a dead worker.

        RQ refuses the name of a worker that was killed for eight minutes.
        """
        fields: Any = self.connection.hgetall(self.key)
        texts = {name.decode(): value.decode("utf-8", "replace") for name, value in fields.items()}
        earlier = read_registration(self.key, texts, server_time(self.connection))
        if earlier is not None and not (earlier.is_alive and _can_be_running(earlier)):
            self.connection.delete(self.key)
        super().register_birth()

    def heartbeat(self, timeout: int | None = None, pipeline: Pipeline | None = None) -> None:
        """Send a heartbeat, by the server's clock.

        The whole registration is written each time, so a server that was restarted without
        its data, or whose key of this worker has expired, has the registration again.
        """
        lifetime = timeout or self.worker_ttl + _SECONDS_MORE
        self.last_heartbeat = datetime.fromtimestamp(server_time(self.connection), UTC)
        commands = self.connection.pipeline() if pipeline is None else pipeline
        fields: dict[Any, Any] = self.serialize() | {"state": self._state}
        commands.hset(self.key, mapping=fields)
        commands.expire(self.key, lifetime)
        commands.expire(self.executions_key, lifetime)
        worker_registration.register(self, commands)
        if pipeline is None:
            commands.execute()

    def expire_registrations(self) -> None:
        """Set a lifetime for each registration without one.

        RQ writes to a worker's key without a check that it exists. A key that has expired
        during an outage comes back without a lifetime, and stays if its worker is killed
        before its next heartbeat.
        """
        for key in self.all_keys(self.connection):
            if self.connection.ttl(key) == -1:
                self.connection.expire(key, self.worker_ttl + _SECONDS_MORE)


def _can_be_running(earlier: WorkerRegistration) -> bool:
    """Return False if a worker of the same name is known to have ended."""
    if earlier.host != socket.gethostname():
        return True
    # A container that is started again has the same process number.
    return is_running(earlier.pid) and earlier.pid != os.getpid()
