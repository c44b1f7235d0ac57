"""docker-compose.yml: valid, safe, and its very commands and health checks work.

There may be no Docker engine where the tests run, so the services' commands are run as
processes of this machine, with the compose file's environment; host names, ports and the
folder are all that is replaced. Where the kernel lets the tests, they run as the image's user
and see a read-only file system, as they would in their containers.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import tomllib
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from redis import Redis
from redis.backoff import ConstantBackoff
from redis.exceptions import AuthenticationError
from redis.retry import Retry
from rq import Queue

from selection.verify import verify_files
from tests.support import batches
from tests.support.object_server import KEY_ID, SECRET, ObjectServer
from worker import Settings, enqueue
from worker.cli.wait import wait_for
from worker.local_fleet import server_program

ROOT = Path(__file__).parents[1]
PASSWORD = "a/b#c?d[e@f:g%20 $h'i\"j"  # all that a URL, a shell or the server could mistake
UID = 10001  # the image's
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OBJECT_STORAGE = {
    *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION"),
    *("AWS_ENDPOINT_URL", "AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT_KEY"),
    "GOOGLE_SERVICE_ACCOUNT_KEY",
}


def filled(text: str, **values: str) -> str:
    """Replace the variables of a value as compose does."""

    def value(match: re.Match[str]) -> str:
        name, otherwise = match[1], match[2]
        if match[0] == "$$":
            return "$"
        if values.get(name):
            return values[name]
        if otherwise is None:
            raise LookupError(match[3])
        return otherwise

    return re.sub(r"\$\$|\$\{(\w+)(?::-([^}]*)|:\?([^}]*))\}", value, text)


def seconds(duration: str) -> int:
    """Parse a duration as Go does, in seconds."""
    assert re.fullmatch(r"(\d+[ms])+", duration)
    parts = re.findall(r"(\d+)([ms])", duration)
    return sum(int(number) * {"m": 60, "s": 1}[unit] for number, unit in parts)


def passed_on(service: str) -> set[str]:
    """Return the variables that a service takes from the environment or from .env."""
    environment = SERVICES[service]["environment"]
    return {name for name, value in environment.items() if value is None}


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
        timeout=60,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_confined(name: str) -> None:
    service = SERVICES[name]
    assert service["init"] is True
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
    assert server["volumes"] == ["redis:/data"]
    assert COMPOSE["volumes"] == {"redis": None}
    assert re.fullmatch(r"valkey/valkey:\d+\.\d+\S*", server["image"])


@pytest.mark.parametrize("name", sorted(set(SERVICES) - {"objects"}))
def test_without_a_password_nothing_starts(name: str) -> None:
    given = SERVICES[name]["environment"]["REDIS_PASSWORD"]
    assert filled(given, REDIS_PASSWORD=PASSWORD) == PASSWORD
    with pytest.raises(LookupError, match="set REDIS_PASSWORD"):
        filled(given, REDIS_PASSWORD="")


def test_the_password_is_in_no_address_and_no_list_of_processes() -> None:
    for service in SERVICES.values():
        words = [str(service["command"]), str(service["healthcheck"]["test"])]
        assert not [word for word in words if "${REDIS_PASSWORD" in word]
        for name, value in service["environment"].items():
            assert "REDIS_PASSWORD" not in str(value) or name in ("REDIS_PASSWORD", "REDISCLI_AUTH")


def test_a_missing_folder_of_batches_is_not_made() -> None:
    [volume] = SERVICES["worker"]["volumes"]
    assert (volume["type"], volume["target"]) == ("bind", "/data")
    assert volume["bind"] == {"create_host_path": False}
    assert filled(volume["source"], BATCHES="/srv/batches") == "/srv/batches"


@pytest.mark.parametrize("grace", ["", "0", "45", "600"])
def test_a_worker_has_time_to_requeue_its_batch(grace: str) -> None:
    service = SERVICES["worker"]
    given = filled(service["environment"]["SELECTION_GRACE"], SELECTION_GRACE=grace)
    assert given == (grace or str(Settings.grace))
    until_killed = seconds(filled(service["stop_grace_period"], SELECTION_GRACE=grace))
    assert until_killed >= int(given) + 15
    assert service["mem_limit"]
    assert service["command"] == "rq worker selection"
    assert service["depends_on"]["redis"]["condition"] == "service_healthy"


def test_the_size_of_the_fleet_is_a_setting() -> None:
    replicas = SERVICES["worker"]["deploy"]["replicas"]
    assert filled(replicas) == "1"
    assert filled(replicas, WORKERS="4") == "4"


def test_every_setting_can_be_given_in_the_file_env() -> None:
    names = {each.metadata["name"] for each in fields(Settings)}
    from_environment = {name for name in names if name.startswith("SELECTION_")}
    from_environment.add("SELECTION_BACKEND")  # a setting of the package selection
    # The queue is part of the command, and the roots have a default that is mounted.
    settable = from_environment - {"SELECTION_QUEUE", "SELECTION_ROOTS"}
    assert passed_on("metrics") | {"SELECTION_GRACE"} == settable
    settable |= OBJECT_STORAGE
    assert passed_on("worker") | {"SELECTION_GRACE"} == settable
    example = (ROOT / ".env.example").read_text()
    variables = set(re.findall(r"^#?([A-Z_]+)=", example, re.MULTILINE))
    used = set(re.findall(r"\$\{(\w+)", (ROOT / "docker-compose.yml").read_text()))
    assert variables == used | settable | {"COMPOSE_PROFILES"}
    # An example that works would be in use, and everyone knows it.
    assert re.search("^REDIS_PASSWORD=''$", example, re.MULTILINE)


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_checked_soon_after_its_start(name: str) -> None:
    check = SERVICES[name]["healthcheck"]
    # Before Docker Engine 25 the first check comes after one interval; since then a start_period
    # brings it after 5 seconds. Compose refuses a start_interval where the engine is older.
    assert seconds(check["interval"]) <= 15
    assert seconds(check["start_period"]) >= 30
    assert "start_interval" not in check
    assert seconds(check["timeout"]) <= seconds(check["interval"])


def test_credentials_are_the_worker_s_alone_and_in_no_command() -> None:
    for name in SERVICES:
        assert bool(passed_on(name) & OBJECT_STORAGE) == (name == "worker")
    assert "AWS_SECRET" not in str([service["command"] for service in SERVICES.values()])


@pytest.mark.parametrize("roots", ["", "/data:s3://bucket/in/", "s3://bucket/"])
def test_the_roots_are_the_folder_or_those_of_the_settings(roots: str) -> None:
    for name in ("worker", "metrics"):
        given = filled(SERVICES[name]["environment"]["SELECTION_ROOTS"], SELECTION_ROOTS=roots)
        assert given == (roots or "/data")


def test_the_workers_image_has_the_extras_of_what_a_batch_can_be() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = (ROOT / "worker" / "Dockerfile").read_text().splitlines()
    [wheel] = [line for line in lines if "/wheels/*.whl" in line and "pip install" in line]
    wanted = ["compression", "object-store"]
    assert wheel.endswith(f'"$(echo /wheels/*.whl)[{",".join(wanted)}]"')
    assert set(wanted) <= set(extras["optional-dependencies"])


def test_monitoring_and_the_server_of_objects_are_profiles() -> None:
    profiles = {name: service.get("profiles") for name, service in SERVICES.items()}
    assert profiles == {
        "redis": None,
        "worker": None,
        "metrics": ["monitoring"],
        "dashboard": ["monitoring"],
        "objects": ["object-storage"],
    }


def test_the_image_is_built_from_existing_files_and_runs_without_privileges() -> None:
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
        if not source.startswith("--")
    ]
    assert copied
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    for source in copied:
        assert (ROOT / source).exists()
        assert f"!{source.split('/')[0]}" in ignored
    users = [line.split()[1] for line in lines if line.startswith("USER ")]
    assert users[-1] != "root"
    # Every final stage ends as the user of the image, whatever it did before.
    for stage in ("dashboard", "objects", "worker", "monitoring"):
        begin = next(i for i, line in enumerate(lines) if line.endswith(f" AS {stage}"))
        end = next((i for i in range(begin + 1, len(lines)) if lines[i].startswith("FROM ")), None)
        last_user = [line for line in lines[begin:end] if line.startswith("USER ")][-1]
        assert last_user == "USER 10001"


def test_the_image_has_the_bytecode_of_what_it_runs() -> None:
    lines = (ROOT / "worker" / "Dockerfile").read_text().replace("\\\n", "").splitlines()
    base = next(i for i, line in enumerate(lines) if line.endswith(" AS base"))
    [compiled] = [line for line in lines[base:] if "compileall" in line]
    assert compiled.startswith("RUN python -m compileall ")
    assert compiled.endswith(" /usr/local/lib/python3.13")
    # Packages are compiled by pip, unless it is asked not to.
    installs = [line for line in lines[base:] if "pip install" in line]
    assert len(installs) == 4
    assert not [line for line in installs if "--no-compile" in line]


# What it runs


def free_port() -> int:
    """Return a port without a listener."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def confinement(folder: Path) -> list[str]:
    """Return the prefix of a command: all but the folder is read-only, without root.

    The right to read everything is left, since the interpreter may be in root's home. Nothing
    where the tests are not root or the kernel does not let them.
    """
    script = (
        'mount --bind "$0" "$0" && mount -o remount,bind,ro / && cd "$PWD" && exec'
        " setpriv"
        f" --reuid={UID} --regid={UID} --clear-groups --no-new-privs"
        " --bounding-set=-all,+dac_read_search --inh-caps=-all,+dac_read_search"
        ' --ambient-caps=-all,+dac_read_search -- "$@"'
    )
    prefix = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, str(folder)]
    if shutil.which("unshare") is None:
        return []
    probe = subprocess.run([*prefix, "true"], capture_output=True, timeout=60)
    return prefix if probe.returncode == 0 else []


