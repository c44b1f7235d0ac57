"""The page of a comparison in a real Chromium: what a person sees and does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from selection import select_file
from selection.report.compare import write_comparison
from tests.support import batches
from tests.support.batches import COMMON, OTHER
from tests.support.browser import opened, violations

# It ends each context of a page that can contain it.
HOSTILE = (
    "</p></details></script><script>alert(1)</script></title></style><!-- <img src=x "
    "onerror=alert(2)> <svg onload=alert(3)> \" ' onfocus=alert(4) autofocus {{ 7 * 7 }} "
    "&lt;b&gt; \u2028 \u202eRTL\u202c ]]>"
)
LONG = "identifier-without-a-space-" * 6
HEBREW = "אחת שתיים שלוש ארבע חמש שש שבע שמונה תשע עשר"
WIDTHS = (320, 390, 768, 1280)
Scheme = Literal["light", "dark"]


def compared(folder: Path, old: list[Any], new: list[Any], label: str = LONG) -> Path:
    """Select two batches and write their comparison; the label is a part of their names."""
    first, second = (
        select_file(str(batches.write(folder / f"{name}-{label}.json", articles))).output
        for name, articles in (("old", old), ("new", new))
    )
    return Path(write_comparison(first, second, str(folder / "page.html")).output)


def single(text: str, **members: Any) -> dict[str, Any]:
    """Return an article in which only Trafilatura has a text."""
    return batches.article("", "", text, **members)


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two picks changed in one way and one in another; a text, a failure, two only in one."""
    failed = batches.picks_newspaper4k(id="failed")
    failed["trafilatura"]["error"] = f"timed out {LONG}"
    old = [
        batches.picks_newspaper4k(id="one", url=f"https://example.org/{LONG}"),
        batches.picks_newspaper4k(id=LONG),
        batches.picks_readability(id="three"),
        single(f"{COMMON} eleven twelve thirteen fourteen fifteen sixteen", id="text"),
        batches.picks_newspaper4k(id="failed"),
        single(HEBREW, id="מאמר"),
        batches.picks_readability(id="same"),
    ]
    new = [
        batches.picks_readability(id="one", url="javascript:alert(1)"),
        batches.picks_readability(id=LONG),
        single(OTHER, id="three"),
        single(f"{COMMON} eleven Twelve, 13 fourteen fifteen sixteen", id="text"),
        failed,
        single(f"{HEBREW} {HEBREW}", id="added"),
        batches.picks_readability(id="same"),
    ]
    return compared(tmp_path_factory.mktemp("comparison"), old, new)


def section(page: Page, id: str) -> Locator:
    """Return the articles between a heading and the next one."""
    return page.locator(
        f"xpath=//*[@id='{id}']/following-sibling::details"
        f"[preceding-sibling::*[self::h2 or self::h3][1][@id='{id}']]"
    )


def test_the_tiles_and_the_matrix_count_the_articles(browser: Browser, page_file: Path) -> None:
    with opened(browser, page_file) as page:
        # in both, changed picks, changed texts, only failures, only old, only new
        assert page.locator(".tiles strong").all_text_contents() == ["6", "3", "1", "1", "1", "1"]
        matrix = page.locator("table[aria-labelledby=matrix] tbody tr")
        cells = [row.locator("td").all_text_contents() for row in matrix.all()]
        assert cells == [["1", "2", "0"], ["0", "1", "1"], ["0", "0", "1"]]
        by_rule = page.locator("table[aria-labelledby=rules] tbody tr").all_inner_texts()
        assert [re.split(r"\s+", row.strip()) for row in by_rule] == [
            ["tie_priority", "tie_priority", "2"],
            ["tie_priority", "single", "1"],
        ]
        failures = page.locator("table[aria-labelledby=states] tbody tr")
        # newspaper4k and Readability have no text any more in the third article.
        assert [row.locator("td").all_text_contents() for row in failures.all()] == [
            ["1", "0"],
            ["1", "0"],
            ["1", "0"],
        ]


