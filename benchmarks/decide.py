"""Articles decided per second in one process, against the obvious script's own decision."""

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
from benchmarks.process import ask
from benchmarks.product import SAMPLE, backends, environment
from benchmarks.result import Cell, Goal, Result, Settings, Table

GOALS = {"native": 10.0, "pure": 2.0}
PLAIN = "plain"

HOW = (
    "Each figure is the median of {runs} new processes, taken in turn. A process loads the batch, "
    "decides an article that is not in it, and then every article once: that is cold, as a batch "
    "is decided in life. Then it decides all of them again: warm, with whatever it remembers. "
    "Plain is the decision of `benchmarks/baseline.py`; all must pick the same."
)
WARM_UP = {
    name: {field: "One two three four five six seven &amp; <b>eight</b>.", "error": None}
    for name, field in corpus.TEXTS
}


def measure(settings: Settings) -> Result:
    """The part of the suite."""
    available = backends()
    rows: list[tuple[Cell, ...]] = []
    goals: list[Goal] = []
    for name, path in _batches(settings):
        settings.say(f"decide: {name}")
        whos = [PLAIN, *(backend for backend, there in available.items() if there)]
        found: dict[str, list[dict[str, Any]]] = {who: [] for who in whos}
        for _ in range(settings.runs):
            for who in whos:
                found[who].append(_in_new_process(path, who))
        if len({one["picks"] for ones in found.values() for one in ones}) > 1:
            raise SystemExit(f"the picks of {', '.join(whos)} differ on {name}")
        articles = found[PLAIN][0]["articles"]
        cold = {who: median(one["cold"] for one in found[who]) for who in whos}
        warm = {who: median(one["warm"] for one in found[who]) for who in whos}
        for who in (PLAIN, *available):
            if who in whos:
                times = cold[PLAIN] / cold[who], warm[PLAIN] / warm[who]
                rows.append((name, articles, who, articles / cold[who], *times))
            else:
                rows.append((name, articles, who, None, None, None))
        for backend, goal in GOALS.items():
            ratio = cold[PLAIN] / cold[backend] if backend in cold else None
            goals.append(Goal(f"decide, {backend} to plain, {name}", ratio, goal))
    head = ("texts", "articles", "backend", "articles a second", "times plain, cold", "warm")
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


def _in_new_process(batch: Path, who: str) -> dict[str, Any]:
    chosen = environment(who) if who in GOALS else None
    said = ask([sys.executable, "-m", "benchmarks.decide", str(batch), who], chosen)
    if said is None:
        raise SystemExit(f"{batch} could not be decided by {who}")
    found: dict[str, Any] = json.loads(said)
    return found


def _decide(batch: str, who: str) -> None:
    decide: Callable[[Any], str]
    if who == PLAIN:
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
