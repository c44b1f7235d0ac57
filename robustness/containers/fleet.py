"""The services of docker-compose.yml as one project on an engine."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from robustness.containers.engine import Engine

USER = 1234
# Characters with a meaning in URLs, shells and the server's configuration.
PASSWORD = "a/b#c?d[e@f:g%20 $h'i\"j"
# The engine has no bridge with a way out, so the images are built in the host's network.
_OVERRIDE = "services:\n" + "".join(
    f"  {name}: {{build: {{network: host}}}}\n"
    for name in ("worker", "metrics", "dashboard", "objects")
)


class Fleet:
    """Compose commands, and the state of the containers."""

    def __init__(self, engine: Engine, source: Path) -> None:
        self.engine = engine
        self.batches = engine.folder / "batches"
        self.batches.mkdir()
        override = engine.folder / "override.yml"
        override.write_text(_OVERRIDE)
        self._compose = [
            *("docker", "compose", "--project-name", "selection-trial"),
            *("--file", str(source / "docker-compose.yml"), "--file", str(override)),
        ]
        self.settings = {
            "REDIS_PASSWORD": PASSWORD,
            "BATCHES": str(self.batches),
            "RUN_AS": f"{USER}:{USER}",
            "SELECTION_HEARTBEAT": "5",
            "SELECTION_RETRY_DELAYS": "1,2,3",
            "COMPOSE_PROFILES": "",
        }

    def compose(self, *arguments: str, seconds: float = 300, **settings: str) -> int:
        """Run a compose command and return its code."""
        variables = {**self.settings, **settings}
        done = self.engine.run(*self._compose, *arguments, seconds=seconds, **variables)
        return done.returncode

    def up(self, **settings: str) -> int:
        """Start the services as documented and wait until they are healthy."""
        return self.compose("up", "--build", "--detach", "--wait", seconds=900, **settings)

    def worker(self, *command: str) -> int:
        """Run a command in a worker's container."""
        return self.compose("exec", "-T", "worker", *command)

    def containers(self, *services: str) -> list[dict[str, Any]]:
        """Inspect the containers of services, of all if none is named."""
        done = self.engine.run(
            *self._compose,
            "--profile",
            "*",
            "ps",
            "--quiet",
            *services,
            seconds=60,
            **self.settings,
        )
        ids = done.stdout.split()
        if not ids:
            return []
        found: list[dict[str, Any]] = json.loads(self.engine.run("docker", "inspect", *ids).stdout)
        return found

    def jobs(self) -> dict[str, dict[str, Any]]:
        """Return the rows of `selection-worker status` by file name."""
        command = ("exec", "-T", "worker", "selection-worker", "status", "--json")
        done = self.engine.run(*self._compose, *command, seconds=60, **self.settings)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        return {Path(row["path"]).name: row for row in rows}

    def state(self, name: str) -> str:
        """Return the state of the job of a file, or ""."""
        return str(self.jobs().get(name, {}).get("state", ""))

    def wait_for(self, is_done: Callable[[], object], seconds: float) -> bool:
        """Return whether a condition holds in time."""
        end = time.monotonic() + seconds
        while not is_done():
            if time.monotonic() > end:
                return False
            time.sleep(0.1)
        return True


def get(port: int, path: str) -> str:
    """Read a page of a published port; return "" if that fails."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=20) as answer:
            return str(answer.read().decode())
    except OSError:
        return ""
