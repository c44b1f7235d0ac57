"""docker-compose.yml: valid, safe, and its very commands and health checks work.

There may be no Docker engine where the tests run, so the services' commands are run as
processes of this machine, with the compose file's environment; host names, ports and the
folder are all that is replaced.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import batches
import pytest
import yaml
from redis import Redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry

from selection.verify import verify_files
from worker.local import server_program

ROOT = Path(__file__).parents[1]
PASSWORD = "0secret0"
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]


def filled(text: str, **values: str) -> str:
    """A value with its variables replaced as compose does."""

    def value(match: re.Match[str]) -> str:
        name, otherwise = match[1], match[2]
        return values.get(name, otherwise if otherwise is not None else "")

    return re.sub(r"\$\{(\w+)(?::-([^}]*)|:\?[^}]*)?\}", value, text)


# What the file says


def test_it_is_valid_by_the_published_schema() -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "check_jsonschema",
            "--builtin-schema",
            "vendor.compose-spec",
            str(ROOT / "docker-compose.yml"),
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_confined(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["restart"] == "unless-stopped"
    assert service["healthcheck"]["test"]
    assert "container_name" not in service  # there may be several of it
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))


def test_the_server_is_private_and_loses_nothing() -> None:
    server = SERVICES["redis"]
    command = " ".join(server["command"])
    assert "ports" not in server
    assert "--appendonly yes" in command
    assert "--maxmemory-policy noeviction" in command
    assert "--requirepass ${REDIS_PASSWORD:?" in command
    assert server["volumes"] == ["redis:/data"]
    assert COMPOSE["volumes"] == {"redis": None}
    assert re.fullmatch(r"valkey/valkey:\d+\.\d+\S*", server["image"])


def test_a_worker_has_time_to_hand_its_batch_back() -> None:
    service = SERVICES["worker"]
    grace = int(filled(str(service["environment"]["SELECTION_GRACE"])))
    assert int(service["stop_grace_period"].removesuffix("s")) >= grace + 15
    assert service["mem_limit"]
    assert service["command"] == "rq worker selection"
    assert service["depends_on"]["redis"]["condition"] == "service_healthy"


def test_monitoring_is_a_profile() -> None:
    profiles = {name: service.get("profiles") for name, service in SERVICES.items()}
    assert profiles == {
        "redis": None,
        "worker": None,
        "metrics": ["monitoring"],
        "dashboard": ["monitoring"],
    }


def test_the_image_is_built_from_what_is_there_and_runs_as_nobody_special() -> None:
    lines = (ROOT / "worker" / "Dockerfile").read_text().splitlines()
    stages = [line.split() for line in lines if line.startswith("FROM ")]
    images = [stage[1] for stage in stages]
    names = [stage[3] for stage in stages]
    assert all(image in names or re.fullmatch(r"python:3\.\d+-slim", image) for image in images)
    for service in SERVICES.values():
        if "build" in service:
            assert service["build"]["target"] in names
    copied = [
        source
        for line in lines
        if line.startswith("COPY ") and "--from" not in line
        for source in line.split()[1:-1]
    ]
    assert copied
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    for source in copied:
        assert (ROOT / source).exists()
        assert f"!{source}" in ignored
    users = [line.split()[1] for line in lines if line.startswith("USER ")]
    assert users[-1] != "root"
    # Every final stage ends as the user of the image, whatever it did before.
    for stage in ("dashboard", "worker", "monitoring"):
        begin = next(i for i, line in enumerate(lines) if line.endswith(f" AS {stage}"))
        end = next((i for i in range(begin + 1, len(lines)) if lines[i].startswith("FROM ")), None)
        last_user = [line for line in lines[begin:end] if line.startswith("USER ")][-1]
        assert last_user == "USER 10001"


# What it runs


def free_port() -> int:
    """A port of this machine that nobody listens to."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Stack:
    """The services as processes, in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.data.mkdir()
        (folder / "redis").mkdir()
        self.ports = {"6379": free_port(), "9109": free_port(), "9181": free_port()}
        self._processes: list[subprocess.Popen[bytes]] = []

    def environment(self, service: str) -> dict[str, str]:
        """What the compose file gives, and the PATH of this environment."""
        given = SERVICES[service].get("environment", {})
        tools = f"{Path(sys.executable).parent}:{self.folder}/tools:{os.environ['PATH']}"
        return {"PATH": tools, **{name: self._environment(v) for name, v in given.items()}}

    def _environment(self, value: object) -> str:
        text = filled(str(value), REDIS_PASSWORD=PASSWORD)
        text = text.replace("@redis:6379", f"@127.0.0.1:{self.ports['6379']}")
        return str(self.data) if text == "/data" else text

    def start(self, service: str) -> subprocess.Popen[bytes]:
        """Run the service's command."""
        command = SERVICES[service]["command"]
        words = shlex.split(command) if isinstance(command, str) else list(command)
        words = [filled(word, REDIS_PASSWORD=PASSWORD) for word in words]
        words = [str(self.ports.get(word, word)) for word in words]
        words = ["127.0.0.1" if word == "0.0.0.0" else word for word in words]
        if words[0] == "valkey-server":
            words[0] = server_program()
            words += ["--port", str(self.ports["6379"]), "--bind", "127.0.0.1"]
        process = subprocess.Popen(
            words, env=self.environment(service), cwd=self.folder / "redis", start_new_session=True
        )
        self._processes.append(process)
        return process

    def is_healthy(self, service: str) -> bool:
        """Run the service's health check once."""
        how, *words = SERVICES[service]["healthcheck"]["test"]
        for port, here in self.ports.items():
            words = [re.sub(rf":{port}\b", f":{here}", word) for word in words]
        if how == "CMD-SHELL":
            words = ["/bin/sh", "-c", *words]
        done = subprocess.run(words, env=self.environment(service), capture_output=True, timeout=60)
        return done.returncode == 0

    def client(self) -> Redis:
        """A connection with the compose file's password."""
        patience = Retry(ConstantBackoff(0.05), 200)
        return Redis(port=self.ports["6379"], password=PASSWORD, retry=patience)

    def stop(self) -> None:
        for process in reversed(self._processes):
            process.kill()
            process.wait()


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    running = Stack(tmp_path)
    yield running
    running.stop()


