"""``selection report OLD NEW --compare``: what changed between two outputs."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from selection import select_file
from selection.errors import OutputIsInputError, PickMissingError, WriteError
from selection.report.compare import read_differences, write_comparison
from selection.report.comparison import ComparisonStats
from tests.support import batches
from tests.support.batches import COMMON, OTHER
from tests.support.command import SELECTION, run


def selected(folder: Path, name: str, articles: list[Any]) -> Path:
    """Write a batch and return its output."""
    return Path(select_file(str(batches.write(folder / f"{name}.json", articles))).output)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """Return two outputs in which one article changed in each way, and one did not."""
    failed = batches.picks_newspaper4k(id="failed")
    failed["trafilatura"]["error"] = "timed out"
    old = [
        batches.picks_newspaper4k(id="pick", url="https://example.org/pick"),
        batches.picks_trafilatura(id="text"),
        batches.picks_newspaper4k(id="failed"),
        batches.picks_newspaper4k(id="removed"),
        "not an object",
        batches.picks_readability(id="same"),
    ]
    new = [
        batches.picks_readability(id="same"),
        failed,
        # 7 shingles, of which the 6 of the two others are the consensus.
        batches.article(OTHER, COMMON, COMMON + " eleven", id="pick"),
        batches.article("", "", COMMON + " eleven", id="text"),
        batches.picks_trafilatura(id="added"),
    ]
    return selected(tmp_path, "old", old), selected(tmp_path, "new", new)


def rows(old: Path, new: Path, *options: str) -> list[dict[str, Any]]:
    done = run("report", old, new, "--compare", "--json", *options)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_each_changed_article_is_one_object(pair: tuple[Path, Path]) -> None:
    failed, pick, text, added, removed, _ = rows(*pair)
    assert pick == {
        "changes": ["pick"],
        "matched_by": "id",
        "id": "pick",
        "url": None,
        "name": "pick",
        "old_index": 0,
        "old_pick": "newspaper4k",
        "old_rules_pick": "newspaper4k",
        # Two texts with the same six shingles score 1, the third 0.
        "old_rule": "tie_priority",
        "old_agreement": 1.0,
        "old_margin": 1.0,
        "new_index": 2,
        "new_pick": "readability",
        "new_rules_pick": "readability",
        # 2 x 6 / (6 + 7) = 0.923 is not within 0.03 of 1.
        "new_rule": "score",
        "new_agreement": 1.0,
        "new_margin": pytest.approx(1 / 13),
        "failures_came": [],
        "failures_went": [],
    }
    assert (failed["changes"], failed["failures_came"]) == (["failures"], ["trafilatura"])
    assert (failed["old_index"], failed["new_index"]) == (2, 1)
    assert (text["changes"], text["old_rule"], text["new_rule"]) == (["text"], "single", "single")
    assert (added["changes"], added["old_pick"], added["new_index"]) == (["only_new"], None, 4)
    assert (removed["changes"], removed["old_index"], removed["new_pick"]) == (
        ["only_old"],
        3,
        None,
    )
    assert added.keys() == removed.keys() == pick.keys()


def test_the_last_object_is_the_summary(pair: tuple[Path, Path]) -> None:
    old, new = pair
    none = {"newspaper4k": 0, "readability": 0, "trafilatura": 0}
    assert rows(old, new)[-1] == {
        "summary": {
            "old": str(old),
            "new": str(new),
            "old_articles": 5,
            "new_articles": 5,
            "old_disagreeing": 0,
            "new_disagreeing": 0,
            "matched": {"id": 4, "url": 0, "index": 0},
            "unchanged": 1,
            "changed": 5,
            "changed_picks": 1,
            "picks": {
                "newspaper4k": {"newspaper4k": 1, "readability": 1, "trafilatura": 0},
                "readability": {"newspaper4k": 0, "readability": 1, "trafilatura": 0},
                "trafilatura": {"newspaper4k": 0, "readability": 0, "trafilatura": 1},
            },
            "rules": [{"old_rule": "tie_priority", "new_rule": "score", "articles": 1}],
            "changed_texts": {**none, "trafilatura": 1},
            "failures_came": {**none, "trafilatura": 1},
            "failures_went": none,
            "only_old": 1,
            "only_new": 1,
        }
    }


def test_the_other_way_round_failures_went(pair: tuple[Path, Path]) -> None:
    old, new = pair
    summary = rows(new, old)[-1]["summary"]
    assert summary["failures_went"] == {"newspaper4k": 0, "readability": 0, "trafilatura": 1}
    assert (summary["failures_came"]["trafilatura"], summary["only_old"]) == (0, 1)
    assert summary["picks"]["readability"]["newspaper4k"] == 1


def test_a_batch_is_equal_to_itself(pair: tuple[Path, Path]) -> None:
    old, _ = pair
    (summary,) = rows(old, old)
    assert (summary["summary"]["unchanged"], summary["summary"]["changed"]) == (5, 0)


# ----------------------------------------------------------------------------------- matching

Keys = Sequence[tuple[Any, str | None]]


def matched(folder: Path, old: Keys, new: Keys) -> list[tuple[int | None, int | None, str | None]]:
    """Return the old and the new index of each article, and what they are matched by."""
    paths = [
        selected(folder, name, [batches.picks_trafilatura(id=id_, url=url) for id_, url in keys])
        for name, keys in (("old", old), ("new", new))
    ]
    return [
        (
            None if each.old is None else each.old.index,
            None if each.new is None else each.new.index,
            each.matched_by,
        )
        for each in read_differences(str(paths[0]), str(paths[1]))
    ]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(
            [("a", None), ("b", None)],
            [("b", None), ("a", None)],
            [(1, 0, "id"), (0, 1, "id")],
            id="by-id-in-any-order",
        ),
        pytest.param(
            [("a", None), ("a", None)],
            [("a", None), ("a", None), ("a", None)],
            [(0, 0, "id"), (1, 1, "id"), (None, 2, None)],
            id="the-nth-with-an-id-and-the-nth",
        ),
        pytest.param([(5, None)], [("5", None)], [(0, 0, "id")], id="a-number-as-text"),
        pytest.param(
            [("a", "u"), ("b", "v")],
            [("c", "v"), ("a", "w")],
            [(1, 0, "url"), (0, 1, "id")],
            id="by-url-what-has-no-id-in-common",
        ),
        pytest.param(
            [("a", "u")],
            [("b", "u"), ("a", "u")],
            [(None, 0, None), (0, 1, "id")],
            id="an-id-before-a-url",
        ),
        pytest.param([("a", "u")], [(None, "u")], [(0, 0, "url")], id="a-lost-id"),
        pytest.param([("", "")], [(None, None)], [(0, 0, "index")], id="empty-is-missing"),
        pytest.param(
            [(None, None), ("a", None), (None, None)],
            [(None, None), ("b", None), ("c", None)],
            [(0, 0, "index"), (None, 1, None), (None, 2, None), (1, None, None), (2, None, None)],
            id="by-index-only-without-any-key",
        ),
        pytest.param([], [], [], id="no-articles"),
    ],
)
def test_articles_are_matched_by_id_then_url_then_index(
    tmp_path: Path,
    old: Keys,
    new: Keys,
    expected: list[tuple[int | None, int | None, str | None]],
) -> None:
    assert matched(tmp_path, old, new) == expected


# -------------------------------------------------------------------------- picks of the file


def test_a_pick_that_is_not_that_of_the_rules_is_reported(pair: tuple[Path, Path]) -> None:
    old, new = pair
    batch = json.loads(old.read_text())
    batch["articles"][0]["selected_extractor"] = "trafilatura"
    old.write_text(json.dumps(batch))
    done = run("report", old.name, new.name, "--compare", "--json", cwd=old.parent)
    pick, summary = [json.loads(line) for line in done.stdout.splitlines()][1::4]
    assert (pick["old_pick"], pick["old_rules_pick"]) == ("trafilatura", "newspaper4k")
    assert (pick["old_rule"], pick["old_margin"], pick["old_agreement"]) == (None, None, 1.0)
    assert pick["new_rule"] == "score"
    assert summary["summary"]["old_disagreeing"] == 1
    assert summary["summary"]["rules"] == [{"old_rule": None, "new_rule": "score", "articles": 1}]
    warning = "warning: old_selected.json: 1 article has a pick that is not that of the rules"
    assert warning in done.stderr


def test_a_batch_without_picks_is_refused_and_no_page_is_written(pair: tuple[Path, Path]) -> None:
    old, new = pair
    output = new.parent / "page.html"
    output.write_text("earlier")
    done = run("report", old, new.with_name("new.json"), "--compare", "-o", output)
    assert done.returncode == PickMissingError.exit_code == 65
    assert "article 0" in done.stderr
    assert "run first: selection run" in done.stderr
    assert output.read_text() == "earlier"
    assert not list(new.parent.glob("*tmp*"))


# ------------------------------------------------------------------------------------ the page


def test_the_page_is_beside_the_new_batch_and_equal_each_time(pair: tuple[Path, Path]) -> None:
    old, new = pair
    done = run("report", old.name, new.name, "--compare", cwd=old.parent)
    assert (done.returncode, done.stdout) == (0, "new_selected_comparison.html\n")
    assert done.stderr.startswith(
        "selection: old_selected.json and new_selected.json: 4 articles in both, 5 changed, "
        "5 listed, 5 with their texts, a page of "
    )
    page = new.with_name("new_selected_comparison.html").read_bytes()
    again = write_comparison(str(old), str(new), str(new.with_name("again.html")))
    assert new.with_name("again.html").read_bytes() == page
    assert again.bytes == len(page)


def test_the_form_of_the_batches_makes_no_difference(pair: tuple[Path, Path]) -> None:
    old, new = pair
    expected = rows(old, new)[:-1]
    packed = old.with_suffix(".json.gz")
    packed.write_bytes(gzip.compress(old.read_bytes()))
    lines = new.with_suffix(".jsonl")
    lines.write_text("".join(json.dumps(a) + "\n" for a in json.loads(new.read_text())["articles"]))
    assert rows(packed, lines)[:-1] == expected
    with old.open() as file:
        done = subprocess.run(
            [*SELECTION, "report", "-", str(lines), "--compare", "--json"],
            stdin=file,
            capture_output=True,
            timeout=60,
        )
    assert [json.loads(line) for line in done.stdout.splitlines()][:-1] == expected


def test_texts_and_articles_that_do_not_fit_are_left_out(pair: tuple[Path, Path]) -> None:
    old, new = map(str, pair)
    output = pair[1].with_name("page.html")
    written = write_comparison(old, new, str(output), text_limit=0)
    assert (written.listed, written.with_texts) == (5, 0)
    page = output.read_text()
    assert "The texts of 5 more are left out (the limit is 0 bytes)" in page
    assert "eleven" not in page


@pytest.mark.parametrize("input", [0, 1])
def test_an_input_is_never_replaced(pair: tuple[Path, Path], input: int) -> None:
    before = pair[input].read_bytes()
    link = pair[input].with_name("link.html")
    os.link(pair[input], link)
    for target in (link, pair[input]):
        done = run("report", *pair, "--compare", "-o", target)
        assert done.returncode == OutputIsInputError.exit_code == 73
        assert pair[input].read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.json"], "--compare takes two files, the old and the new output"),
        (["a.json", "b.json", "c.json"], "--compare takes two files, the old and the new output"),
        (["a.json", "b.json", "-r"], "--compare does not search folders: leave out --recursive"),
        (["-", "-"], "standard input can be only one of the two outputs"),
        (["a.json", "b.json", "--json", "-o", "x"], "--json does not write a page"),
    ],
)
def test_wrong_usage_is_explained(arguments: list[str], message: str) -> None:
    done = run("report", *arguments, "--compare")
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())


def long_batch(folder: Path, name: str, articles: int) -> Path:
    """Write an output with texts of some 5 KB, all of them in one candidate."""
    text = " ".join(f"w{n}" for n in range(1000))
    made = [batches.article(f"{name} {n} {text}", "", "", id=n) for n in range(articles)]
    return selected(folder, name, made)


@pytest.mark.slow
def test_a_full_disk_is_an_error_to_try_again_and_leaves_nothing(tmp_path: Path) -> None:
    # 3,000 texts are more than the cache of the database.
    old, new = (long_batch(tmp_path, name, 1500) for name in ("old", "new"))
    before = sorted(tmp_path.iterdir())
    code = (
        "import resource, selection.cli.commands as c\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))\nc.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "report", str(old), str(new), "--compare"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == WriteError.exit_code == 74, done.stderr
    assert "error: a temporary file: writing failed" in done.stderr
    assert sorted(tmp_path.iterdir()) == before


# A process begins with the peak of the one that starts it, so a small one is between.
_PEAK = """
import resource, subprocess, sys
subprocess.run([sys.executable, "-c", *sys.argv[1:]], check=True, timeout=240)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
_COMPARE = """
import sys
from selection.report.compare import write_comparison
write_comparison(*sys.argv[1:4], text_limit=100_000)
"""


