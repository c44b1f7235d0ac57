"""Documents: links and files exist, and tables match the code."""

from __future__ import annotations

import gzip
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import click
import pytest

from benchmarks.__main__ import PARTS
from robustness.__main__ import KINDS
from selection import Candidate, Decision, Extractor, Rule, State, Summary, errors
from selection.cli.commands import selection
from selection.explain import sentences
from worker.cli.commands import selection_worker
from worker.settings import Settings
from worker.state.events import PUBLISHED, Event
from worker.state.job_state import JobMeta, JobState
from worker.state.status import JobStatus

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "benchmarks" / "README.md"])
LONG = sorted((ROOT / "docs").glob("*.md"))
NAMES = [path.relative_to(ROOT).as_posix() for path in PAGES]

# Code, and log lines that are quoted.
QUOTED = re.compile(r'```.*?```|`[^`]*`|"[^"]*"', re.DOTALL)


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def section(name: str, heading: str) -> str:
    """Return the text below a heading, up to the next one."""
    return re.split(r"^#+ .*$", text_of(name).split(f"\n## {heading}\n")[1], flags=re.MULTILINE)[0]


def first_cells(text: str) -> Iterator[list[str]]:
    """Yield the code spans in the first cell of each row of the tables in a text."""
    for line in text.splitlines():
        if line.startswith("|") and (found := re.findall(r"`([^`]+)`", line.split("|")[1])):
            yield found


def names_in(text: str) -> set[str]:
    return {name for cell in first_cells(text) for name in cell}


