"""``selection-worker metrics`` serves right numbers over HTTP, also during an outage."""

from __future__ import annotations

import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from prometheus_client.parser import text_string_to_metric_families

import worker
from tests.support import batches
from tests.support.process import SECONDS, line_with, until
from tests.support.queue_server import Server, Workers
from worker.checks.doctor import run_checks


@pytest.fixture
def port(workers: Workers) -> Iterator[int]:
    """Where a metrics process serves."""
    process = subprocess.Popen(
        [sys.executable, "-m", "worker", "metrics", "--port", "0"],
        env=workers.environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    line = line_with("/metrics", process.stderr, process)
    ready = re.search(r"http://127\.0\.0\.1:(\d+)/metrics", line)
    assert ready
    yield int(ready[1])
    process.terminate()
    assert process.wait(30) == 0
    assert process.stderr is not None
    process.stderr.close()


def scrape(port: int) -> dict[str, float]:
    """All samples by name and labels."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        text = answer.read().decode()
    return {
        "".join([sample.name, *(f" {name}={value}" for name, value in sample.labels.items())]): (
            sample.value
        )
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_what_is_counted(tmp_path: Path, server: Server, workers: Workers, port: int) -> None:
    good = batches.write(
        tmp_path / "good.json", [batches.picks_newspaper4k(), batches.picks_trafilatura(), 5]
    )
    bad = tmp_path / "bad.json"
    bad.write_text("[]")
    for path in (good, bad):
        worker.enqueue(path, connection=server.client(), settings=workers.settings)
    before = scrape(port)
    assert before["selection_redis_up"] == 1
    assert before["selection_queue_jobs state=queued"] == 2
    assert before["selection_queue_oldest_seconds"] >= 0
    assert before["selection_workers state=idle"] == 0
    assert before["selection_articles_total"] == 0
    assert before["selection_jobs_total outcome=failed"] == 0
    assert before["selection_picks_total extractor=readability"] == 0
    assert before["selection_rules_total rule=fallback"] == 0

    workers.start("--burst").wait(60)
    after = scrape(port)
    assert after["selection_queue_jobs state=queued"] == 0
    assert after["selection_queue_jobs state=finished"] == 1
    assert after["selection_queue_jobs state=failed"] == 1
    assert after["selection_articles_total"] == 2
    assert after["selection_skipped_total"] == 1
    assert after["selection_bytes_total"] == good.stat().st_size
    assert after["selection_picks_total extractor=newspaper4k"] == 1
    assert after["selection_picks_total extractor=trafilatura"] == 1
    assert after["selection_rules_total rule=tie_priority"] == 1
    assert after["selection_picks_total extractor=readability"] == 0
    assert after["selection_rules_total rule=single"] == 1
    assert after["selection_jobs_total outcome=finished"] == 1
    assert after["selection_jobs_total outcome=failed"] == 1
    assert after["selection_failures_total error=RootNotObjectError"] == 1


def test_a_dead_worker_is_not_counted(server: Server, workers: Workers, port: int) -> None:
    client = server.client()
    process = workers.start()
    until(
        lambda: scrape(port)["selection_workers state=idle"] == 1,
        "the worker is idle",
        process,
    )
    process.kill()
    process.wait(SECONDS)
    [key] = cast(set[bytes], client.smembers("rq:workers:selection"))
    client.hset(key.decode(), "last_heartbeat", "2026-01-01T00:00:00.000000Z")
    assert scrape(port)["selection_workers state=idle"] == 0
    [finding] = [f for f in run_checks(workers.settings) if f.subject == "workers"]
    assert finding.verdict == "error"


def test_counters_outlive_workers_and_the_server_s_restart(
    tmp_path: Path, server: Server, workers: Workers, port: int
) -> None:
    path = batches.write(tmp_path / "a.json", [batches.picks_readability()] * 3)
    worker.enqueue(path, connection=server.client(), settings=workers.settings)
    workers.start("--burst").wait(60)
    server.kill()
    assert scrape(port) == {"selection_redis_up": 0}
    server.start()
    assert scrape(port)["selection_picks_total extractor=readability"] == 3


def test_durations_are_a_histogram_that_grows_from_bound_to_bound(
    server: Server, port: int
) -> None:
    fields = {"durations:0.1": 2, "durations:5.0": 1, "durations:inf": 1, "milliseconds": 4000_500}
    for field, amount in fields.items():
        server.client().hset("selection:counters", field, str(amount))
    server.client().hset("selection:counters", "articles", "not a number")
    found = scrape(port)
    name = "selection_duration_seconds"
    buckets = [found[f"{name}_bucket le={bound}"] for bound in ("0.1", "0.5", "5.0", "+Inf")]
    assert buckets == [2, 2, 3, 4]
    assert found[f"{name}_count"] == 4
    assert found[f"{name}_sum"] == 4000.5
    assert found["selection_articles_total"] == 0


def test_the_documented_metrics_and_labels_are_those_that_are_served(port: int) -> None:
    page = (Path(__file__).parents[1] / "docs" / "queue.md").read_text()
    rows = re.findall(r"^\| (`selection_.*?) \| (?:`(\w+)`)? ?\|", page, re.MULTILINE)
    documented = {
        name: {label} - {""} for names, label in rows for name in re.findall(r"`(\w+)`", names)
    }
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        families = list(text_string_to_metric_families(answer.read().decode()))
    served = {
        family.name + ("_total" if family.type == "counter" else ""): {
            label for sample in family.samples for label in sample.labels if label != "le"
        }
        for family in families
    }
    # Without a failure these have no sample, and so no label.
    for name in ("selection_failures_total", "selection_retries_total"):
        assert documented.pop(name) == {"error"}
        assert served.pop(name) == set()
    assert documented == served