def peak(folder: Path, articles: int) -> int:
    """Return the peak memory in bytes of a comparison in which every text changed."""
    folder.mkdir()
    paths = [str(long_batch(folder, name, articles)) for name in ("old", "new")]
    command = [sys.executable, "-c", _PEAK, _COMPARE, *paths, str(folder / "page.html")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    return int(done.stdout) * (1 if sys.platform == "darwin" else 1024)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_batches(tmp_path: Path) -> None:
    few, many = (peak(tmp_path / str(n), n) for n in (400, 3200))
    # The large batches have 38 MB of texts, the small ones 5.
    assert many - few < 10_000_000


def test_counting_needs_no_order(pair: tuple[Path, Path]) -> None:
    differences = list(read_differences(str(pair[0]), str(pair[1])))
    counted = [ComparisonStats(), ComparisonStats()]
    for statistics, order in zip(counted, (differences, differences[::-1])):
        for difference in order:
            statistics.add(difference)
    assert counted[0].as_dict() == counted[1].as_dict()


def test_the_documented_fields_are_those_of_the_output(pair: tuple[Path, Path]) -> None:
    text = (Path(__file__).parents[1] / "docs" / "report.md").read_text(encoding="utf-8")
    text = text.partition("\n## Comparing two outputs\n")[2].partition("\n## ")[0]
    tables = [
        {name for line in table.splitlines() for name in re.findall(r"`(\w+)`", line.split("|")[1])}
        for table in re.findall(r"(?:^\|.*\n)+", text.replace("of `summary`", ""), re.MULTILINE)
    ]
    written = rows(*pair)
    assert tables == [set(written[0]), set(written[-1]["summary"])]
