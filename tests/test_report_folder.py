"""Several reports: the folder of pages and its index, from the command line and the queue."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from selection.cli.pages import means_folder, place_pages, plan_pages
from selection.errors import OutputForbiddenError
from selection.report.index import Failure, Row, write_index
from tests.support import batches
from tests.support.browser import DESKTOP, PHONE, launched, opened
from tests.support.command import run
from tests.support.queue_server import Workers

HOSTILE = "</title><script>alert(1)<"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as chromium:
        yield chromium


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of three batches, of which one is invalid, and one output."""
    data = tmp_path / "data"
    (data / "deep").mkdir(parents=True)
    apart = batches.article("a b c", "d e f g", "h i j k l m")
    batches.write(data / "a.json", [batches.picks_newspaper4k(), apart, {}])
    (data / "b.json").write_text('{"articles": [{]}')
    batches.write(data / "deep" / "c.json", [batches.picks_trafilatura()])
    batches.write(data / "a_selected.json", [batches.picks_readability()])
    return data


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_folder_gives_a_page_for_each_batch_and_an_index(folder: Path) -> None:
    done = run("report", folder, "--recursive")
    reports = folder / "selection_report"
    assert done.stdout == f"{reports}/index.html\n"
    assert done.returncode == 65
    assert names(reports) == ["a_report.html", "deep/c_report.html", "index.html"]
    assert "a_selected.json: left out" in done.stderr
    assert f"{folder}/b.json, article 0, line 1 column 16 (byte 15)" in done.stderr
    assert "1 of 3 batches failed" in done.stderr


def test_the_index_has_the_numbers_of_each_batch(folder: Path, browser: Browser) -> None:
    run("report", folder, "--recursive")
    with opened(browser, folder / "selection_report" / "index.html") as page:
        rows = page.locator("tbody tr")
        expect(rows).to_have_count(3)
        cells = rows.nth(0).locator("td").all_text_contents()
        # newspaper4k by priority, by the median of 1, 1 and 2 shingles, and by the fallback; the
        # agreement is 1 in the first and 0 in the second, which is low; the third has no text.
        assert cells[:8] == ["3", "3", "0", "0", "0.5000", "1", "1", "0"]
        expect(rows.nth(1).locator("td")).to_have_text(
            "Failed: InvalidJsonError (exit code 65)"
            "article 0, line 1 column 16 (byte 15): invalid JSON: " + failure_of(folder / "b.json")
        )
        # One text alone is not compared.
        cells = rows.nth(2).locator("td").all_text_contents()
        assert cells[:7] == ["1", "0", "0", "1", "\N{EN DASH}", "0", "0"]
        assert page.locator("tfoot td").all_text_contents()[:4] == ["4", "3", "0", "1"]
        tiles = page.locator(".tiles strong").all_text_contents()
        # batches, failed, articles, low agreement, without text
        assert tiles == ["3", "1", "4", "1", "1"]
        links = [link.get_attribute("href") for link in page.locator("tbody a").all()]
        assert links == ["a_report.html", "deep/c_report.html"]


def failure_of(path: Path) -> str:
    """Return the end of the message that the command has for the file alone."""
    return run("report", path).stderr.strip().rpartition("invalid JSON: ")[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE, (320, 640)])
def test_hostile_names_and_errors_are_text(
    tmp_path: Path, browser: Browser, size: tuple[int, int], scheme: str
) -> None:
    data = tmp_path / HOSTILE
    data.mkdir(parents=True)
    name = "javascript:alert(2) %3C\"'onclick=x #?&amp;\n.json"
    batches.write(data / name, [batches.picks_newspaper4k()])
    (data / "<img src=x onerror=alert(3)>.json").write_text(json.dumps([HOSTILE]))
    run("report", data)
    index = data / "selection_report" / "index.html"
    with opened(browser, index, scheme=scheme, size=size) as page:  # type: ignore[arg-type]
        expect(page.locator("tbody tr")).to_have_count(2)
        assert page.locator("tbody a").text_content() == str(data / name)
        expect(page.locator("script, img")).to_have_count(0)
        assert page.evaluate("document.documentElement.scrollWidth") == size[0]
        link = page.locator("tbody a").evaluate("link => link.href")
    with opened(browser, index.parent / (Path(name).stem + "_report.html")) as page:
        assert page.evaluate("location.href") == link


def test_the_index_works_without_javascript(folder: Path, browser: Browser) -> None:
    run("report", folder / "a.json", folder / "deep" / "c.json")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((folder / "selection_report" / "index.html").as_uri())
    page.locator("tbody a").first.click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    context.close()


def test_the_index_is_written_last_and_whole(folder: Path) -> None:
    reports = folder / "selection_report"
    reports.mkdir()
    (reports / "index.html").mkdir()
    done = run("report", folder)
    assert done.returncode == 73
    assert "index.html: the output exists and is not a regular file" in done.stderr
    assert "Traceback" not in done.stderr
    assert names(reports) == ["a_report.html"]


def test_a_missing_file_is_a_row(folder: Path) -> None:
    output = folder.parent / "pages"
    done = run("report", folder / "no.json", folder / "a.json", "-o", f"{output}/")
    assert (done.returncode, done.stdout) == (66, f"{output}/index.html\n")
    index = (output / "index.html").read_text()
    assert "InputMissingError</strong> (exit code 66)" in index
    assert names(output) == ["a_report.html", "index.html"]


