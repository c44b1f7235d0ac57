"""The report's page in a real Chromium: what a person sees and does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from selection.report.write import write_report
from tests.support import batches
from tests.support.batches import COMMON, OTHER
from tests.support.browser import DESKTOP, PHONE, opened, settled

# It ends each context that can contain it and runs as each kind of script.
HOSTILE = (
    "</script><script>alert(1)</script></title></style><!-- <img src=x onerror=alert(2)> "
    "<svg onload=alert(3)> \" ' onfocus=alert(4) autofocus ${alert(5)} &lt;b&gt; \\u003cb> "
    "\u2028\u2029 \u202eRTL\u202c \x00 \ud800 ]]>"
)
SHOWN = HOSTILE.replace("\ud800", "\ufffd")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six articles, one for each case, and one item that is not an article."""
    degraded = batches.article(COMMON, OTHER, COMMON + " eleven twelve thirteen", id="4")
    degraded["readability"] |= {"error": "timed out", "title": "Degraded"}
    path = batches.write(
        tmp_path_factory.mktemp("report") / "batch.json",
        [
            # Scores 1, 1 and 0: the rival is the third text, the margin 1.
            batches.picks_newspaper4k(id="first", url="https://example.org/first"),
            batches.article("a b c", "d e f g", "h i j k l m", id="apart"),
            batches.picks_trafilatura(id="alone"),
            # One shingle of six in common: scores 2 / 7, margin 0.
            batches.article("a b c d e f g h i j", "a b c d e z y x w v", "", id="zoo"),
            # 2 x 6 / (6 + 9) = 0.8 against 1: margin 0.2.
            degraded,
            "no object",
            {"id": "nothing"},
        ],
    )
    return Path(write_report(str(path)).output)


def rows(page: Page, key: str = "index") -> list[str]:
    settled(page)
    return page.locator(f"#list tbody td[data-key={key}]").all_text_contents()


def test_overview_shows_counts_and_charts(browser: Browser, report: Path) -> None:
    with opened(browser, report) as page:
        expect(page.get_by_role("heading", name="Overview")).to_be_visible()
        tiles = page.locator(".tiles strong").all_text_contents()
        # articles, compared, close calls, no consensus, low agreement
        assert tiles == ["6", "4", "1", "1", "2"]
        expect(page.locator("figure")).to_have_count(6)
        # 0 and 3 by priority, 1 by the median, 4 by its score, 6 by the fallback; 2 alone.
        picks = page.locator("#chart-picks .value").all_text_contents()
        assert picks == ["5", "0", "1"]
        page.get_by_text("Numbers of Sizes of the texts").click()
        table = page.locator("#chart-tokens tbody tr").first.locator("td").all_text_contents()
        # Without a token: newspaper4k in 2 and 6, readability too, trafilatura in 3 and 6.
        assert table == ["2", "2", "2"]


def widths(page: Page, key: str) -> list[float]:
    boxes = [shape.bounding_box() for shape in page.locator(f"#chart-{key} .shape").all()]
    return [box["width"] for box in boxes if box]


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_bars_have_the_lengths_of_their_counts(
    browser: Browser, report: Path, size: tuple[int, int]
) -> None:
    with opened(browser, report, size=size) as page:
        longest, other = widths(page, "picks")
        assert longest > 50
        assert longest / other == pytest.approx(5, rel=0.02)
        # newspaper4k is usable in 4 of 6, readability in 3 and once degraded, trafilatura in 4.
        bars = widths(page, "states")
        assert [round(6 * width / (bars[0] + bars[1])) for width in bars] == [4, 2, 3, 1, 2, 4, 2]
        heights = [
            box["height"]
            for shape in page.locator("#chart-tokens .group").first.locator(".shape").all()
            if (box := shape.bounding_box())
        ]
        # Two of each on an axis to 4.
        axis = page.locator("#chart-tokens .columns").bounding_box()
        assert axis
        assert heights == [pytest.approx(axis["height"] / 2, rel=0.02)] * 3


def test_bars_keep_their_colours_in_print(browser: Browser, report: Path) -> None:
    with opened(browser, report) as page:
        page.emulate_media(media="print")
        bar = page.locator("#chart-picks .shape").first
        expect(bar).to_have_css("print-color-adjust", "exact")
        expect(bar).to_have_css("background-color", "rgb(47, 109, 179)")
        expect(page.locator("header nav")).to_be_hidden()
        # The numbers are printed without a click.
        expect(page.locator("#chart-tokens tbody td").first).to_be_visible()