def slug(heading: str) -> str:
    """Return the anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors(path: Path) -> set[str]:
    return {slug(line.lstrip("# ")) for line in path.read_text().splitlines() if line[:1] == "#"}


@pytest.mark.parametrize("name", NAMES)
def test_every_link_leads_to_a_file_and_a_heading(name: str) -> None:
    path = ROOT / name
    for link in re.findall(r"\]\(([^)\s]+)\)", QUOTED.sub("", path.read_text())):
        if link.startswith("https://"):
            continue
        target, _, anchor = link.partition("#")
        found = (path.parent / target).resolve() if target else path
        assert found.exists(), link
        assert not anchor or anchor in anchors(found), link


@pytest.mark.parametrize("name", NAMES)
def test_every_file_that_is_named_exists(name: str) -> None:
    pattern = r"`((?:selection|worker|tests|examples|benchmarks|robustness|docs)/[\w./]*)`"
    named = re.findall(pattern, text_of(name))
    made = {"examples/river_plate_extracted_report.html"}
    made.add("examples/river_plate_extracted_selected.json")
    assert [path for path in named if path not in made and not (ROOT / path).exists()] == []


def test_the_architecture_says_what_each_module_is_for() -> None:
    table = section("docs/architecture.md", "Where to find what")
    modules = {
        path.relative_to(ROOT).as_posix()
        for package in ("selection", "worker")
        for path in (ROOT / package).rglob("*.py")
        if path.name not in ("__init__.py", "__main__.py", "entry.py")
    }
    assert modules - set(re.findall(r"`([\w/]+\.py)`", table)) == set()


@pytest.mark.parametrize("path", LONG, ids=lambda path: path.name)
def test_a_long_page_lists_its_sections(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    listed = re.findall(r"^- \[.*\]\(#(.+)\)$", text, re.MULTILINE)
    assert listed == [slug(heading) for heading in headings]


def test_the_readme_is_short() -> None:
    assert len(text_of("README.md").splitlines()) <= 150


def test_every_rule_is_named_by_the_rule_that_it_implements() -> None:
    rules = set(re.findall(r"\(`(\w+)`\)", text_of("docs/algorithm.md")))
    assert rules == {rule.value for rule in Rule}


@pytest.mark.parametrize("rule", Rule)
def test_the_explanation_names_the_number_of_the_rule(rule: Rule) -> None:
    (number,) = re.findall(
        rf"\*\*(\d\.\d)\*\*(?:(?!\*\*).)*\(`{rule}`\)", text_of("docs/algorithm.md"), re.DOTALL
    )
    candidates = [Candidate(name, State.UNAVAILABLE, False, 0, 0) for name in Extractor]
    one, two, three = candidates
    decision = Decision(one.extractor, rule, None, (), (one, two, three), (0,) * 8)
    assert sentences(decision)[-1].endswith(f"(rule {number}).")


def test_every_state_of_a_candidate_is_defined() -> None:
    rule = text_of("docs/algorithm.md").split("**1.3**")[1].split("**1.4**")[0]
    assert {state.value for state in State} <= set(re.findall(r"\*(\w+)\*", rule))


def test_the_table_of_requirements_has_every_rule() -> None:
    text = text_of("docs/algorithm.md")
    defined = re.findall(r"^- \*\*(\d\.\d)\*\*", text, re.MULTILINE)
    listed: set[str] = set()
    for line in text.split("\n## Requirements\n")[1].split("\n\n")[1].splitlines():
        cell = line.split("|")[1] if line.startswith("| ") else ""
        listed |= set(re.findall(r"\d\.\d", cell))
        for first, last in re.findall(r"(\d\.\d) to (\d\.\d)", cell):
            listed |= {rule for rule in defined if first <= rule <= last}
    assert listed == set(defined)


def test_the_table_of_settings_is_that_of_the_code() -> None:
    table = section("docs/queue.md", "Settings")
    rows = re.findall(r"^\| `(\w+)` \| (?:`(.*?)`)? ?\| (.*) \|$", table, re.MULTILINE)
    meanings = {name: meaning for name, _, meaning in rows}
    del meanings["SELECTION_BACKEND"]  # a setting of the package selection
    code = {field.metadata["name"]: field.metadata["meaning"] for field in fields(Settings)}
    assert meanings == code
    url = {"RQ_REDIS_URL": "redis://localhost:6379"}
    defaults = {name: default for name, default, _ in rows}
    assert Settings.from_variables(defaults) == Settings.from_variables(url)


def test_the_tables_of_events_are_complete() -> None:
    found = names_in(section("docs/queue.md", "Events"))
    assert found == {state.value for state in PUBLISHED} | {field.name for field in fields(Event)}


def test_the_tables_of_meta_and_states_are_complete() -> None:
    text = section("docs/queue.md", "Job status: `meta`")
    schema = {field.name for field in fields(JobMeta)}
    assert names_in(text) == schema | {state.value for state in JobState}
    (sentence,) = re.findall(r"`status --json` prints the same fields with (.*?)\.", text)
    others = {field.name for field in fields(JobStatus)} - schema
    assert set(re.findall(r"`(\w+)`", sentence)) == others - {"id"} | {"job"}


@pytest.mark.parametrize(("heading", "type_"), [("Summary", Summary), ("Decision", Decision)])
def test_the_tables_of_results_are_complete(heading: str, type_: type) -> None:
    names = {field.name for field in fields(type_)}
    assert names_in(section("docs/python.md", heading)) == names


def families() -> list[type[errors.SelectionError]]:
    return errors.SelectionError.__subclasses__()


def test_the_exit_codes_of_all_errors_are_documented() -> None:
    codes = set(map(int, re.findall(r"^\| (\d+) \|", text_of("docs/cli.md"), re.MULTILINE)))
    assert {family.exit_code for family in families()} <= codes


def kinds(family: type[errors.SelectionError]) -> Iterator[type[errors.SelectionError]]:
    for kind in family.__subclasses__():
        yield kind
        yield from kinds(kind)


def test_every_error_has_its_row_on_the_page_of_the_command_line() -> None:
    pattern = r"^\| `(\w+)` \| (\d+) \| (yes|no) \|"
    found = re.findall(pattern, section("docs/cli.md", "Errors"), re.MULTILINE)
    expected = [
        (kind.__name__, str(kind.exit_code), "yes" if kind.retryable else "no")
        for kind in kinds(errors.SelectionError)
        if kind.__module__ == errors.__name__
    ]
    assert sorted(found) == sorted(expected)


def test_the_table_of_errors_is_complete() -> None:
    table = section("docs/python.md", "Errors")
    shown = {cells[0] for cells in first_cells(table)}
    assert shown == {family.__name__ for family in families()}
    for family in families():
        assert f"| `{family.__name__}` | {family.exit_code} |" in table


def test_the_tables_of_the_robustness_suite_and_of_benchmarks_are_complete() -> None:
    assert names_in(section("docs/robustness.md", "The robustness suite")) == set(KINDS)
    parts = text_of("benchmarks/README.md").split("| part |")[1]
    assert {cells[0] for cells in first_cells(parts)} == set(PARTS)


def commands() -> Iterator[str]:
    """Yield the calls of the two commands in the shell examples of the documents."""
    call = re.compile(r"(?:^|exec worker )(selection(?:-worker)? [^>#\n]+)", re.MULTILINE)
    for path in PAGES:
        for block in re.findall(r"```sh\n(.*?)```", path.read_text(), re.DOTALL):
            yield from map(str.strip, call.findall(block))


@pytest.mark.parametrize("line", sorted(set(commands())))
def test_every_documented_command_has_its_options(line: str) -> None:
    program, name, *arguments = shlex.split(line)
    group: click.Group = {"selection": selection, "selection-worker": selection_worker}[program]
    with group.commands[name].make_context(name, arguments) as context:
        assert context.command.name == name


def shell_blocks(name: str) -> list[str]:
    return re.findall(r"```sh\n(.*?)```", text_of(name), re.DOTALL)


def test_the_readmes_pipe_is_compressed_once(tmp_path: Path) -> None:
    (line,) = re.findall(r"^gzip .*$", "".join(shell_blocks("README.md")), re.MULTILINE)
    (tmp_path / "examples").mkdir()
    shutil.copy(ROOT / "examples" / "river_plate_extracted.json", tmp_path / "examples")
    line = line.replace("selection", f"{shlex.quote(sys.executable)} -m selection")
    subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True, check=True, timeout=60)
    picked = json.loads(gzip.decompress((tmp_path / "picked.json.gz").read_bytes()))
    assert all("selected_extractor" in article for article in picked["articles"])


def test_the_readmes_producer_and_workers_have_the_same_settings() -> None:
    blocks = section("README.md", "Queue")
    exports = re.findall(r"^export (.*)$", blocks, re.MULTILINE)
    assert len(exports) == 2
    assert exports[0] == exports[1]
    assert "RQ_WORKER_CLASS=worker.SelectionWorker" in exports[0]


def test_the_readmes_python_runs(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", text_of("README.md"), re.DOTALL)
    (tmp_path / "examples").mkdir()
    shutil.copy(ROOT / "examples" / "river_plate_extracted.json", tmp_path / "examples")
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("newspaper4k single\n")
    assert (tmp_path / "picked.json").exists()
