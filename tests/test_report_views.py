"""The report's page as people share, print and operate it: addresses, sizes, accessibility."""

from __future__ import annotations

import csv
import io
import json
import re
import struct
from collections import Counter
from pathlib import Path

import pypdfium2
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from selection.model import Extractor
from selection.report.article_stats import statistics_of
from selection.report.batch_stats import Kind, kinds_of
from selection.report.write import write_report
from selection.stream.parts import Article
from tests.support import batches
from tests.support.batches import COMMON, OTHER
from tests.support.browser import Scheme, opened, settled, violations
from tests.support.screenshots import PICTURES

LONG = "identifier-without-a-space-" * 6
HEBREW = "אחת שתיים שלוש ארבע חמש שש שבע שמונה תשע עשר"
WIDTHS = (320, 390, 768, 1280)
VIEWS = ("", "#articles", "#article-0", "#article-4", "#how")

SCHEMES: tuple[Scheme, ...] = ("light", "dark")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven articles: a tie, no consensus, a single text, a close call, an error, Hebrew, none."""
    degraded = batches.article(COMMON, OTHER, COMMON + " eleven twelve thirteen", id="4")
    degraded["readability"] |= {"error": "timed out " + LONG, "title": "Degraded"}
    long = "\n\n".join(f"{COMMON} paragraph {n}" for n in range(60))
    path = batches.write(
        tmp_path_factory.mktemp("report") / f"{LONG}.json",
        [
            batches.article(long, long, OTHER, id=LONG, url=f"https://example.org/{LONG}"),
            batches.article("a b c", "d e f g", "h i j k l m", id="apart"),
            batches.picks_trafilatura(id="=alone,"),
            batches.article("a b c d e f g h i j", "a b c d e z y x w v", "", id="zoo"),
            degraded,
            batches.article(HEBREW, f"{HEBREW} one", "", id="מאמר"),
            {"id": "nothing"},
        ],
    )
    return Path(write_report(str(path)).output)


def listed(page: Page) -> list[str]:
    settled(page)
    return page.locator("#list tbody td[data-key=index]").all_text_contents()


def has_scroll_bar(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > window.innerWidth"))


# -------------------------------------------------------------------------- counts and links


def test_each_count_leads_to_a_list_of_that_number(browser: Browser, report: Path) -> None:
    with opened(browser, report) as page:
        links = page.evaluate(
            "[...document.querySelectorAll('.tiles a, figure a')].map((link) => ["
            "link.getAttribute('href'), (link.querySelector('strong, .value') || link).textContent,"
            "link.title])"
        )
        # Five tiles; each bar that is not empty, and stacked ones twice.
        assert len({href for href, _, _ in links}) > 25
        for href, text, title in links:
            count = int(title.rpartition(": ")[2] if title else text)
            page.evaluate("(hash) => { location.hash = hash }", href)
            expect(page.locator("#view-articles")).to_be_visible()
            expect(page.locator("#count")).to_have_text(
                f"{count} of 7 articles" if count != 7 else "7 articles"
            )
            assert len(listed(page)) == count, href


def test_each_warning_leads_to_examples(browser: Browser, tmp_path: Path) -> None:
    notice = "we use cookies to improve this site please accept them all now"
    long = " ".join(f"word{n}" for n in range(60))
    articles = [
        batches.article(notice, notice, long, id="notice"),
        batches.article("a b c d e f", "", "u v w x y z", id="apart"),
        {"id": "nothing"},
    ]
    report = write_report(str(batches.write(tmp_path / "b.json", articles)))
    with opened(browser, Path(report.output)) as page:
        warnings = page.locator(".warnings li")
        assert [text.partition(" Show")[0] for text in warnings.all_text_contents()] == [
            "Warning: 1 of 3 articles has no text of any extractor.",
            "Warning: the extractors have little in common in 1 of 2 compared articles "
            "(agreement under 0.5): are these articles?",
            "Warning: in 1 article two extractors agree on a text of less than 200 tokens, and the "
            "third has at least 3 times as many: the short text can be a notice, for example about "
            "cookies or a subscription.",
        ]
        for number, index in enumerate(["2", "1", "0"]):
            page.evaluate("location.hash = '#overview'")
            warnings.nth(number).get_by_role("link").click()
            assert listed(page) == [index]


@pytest.mark.parametrize(
    ("texts", "is_short"),
    [
        ((10, 10, 30), True),
        ((10, 10, 29), False),  # not three times as long
        ((200, 200, 600), False),  # not short
        ((30, 10, 10), True),
    ],
)
def test_short_agreement(texts: tuple[int, int, int], is_short: bool) -> None:
    longest = max(texts)
    article = batches.article(
        *(" ".join(f"{'l' if n == longest else 's'}{i}" for i in range(n)) for n in texts)
    )
    fields = {str(name): article[name] for name in Extractor}
    stats = statistics_of(Article(0, 0, b"{}", None, None, fields, False))
    assert (Kind.SHORT in kinds_of(stats)) is is_short


def test_the_window_is_named_after_what_it_shows(browser: Browser, report: Path) -> None:
    with opened(browser, report, "#article-4") as page:
        name = f"{LONG}.json – selection report"  # noqa: RUF001
        assert page.title() == f"Degraded – {name}"  # noqa: RUF001
        turn(page, "#how")
        assert page.title() == f"How a pick is made – {name}"  # noqa: RUF001
        turn(page, "")
        assert page.title() == name


def test_a_bar_is_a_filter_that_can_be_removed(browser: Browser, report: Path) -> None:
    with opened(browser, report) as page:
        page.locator("#chart-pairs .keys a").first.click()
        button = page.get_by_role("button", name="Agreement of two extractors")
        expect(button).to_be_visible()
        # Article 1 has no shingle in common between newspaper4k and readability.
        assert listed(page) == ["1"]
        button.click()
        expect(button).to_be_hidden()
        assert len(listed(page)) == 7
        assert page.url.endswith("#articles")


def test_the_address_has_everything_the_list_shows(browser: Browser, report: Path) -> None:
    with opened(browser, report, "#articles") as page:
        page.get_by_role("button", name="Margin", exact=False).first.click()
        page.get_by_label("Search").fill("o")
        page.get_by_role("combobox", name="State").select_option("newspaper4k.usable")
        expected = listed(page)
        address = "#" + page.url.partition("#")[2]
        assert address == "#articles?search=o&state=newspaper4k.usable&sort=margin"
        page.reload()
        assert listed(page) == expected
    with opened(browser, report, address) as page:  # a colleague
        assert listed(page) == expected
        expect(page.get_by_label("Search")).to_have_value("o")
        expect(page.get_by_role("combobox", name="State")).to_have_value("newspaper4k.usable")
        page.locator("#list tbody a").nth(1).click()
        expect(page.locator("#article-place")).to_contain_text(f"Article {expected[1]}")
        address = "#" + page.url.partition("#")[2]
    with opened(browser, report, address) as page:
        expect(page.locator("#article-place")).to_contain_text(f"Article {expected[1]}")
        page.get_by_role("link", name="Next").click()
        expect(page.locator("#article-place")).to_contain_text(f"Article {expected[2]}")
        page.get_by_role("link", name="All articles").click()
        assert listed(page) == expected


def test_the_address_has_the_page_of_the_list(browser: Browser, tmp_path: Path) -> None:
    path = batches.write(tmp_path / "b.json", [batches.picks_newspaper4k() for _ in range(120)])
    with opened(browser, Path(write_report(str(path)).output), "#articles") as page:
        page.get_by_role("button", name="Next").click()
        assert page.url.endswith("#articles?page=2")
        page.reload()
        assert listed(page)[0] == "50"


@pytest.mark.parametrize(
    "query",
    ["?kind=x", "?sort=constructor", "?order=__proto__", "?bar=pairs-0", "?page=0", "?x=1", "?%FF"],
)
def test_what_an_address_has_that_does_not_exist_is_ignored(
    browser: Browser, report: Path, query: str
) -> None:
    with opened(browser, report, f"#articles{query}") as page:
        assert len(listed(page)) == 7


def test_a_bar_beyond_the_chart_shows_an_empty_list(browser: Browser, report: Path) -> None:
    for bar in ("scores-99-9", "pairs-9-9", "tokens-99-9"):
        with opened(browser, report, f"#articles?bar={bar}") as page:
            assert listed(page) == []
            expect(page.locator("#count")).to_have_text("0 of 7 articles")


# ------------------------------------------------------------------------ copies and downloads


@pytest.mark.parametrize("has_clipboard", [True, False])
def test_text_and_link_can_be_copied(browser: Browser, report: Path, has_clipboard: bool) -> None:
    with opened(browser, report, "#article-4") as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        read = page.evaluate_handle("navigator.clipboard")
        if not has_clipboard:  # as in a page from a server without TLS
            page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
        for name, copied in (("Copy the picked text", COMMON), ("Copy link", page.url)):
            button = page.get_by_role("button", name=name)
            button.click()
            expect(page.locator("#article-copied")).to_have_text("Copied.")
            assert read.evaluate("(clipboard) => clipboard.readText()") == copied
            expect(button).to_be_focused()
            page.locator("#article-copied").evaluate("(status) => status.replaceChildren()")


def test_an_article_without_a_picked_text_has_no_button_to_copy_it(
    browser: Browser, report: Path
) -> None:
    with opened(browser, report, "#article-6") as page:
        expect(page.get_by_role("button", name="Copy link")).to_be_visible()
        expect(page.get_by_role("button", name="Copy the picked text")).to_be_hidden()


def downloaded(page: Page, name: str) -> str:
    with page.expect_download() as download:
        page.get_by_role("button", name=name).click()
    return Path(download.value.path()).read_bytes().decode("utf-8")


def test_the_list_can_be_downloaded_as_it_is_shown(browser: Browser, report: Path) -> None:
    with opened(browser, report, "#articles?sort=-index&search=o") as page:
        shown = listed(page)
        records = json.loads(downloaded(page, "Download JSON"))
        text = downloaded(page, "Download CSV")
    assert [str(record["index"]) for record in records] == shown
    assert len(shown) > 2
    assert text.startswith("\ufeffindex,id,name,")
    table = list(csv.DictReader(io.StringIO(text[1:], newline="")))
    assert [row["index"] for row in table] == shown
    degraded = next(record for record in records if record["index"] == 4)
    assert (degraded["pick"], degraded["rule"], degraded["margin"]) == ("newspaper4k", "score", 0.2)
    assert (degraded["readability_state"], degraded["readability_active"]) == ("degraded", False)
    assert (degraded["trafilatura_shingles"], degraded["trafilatura_score"]) == (9, 0.8)
    for record, row in zip(records, table):
        assert list(record) == list(row)
        name = record["name"]
        # A text that a spreadsheet would run as a formula begins with an apostrophe.
        assert row["name"] == (f"'{name}" if name.startswith("=") else name)
        assert row["margin"] == ("" if record["margin"] is None else f"{record['margin']:g}")
    assert "=alone," in [record["name"] for record in records]


@pytest.mark.parametrize(
    ("items", "sentence"),
    [
        ([1], "1 item of the batch is not an object and not counted"),
        ([1, None, "x", [2]], "4 items of the batch are not objects and not counted"),
    ],
)
def test_the_overview_counts_items_that_are_not_articles(
    browser: Browser, tmp_path: Path, items: list[object], sentence: str
) -> None:
    batch = batches.write(tmp_path / "a.json", [*items, batches.picks_readability()])
    with opened(browser, Path(write_report(str(batch)).output)) as page:
        expect(page.locator("#view-overview")).to_contain_text(sentence)
        expect(page.locator(".tiles strong").first).to_have_text("1")


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff20"])
def test_a_text_of_the_table_is_never_a_formula(
    browser: Browser, tmp_path: Path, first: str
) -> None:
    batch = batches.write(tmp_path / "a.json", [batches.picks_readability(id=f"{first}1+1")])
    with opened(browser, Path(write_report(str(batch)).output), "#articles") as page:
        text = downloaded(page, "Download CSV")
    (row,) = csv.DictReader(io.StringIO(text[1:], newline=""))
    assert row["id"] == f"'{first}1+1"


# ------------------------------------------------------------------------------- explanations


def test_an_explanation_opens_and_closes_by_keyboard(browser: Browser, report: Path) -> None:
    with opened(browser, report, "#article-4") as page:
        word = page.locator(".candidate .term", has_text="degraded")
        word.focus()
        page.keyboard.press("Enter")
        text = page.locator("#term-degraded")
        expect(text).to_be_visible()
        expect(text).to_contain_text("The candidate has a text and an error.")
        expect(text).to_contain_text("Rules 1.3 and 1.5.")
        page.keyboard.press("Escape")
        expect(text).to_be_hidden()
        expect(word).to_be_focused()
        # The same key leads to the list only now.
        expect(page.locator("#view-article")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("#view-articles")).to_be_visible()


@pytest.mark.parametrize("width", WIDTHS)
def test_an_explanation_opens_by_touch_and_fits(browser: Browser, report: Path, width: int) -> None:
    with opened(browser, report, "#articles", size=(width, 700), has_touch=True) as page:
        for word, name in (
            (page.locator("#list tbody .term").first, "#rule-tie_priority"),
            (page.locator("th[data-key=margin] .term"), "#term-margin"),
        ):
            word.tap()
            text = page.locator(name)
            expect(text).to_be_visible()
            box = text.bounding_box()
            assert box
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            text.get_by_role("button", name="Close").tap()
            expect(text).to_be_hidden()


def test_every_word_has_an_explanation(browser: Browser, report: Path) -> None:
    with opened(browser, report) as page:
        for view in VIEWS:
            page.evaluate("(hash) => { location.hash = hash }", view or "#overview")
            missing = page.evaluate(
                "[...document.querySelectorAll('[popovertarget]')].map((word) => "
                "word.getAttribute('popovertarget')).filter((id) => !document.getElementById(id))"
            )
            assert missing == []


def test_the_words_are_explained_without_javascript(browser: Browser, report: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    expect(page.get_by_role("heading", name="How a pick is made")).to_be_visible()
    page.locator("#chart-rules .term").first.click()
    expect(page.locator("#rule-fallback")).to_be_visible()
    context.close()


def test_the_number_of_an_article_is_the_one_of_explain(browser: Browser, report: Path) -> None:
    with opened(browser, report, "#article-4") as page:
        expect(page.locator("#article-place")).to_have_text("Article 4, id 4")
        expect(page.locator("#article-number")).to_have_text(
            "Articles are numbered from 0: selection explain --index 4"
        )


# -------------------------------------------------------------------------------------- sizes


def turn(page: Page, view: str) -> None:
    """Go to a view of the opened page and unfold what is folded there."""
    page.evaluate("(hash) => { location.hash = hash }", view or "#overview")
    section = view.removeprefix("#").partition("-")[0] or "overview"
    expect(page.locator(f"#view-{section}")).to_be_visible()
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")


def sized(page: Page, width: int, scheme: Scheme) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_view_scrolls_sideways_at_any_width(
    browser: Browser, report: Path, scheme: Scheme
) -> None:
    with opened(browser, report) as page:
        for view in VIEWS:
            turn(page, view)
            for width in WIDTHS:
                sized(page, width, scheme)
                assert not has_scroll_bar(page), (view, width)


def test_no_view_scrolls_sideways_at_twice_the_size(browser: Browser, report: Path) -> None:
    # 200 % zoom of a window of 1,280 pixels, and text of twice the size.
    with opened(browser, report, size=(640, 450), device_scale_factor=2) as page:
        for view in VIEWS:
            turn(page, view)
            assert not has_scroll_bar(page), view
    with opened(browser, report) as page:
        page.evaluate("document.documentElement.style.fontSize = '200%'")
        for view in VIEWS:
            turn(page, view)
            assert not has_scroll_bar(page), view


@pytest.mark.parametrize("width", [320, 390, 768])
def test_on_a_narrow_screen_the_pick_is_first_and_a_text_one_tap_away(
    browser: Browser, report: Path, width: int
) -> None:
    with opened(browser, report, "#article-0", size=(width, 700), has_touch=True) as page:
        texts = page.locator(".candidate")
        switch = page.get_by_role("group", name="Shown text")
        assert [text.is_visible() for text in texts.all()] == [True, False, False]
        expect(switch.get_by_role("button", name="newspaper4k")).to_have_attribute(
            "aria-pressed", "true"
        )
        page.mouse.wheel(0, 2500)
        page.wait_for_function("window.scrollY > 1500")
        # The buttons stay in sight.
        switch.get_by_role("button", name="readability").tap(timeout=2000)
        assert [text.is_visible() for text in texts.all()] == [False, True, False]


def top(element: Locator) -> float:
    box = element.bounding_box()
    assert box
    return box["y"]


def test_heads_of_list_and_texts_stay_in_sight(browser: Browser, tmp_path: Path) -> None:
    long = "\n\n".join(f"{COMMON} paragraph {n}" for n in range(60))
    path = batches.write(tmp_path / "b.json", [batches.article(long, long, long)] * 50)
    report = Path(write_report(str(path)).output)
    for view, head in (("#articles", "#list th"), ("#article-0", ".candidate h2")):
        with opened(browser, report, view) as page:
            page.mouse.wheel(0, 1200)
            page.wait_for_function("window.scrollY > 1000")
            for element in page.locator(head).all():
                assert 0 <= top(element) <= 2


# -------------------------------------------------------------------------------------- print


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", [320, 1280])
def test_print_keeps_highlights_and_drops_controls(
    browser: Browser, report: Path, scheme: Scheme, width: int
) -> None:
    with opened(browser, report, "#article-0", scheme, (width, 800)) as page:
        page.emulate_media(media="print", color_scheme=scheme)
        expect(page.locator("body")).to_have_css("color", "rgb(29, 33, 39)")
        mark = page.locator(".text mark").first
        expect(mark).to_have_css("background-color", "rgb(220, 239, 228)")
        expect(mark).to_have_css("print-color-adjust", "exact")
        expect(page.locator("h2 .badge")).to_be_visible()
        expect(page.locator("h2 .badge")).to_have_css("background-color", "rgb(20, 85, 143)")
        for text in page.locator(".candidate").all():
            expect(text).to_be_visible()
        for control in (".switch", ".actions button", ".around", "header nav"):
            for element in page.locator(control).all():
                expect(element).to_be_hidden()
        # What is folded on the screen is printed.
        expect(page.locator(".sums td").first).to_be_visible()


def printed(page: Page) -> list[tuple[str, Counter[tuple[int, int, int]]]]:
    """Return the text and the colours of each page of A4."""
    pages = []
    with pypdfium2.PdfDocument(page.pdf(format="A4")) as document:
        for sheet in document:
            picture = sheet.render(scale=1)
            pixels = bytes(picture.buffer)
            assert picture.format == pypdfium2.raw.FPDFBitmap_BGR
            rows = [
                pixels[start : start + 3 * picture.width]
                for start in range(0, len(pixels), picture.stride)
            ]
            colours = Counter(
                (row[at + 2], row[at + 1], row[at]) for row in rows for at in range(0, len(row), 3)
            )
            pages.append((sheet.get_textpage().get_text_range(), colours))
    return pages


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_printed_page_has_the_light_colours(
    browser: Browser, report: Path, scheme: Scheme
) -> None:
    with opened(browser, report, "#article-0", scheme) as page:
        pages = printed(page)
        text = "".join(text for text, _ in pages)
        colours = sum((colours for _, colours in pages), Counter())
        assert colours.most_common(1)[0][0] == (255, 255, 255)
        assert colours[220, 239, 228] > 1000  # consensus
        assert colours[251, 230, 207] > 100  # surplus
        assert colours[20, 85, 143] > 100  # the badge and the border of the pick
        assert max(colours[29, 33, 39], colours[230, 228, 223]) == colours[29, 33, 39] > 100
        for there in ("newspaper4k", "readability", "trafilatura", "pick", "How this pick was"):
            assert there in text
        for control in ("Copy", "Previous", "All articles", "Skip to"):
            assert control not in text
    with opened(browser, report, "#articles", scheme) as page:
        [(text, _)] = printed(page)
        assert "apart" in text
        assert "Download" not in text
        # A table, not the cards of a narrow screen.
        page.emulate_media(media="print")
        expect(page.locator("#list tbody tr").first).to_have_css("display", "table-row")


# ------------------------------------------------------------------------------ accessibility


def test_axe_finds_what_is_wrong_under_the_pages_policy(browser: Browser, report: Path) -> None:
    with opened(browser, report) as page:
        page.evaluate("document.body.append(document.createElement('button'))")
        assert violations(page)


def test_axe_finds_no_violation(browser: Browser, report: Path) -> None:
    contrast = ["color-contrast"]
    with opened(browser, report) as page:
        for view in (*VIEWS, "#article-5", "#article-99"):
            turn(page, view)
            # Both layouts of every view; a scheme changes colours only.
            for width in (320, 1280):
                sized(page, width, "light")
                assert violations(page) == [], (view, width)
            sized(page, 1280, "dark")
            assert violations(page, contrast) == [], view
        turn(page, "#article-0")
        page.locator("section:visible .term").first.click()
        expect(page.locator(":popover-open")).to_be_visible()
        assert violations(page, contrast) == []
        sized(page, 390, "light")
        assert violations(page) == []


def test_every_control_is_reached_by_tab_and_shows_its_focus(
    browser: Browser, report: Path
) -> None:
    for view in VIEWS:
        with opened(browser, report, view) as page:
            page.locator(".skip").focus()
            wanted = page.evaluate(
                "[...document.querySelectorAll('a[href], button, input, select, summary')].filter("
                "(one) => one.checkVisibility() && one.tabIndex >= 0 && !one.disabled).length"
            )
            assert wanted >= 10
            seen = set()
            for _ in range(wanted - 1):
                page.keyboard.press("Tab")
                place, outline, is_in_sight = page.evaluate(
                    "() => { const one = document.activeElement; const box = "
                    "one.getClientRects()[0]; const at = document.elementFromPoint("
                    "box.x + Math.min(box.width, 8) / 2, box.y + box.height / 2);"
                    "return [[...document.querySelectorAll('*')].indexOf(one), "
                    "getComputedStyle(one).outlineStyle, one === at || one.contains(at) || "
                    "one.outerHTML.slice(0, 200)] }"
                )
                seen.add(place)
                assert outline == "solid", (view, is_in_sight)
                assert is_in_sight is True
            assert len(seen) == wanted - 1, view


def test_nothing_moves_where_motion_is_reduced(browser: Browser, report: Path) -> None:
    moving = (
        "[...document.querySelectorAll('*')].filter((one) => {"
        "const style = getComputedStyle(one); return parseFloat(style.transitionDuration) > 0 ||"
        "style.animationName !== 'none' }).length"
    )
    with opened(browser, report) as page:
        assert page.evaluate(moving) == 5  # the tiles
    with opened(browser, report, reduced_motion="reduce") as page:
        assert page.evaluate(moving) == 0


def test_right_to_left_texts_begin_at_the_right(browser: Browser, report: Path) -> None:
    beginning = (
        "(element) => { const walk = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);"
        "while (walk.nextNode().data === '');"
        "const range = document.createRange(); range.setStart(walk.currentNode, 0);"
        "range.setEnd(walk.currentNode, 1); const box = element.getBoundingClientRect();"
        "return [range.getBoundingClientRect().x - box.x, box.width] }"
    )
    with opened(browser, report, "#article-5") as page:
        for text in page.locator(".candidate .text").all():
            expect(text).to_have_css("direction", "rtl")
            left, width = text.evaluate(beginning)
            assert left > width * 0.8
        assert page.locator("h1:visible").evaluate("(one) => getComputedStyle(one).direction") == (
            "rtl"
        )
    with opened(browser, report, "#article-4") as page:
        left, width = page.locator(".candidate .text").first.evaluate(beginning)
        assert left < width * 0.2


def test_the_scripts_are_not_minified(report: Path) -> None:
    scripts = re.findall(r"<script>(.*?)</script>", report.read_text(), re.DOTALL)
    assert len(scripts) == 6
    for script in scripts:
        assert script.startswith('"use strict";\n\n/* ')


def test_the_pictures_of_the_documents_are_taken_by_their_script() -> None:
    docs = Path(__file__).parents[1] / "docs"
    assert {path.stem for path in docs.glob("*.png")} == {one.name for one in PICTURES}
    text = (docs / "report.md").read_text()
    for picture in PICTURES:
        width, height = struct.unpack(">II", (docs / f"{picture.name}.png").read_bytes()[16:24])
        assert (width, height) == picture.size
        assert f"]({picture.name}.png)" in text