def test_a_count_leads_to_that_number_of_articles(browser: Browser, page_file: Path) -> None:
    with opened(browser, page_file) as page:
        links = page.locator(".tiles a[href], table a[href^='#']").all()
        assert len(links) == 7
        for link in links:
            target = (link.get_attribute("href") or "").removeprefix("#")
            count = int(link.locator("strong").or_(link).first.inner_text().split()[0])
            sections = ("newspaper4k-readability", "readability-trafilatura")
            ids = sections if target == "pick" else (target,)
            assert sum(section(page, each).count() for each in ids) == count
            link.click()
            expect(page.locator(f"[id='{target}']")).to_be_in_viewport()
            page.go_back()


def test_the_texts_are_side_by_side_with_different_words_highlighted(
    browser: Browser, page_file: Path
) -> None:
    with opened(browser, page_file) as page:
        article = section(page, "text")
        old, new = article.locator(".candidate").all()
        # Case and punctuation do not make a difference; "thirteen" and "13" do. A word that
        # shares no shingle of five is different, too: two words are between the end and "13".
        assert old.locator("mark").all_text_contents() == ["thirteen fourteen fifteen sixteen"]
        assert new.locator("mark").all_text_contents() == ["13 fourteen fifteen sixteen"]
        left, right = old.bounding_box(), new.bounding_box()
        assert left
        assert right
        assert (left["y"], left["x"] + left["width"] < right["x"]) == (right["y"], True)
        assert (
            new.locator(".text").inner_text().endswith("eleven Twelve, 13 fourteen fifteen sixteen")
        )


def test_equal_texts_are_shown_once(browser: Browser, page_file: Path) -> None:
    with opened(browser, page_file) as page:
        article = section(page, "failures")
        expect(article.locator(".candidate")).to_have_count(1)
        expect(article.locator("mark")).to_have_count(0)
        expect(article).to_contain_text("The text is the same in both batches.")
        expect(article).to_contain_text("Failure of trafilatura came: usable before, degraded now")


@pytest.mark.parametrize(
    ("old", "new", "marks", "note"),
    [
        ("One, two!", "one two", [], "The texts have the same words; they differ in order"),
        (f"<p>{COMMON}</p>", COMMON, [], "The texts have the same words"),
        ("one two", "one three", ["one two", "one three"], ""),
        (COMMON, "", [COMMON], ""),
    ],
)
def test_what_is_not_highlighted_is_said(
    browser: Browser, tmp_path: Path, old: str, new: str, marks: list[str], note: str
) -> None:
    file = compared(tmp_path, [single(old, id="a")], [single(new, id="a")])
    with opened(browser, file) as page:
        assert page.locator("details mark").all_text_contents() == marks
        expect(page.locator("details")).to_contain_text(note)
        is_noted = page.get_by_text("The texts have the same words").count()
        assert is_noted == (note != "")


def test_hostile_texts_are_inert(browser: Browser, tmp_path: Path) -> None:
    old = single(HOSTILE, id=HOSTILE, url=f"https://example.org/{HOSTILE}")
    new = single(f"{HOSTILE} {COMMON}", id=HOSTILE, url=f"javascript:alert(6) {HOSTILE}")
    old["trafilatura"]["title"] = new["trafilatura"]["title"] = HOSTILE
    new["trafilatura"]["error"] = HOSTILE
    name = "<b>&amp;\"'{{ 7 * 7 }}"
    with opened(browser, compared(tmp_path, [old], [new], name)) as page:
        assert page.title().startswith(f"old-{name}_selected.json and new-{name}_selected.json ")
        assert page.locator(".batches bdi").last.text_content() == f"new-{name}_selected.json"
        article = page.locator("details")
        expect(article).to_have_count(1)
        expect(article.locator("summary bdi")).to_have_text(HOSTILE)
        assert article.locator(".text").first.text_content() == HOSTILE
        assert page.locator("script, img, svg, [onload], [onerror], [autofocus]").count() == 0
        assert page.locator("details a").count() == 0
        assert "49" not in page.content().partition("<h1>")[2].partition("<details")[0]