def test_a_tile_leads_to_what_it_counts_in_its_order(browser: Browser, report: Path) -> None:
    with opened(browser, report) as page:
        page.get_by_role("link", name="low agreement").click()
        expect(page.get_by_label("Show")).to_have_value("low")
        expect(page.get_by_label("Order")).to_have_value("low")
        assert rows(page) == ["1", "3"]


def test_orders(browser: Browser, report: Path) -> None:
    with opened(browser, report, "#articles") as page:
        assert rows(page) == ["0", "1", "2", "3", "4", "6"]
        assert rows(page, "margin") == ["+1.0000", "–", "–", "+0.0000", "+0.2000", "–"]  # noqa: RUF001
        order = page.get_by_label("Order")
        order.select_option("close calls first")
        assert rows(page) == ["3", "4", "0", "1", "2", "6"]
        order.select_option("no consensus first")
        assert rows(page) == ["1", "0", "2", "3", "4", "6"]
        order.select_option("low agreement first")
        assert rows(page) == ["1", "3", "0", "4", "2", "6"]
        page.get_by_role("button", name="Reset").click()
        assert rows(page) == ["0", "1", "2", "3", "4", "6"]


def test_sorting_by_columns(browser: Browser, report: Path) -> None:
    with opened(browser, report, "#articles") as page:
        head = page.locator("th[data-key=name]")
        name = head.get_by_role("button")
        name.click()
        # Called by title, address, id; the first one is https://example.org/first.
        assert rows(page) == ["2", "1", "4", "0", "6", "3"]
        expect(head).to_have_attribute("aria-sort", "ascending")
        name.press("Enter")
        assert rows(page) == ["3", "6", "0", "4", "1", "2"]
        expect(head).to_have_attribute("aria-sort", "descending")
        page.get_by_role("button", name="trafilatura").click()
        # 0, 0 (no consensus), 0.8; what was not compared stays last, either way.
        assert rows(page) == ["0", "1", "4", "2", "3", "6"]
        assert head.get_attribute("aria-sort") is None
        page.get_by_role("button", name="trafilatura").click()
        assert rows(page) == ["4", "0", "1", "2", "3", "6"]


def test_filters_and_search(browser: Browser, report: Path) -> None:
    with opened(browser, report, "#articles") as page:
        pick = page.get_by_role("combobox", name="Pick")
        pick.select_option("trafilatura")
        assert rows(page) == ["2"]
        pick.select_option("all")
        page.get_by_label("State of any").select_option("degraded")
        assert rows(page) == ["4"]
        expect(page.locator("#count")).to_have_text("1 of 6 articles")
        page.get_by_role("button", name="Reset").click()
        page.get_by_label("Rule").select_option("median_priority")
        assert rows(page) == ["1"]
        page.get_by_label("Rule").select_option("all")
        search = page.get_by_label("Search")
        for sought, found in [
            ("ZOO", ["3"]),
            ("example.org", ["0"]),
            ("degr", ["4"]),
            ("ten eleven twelve", ["4"]),  # from surplus into consensus
            ("no such thing", []),
        ]:
            search.fill(sought)
            assert rows(page) == found, sought


