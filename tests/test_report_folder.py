"""Several reports: the folder of pages and its index, from the command line and the queue."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import click
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from selection.cli.pages import means_folder, place_pages, plan_pages
from selection.cli.plan import Planned
from selection.cli.report_folder import PageOptions, finish, report_one
from selection.errors import OutputForbiddenError
from selection.model import Extractor
from selection.report.index import Failure, Row, write_index
from tests.support import batches
from tests.support.browser import DESKTOP, PHONE, opened
from tests.support.command import run, run_without_root
from tests.support.queue_server import Workers
from worker.cli.report import rows_of_jobs
from worker.state.job_state import JobState
from worker.state.status import JobStatus

HOSTILE = "</title><script>alert(1)<"


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
        # Two warnings: 1 of 3 articles is without text, and 1 of 2 has low agreement.
        assert cells[:8] == ["3", "3", "0", "0", "0.5000", "1", "1", "2"]
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
        assert page.locator(".tiles a[href]").all_text_contents() == ["1 failed"]


def test_a_tile_contains_its_label_and_the_failures_are_a_link(
    folder: Path, browser: Browser
) -> None:
    run("report", folder, "--recursive")
    index = folder / "selection_report" / "index.html"
    for size in (DESKTOP, PHONE):
        with opened(browser, index, size=size) as page:
            outside = page.locator(".tiles li").evaluate_all(
                """(tiles) => tiles.filter((tile) => [...tile.querySelectorAll("*")].some((each) =>
                  each.getBoundingClientRect().bottom > tile.getBoundingClientRect().bottom + 1))"""
            )
            assert outside == []
            page.locator(".tiles a[href]").click()
            expect(page.locator("#failed")).to_be_in_viewport()


def test_the_index_counts_the_warnings_of_each_page(folder: Path, browser: Browser) -> None:
    batches.write(folder / "few.json", [batches.picks_trafilatura()])
    run("report", folder, "--recursive")
    reports = folder / "selection_report"
    with opened(browser, reports / "index.html") as page:
        counts = {
            str(row.locator("a").get_attribute("href")): int(
                row.locator("[data-label=Warnings]").text_content() or ""
            )
            for row in page.locator("tbody tr:not(.failed)").all()
        }
    # The only article of two batches has no text of newspaper4k and none of Readability.
    assert counts == {"a_report.html": 2, "deep/c_report.html": 2, "few_report.html": 2}
    for name, count in counts.items():
        with opened(browser, reports / name) as page:
            expect(page.locator(".warnings li")).to_have_count(count)


@pytest.mark.parametrize("order", ["%", "%ff", "-%E0%A4%A", "-zz", "batch%00"])
def test_an_order_that_does_not_exist_is_ignored(
    folder: Path, browser: Browser, order: str
) -> None:
    run("report", folder, "--recursive")
    with opened(browser, folder / "selection_report" / "index.html", f"#order={order}") as page:
        expect(page.locator("tbody tr")).to_have_count(3)
        expect(page.locator("[aria-sort]")).to_have_count(0)


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
        expect(page.locator("script")).to_have_count(1)
        expect(page.locator("img")).to_have_count(0)
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


def test_an_index_that_cannot_be_replaced_is_one_error_before_any_page(folder: Path) -> None:
    reports = folder / "selection_report"
    reports.mkdir()
    (reports / "index.html").mkdir()
    done = run("report", folder)
    assert (done.returncode, done.stdout) == (73, "")
    assert done.stderr == (
        f"selection: error: {reports}/index.html: the output exists and is not a regular file\n"
    )
    assert names(reports) == []


def test_a_folder_that_is_not_writable_is_one_error_before_any_page() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for each in ("a.json", "b.json"):
            batches.write(folder / each, [batches.picks_readability()])
        (folder / "pages").mkdir(mode=0o555)
        folder.chmod(0o555)
        done = run_without_root("report", "a.json", "b.json", "--output=pages", cwd=folder)
        folder.chmod(0o755)
        assert names(folder) == ["a.json", "b.json"]
    assert (done.returncode, done.stdout) == (73, "")
    assert done.stderr == "selection: error: pages/index.html: cannot be made: Permission denied\n"


def test_the_index_is_written_last_and_whole(tmp_path: Path) -> None:
    index = tmp_path / "index.html"
    index.write_text("earlier")

    def rows() -> Iterator[Row]:
        assert index.read_text() == "earlier"
        yield Row(path="a.json", failure=Failure("InvalidJsonError", "not JSON", 65))
        assert index.read_text() == "earlier"

    def interrupted() -> Iterator[Row]:
        yield from rows()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        finish(interrupted(), str(tmp_path))
    assert (names(tmp_path), index.read_text()) == (["index.html"], "earlier")
    assert finish(rows(), str(tmp_path)) == (str(index), 65)
    assert names(tmp_path) == ["index.html"]
    assert index.read_text().endswith("</html>\n")


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


def test_no_two_batches_have_one_page() -> None:
    paths = ["a.json", "a.jsonl", "a.json.gz", "x/a.json", "a", "A.json", "caf\u00e9.json"]
    paths += ["cafe\u0301.json", "a_report.html/b.json", "index.html/c.json", "./-"]
    pages = place_pages([f"/d/{path}" for path in paths], ["/d"] * len(paths), "pages")
    assert pages == [
        "pages/a_report.html",
        "pages/a.jsonl_report.html",
        "pages/a.json.gz_report.html",
        "pages/x/a_report.html",
        "pages/a_report-2.html",
        "pages/A_report-3.html",
        "pages/caf\u00e9_report.html",
        "pages/cafe\u0301_report-2.html",
        "pages/a_report.html_/b_report.html",
        "pages/index.html_/c_report.html",
        "pages/-_report.html",
    ]


def test_a_page_is_not_placed_where_a_batch_is(tmp_path: Path) -> None:
    batch = tmp_path / "a_report.html"
    pages = place_pages([str(tmp_path / "a.json"), str(batch)], [str(tmp_path)] * 2, str(tmp_path))
    assert pages == [str(tmp_path / "a_report-2.html"), f"{batch}_report.html"]
    with pytest.raises(click.UsageError, match="index would replace"):
        place_pages([], [], str(tmp_path), [str(tmp_path / "index.html")])


def test_ten_thousand_batches_of_one_name_have_a_page_each() -> None:
    pages = place_pages(["/d/a.json"] * 10_000, ["/d"] * 10_000, "pages")
    assert len(set(pages)) == 10_000
    assert pages[-1] == "pages/a_report-10000.html"


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


@pytest.mark.parametrize(
    "name", ["new", "new/deep", "in/../new", "none/../in/new", "in/link/new", "in/dangling"]
)
def test_a_folder_outside_the_allowed_ones_is_not_created(folder: Path, name: str) -> None:
    (folder / "in").mkdir()
    (folder / "in" / "link").symlink_to(folder / "deep")
    (folder / "in" / "dangling").symlink_to(folder / "nowhere")
    before = sorted(folder.rglob("*"))
    rows = iter([Row(path="a.json")])
    with pytest.raises(OutputForbiddenError) as caught:
        finish(rows, str(folder / name), [str(folder / "in")])
    assert caught.value.path == str(folder / name)
    assert sorted(folder.rglob("*")) == before
    assert next(rows).path == "a.json"  # nothing was requested


@pytest.mark.parametrize("root", ["in", "in/new"])
def test_an_allowed_folder_is_created_with_those_above_it(tmp_path: Path, root: str) -> None:
    (tmp_path / "in").mkdir()
    new = tmp_path / "in" / "new" / "deep"
    assert finish([], str(new), [str(tmp_path / root)]) == (str(new / "index.html"), 0)


def test_a_page_in_a_folder_outside_the_allowed_ones_leaves_no_folder(folder: Path) -> None:
    inside = folder / "in"
    inside.mkdir()
    (inside / "deep").symlink_to(folder / "deep")
    batch = Planned(str(folder / "a.json"), str(inside / "deep" / "new" / "a.html"), is_below=True)
    row = report_one(batch, str(inside), Row(path="a.json"), PageOptions(roots=[str(inside)]))
    assert row.failure is not None
    assert row.failure.type == "OutputForbiddenError"
    assert names(folder / "deep") == ["c.json"]
    assert not (folder / "deep" / "new").exists()


def test_a_name_that_is_not_utf_8_is_a_row(tmp_path: Path) -> None:
    failed = Row(path="\udcff.json", failure=Failure("InputNameError", "\ud800 is not UTF-8", 66))
    page = Path(write_index([failed], str(tmp_path)).path).read_bytes()
    assert b"\\udcff.json" in page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_the_index_is_accessible_and_not_wider_than_the_screen(
    folder: Path, browser: Browser, width: int, scheme: Literal["light", "dark"]
) -> None:
    run("report", folder, "--recursive")
    index = folder / "selection_report" / "index.html"
    with opened(browser, index, scheme=scheme, size=(width, 800)) as page:
        assert page.evaluate("document.documentElement.scrollWidth") == width
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()


def test_the_printed_index_has_the_light_colours_and_no_sideways_scrolling(
    folder: Path, browser: Browser
) -> None:
    run("report", folder, "--recursive")
    index = folder / "selection_report" / "index.html"
    # A page of A4 without its margins, in pixels.
    with opened(browser, index, scheme="dark", size=(718, 1000)) as page:
        page.emulate_media(media="print")
        assert page.evaluate("document.documentElement.scrollWidth") == 718
        assert page.evaluate("getComputedStyle(document.body).color") == "rgb(29, 33, 39)"
        expect(page.get_by_role("columnheader", name="Agreement", exact=True)).to_be_visible()


def test_the_index_and_its_pages_link_to_each_other(folder: Path, browser: Browser) -> None:
    run("report", folder, "--recursive")
    reports = folder / "selection_report"
    context = browser.new_context()
    page = context.new_page()
    page.goto((reports / "index.html").as_uri())
    for name in ("a_report.html", "deep/c_report.html"):
        page.locator(f"a[href='{name}']").click()
        assert page.url == (reports / name).as_uri()
        page.get_by_role("link", name="All batches").click()
        assert page.url == (reports / "index.html").as_uri()
    context.close()
    run("report", folder / "a.json")
    assert "All batches" not in (folder / "a_report.html").read_text()


def test_the_order_of_the_index_is_in_its_address(folder: Path, browser: Browser) -> None:
    run("report", folder, "--recursive")
    index = folder / "selection_report" / "index.html"

    def shown(page: Page) -> list[str]:
        names = page.locator("tbody th bdi").all_text_contents()
        return [os.path.basename(name) for name in names]

    with opened(browser, index) as page:
        assert shown(page) == ["a.json", "b.json", "c.json"]
        page.get_by_role("button", name="Articles").click()
        # 3 articles, 1 article, and last the batch that failed.
        expect(page.locator("tbody th").last).to_contain_text("b.json")
        assert shown(page) == ["a.json", "c.json", "b.json"]
        assert page.url.endswith("#order=-articles")
        page.get_by_role("button", name="Articles").click()
        expect(page.locator("tbody th").first).to_contain_text("c.json")
        assert shown(page) == ["c.json", "a.json", "b.json"]
        head = page.locator("th[aria-sort]")
        assert [head.get_attribute("aria-sort"), head.inner_text()] == ["ascending", "Articles"]
    with opened(browser, index, "#order=-batch") as page:
        assert shown(page) == ["c.json", "b.json", "a.json"]
    with opened(browser, index, "#order=%3Cimg") as page:
        assert shown(page) == ["a.json", "b.json", "c.json"]


def test_ten_thousand_batches_make_an_index_that_opens(tmp_path: Path, browser: Browser) -> None:
    picks = {Extractor.NEWSPAPER4K: 1, Extractor.READABILITY: 0, Extractor.TRAFILATURA: 0}
    rows = [
        Row(path=f"/data/{n}.json", page=f"{n}_report.html", articles=n, picks=picks)
        for n in range(10_000)
    ]
    index = Path(write_index(rows, str(tmp_path)).path)
    assert index.stat().st_size < 10_000_000
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(180_000)  # a machine that does much else
    page.goto(f"{index.as_uri()}#order=-articles")
    expect(page.locator("tbody tr")).to_have_count(10_000, timeout=60_000)
    assert page.locator("tbody tr").first.locator("td").first.text_content() == "9,999"
    # The sum of 0 to 9,999.
    assert page.locator("tfoot td").first.text_content() == "49,995,000"
    context.close()


@pytest.mark.parametrize("output", ["file", "file/", "file/below"])
def test_a_folder_that_cannot_be_created_is_one_error(folder: Path, output: str) -> None:
    (folder.parent / "file").write_text("")
    done = run("report", folder, "-o", f"{folder.parent}/{output}")
    assert (done.returncode, done.stdout) == (73, "")
    assert done.stderr.count("\n") == 1 + done.stderr.count("left out")
    assert "the folder cannot be created" in done.stderr


def test_json_has_the_numbers_of_each_batch_and_writes_no_page(folder: Path) -> None:
    done = run("report", folder, "--recursive", "--json")
    assert done.returncode == 65
    a, b, c = map(json.loads, done.stdout.splitlines())
    assert a.pop("seconds") >= 0
    assert a == {
        "input": f"{folder}/a.json",
        "job": None,
        "articles": 3,
        "picks": {"newspaper4k": 3, "readability": 0, "trafilatura": 0},
        "agreement": 0.5,
        "low_agreement": 1,
        "without_text": 1,
        "warnings": [
            "1 of 3 articles has no text of any extractor",
            "the extractors have little in common in 1 of 2 compared articles (agreement under "
            "0.5): are these articles?",
        ],
        "error": None,
    }
    assert (b["error"]["type"], b["error"]["exit_code"]) == ("InvalidJsonError", 65)
    assert (c["input"], c["picks"]["trafilatura"]) == (f"{folder}/deep/c.json", 1)
    assert not (folder / "selection_report").exists()


def test_compressed_batches_and_json_lines_have_pages_of_their_own(folder: Path) -> None:
    line = json.dumps(batches.picks_readability()) + "\n"
    (folder / "a.jsonl").write_text(line)
    (folder / "a.json.gz").write_bytes(gzip.compress((folder / "a.json").read_bytes()))
    run("report", folder / "a.json", folder / "a.jsonl", folder / "a.json.gz")
    assert names(folder / "selection_report") == [
        "a.json.gz_report.html",
        "a.jsonl_report.html",
        "a_report.html",
        "index.html",
    ]


# ------------------------------------------------------------------------------------- the queue


def test_hostile_jobs_are_rows_and_stay_in_the_folder(tmp_path: Path) -> None:
    """A client that can write to the server names any path and any id."""
    jobs = [
        JobStatus(id=HOSTILE, state=JobState.FAILED, path=path, error=None)
        for path in ("\0.json", "../../x.json", "\ud800", "", HOSTILE, None)
    ]
    jobs += [
        JobStatus(id="own", state=JobState.FINISHED, path="/in/\0.json", output="/in/\0.json"),
        JobStatus(id="other", state=JobState.FINISHED),
    ]
    rows = list(rows_of_jobs(jobs, str(tmp_path / "pages"), PageOptions()))
    assert len(rows) == len(jobs)
    assert all(row.failure for row in rows)
    index = Path(write_index(rows, str(tmp_path)).path).read_text()
    assert "<script>alert" not in index
    assert "&lt;script&gt;alert" in index
    assert names(tmp_path) == ["index.html"]


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