def test_one_file_into_a_folder(folder: Path) -> None:
    output = folder.parent / "pages"
    output.mkdir()
    assert run("report", folder / "a.json", "--output", output).returncode == 0
    assert names(output) == ["a_report.html", "index.html"]


def test_a_folder_of_outputs_has_their_pages(folder: Path) -> None:
    picked = folder.parent / "picked"
    run("run", folder / "a.json", "--output-dir", picked)
    assert run("report", picked).returncode == 0
    assert names(picked / "selection_report") == ["a_selected_report.html", "index.html"]


def test_a_page_never_replaces_a_batch(folder: Path) -> None:
    (folder / "index.html").write_text((folder / "a.json").read_text())
    before = (folder / "index.html").read_bytes()
    done = run("report", folder / "index.html", "-o", folder)
    assert done.returncode == 2
    assert (folder / "index.html").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.json", "b.json", "--json", "-o", "x/"], "--json does not write a page"),
        (["a.json", "b.json", "-o", "page.html"], "for a folder of this name: page.html/"),
        (["a.json", "b.json", "-o", "-"], "standard output is for the page of one FILE"),
        (["-", "a.json"], "standard input has no name"),
    ],
)
def test_wrong_usage(folder: Path, arguments: list[str], message: str) -> None:
    done = run("report", *arguments, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.parametrize(
    ("names", "output", "expected"),
    [
        (["a.json"], None, False),
        (["a.json", "a.json"], None, False),
        (["a.json"], "page.html", False),
        (["-"], "-", False),
        (["s3://bucket/a.json"], None, False),
        (["a.json", "b.json"], None, True),
        (["*.json"], None, True),
        (["s3://bucket/data/"], None, True),
        (["a.json"], "pages/", True),
        (["."], None, True),
    ],
)
def test_what_means_a_folder(names: list[str], output: str | None, expected: bool) -> None:
    assert means_folder(names, output) is expected


def test_pages_of_one_name_get_numbers() -> None:
    paths = ["/d/a.json", "/d/A.jsonl", "/d/a.json.gz", "/d/a_report-2.json", "/d/x/a.json"]
    assert place_pages(paths, ["/d"] * 5, "pages") == [
        "pages/a_report.html",
        "pages/A_report-2.html",
        "pages/a_report-3.html",
        "pages/a_report-2_report.html",
        "pages/x/a_report.html",
    ]


def test_a_path_cannot_leave_the_folder() -> None:
    pages = place_pages(["/a/../../etc/x.json", "b/../../y.json"], ["/a", "b"], "/pages")
    assert [os.path.normpath(page) == page for page in pages] == [True, True]
    assert all(page.startswith("/pages/") for page in pages)


def test_the_default_folder_is_in_the_deepest_common_one(folder: Path) -> None:
    both = plan_pages([str(folder / "a.json"), str(folder / "deep" / "c.json")])
    assert both.folder == str(folder / "selection_report")
    assert plan_pages(["s3://bucket/a.json", str(folder / "a.json")]).folder == "selection_report"


def test_the_index_stays_within_the_allowed_folders(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with pytest.raises(OutputForbiddenError):
        write_index([], str(tmp_path), [str(tmp_path / "in")])
    assert write_index([], str(tmp_path / "in"), [str(tmp_path / "in")])


def test_a_name_that_is_not_utf_8_is_a_row(tmp_path: Path) -> None:
    failed = Row(path="\udcff.json", failure=Failure("InputNameError", "\ud800 is not UTF-8", 66))
    page = Path(write_index([failed], str(tmp_path))).read_bytes()
    assert b"\\udcff.json" in page


# ------------------------------------------------------------------------------------- the queue


def worker(
    workers: Workers, *arguments: str | Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "worker", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**workers.environment, **environment},
        timeout=60,
    )


def test_a_report_on_what_the_queue_has_done(folder: Path, workers: Workers) -> None:
    workers.start()
    worker(workers, "enqueue", folder, "--recursive", "--wait")
    output = folder.parent / "pages"
    done = worker(workers, "report", "-o", output)
    # The failure is that of a job, not of the report.
    assert (done.returncode, done.stdout) == (0, f"{output}/index.html\n")
    assert names(output) == ["a_report.html", "deep/c_report.html", "index.html"]
    index = (output / "index.html").read_text()
    assert "InvalidJsonError</strong> (exit code 65)" in index
    assert f"<bdi>{folder}/b.json</bdi>" in index
    # An output that is gone is a row, too.
    (folder / "a_selected.json").unlink()
    done = worker(workers, "report", "-o", output)
    assert done.returncode == 66
    assert "InputMissingError</strong> (exit code 66)" in (output / "index.html").read_text()


def test_a_report_on_the_queue_holds_to_the_roots(folder: Path, workers: Workers) -> None:
    workers.start()
    worker(workers, "enqueue", folder / "a.json", "--wait")
    outside = folder.parent / "outside"
    done = worker(workers, "report", "-o", outside, SELECTION_ROOTS=str(folder))
    assert done.returncode == 73
    assert "outside the allowed folders" in done.stderr
    assert names(outside) == []
    done = worker(workers, "report", "-o", folder / "in", SELECTION_ROOTS=str(folder / "deep"))
    assert done.returncode == 73
    done = worker(workers, "report", "-o", folder / "in", SELECTION_ROOTS=str(folder))
    assert done.returncode == 0
    assert names(folder / "in") == ["a_report.html", "index.html"]
