"""Articles decided per second in one process, against the decision of the baseline."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import baseline, corpus
from benchmarks.process import output_of
from benchmarks.product import SAMPLE, backends, environment
from benchmarks.result import Cell, Goal, Result, Settings, Table

GOALS = {"native": 10.0, "python": 2.0}
BASELINE = "baseline"

HOW = (
    "Each value is the median of {runs} new processes, taken in turn. A process loads the batch, "
    "decides an article that is not in it, and then every article once: cold, as in a run. Then "
    "it decides all of them again: warm, with filled caches. The baseline is "
    "`benchmarks/baseline.py`; all picks must be equal."
)
WARM_UP = {
    name: {field: "One two three four five six seven &amp; <b>eight</b>.", "error": None}
    for name, field in corpus.TEXTS
}


def measure(settings: Settings) -> Result:
    """Measure the baseline and both backends."""
    available = backends()
    rows: list[tuple[Cell, ...]] = []
    goals: list[Goal] = []
    for name, path in _batches(settings):
        settings.log(f"decide: {name}")
        deciders = [BASELINE, *(backend for backend, there in available.items() if there)]
        found: dict[str, list[dict[str, Any]]] = {decider: [] for decider in deciders}
        for _ in range(settings.runs):
            for decider in deciders:
                found[decider].append(_in_new_process(path, decider))
        if len({one["picks"] for ones in found.values() for one in ones}) > 1:
            raise SystemExit(f"the picks of {', '.join(deciders)} differ on {name}")
        articles = found[BASELINE][0]["articles"]
        cold = {decider: median(one["cold"] for one in found[decider]) for decider in deciders}
        warm = {decider: median(one["warm"] for one in found[decider]) for decider in deciders}
        for decider in (BASELINE, *available):
            if decider in deciders:
                times = cold[BASELINE] / cold[decider], warm[BASELINE] / warm[decider]
                rows.append((name, articles, decider, articles / cold[decider], *times))
            else:
                rows.append((name, articles, decider, None, None, None))
        for backend, goal in GOALS.items():
            ratio = cold[BASELINE] / cold[backend] if backend in cold else None
            goals.append(Goal(f"decide, {backend} to the baseline, {name}", ratio, goal))
    head = ("texts", "articles", "backend", "articles a second", "times baseline, cold", "warm")
    how = HOW.format(runs=settings.runs)
    return Result("decide", how, (Table("Decide", head, tuple(rows)),), tuple(goals))


def _batches(settings: Settings) -> list[tuple[str, Path]]:
    few = 10 if settings.quick else 100
    batches = [("the sample", SAMPLE)]
    if settings.batch:
        batches.append(("the batch", settings.batch))
    made = {
        "long texts": corpus.long(max(1, few // 20), 20_000),
        "ten languages": corpus.multilingual(few, 600),
    }
    for name, articles in made.items():
        batches.append((name, corpus.write(settings.folder / f"{name}.json", articles)))
    return batches


def _in_new_process(batch: Path, decider: str) -> dict[str, Any]:
    chosen = environment(decider) if decider in GOALS else None
    printed = output_of([sys.executable, "-m", "benchmarks.decide", str(batch), decider], chosen)
    if printed is None:
        raise SystemExit(f"{batch} could not be decided by {decider}")
    found: dict[str, Any] = json.loads(printed)
    return found


def _decide(batch: str, decider: str) -> None:
    decide: Callable[[Any], str]
    if decider == BASELINE:
        decide = baseline.pick
    else:
        from selection.rules import select_article

        decide = lambda article: select_article(article).extractor  # noqa: E731
    with open(batch, "rb") as file:
        articles = json.load(file)["articles"]
    decide(WARM_UP)
    began = time.perf_counter()
    picks = [decide(article) for article in articles]
    half = time.perf_counter()
    for article in articles:
        decide(article)
    ended = time.perf_counter()
    digest = hashlib.sha256(" ".join(picks).encode()).hexdigest()
    found = {"articles": len(picks), "cold": half - began, "warm": ended - half, "picks": digest}
    print(json.dumps(found))


if __name__ == "__main__":
    _decide(*sys.argv[1:])