def test_the_stack_selects_a_batch(stack: Stack) -> None:
    stack.start("redis")
    client = stack.client()
    assert client.ping()
    assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
    assert client.config_get("appendonly") == {"appendonly": "yes"}
    assert not stack.is_healthy("worker")
    worker = stack.start("worker")
    path = batches.write(stack.data / "batch.json", [batches.picks_newspaper4k()])
    done = subprocess.run(
        ["selection-worker", "enqueue", str(path), "--wait"],
        env=stack.environment("worker"),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert verify_files(path, stack.data / "batch_selected.json").articles == 1
    assert stack.is_healthy("worker")

    outside = batches.write(stack.folder / "outside.json", [])
    refused = subprocess.run(
        ["selection-worker", "enqueue", str(outside)],
        env=stack.environment("worker"),
        capture_output=True,
        timeout=60,
    )
    assert refused.returncode == 66

    worker.terminate()
    assert worker.wait(60) == 0
    assert not stack.is_healthy("worker")


def test_a_worker_that_hangs_is_not_healthy(stack: Stack) -> None:
    stack.start("redis")
    stack.client().ping()
    # As the health check of a worker that wrote its last sign of life a minute ago sees it.
    worker = stack.start("worker")
    client = stack.client()
    while not stack.is_healthy("worker"):
        pass
    [key] = cast(set[bytes], client.smembers("rq:workers:selection"))
    worker.send_signal(signal.SIGSTOP)
    client.hset(key.decode(), "last_heartbeat", "2026-01-01T00:00:00.000000Z")
    assert not stack.is_healthy("worker")
    worker.send_signal(signal.SIGCONT)


@pytest.mark.parametrize("service", ["metrics", "dashboard"])
def test_monitoring_serves_and_knows_when_it_does_not(stack: Stack, service: str) -> None:
    stack.start("redis")
    stack.client().ping()
    assert not stack.is_healthy(service)
    process = stack.start(service)
    while not stack.is_healthy(service):
        assert process.poll() is None


def test_the_server_s_health_check_needs_the_password(stack: Stack) -> None:
    # The image has valkey-cli; here its place is taken by a script that speaks the protocol.
    tools = stack.folder / "tools"
    tools.mkdir()
    cli = tools / "valkey-cli"
    cli.write_text(
        f"#!{shutil.which('python3')}\n"
        "import os, socket\n"
        f"with socket.create_connection(('127.0.0.1', {stack.ports['6379']})) as server:\n"
        "    server.sendall(f\"AUTH {os.environ['REDISCLI_AUTH']}\\r\\nPING\\r\\n\".encode())\n"
        "    answers = server.makefile()\n"
        "    print(answers.readline() + answers.readline())\n"
    )
    cli.chmod(0o755)
    assert not stack.is_healthy("redis")
    stack.start("redis")
    stack.client().ping()
    assert stack.is_healthy("redis")