class Stack:
    """The services as processes, in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.settings = {"REDIS_PASSWORD": PASSWORD}  # as of the file .env
        self.data = folder / "data"
        self._confinement = confinement(folder)
        for name in ("data", "redis", "empty"):
            (folder / name).mkdir()
        if self._confinement:
            for name in ("data", "redis"):
                os.chown(folder / name, UID, UID)
        self.ports = {port: str(free_port()) for port in ("6379", "9000", "9109", "9181")}
        self._processes: list[subprocess.Popen[bytes]] = []

    def environment(self, service: str) -> dict[str, str]:
        """Return the variables of the compose file and this PATH."""
        given = SERVICES[service].get("environment", {})
        tools = f"{Path(sys.executable).parent}:{self.folder}/tools:{os.environ['PATH']}"
        values = {name: self._value(str(v)) for name, v in given.items() if v is not None}
        values |= {name: self.settings[name] for name in passed_on(service) & set(self.settings)}
        if values.pop("REDIS_HOST", None):
            values |= {"REDIS_HOST": "127.0.0.1", "REDIS_PORT": self.ports["6379"]}
        if "RQ_DASHBOARD_SETTINGS" in values:
            values["RQ_DASHBOARD_SETTINGS"] = str(ROOT / "worker" / "rq-dashboard.cfg")
        return {"PATH": tools, **values}

    def _value(self, text: str) -> str:
        text = filled(text, **self.settings)
        text = text.replace("//redis:6379", f"//127.0.0.1:{self.ports['6379']}")
        return re.sub("^/data", str(self.data), text)

    def start(self, service: str) -> subprocess.Popen[bytes]:
        """Run the service's command."""
        command = SERVICES[service]["command"]
        words = shlex.split(command) if isinstance(command, str) else list(command)
        words = [filled(word, **self.settings) for word in words]
        words = [
            re.sub(r"\b\d{4}\b", lambda port: self.ports.get(port[0], port[0]), word)
            for word in words
        ]
        words = [word.replace("0.0.0.0", "127.0.0.1") for word in words]
        if service == "redis":
            here = f" --port {self.ports['6379']} --bind 127.0.0.1 "
            words[-1] = words[-1].replace("valkey-server - ", f"{server_program()} -{here}")
        process = subprocess.Popen(
            [*self._confinement, *words],
            env=self.environment(service),
            cwd=self.folder / ("redis" if service == "redis" else "empty"),
            start_new_session=True,
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
        done = subprocess.run(
            [*self._confinement, *words],
            env=self.environment(service),
            capture_output=True,
            timeout=60,
        )
        return done.returncode == 0

    def wait_until_healthy(self, service: str, process: subprocess.Popen[bytes]) -> None:
        """Run the health check until it is content."""
        end = time.monotonic() + 60
        while not self.is_healthy(service):
            assert process.poll() is None, f"{service} has ended"
            assert time.monotonic() < end, f"{service} does not become healthy"

    def client(self) -> Redis:
        """Connect with the compose file's password."""
        patience = Retry(ConstantBackoff(0.05), 200)
        return Redis(port=int(self.ports["6379"]), password=PASSWORD, retry=patience)

    def stop(self) -> None:
        for process in reversed(self._processes):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(60)


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
    with pytest.raises(AuthenticationError):
        Redis(port=int(stack.ports["6379"])).ping()
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
    assert sorted(os.listdir(stack.data)) == ["batch.json", "batch_selected.json"]
    assert os.listdir(stack.folder / "empty") == []
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


def test_the_stack_selects_an_object(stack: Stack) -> None:
    url = f"http://127.0.0.1:{stack.ports['9000']}"
    stack.settings |= {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": KEY_ID,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "SELECTION_ROOTS": "s3://batches/in/",
    }
    stack.start("redis")
    assert not stack.is_healthy("objects")
    stack.wait_until_healthy("objects", stack.start("objects"))
    server = ObjectServer(int(stack.ports["9000"]), "batches")
    path = batches.write(stack.data / "batch.json", [batches.picks_newspaper4k()])
    server.put("in/batch.json", path.read_bytes())
    stack.client().ping()
    stack.start("worker")

    def enqueue(batch: str) -> int:
        command = ["selection-worker", "enqueue", batch, "--wait"]
        return subprocess.run(command, env=stack.environment("worker"), timeout=120).returncode

    assert enqueue("s3://batches/in/batch.json") == 0
    output = stack.data / "output.json"
    output.write_bytes(server.get("in/batch_selected.json"))
    assert verify_files(path, output).articles == 1
    assert server.uploads() == []
    # The folder and other prefixes are outside the roots.
    server.put("in-other/batch.json", path.read_bytes())
    assert enqueue("s3://batches/in-other/batch.json") == 66
    assert enqueue(str(path)) == 66


def test_a_worker_that_hangs_is_not_healthy(stack: Stack) -> None:
    stack.start("redis")
    stack.client().ping()
    # As the health check of a worker that wrote its last sign of life a minute ago sees it.
    worker = stack.start("worker")
    client = stack.client()
    stack.wait_until_healthy("worker", worker)
    [key] = cast(set[bytes], client.smembers("rq:workers:selection"))
    worker.send_signal(signal.SIGSTOP)
    client.hset(key.decode(), "last_heartbeat", "2026-01-01T00:00:00.000000Z")
    assert not stack.is_healthy("worker")
    worker.send_signal(signal.SIGCONT)


def test_a_worker_that_was_killed_is_not_healthy_at_once(stack: Stack) -> None:
    stack.start("redis")
    client = stack.client()
    client.ping()
    worker = stack.start("worker")
    stack.wait_until_healthy("worker", worker)
    worker.kill()
    worker.wait(60)
    assert client.scard("rq:workers:selection") == 1
    assert not stack.is_healthy("worker")


def test_a_worker_on_another_host_is_not_this_one(stack: Stack) -> None:
    stack.start("redis")
    client = stack.client()
    client.ping()
    worker = stack.start("worker")
    stack.wait_until_healthy("worker", worker)
    [key] = cast(set[bytes], client.smembers("rq:workers:selection"))
    # Its next heartbeat would write all of its registration again.
    worker.send_signal(signal.SIGSTOP)
    assert stack.is_healthy("worker")
    client.hset(key.decode(), "hostname", "another")
    assert not stack.is_healthy("worker")
    worker.send_signal(signal.SIGCONT)


@pytest.mark.parametrize("service", ["metrics", "dashboard"])
def test_monitoring_serves_and_knows_when_it_does_not(stack: Stack, service: str) -> None:
    stack.start("redis")
    stack.client().ping()
    assert not stack.is_healthy(service)
    process = stack.start(service)
    stack.wait_until_healthy(service, process)


class Forged:
    """What runs a command when it is read as a pickle."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self._path),)


def test_the_dashboard_shows_jobs_and_runs_nothing_that_they_hold(stack: Stack) -> None:
    stack.start("redis")
    client = stack.client()
    client.ping()
    settings = Settings(worker_class="worker.SelectionWorker")
    path = batches.write(stack.data / "batch.json", [batches.picks_newspaper4k()])
    job = enqueue(path, connection=client, settings=settings)
    forged = Queue("selection", connection=client).enqueue("worker.jobs.select_batch", "x")
    client.hset(forged.key, "meta", pickle.dumps(Forged(stack.data / "forged")))
    dashboard = stack.start("dashboard")
    stack.wait_until_healthy("dashboard", dashboard)

    def show(page: str) -> dict[str, Any]:
        url = f"http://127.0.0.1:{stack.ports['9181']}/0/data/{page}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            shown: dict[str, Any] = json.load(answer)
        return shown

    waiting = show("jobs/selection/queued/8/asc/1.json")["jobs"]
    assert {row["id"] for row in waiting} == {job.id, forged.id}
    assert "forged" not in os.listdir(stack.data)

    forged.delete()
    stack.start("worker")
    [batch] = wait_for(client, settings, [job.id])
    assert batch.state == "finished"
    shown = show(f"job/{job.id}.json")
    assert shown["result"]["articles"] == 1


def test_the_server_s_health_check_needs_the_password(stack: Stack) -> None:
    # The image has valkey-cli; here its place is taken by a script that speaks the protocol.
    tools = stack.folder / "tools"
    tools.mkdir()
    cli = tools / "valkey-cli"
    cli.write_text(
        f"#!{shutil.which('python3')}\n"
        "import os, socket\n"
        f"with socket.create_connection(('127.0.0.1', {stack.ports['6379']})) as server:\n"
        "    word = os.environ['REDISCLI_AUTH'].encode()\n"
        "    server.sendall(b'*2\\r\\n$4\\r\\nAUTH\\r\\n$%d\\r\\n%b\\r\\n' % (len(word), word))\n"
        "    server.sendall(b'PING\\r\\n')\n"
        "    answers = server.makefile()\n"
        "    print(answers.readline() + answers.readline())\n"
    )
    cli.chmod(0o755)
    assert not stack.is_healthy("redis")
    stack.start("redis")
    stack.client().ping()
    assert stack.is_healthy("redis")


def test_the_container_checks_report_why_they_are_skipped_without_an_engine(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "robustness.containers"],
        env={"PATH": str(tmp_path), "TMPDIR": str(tmp_path)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    why = "dockerd, docker, docker-init" if os.getuid() == 0 else "needs Linux and root"
    assert done.stdout.startswith("skipped: ")
    assert why in done.stdout
    assert os.listdir(tmp_path) == []
