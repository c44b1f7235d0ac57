"""The checks of the server, and advice on its errors."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from typing import Any

from redis import Redis
from redis.exceptions import RedisError, ResponseError
from redis.sentinel import MasterNotFoundError
from rq.defaults import RQ_KEY_PREFIX

from worker.checks.check_result import CheckResult
from worker.state.events import STREAM

# RQ moves a job from list to list with BLMOVE, which came with 6.2.
OLDEST = (6, 2)

_OLD = "Redis 6.2 is the oldest version that works, and any Valkey does"
_CLUSTER = "the server is a cluster, which RQ does not support; use one without cluster mode"
_FULL = "the server's memory is full; delete old jobs or raise maxmemory"
_REPLICA = "the server is a read-only replica; RQ_REDIS_URL must name the primary"
_FORBIDDEN = "the server's ACL forbids what producers and workers do"

# Parts of the server's error messages, and what to do.
_ADVICE = (
    ("unknown command", f"the server is too old: {_OLD}"),
    ("OOM ", _FULL),
    ("used memory", _FULL),
    ("READONLY ", _REPLICA),
    ("read only replica", _REPLICA),
    ("MISCONF", "the server cannot save to its disk; look at its log"),
    ("NOREPLICAS", "the server has too few replicas to take writes"),
    ("loading the dataset", "the server is loading its data; try again in a moment"),
    ("MOVED ", _CLUSTER),
    ("CROSSSLOT", _CLUSTER),
    ("same slot", _CLUSTER),
    ("hash slot", _CLUSTER),
    ("CLUSTERDOWN", _CLUSTER),
    ("permission", _FORBIDDEN),
    ("NOPERM", _FORBIDDEN),
    ("username-password", "the server refuses the password or the user name"),
    ("authentication required", "the server needs a password"),
)


def advice(error: RedisError) -> str:
    """Return what a refusal_reason of the server means, with its own words behind it."""
    if isinstance(error, MasterNotFoundError):  # its text is the internal state of each client
        return "no Sentinel answers or knows the primary; check the module of RQ_CONFIG"
    text = str(error).rstrip(".")
    known = next((meaning for part, meaning in _ADVICE if part.lower() in text.lower()), None)
    if known:
        return f"{known} ({text})"
    if isinstance(error, ResponseError):
        return f"the server refuses: {text}"
    return f"the server cannot be reached: {text}; check RQ_REDIS_URL"


def reach(connection: Redis) -> Iterator[CheckResult]:
    """Check that the server answers, and that RQ supports it."""
    connection.ping()
    try:
        server: Any = connection.info("server")
        cluster: Any = connection.info("cluster")
    except ResponseError:  # an ACL may make_final it
        yield CheckResult("redis", "ok", "answers")
        return
    version = str(server.get("redis_version", ""))
    numbers = tuple(map(int, re.findall(r"\d+", version)[:2]))
    if cluster.get("cluster_enabled"):
        yield CheckResult("redis", "error", _CLUSTER)
    elif numbers and numbers < OLDEST and "valkey_version" not in server:
        yield CheckResult("redis", "error", f"version {version} is too old: {_OLD}")
    else:
        name = f"Valkey {server['valkey_version']}" if "valkey_version" in server else version
        yield CheckResult("redis", "ok", f"answers, {name}")


def durability(connection: Redis) -> Iterator[CheckResult]:
    """Check that the server cannot drop jobs and survives a restart."""
    try:
        memory: Any = connection.info("memory")
        persistence: Any = connection.info("persistence")
    except ResponseError as error:
        yield CheckResult("redis settings", "warning", f"cannot be read: {error}")
        return
    policy = memory.get("maxmemory_policy", "unknown")
    if policy == "noeviction":
        yield CheckResult("eviction", "ok", "noeviction")
    else:
        yield CheckResult(
            "eviction", "error", f"{policy} can drop queued jobs; set maxmemory-policy noeviction"
        )
    if persistence.get("aof_enabled"):
        yield CheckResult("persistence", "ok", "append-only file")
    else:
        yield CheckResult(
            "persistence", "warning", "a restart loses recent jobs; set appendonly yes"
        )


def writing(connection: Redis) -> Iterator[CheckResult]:
    """Check that a job can be enqueued, by writing one and removing it."""
    name = f"doctor-{uuid.uuid4()}"
    job, queue = f"{RQ_KEY_PREFIX}:job:{name}", f"{RQ_KEY_PREFIX}:queue:{name}"
    with connection.pipeline() as pipeline:
        pipeline.hset(job, "status", "queued")
        pipeline.rpush(queue, name)
        pipeline.delete(job, queue)
        # It removes nothing, but an ACL that forbids events also forbids this.
        pipeline.xtrim(STREAM, minid="0-0")
        pipeline.execute()
    yield CheckResult("writing", "ok", "a job can be enqueued")