def test_one_article(browser: Browser, report: Path) -> None:
    with opened(browser, report, "#articles") as page:
        page.get_by_role("link", name="Degraded").click()
        expect(page.get_by_role("heading", level=1, name="Degraded")).to_be_visible()
        assert page.url.endswith("#article-4")
        newspaper4k, readability, trafilatura = page.locator(".candidate").all()
        expect(newspaper4k).to_contain_text("pick")
        assert page.locator(".picked h2").all_text_contents() == ["newspaper4kpickusable"]
        expect(newspaper4k).to_contain_text("10 tokens, score 1.0000")
        expect(trafilatura).to_contain_text("13 tokens, score 0.8000")
        assert trafilatura.locator("mark").all_text_contents() == [COMMON]
        assert trafilatura.locator(".surplus").all_text_contents() == ["eleven twelve thirteen"]
        expect(readability).to_contain_text("degraded, did not take part")
        expect(readability).to_contain_text("Error: timed out")
        expect(readability.locator("mark, .surplus")).to_have_count(0)
        expect(page.locator("#article-reason")).to_have_text(
            "newspaper4k: the best score, more than 0.03 ahead of trafilatura."
        )
        assert found(page) == [
            "Active: newspaper4k, trafilatura.",
            "Shingles: newspaper4k 6, trafilatura 9.",
            "Consensus: 6 shingles occur in at least two candidates; "
            "score = 2 x shared / (consensus + shingles). "
            "Best score: newspaper4k 1.0000; no other within 0.03 of it.",
            "The tie: newspaper4k. Picked: newspaper4k, ahead by more than 0.03 (rule 6.2). "
            "The rule is score; margin +0.2000, agreement 1.0000.",
        ]
        sums = page.locator(".sums tbody tr")
        assert sums.nth(0).locator("td").all_text_contents() == [
            *("10", "6", "6", "6 / 6 = 1.0000", "6 / 6 = 1.0000"),
            "2 × 6 / (6 + 6) = 1.0000",  # noqa: RUF001
        ]
        assert sums.nth(1).locator("td").all_text_contents() == ["6", "2", *"––––"]  # noqa: RUF001
        assert sums.nth(2).locator("td").all_text_contents() == [
            *("13", "9", "6", "6 / 6 = 1.0000", "6 / 9 = 0.6667"),
            "2 × 6 / (6 + 9) = 0.8000",  # noqa: RUF001
        ]
        # The sums are folded, below the reason.
        expect(sums.first).to_be_hidden()


def found(page: Page) -> list[str]:
    """Return what each step found in the article."""
    return page.locator(".found").all_text_contents()


@pytest.mark.parametrize(
    ("index", "shingles", "pick"),
    [
        (
            1,
            "Shingles: newspaper4k 1, readability 1, trafilatura 2.",
            "Chosen from: newspaper4k, readability, trafilatura. Picked: newspaper4k, by priority "
            "among those of the median number of shingles (rule 7.2). "
            "The rule is median_priority; margin –, agreement 0.0000.",  # noqa: RUF001
        ),
        (
            2,
            "Shingles: trafilatura 6.",
            "Chosen from: trafilatura. Picked: trafilatura, the only active candidate (rule 5.2). "
            "The rule is single; margin –, agreement –.",  # noqa: RUF001
        ),
        (
            6,
            "No shingles.",
            "Picked: newspaper4k, the fallback (rule 5.1). "
            "The rule is fallback; margin –, agreement –.",  # noqa: RUF001
        ),
    ],
)
def test_the_steps_without_a_consensus(
    browser: Browser, report: Path, index: int, shingles: str, pick: str
) -> None:
    with opened(browser, report, f"#article-{index}") as page:
        steps = found(page)
        assert (steps[1], steps[3]) == (shingles, pick)


def test_the_tie_pool_is_shown(browser: Browser, report: Path) -> None:
    with opened(browser, report, "#article-0") as page:
        states = page.locator(".candidate .state").all_text_contents()
        assert states == ["usable, in the tie pool", "usable, in the tie pool", "usable"]


@pytest.mark.parametrize(
    ("hash", "heading"),
    [
        ("#article-3", "zoo"),
        ("#article-0", "https://example.org/first"),
        ("#article-5", "Not in this page"),
        ("#article-99999999999999999999", "Not in this page"),
        ("#articles", "Articles"),
        ("#articles-constructor", "Overview"),
        ("#<img src=x onerror=alert(1)>", "Overview"),
    ],
)
def test_a_link_leads_to_its_view(browser: Browser, report: Path, hash: str, heading: str) -> None:
    with opened(browser, report, hash) as page:
        expect(page.locator("h1:visible")).to_have_text(heading)


def test_the_keyboard_is_enough(browser: Browser, report: Path) -> None:
    with opened(browser, report, "#articles") as page:
        page.get_by_label("Search").focus()
        page.keyboard.type("a")  # all but "nothing" have an "a" in a text or a name
        page.get_by_label("Search").fill("")
        page.get_by_role("link", name="apart").focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(page.locator("h1:visible")).to_have_text("alone")
        page.keyboard.press("ArrowRight")
        expect(page.locator("h1:visible")).to_have_text("zoo")
        page.keyboard.press("ArrowLeft")
        expect(page.locator("h1:visible")).to_have_text("alone")
        page.keyboard.press("Escape")
        expect(page.locator("h1:visible")).to_have_text("Articles")
        expect(page.get_by_role("link", name="alone")).to_be_focused()
        page.go_back()
        expect(page.locator("h1:visible")).to_have_text("alone")