def test_the_pages_policy_allows_its_style_only(browser: Browser, page_file: Path) -> None:
    with opened(browser, page_file) as page:
        policy = page.locator("meta[http-equiv]").get_attribute("content") or ""
        assert "default-src 'none'" in policy
        assert "script-src 'none'" in policy
        assert "unsafe" not in policy


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_it_fits_and_axe_finds_no_violation(
    browser: Browser, page_file: Path, width: int, scheme: Scheme
) -> None:
    with opened(browser, page_file, "", scheme, (width, 800)) as page:
        for folded in page.locator("details:not([open]) > summary").all():
            folded.click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        # Text that is larger than its box is written over the next one.
        wide = (
            "[...document.querySelectorAll('td, th, dd, p, summary, .tiles a')]"
            ".filter((each) => each.scrollWidth > each.clientWidth + 1"
            " || each.scrollHeight > each.clientHeight + 1)"
            ".filter((each) => each.parentElement.parentElement.clientWidth > 1)"
            ".map((each) => each.outerHTML)"
        )
        assert page.evaluate(wide) == []
        assert violations(page) == []


def test_it_is_read_with_the_keyboard_alone(browser: Browser, page_file: Path) -> None:
    with opened(browser, page_file) as page:
        seen = []
        for _ in range(60):
            page.keyboard.press("Tab")
            seen.append(page.evaluate("document.activeElement.tagName"))
            if seen[-1] == "BODY":
                break
        # Five tiles and two cells, seven articles, and no other control; the open first article
        # of a section has a link if its address is one of the web.
        assert seen.count("SUMMARY") == 7
        assert seen.count("A") == 7
        page.locator("summary").nth(1).focus()
        second = page.locator("details").nth(1)
        expect(second.locator(".texts")).to_be_hidden()
        page.keyboard.press("Enter")
        expect(second.locator(".texts")).to_be_visible()


def test_words_are_explained_without_a_script(browser: Browser, page_file: Path) -> None:
    with opened(browser, page_file) as page:
        page.locator("table[aria-labelledby=rules] .term").first.focus()
        page.keyboard.press("Enter")
        opened_word = page.locator(":popover-open")
        expect(opened_word).to_contain_text("tie_priority")
        expect(opened_word).to_contain_text("Rule 6.4")
        page.keyboard.press("Escape")
        expect(opened_word).to_have_count(0)


def test_print_shows_every_text_with_its_highlighting(browser: Browser, page_file: Path) -> None:
    with opened(browser, page_file, scheme="dark") as page:
        page.emulate_media(media="print")
        for text in page.locator(".text").all():
            expect(text).to_be_visible()
        style = "getComputedStyle(document.querySelector('mark')).printColorAdjust"
        assert page.evaluate(style) == "exact"
        ground = "getComputedStyle(document.querySelector('.candidate')).backgroundColor"
        assert page.evaluate(ground) == "rgb(255, 255, 255)"
        assert page.pdf().startswith(b"%PDF-")


def test_without_a_change_the_page_says_so(browser: Browser, tmp_path: Path) -> None:
    same = [batches.picks_newspaper4k(id="a")]
    with opened(browser, compared(tmp_path, same, same)) as page:
        expect(page.get_by_text("No article changed.")).to_be_visible()
        assert page.locator("details, a[href]").count() == 0


def test_a_long_text_is_cut_and_the_page_says_so(browser: Browser, tmp_path: Path) -> None:
    long = "word " * 30_000
    file = compared(tmp_path, [single("a", id=1)], [single(long, id=1)])
    with opened(browser, file) as page:
        expect(page.locator("details")).to_contain_text("50,000 more characters are left out")


def test_outputs_of_one_name_have_the_folders_that_distinguish_them(
    tmp_path: Path, browser: Browser
) -> None:
    paths = []
    for version in ("v1", "v2"):
        folder = tmp_path / version / "day"
        folder.mkdir(parents=True)
        batch = batches.write(folder / "a.json", [batches.picks_readability()])
        paths.append(select_file(str(batch)).output)
    for new, names in [
        (paths[1], ["v1/day/a_selected.json", "v2/day/a_selected.json"]),
        (paths[0], ["a_selected.json", "a_selected.json"]),
    ]:
        written = write_comparison(paths[0], new, str(tmp_path / "page.html"))
        with opened(browser, Path(written.output)) as page:
            assert page.locator(".batches bdi").all_text_contents() == names
            expect(page.locator(".batches span").first).to_contain_text(", 1 article")
            expect(page.locator("main")).not_to_contain_text("1 articles")
