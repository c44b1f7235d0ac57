"""Wrong field names in a batch are noticed and named; the picks stay as they are."""

from __future__ import annotations

import json
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from selection import select_file
from selection.field_check import FieldCheck, texts_of
from selection.report.write import write_report
from tests.support import batches
from tests.support.batches import COMMON
from tests.support.command import picks, run


def warnings_of(*articles: Any) -> tuple[str, ...]:
    check = FieldCheck()
    for article in articles:
        check.add(texts_of(article), json.dumps(article).encode())
    return check.warnings()


def without(article: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in article.items() if key != name}


GOOD = batches.article(COMMON, COMMON, COMMON, id=1, url="u")


@pytest.mark.parametrize(
    ("members", "found"),
    [
        pytest.param({"Trafilatura": {"text": "t"}}, "'Trafilatura.text'", id="capital"),
        pytest.param({"trafilatura2": {"text": "t"}}, "'trafilatura2.text'", id="a number more"),
        pytest.param(
            {"trafilatura": "t"}, "'trafilatura (a string, not an object)'", id="a string"
        ),
        pytest.param({"Trafilatura_Text": "t"}, "'Trafilatura_Text'", id="flat"),
        pytest.param({"trafilatura": {"content": "t"}}, "'trafilatura.content'", id="inner name"),
        pytest.param({"a\x1b[2J": {"text": "t"}}, r"'a\x1b[2J.text'", id="control characters"),
        pytest.param({"x" * 99: {"text": "t"}}, f"'{'x' * 57}...'", id="a long name"),
    ],
)
def test_the_name_looked_at_and_the_one_found(members: dict[str, Any], found: str) -> None:
    article = without(GOOD, "trafilatura") | members
    assert warnings_of(article, article) == (
        f"no article has a text in 'trafilatura.text'; found instead: {found}",
    )


def test_readability_is_looked_at_under_its_own_field() -> None:
    article = GOOD | {"readability": {"text": "t", "title": "a title", "error": "an error"}}
    assert warnings_of(article) == (
        "no article has a text in 'readability.cleaned_text'; found instead: 'readability.text'",
    )


def test_an_extractor_that_found_nothing_and_one_that_was_not_run() -> None:
    article = batches.article("", COMMON, COMMON)
    assert warnings_of(article, without(article, "trafilatura")) == (
        "no article has a text in 'newspaper4k.text'; the field is there and empty",
    )
    assert warnings_of(without(GOOD, "trafilatura")) == (
        "no article has a text in 'trafilatura.text'; nothing of a similar name or form was found",
    )


def test_one_in_a_hundred_is_enough_and_less_is_almost_none() -> None:
    empty = batches.article(" \n", COMMON, COMMON)
    assert warnings_of(*[empty] * 99, GOOD) == ()
    assert warnings_of(*[empty] * 100, GOOD) == (
        "only 1 of 101 articles has a text in 'newspaper4k.text'; the field is there and empty",
    )
    assert warnings_of() == ()


def test_the_names_found_most_often_come_first_and_are_five_at_most() -> None:
    common = {"n": {"text": "t"}}
    rare = {f"n{number}": {"text": "t"} for number in range(9)}
    article = without(GOOD, "newspaper4k")
    [warning] = warnings_of(article | rare, article | common, article | common)
    names = "'n.text', 'n0.text', 'n1.text', 'n2.text', 'n3.text'"
    assert warning.endswith(f"found instead: {names}")


def test_valid_json_that_python_does_not_read_is_not_a_failure() -> None:
    check = FieldCheck()
    deep = b'{"a": ' + b"[" * 50_000 + b"]" * 50_000 + b"}"
    check.add(0, deep)
    check.add(0, b'{"a": ' + b"9" * 5_000 + b', "t": {"text": "\\ud800"}}')
    assert len(check.warnings()) == 3
    assert "found instead: 't.text'" in check.warnings()[0]


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    article = without(batches.picks_newspaper4k(), "newspaper4k")
    return batches.write(tmp_path / "b.json", [article | {"newspaper3k": {"text": "<b>"}}])


WARNING = "no article has a text in 'newspaper4k.text'; found instead: 'newspaper3k.text'"


def test_run_logs_a_warning_and_picks_as_ever(wrong: Path) -> None:
    done = run("run", wrong, "--json")
    assert done.returncode == 0
    assert done.stderr.splitlines()[0] == f"selection: warning: {wrong}: {WARNING}"
    assert json.loads(done.stdout)["warnings"] == [WARNING]
    # Nothing in common, so the larger text: Readability has six shingles, Trafilatura two.
    assert picks(wrong.with_name("b_selected.json")) == ["readability"]


def test_several_processes_warn_of_the_same(tmp_path: Path) -> None:
    article = batches.article("", "a " * 700_000, "b " * 300_000)
    path = batches.write(tmp_path / "b.json", [article] * 3)
    assert select_file(path, jobs=2).warnings == select_file(path).warnings
    assert len(select_file(path, jobs=2).warnings) == 1


def test_the_report_warns(wrong: Path) -> None:
    report = write_report(str(wrong))
    assert report.warnings == (
        WARNING,
        "the extractors have little in common in 1 of 1 compared articles (agreement under 0.5): "
        "are these articles?",
    )
    page = unescape(Path(report.output).read_text())
    assert "'newspaper4k.text'; found instead: 'newspaper3k.text'." in page
    assert WARNING in run("report", wrong).stderr


def test_the_log_of_a_job_warns(wrong: Path) -> None:
    code = (
        "import sys; from selection import select_file; from worker import Settings, log_format;"
        "log_format.set_up(Settings(log='json'));"
        "log_format.log_finish('j', select_file(sys.argv[1]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, wrong], capture_output=True, text=True, timeout=60
    )
    line = json.loads(done.stderr)
    assert (line["level"], line["event"]) == ("warning", "job finished")
    assert line["warnings"] == [WARNING]