def test_next_follows_the_order_of_the_list(browser: Browser, report: Path) -> None:
    with opened(browser, report, "#articles?order=close") as page:
        page.locator("#list tbody a").first.click()
        expect(page.locator("h1:visible")).to_have_text("zoo")
        page.get_by_role("link", name="Next").click()
        expect(page.locator("h1:visible")).to_have_text("Degraded")


def test_dark_mode(browser: Browser, report: Path) -> None:
    grounds: dict[str, list[float]] = {}
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme in schemes:
        with opened(browser, report, scheme=scheme) as page:
            colours = page.evaluate(
                "() => { const style = getComputedStyle(document.body);"
                " return [style.backgroundColor, style.color] }"
            )
            grounds[scheme] = [
                sum(map(int, colour[4:-1].split(", "))) / 3 / 255 for colour in colours
            ]
    assert grounds["light"][0] > 0.9 > 0.2 > grounds["light"][1]
    assert grounds["dark"][0] < 0.2 < 0.8 < grounds["dark"][1]


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_no_view_scrolls_sideways(browser: Browser, report: Path, size: tuple[int, int]) -> None:
    for view in ("", "#articles", "#article-0", "#article-4"):
        with opened(browser, report, view, size=size) as page:
            width = page.evaluate("document.documentElement.scrollWidth")
            assert width <= size[0], view


def test_ten_thousand_articles_are_pages_of_fifty(browser: Browser, tmp_path: Path) -> None:
    articles = [batches.article("a b", "a b", "", id=f"number {n}") for n in range(10_000)]
    report = write_report(str(batches.write(tmp_path / "many.json", articles)))
    assert (report.listed, report.with_texts) == (10_000, 10_000)
    with opened(browser, Path(report.output), "#articles") as page:
        assert rows(page) == [str(n) for n in range(50)]
        expect(page.locator("#page")).to_have_text("Page 1 of 200")
        page.get_by_role("button", name="Next").click()
        assert rows(page) == [str(n) for n in range(50, 100)]
        page.locator("th[data-key=index] button").click()
        page.locator("th[data-key=index] button").click()
        assert rows(page)[0] == "9999"
        page.get_by_label("Search").fill("number 4321")
        assert rows(page) == ["4321"]
        page.locator("#list tbody a").click()
        expect(page.locator("h1:visible")).to_have_text("number 4321")


def test_names_are_sorted_as_in_a_dictionary(browser: Browser, tmp_path: Path) -> None:
    names = ["Zoo", "Último", "“Madeira”", "mañana", "Ume", "¿qué?", "***"]
    path = batches.write(tmp_path / "b.json", [batches.picks_newspaper4k(id=n) for n in names])
    with opened(browser, Path(write_report(str(path)).output), "#articles") as page:
        page.get_by_role("button", name="Article").click()
        order = ["***", "“Madeira”", "mañana", "¿qué?", "Último", "Ume", "Zoo"]
        assert rows(page, "name") == order


