"""The documented behaviour of the containers, one check each, in this order.

A check returns what is wrong, or "".
"""

from __future__ import annotations

import gzip
import json
import os
import signal
from contextlib import suppress
from pathlib import Path

from robustness.containers.fleet import USER, Fleet, get
from tests.support.object_server import KEY_ID, SECRET, ObjectServer

SAMPLE = Path(__file__).parents[2] / "examples" / "river_plate_extracted.json"
_WORKERS = 3
_LARGE = 300_000_000


def _write(fleet: Fleet, name: str, size: int = 0) -> Path:
    """Write the sample's articles, over and over up to a size."""
    articles = json.loads(SAMPLE.read_text())["articles"]
    part = ",".join(json.dumps(article) for article in articles)
    path = fleet.batches / name
    with path.open("w") as batch:
        batch.write('{"articles": [' + part)
        for _ in range(size // len(part)):
            batch.write("," + part)
        batch.write("]}")
    os.chown(path, USER, USER)
    return path


def _wrong_output(fleet: Fleet, name: str) -> str:
    output = Path(name).stem + "_selected.json"
    if fleet.worker("selection", "verify", f"/data/{name}", f"/data/{output}"):
        return f"{output} is not right"
    if (fleet.batches / output).stat().st_uid != USER:
        return f"{output} does not belong to RUN_AS"
    left = [path.name for path in fleet.batches.glob(".*.tmp")]
    return f"left behind: {', '.join(left)}" if left else ""


def _is_being_written(fleet: Fleet) -> bool:
    for path in fleet.batches.glob(".*.tmp"):
        with suppress(FileNotFoundError):
            if path.stat().st_size > 1_000_000:
                return True
    return False


def nothing_starts_without_a_password(fleet: Fleet) -> str:
    code = fleet.compose("up", "--detach", REDIS_PASSWORD="")
    return "" if code and not fleet.containers() else "it was accepted"


def nothing_starts_without_a_folder(fleet: Fleet) -> str:
    missing = fleet.engine.folder / "missing"
    code = fleet.compose("up", "--build", "--detach", seconds=900, BATCHES=str(missing))
    fleet.compose("down", "--volumes")
    if missing.exists():
        return "the folder was made"
    return "" if code else "it was accepted"


def a_fleet_becomes_healthy(fleet: Fleet) -> str:
    os.chown(fleet.batches, USER, USER)
    if fleet.up(WORKERS=str(_WORKERS)):
        return "up fails"
    fleet.settings["WORKERS"] = str(_WORKERS)
    found = len(fleet.containers())
    return "" if found == _WORKERS + 1 else f"{found} containers"


def a_batch_is_selected(fleet: Fleet) -> str:
    _write(fleet, "sample.json")
    code = fleet.worker("selection-worker", "enqueue", "/data", "--wait")
    return f"enqueue ended with {code}" if code else _wrong_output(fleet, "sample.json")


def doctor_finds_nothing_wrong(fleet: Fleet) -> str:
    code = fleet.worker("selection-worker", "doctor")
    return f"it ended with {code}" if code else ""


def monitoring_keeps_the_fleet(fleet: Fleet) -> str:
    before = {container["Id"] for container in fleet.containers("worker")}
    fleet.settings["COMPOSE_PROFILES"] = "monitoring"
    if fleet.up():
        return "up fails"
    after = {container["Id"] for container in fleet.containers("worker")}
    return "" if before == after else f"{len(after)} workers, of them {len(before & after)} old"


def monitoring_serves(fleet: Fleet) -> str:
    if "\nselection_redis_up 1" not in get(9109, "/metrics"):
        return "no metrics"
    return "" if '"selection"' in get(9181, "/0/data/queues.json") else "no queue in the dashboard"


def objects_are_selected(fleet: Fleet) -> str:
    fleet.settings |= {
        "COMPOSE_PROFILES": "monitoring,object-storage",
        "SELECTION_ROOTS": "/data:s3://batches/in/",
        "AWS_ENDPOINT_URL": "http://objects:9000",
        "AWS_ACCESS_KEY_ID": KEY_ID,
        "AWS_SECRET_ACCESS_KEY": SECRET,
    }
    if fleet.up():
        return "up fails"
    server = ObjectServer(9000, "batches")
    server.put(
        "in/large.json.gz", gzip.compress(_write(fleet, "large.json", 30_000_000).read_bytes())
    )
    code = fleet.worker("selection-worker", "enqueue", "s3://batches/in/", "--wait")
    if code:
        return f"enqueue ended with {code}"
    names = [f"s3://batches/in/{name}.json.gz" for name in ("large", "large_selected")]
    if fleet.worker("selection", "verify", *names):
        return "the output is not right"
    if uploads := server.uploads():
        return f"{len(uploads)} unfinished uploads"
    server.put("other/a.json", b'{"articles": []}')
    code = fleet.worker("selection-worker", "enqueue", "s3://batches/other/", "--wait")
    return "" if code == 66 else f"an address outside the roots ended with {code}"


def every_container_is_confined(fleet: Fleet) -> str:
    for container in fleet.containers():
        host, pid = container["HostConfig"], container["State"]["Pid"]
        lines = (Path(f"/proc/{pid}/status")).read_text().splitlines()
        status = {name: value.split() for name, _, value in (line.partition(":") for line in lines)}
        bounds = [status[name] for name in ("CapEff", "CapPrm", "CapBnd")]
        if "0" in status["Uid"] or bounds != [["0" * 16]] * 3 or status["NoNewPrivs"] != ["1"]:
            return f"{container['Name']} has privileges"
        if not host["ReadonlyRootfs"]:
            return f"{container['Name']} can write to its file system"
        bindings = [one for port in (host["PortBindings"] or {}).values() for one in port]
        if any(binding["HostIp"] != "127.0.0.1" for binding in bindings):
            return f"{container['Name']} has a public port"
    return ""


def what_a_worker_imports_is_compiled(fleet: Fleet) -> str:
    code = (
        "import sys, worker, worker.cli.commands, rq.cli, os; "
        "from importlib.util import cache_from_source; "
        "files = [m.__file__ for m in list(sys.modules.values()) if getattr(m, '__file__', None)]; "
        "sys.exit(any(not os.path.exists(cache_from_source(f)) for f in files if f[-3:] == '.py'))"
    )
    return "" if fleet.worker("python", "-P", "-c", code) == 0 else "a module has no bytecode"


def a_killed_worker_comes_back_and_its_batch_is_selected(fleet: Fleet) -> str:
    _write(fleet, "killed.json", _LARGE)
    fleet.worker("selection-worker", "enqueue", "/data/killed.json")
    if not fleet.wait_for(lambda: _is_being_written(fleet), 60):
        return f"the job is {fleet.state('killed.json')!r}"
    # As a crash: the engine does not restart what it was asked to kill.
    for container in fleet.containers("worker"):
        os.kill(container["State"]["Pid"], signal.SIGKILL)
    if not fleet.wait_for(lambda: fleet.state("killed.json") in ("finished", "failed"), 300):
        return f"the job is still {fleet.state('killed.json')!r}"
    restarts = [container["RestartCount"] for container in fleet.containers("worker")]
    if restarts != [1] * _WORKERS:
        return f"restarted {restarts} times"
    return _wrong_output(fleet, "killed.json")


def a_stopped_worker_requeues_its_batch(fleet: Fleet) -> str:
    if fleet.up(SELECTION_GRACE="1"):
        return "up fails"
    _write(fleet, "stopped.json", _LARGE)
    fleet.worker("selection-worker", "enqueue", "/data/stopped.json")
    if not fleet.wait_for(lambda: _is_being_written(fleet), 60):
        return f"the job is {fleet.state('stopped.json')!r}"
    containers = [container["Id"] for container in fleet.containers("worker")]
    # The end of the grace comes before the end of the batch.
    fleet.compose("stop", "worker", SELECTION_GRACE="1")
    stopped = json.loads(fleet.engine.run("docker", "inspect", *containers).stdout)
    codes = [container["State"]["ExitCode"] for container in stopped]
    if codes != [0] * _WORKERS:
        return f"the workers ended with {codes}"
    if left := list(fleet.batches.glob(".*.tmp")):
        return f"left behind: {left[0].name}"
    fleet.up()
    if not fleet.wait_for(lambda: fleet.state("stopped.json") in ("finished", "failed"), 300):
        return f"the job is still {fleet.state('stopped.json')!r}"
    return _wrong_output(fleet, "stopped.json")


def the_size_of_the_fleet_can_be_changed(fleet: Fleet) -> str:
    fleet.settings["WORKERS"] = "1"
    if fleet.up():
        return "up fails"
    found = len(fleet.containers("worker"))
    return "" if found == 1 else f"{found} workers"


def down_leaves_nothing(fleet: Fleet) -> str:
    fleet.compose("down", "--volumes")
    run = fleet.engine.run
    left = run("docker", "ps", "-aq").stdout + run("docker", "volume", "ls", "-q").stdout
    return f"left behind: {' '.join(left.split())}" if left else ""


CHECKS = (
    nothing_starts_without_a_password,
    nothing_starts_without_a_folder,
    a_fleet_becomes_healthy,
    a_batch_is_selected,
    doctor_finds_nothing_wrong,
    monitoring_keeps_the_fleet,
    monitoring_serves,
    objects_are_selected,
    every_container_is_confined,
    what_a_worker_imports_is_compiled,
    a_killed_worker_comes_back_and_its_batch_is_selected,
    a_stopped_worker_requeues_its_batch,
    the_size_of_the_fleet_can_be_changed,
    down_leaves_nothing,
)