def test_the_list_shows_the_number_of_articles_left_out(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("selection.report.write.ROW_LIMIT", 1_000)
    path = batches.write(tmp_path / "b.json", [batches.picks_newspaper4k(id="x" * 90)] * 20)
    report = write_report(str(path))
    left = 20 - report.listed
    assert 0 < left < 20
    with opened(browser, Path(report.output), "#articles") as page:
        expect(page.locator("#count")).to_have_text(
            f"{report.listed} articles; {left} more of the batch are left out of the list"
        )


def test_back_leads_to_where_the_list_was_left(browser: Browser, tmp_path: Path) -> None:
    path = batches.write(tmp_path / "b.json", [batches.picks_newspaper4k() for _ in range(120)])
    with opened(browser, Path(write_report(str(path)).output)) as page:
        page.locator(".tiles a[href='#articles?kind=compared']").click()
        page.get_by_role("button", name="#").click()
        page.get_by_role("button", name="#").click()
        page.get_by_role("button", name="Next").click()
        # In descending order the second page begins with 119 - 50.
        page.locator("#list a[href^='#article-60?']").click()
        expect(page.locator("#view-article")).to_be_visible()
        page.go_back()
        expect(page.locator("#list a[href^='#article-60?']")).to_be_focused()
        assert rows(page)[0] == "69"


def test_hostile_text_in_every_field_is_shown_as_it_is(browser: Browser, tmp_path: Path) -> None:
    hostile = batches.article(
        *(f"{COMMON} {HOSTILE} {name}" for name in ("n", "r", "t")), id=HOSTILE, url=HOSTILE
    )
    for name in ("newspaper4k", "readability", "trafilatura"):
        hostile[name] |= {"error": HOSTILE, "title": HOSTILE}
    script = batches.picks_newspaper4k(url="javascript:alert(1)//https://x")
    cut = batches.picks_newspaper4k(url="https://example.org/" + "x" * 400)
    path = tmp_path / "<img src=x onerror=alert(1)>&quot;.json"
    # The escape for a surrogate without a partner is legal JSON, its bytes would not be.
    path.write_text(json.dumps({"articles": [hostile, script, cut]}))
    report = write_report(str(path))
    with opened(browser, Path(report.output)) as page:
        expect(page.locator(".file bdi")).to_have_text(path.name)
        assert page.title() == f"{path.name} – selection report"  # noqa: RUF001
        page.get_by_role("link", name="Articles", exact=True).click()
        link = page.locator("#list td[data-key=name] a").first
        assert link.text_content() == SHOWN
        link.click()
        expect(page.locator(".candidate")).to_have_count(3)
        assert page.locator("h1:visible").text_content() == SHOWN
        assert page.locator("#article-place").text_content() == "Article 0"
        assert page.locator("#article-address").text_content() == SHOWN
        for candidate, letter in zip(page.locator(".candidate").all(), "nrt"):
            assert candidate.locator(".text").text_content() == f"{COMMON} {SHOWN} {letter}"
            assert candidate.locator(".error").text_content() == f"Error: {SHOWN}"
        page.get_by_role("link", name="Next").click()
        expect(page.locator("h1:visible")).to_have_text("javascript:alert(1)//https://x")
        # No address that is not the web's becomes a link.
        expect(page.locator("#article-address")).to_have_text("javascript:alert(1)//https://x")
        expect(page.locator("#article-address a")).to_have_count(0)
        # Nor one that is too long and was cut: it would lead elsewhere.
        page.get_by_role("link", name="Next").click()
        expect(page.locator("#article-address")).to_contain_text("https://example.org/xxx")
        expect(page.locator("#article-address a")).to_have_count(0)


def test_surplus_is_highlighted_without_the_white_space_around_it(
    browser: Browser, tmp_path: Path
) -> None:
    # Much white space within: to look for its end from each of its characters took 14 s.
    surplus = "before" + " " * 99_000 + "after"
    long = f"{COMMON}\n {surplus} \n{COMMON}"
    path = batches.write(tmp_path / "b.json", [batches.article(long, COMMON, COMMON)])
    with opened(browser, Path(write_report(str(path)).output), "#article-0") as page:
        text = page.locator(".candidate .text").first
        assert text.text_content() == long
        assert text.locator(".surplus").all_text_contents() == [surplus]


def test_an_article_without_texts_shows_their_errors_at_any_limit(
    browser: Browser, tmp_path: Path
) -> None:
    failed = batches.article("", "", "!?")
    for name, error in (("newspaper4k", "HTTP 403"), ("readability", "empty"), ("trafilatura", 7)):
        failed[name]["error"] = error
    path = batches.write(tmp_path / "b.json", [batches.picks_newspaper4k(), failed])
    for limit, text in ((0, []), (1_000, ["!?"])):
        report = write_report(str(path), text_limit=limit)
        with opened(browser, Path(report.output), "#articles") as page:
            page.get_by_label("Search").fill("http 403")
            assert rows(page) == ["1"]
            page.locator("#list tbody a").click()
            expect(page.locator(".candidate .error")).to_have_text(
                ["Error: HTTP 403", "Error: empty", "Error: an error that is not a string"]
            )
            assert page.locator(".candidate .text").all_text_contents() == text


def test_the_statistics_are_shown_without_javascript(browser: Browser, report: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    expect(page.locator("#chart-picks .shape").first).to_be_visible()
    expect(page.get_by_text("need this page's own script")).to_be_visible()
    context.close()


def test_the_policy_stops_what_is_not_the_pages_own(browser: Browser, report: Path) -> None:
    """A script inserted into the markup does not run."""
    path = report.with_name("broken.html")
    path.write_text(report.read_text().replace("<main", "<script>window.ran = 1</script><main"))
    context = browser.new_context()
    page = context.new_page()
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.goto(path.as_uri())
    assert page.evaluate("window.ran === undefined")
    assert any("Content Security Policy" in message for message in messages)
    context.close()
