"""Statistics, highlighting and limits of the report; test_report_page has its page."""

from __future__ import annotations

import errno
import io
import json
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selection import select_article
from selection.errors import InputForbiddenError, OutputForbiddenError, WriteError
from selection.model import Extractor, Rule
from selection.report.article_stats import ArticleStats, statistics_of
from selection.report.batch_stats import BatchStats
from selection.report.charts import axis, chart
from selection.report.highlight import segments_of
from selection.report.offsets import offset_map
from selection.report.spool import RankedSpool
from selection.report.write import read_statistics, write_report
from selection.stream.parts import Article
from selection.stream.scan import parsed_parts
from selection.text.markup import visible_text
from tests.support import batches
from tests.support.batches import COMMON, OTHER
from tests.support.command import run

ROOT = Path(__file__).parent.parent


def articles_of(*articles: Any) -> list[Article]:
    document = json.dumps({"articles": articles}).encode()
    return [
        part for part in parsed_parts(io.BytesIO(document), "batch") if isinstance(part, Article)
    ]


def stats(article: Any) -> ArticleStats:
    (found,) = articles_of(article)
    return statistics_of(found)


# ----------------------------------------------------------------------------- article statistics


def test_the_statistics_of_an_article_with_a_clear_winner() -> None:
    # COMMON has 10 tokens, 6 shingles; three more tokens make 9 shingles of which 6 are
    # shared: 2 x 6 / (6 + 9) = 0.8. The third has 2 shingles and nothing in common.
    found = stats(batches.article(COMMON, OTHER, COMMON + " a b c", id=7, url="u"))
    assert (found.index, found.id, found.url) == (0, "7", "u")
    assert found.decision.extractor is Extractor.NEWSPAPER4K
    assert found.decision.rule is Rule.SCORE
    assert found.agreement == 1.0
    assert found.margin == pytest.approx(0.2)
    # newspaper4k and readability, newspaper4k and trafilatura, readability and trafilatura
    assert found.pairs == (0.0, 2 * 6 / (6 + 9), 0.0)


def test_pairs_of_three_that_share_differently() -> None:
    # Shingles: n has abcde, bcdef, cdefg; r has abcde, bcdef; t has xabcd, abcde.
    n, r, t = "a b c d e f g", "a b c d e f", "x a b c d e"
    # In common have n and r two, n and t one (abcde), r and t the same one.
    assert stats(batches.article(n, r, t)).pairs == (2 * 2 / 5, 2 * 1 / 5, 2 * 1 / 4)


def test_a_degraded_candidate_is_in_no_pair() -> None:
    article = batches.article(COMMON, COMMON, COMMON)
    article["readability"]["error"] = "broken"
    assert stats(article).pairs == (None, 1.0, None)


def test_margin_is_against_another_text() -> None:
    # The two equal texts are one call, whichever of them is named: the rival is the third.
    assert stats(batches.article(COMMON, COMMON, OTHER)).margin == 1.0
    assert stats(batches.article(COMMON, COMMON, "")).margin is None
    # One token more: 7 shingles, 6 shared, 12 / 13. Three texts, consensus 6 from the two.
    longer = COMMON + " eleven"
    found = stats(batches.article(longer, COMMON, ""))
    assert found.decision.extractor is Extractor.READABILITY
    assert found.margin == pytest.approx(1 - 12 / 13)


def test_margin_is_negative_where_a_tie_rule_picks_the_lesser_score() -> None:
    # 100 tokens are 96 shingles; without the last, 95 of them. Consensus is 96 by two equal
    # texts; 2 x 95 / (96 + 95) is within 0.03 of 1, and 95 shingles are the fewest.
    words = [f"w{n}" for n in range(100)]
    whole, shorter = " ".join(words), " ".join(words[:-1])
    found = stats(batches.article(whole, whole, shorter))
    assert found.decision.extractor is Extractor.TRAFILATURA
    assert found.margin == pytest.approx(190 / 191 - 1)


def test_a_difference_of_three_hundredths_is_a_close_call() -> None:
    # 97 shingles, all of them in the other text of 103: 2 x 97 / (97 + 97) = 1 and
    # 2 x 97 / (97 + 103) = 0.97, as floats a little more than 0.03 apart.
    words = [f"w{n}" for n in range(107)]
    found = stats(batches.article(" ".join(words[:101]), " ".join(words), ""))
    assert found.decision.rule is Rule.TIE_FEWEST_SHINGLES
    assert found.margin == 0.03
    statistics = BatchStats()
    statistics.add(found)
    assert statistics.close_calls == 1


def test_nothing_compared_has_no_agreement_and_no_consensus_has_zero() -> None:
    single, fallback = stats(batches.picks_trafilatura()), stats({})
    assert (single.agreement, single.margin) == (None, None)
    assert (fallback.agreement, fallback.pairs) == (None, (None, None, None))
    apart = stats(batches.article("a b c", "d e f", "g h i"))
    assert (apart.agreement, apart.margin, apart.pairs) == (0.0, None, (0.0, 0.0, 0.0))


@pytest.mark.parametrize(
    ("article", "name"),
    [
        ({"newspaper4k": {"title": " "}, "trafilatura": {"title": " T "}, "url": "u"}, "T"),
        ({"readability": {"title": "[no-title]"}, "url": "u", "id": "i"}, "u"),
        ({"readability": {"title": ["no", {"title": "x"}]}, "id": 5}, "5"),
        ({"url": {"url": "x"}}, "article 0"),
        # A space of no width, a line separator, a tag: a link of that could not be seen.
        ({"newspaper4k": {"title": "\u200b"}, "url": "\u2028", "id": "\U000e0041"}, "article 0"),
        ({"newspaper4k": None, "trafilatura": {"meta": {"title": "x"}}}, "article 0"),
    ],
)
def test_an_article_is_called_by_title_address_id_or_place(article: Any, name: str) -> None:
    assert stats(article).name == name


def test_names_beside_what_json_cannot_hold() -> None:
    depth = 5_000
    raw = (
        b'{"articles": [{"n": %s, "x": %s%s, "url": "\\ud800", "newspaper4k": {"title": "t"}}]}'
        % (
            b"9" * 5_000,
            b"[" * depth,
            b"]" * depth,
        )
    )
    (article,) = [p for p in parsed_parts(io.BytesIO(raw), "batch") if isinstance(p, Article)]
    found = statistics_of(article)
    assert (found.url, found.title) == ("\ufffd", "t")


def test_article_statistics_as_json_are_flat() -> None:
    row = stats(batches.article(COMMON, OTHER, COMMON + " a b c", id="x")).as_dict()
    assert row["pick"] == "newspaper4k"
    assert row["rule"] == "score"
    assert row["pool"] == ["newspaper4k"]
    assert row["consensus"] == 6
    assert row["trafilatura_shingles"] == 9
    assert row["trafilatura_score"] == 0.8
    assert row["readability_state"] == "usable"
    assert row["newspaper4k_trafilatura"] == 0.8
    assert [name for name, value in row.items() if isinstance(value, (dict, tuple))] == []


# -------------------------------------------------------------------------- statistics


def test_batch_statistics_count_articles() -> None:
    statistics = BatchStats()
    for article in (
        batches.article(COMMON, OTHER, COMMON + " a b c"),  # scores 1, 0, 0.8
        batches.article("a b c", "d e f", "g h i"),  # no consensus
        batches.article("a b c d e f g h i j", "a b c d e z y x w v", ""),  # 2 / 7 each
        batches.picks_trafilatura(),
        {},
    ):
        statistics.add(stats(article))
    assert (statistics.articles, statistics.compared) == (5, 3)
    assert (statistics.no_consensus, statistics.low_agreement, statistics.close_calls) == (1, 2, 1)
    charts = {data.key: data for data in statistics.chart_data()}
    assert charts["picks"].series["trafilatura"] == [None, None, 1]
    assert charts["rules"].series["articles"] == [1, 1, 1, 0, 1, 0, 1, 0, 0]
    assert charts["states"].series["unavailable"] == [2, 2, 2]
    assert charts["pairs"].series == {
        "nothing": [2, 1, 2],
        "under half": [1, 0, 0],  # 2 x 1 / 12
        "half or more": [0, 1, 0],
        "0.95 or more": [0, 0, 0],
    }
    # 1, 0 and 2 / 7
    assert charts["scores"].series["newspaper4k"] == [1, 0, 1, 0, 0, 0, 0, 0, 0, 1]
    # 0; 10, 3, 10 tokens; none of 50 or more
    assert charts["tokens"].series["newspaper4k"] == [2, 3, 0, 0, 0, 0, 0, 0]


# ----------------------------------------------------------------------- highlighting


def test_segments_of_consensus_and_surplus() -> None:
    one, other = segments_of(["Before. " + COMMON + ", after * that.", COMMON.upper()])
    assert one == ["Before. ", COMMON + ",", " after * that."]
    assert other == ["", COMMON.upper(), ""]


def test_segments_are_those_of_the_raw_text() -> None:
    marked = "<b>one</b> [two three](http://x.example/y) four &amp; f&#105;ve!"
    one, other = segments_of([marked + " six", "zero one two three four five"])
    assert one == ["<b>", marked[3:], " six"]
    assert other == ["zero ", "one two three four five", ""]


def test_a_word_is_consensus_if_all_its_tokens_are() -> None:
    one, _ = segments_of(["a b c d e-x f", "a b c d e"])
    assert one == ["", "a b c d", " e-x f"]


def test_short_texts_are_one_shingle() -> None:
    assert segments_of(["a b", "a b", "a b c"]) == [["", "a b", ""], ["", "a b", ""], ["a b c"]]


MARKUP_PARTS = """
< > & amp; #65; #x41; &eacute &lt;b&gt; ![ [ ]( ] ) a b é ! &#000000065; &#99999999999;
"""
MARKUP = st.lists(st.sampled_from([*MARKUP_PARTS.split(), " ", "\n"]), max_size=20).map("".join)


@given(MARKUP)
def test_the_offset_map_shows_what_is_compared(text: str) -> None:
    mapped = offset_map(text)
    assert mapped.visible == visible_text(text)
    assert len(mapped.starts) == len(mapped.ends) == len(mapped.visible)
    assert sorted(mapped.starts) == list(mapped.starts)
    assert all(start < end for start, end in zip(mapped.starts, mapped.ends))


@given(MARKUP, MARKUP)
def test_segments_joined_are_the_text(one: str, other: str) -> None:
    texts = [one + " a b a b a", "a b a b a " + other]
    assert ["".join(found) for found in segments_of(texts)] == texts


def test_marked_tokens_are_the_shingles_that_were_counted() -> None:
    # With words of one token, a text whose shingles are all shared is all consensus.
    text = "one two three four five six seven"
    article = batches.article(text, "zero " + text, "")
    shared = select_article(article).candidates[0].shared
    assert shared == 3
    assert segments_of([text, "zero " + text]) == [["", text, ""], ["zero ", text, ""]]


# ------------------------------------------------------------------------- ranked spool


def test_a_spool_keeps_the_highest_ranks_in_the_order_of_the_batch() -> None:
    with RankedSpool(10) as spool:
        for index, rank in enumerate([0.1, 0.9, 0.5, 0.5, 0.2]):
            if spool.wants(rank, index):
                spool.put(rank, index, b"%d---" % index)
        # Two of four bytes fit: the best, and of the two equal ones the first.
        assert list(spool.pieces()) == [(1, b"1---"), (2, b"2---")]
        assert (len(spool), spool.left_out) == (2, 3)


def test_a_spool_refuses_a_piece_larger_than_its_limit_and_keeps_the_rest() -> None:
    with RankedSpool(5) as spool:
        spool.put(1.0, 0, b"123456")
        assert spool.wants(0.5, 1)
        spool.put(0.5, 1, b"12345")
        assert [index for index, _ in spool.pieces()] == [1]
        assert spool.left_out == 1
    with RankedSpool(0) as nothing:
        assert not nothing.wants(1.0, 0)
        assert nothing.left_out == 1


def test_a_spool_of_rising_ranks_keeps_its_file_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files: list[Any] = []

    def named_file() -> Any:
        files.append(open(tmp_path / str(len(files)), "w+b", buffering=0))  # noqa: SIM115
        return files[-1]

    monkeypatch.setattr("tempfile.TemporaryFile", named_file)
    with RankedSpool(10) as spool:
        for index in range(100):
            assert spool.wants(index / 100, index)
            spool.put(index / 100, index, b"%04d" % index)
        assert list(spool.pieces()) == [(98, b"0098"), (99, b"0099")]
        assert spool.left_out == 98
    # Twice the limit and the piece that exceeds it.
    assert max(path.stat().st_size for path in tmp_path.iterdir()) == 24
    assert all(file.closed for file in files)


class FullDisk(io.BytesIO):
    """A file behind a buffer: write() succeeds, and flushing the buffer fails."""

    def seek(self, offset: int, whence: int = 0, /) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_spool_without_disk_space_raises_a_write_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.TemporaryFile", FullDisk)
    with RankedSpool(10) as spool:
        spool.put(1.0, 0, b"1234")
        with pytest.raises(WriteError, match="a temporary file: writing failed: No space left"):
            list(spool.pieces())


# ------------------------------------------------------------------------------ page


def test_the_page_has_texts_up_to_the_limit_and_reports_the_rest(tmp_path: Path) -> None:
    apart = batches.article("a b c", "d e f", "g h i")
    articles = [batches.picks_newspaper4k(), apart, batches.picks_newspaper4k(), {}]
    path = batches.write(tmp_path / "b.json", articles)
    report = write_report(str(path), text_limit=150)
    page = Path(report.output).read_text()
    # The texts of article 1, whose extractors agree least, are some 90 bytes as JSON, those
    # of 0 and 2 some 200; article 3 has none.
    assert re.findall(r'id="text-(\d+)"', page) == ["1"]
    assert "The texts of\n2 more are left out (the limit is 150 bytes)" in page
    assert (report.articles, report.listed, report.with_texts) == (4, 4, 1)
    assert report.bytes == len(page.encode())


def test_the_list_is_bounded_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("selection.report.write.ROW_LIMIT", 1_000)
    path = batches.write(tmp_path / "b.json", [batches.picks_newspaper4k(id="x" * 90)] * 20)
    report = write_report(str(path), text_limit=0)
    page = Path(report.output).read_text()
    rows = re.findall(r'id="rows">(.*?)</script>', page, re.DOTALL)[0]
    assert len(rows) <= 1_000 + 2 * 20
    assert [row[0] for row in json.loads(rows)] == list(range(report.listed))
    assert 0 < report.listed < 20
    assert f"The charts count\n{20 - report.listed} more." in page


def test_articles_without_any_text_are_the_last_to_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("selection.report.write.ROW_LIMIT", 1_000)
    articles = [batches.picks_newspaper4k(id="x" * 90)] * 10 + [{"id": "nothing"}]
    report = write_report(str(batches.write(tmp_path / "b.json", articles)))
    rows = re.findall(r'id="rows">(.*?)</script>', Path(report.output).read_text(), re.DOTALL)[0]
    assert json.loads(rows)[-1][:2] == [10, "nothing"]
    assert report.listed < 11


@pytest.mark.parametrize(
    ("largest", "lines"),
    [
        (0, (0, 1)),
        (1, (0, 1)),
        (4, (0, 1, 2, 3, 4)),
        (5, (0, 2, 4, 6)),
        (9, (0, 5, 10)),
        (97, (0, 50, 100)),
        (1_448, (0, 500, 1_000, 1_500)),
    ],
)
def test_an_axis_has_at_most_four_steps_of_whole_numbers(
    largest: int, lines: tuple[int, ...]
) -> None:
    assert axis(largest) == lines


def test_bars_are_sized_by_the_longest_bar_or_by_the_axis() -> None:
    statistics = BatchStats()
    for article in (
        *[batches.article(COMMON, OTHER, COMMON + " a b c")] * 3,  # scores 1, 0, 0.8
        batches.picks_trafilatura(),
        {},
    ):
        statistics.add(stats(article))
    charts = {data.key: chart(data) for data in statistics.chart_data()}
    picks = [(bar.label, *[(p.count, p.size) for p in bar.parts]) for bar in charts["picks"].bars]
    assert picks == [
        ("newspaper4k", (4, 100.0)),
        ("readability", (0, 0.0)),
        ("trafilatura", (1, 25.0)),
    ]
    # newspaper4k and trafilatura are the pair with 12 / 15 in common; each pair was compared
    # three times. Of the parts only the third has a length.
    pair = charts["pairs"].bars[1]
    assert pair.label == "newspaper4k, trafilatura"
    assert [part.size for part in pair.parts] == [0.0, 0.0, 100.0, 0.0]
    # 3 candidates of each extractor on an axis to 3.
    assert [(tick.count, tick.size) for tick in charts["scores"].ticks] == [
        (0, 0.0),
        (1, 33.33),
        (2, 66.67),
        (3, 100.0),
    ]
    assert charts["picks"].ticks == charts["pairs"].ticks == ()
    assert [charts[key].is_stacked for key in ("picks", "rules", "states", "pairs", "scores")] == [
        False,
        False,
        True,
        True,
        False,
    ]


def test_the_page_has_each_count_as_text_beside_its_bar(tmp_path: Path) -> None:
    path = batches.write(tmp_path / "b.json", [batches.picks_newspaper4k()] * 1_234 + [{}])
    page = Path(write_report(str(path)).output).read_text()
    (picks,) = re.findall(r'<figure id="chart-picks".*?</figure>', page, re.DOTALL)
    assert re.findall(r"<dt>(\w+)</dt>", picks) == ["newspaper4k", "readability", "trafilatura"]
    assert re.findall(r'class="value">([\d,]+)<', picks) == ["1,235", "0", "0"]
    # A count of 0 has no bar.
    assert re.findall(r'<i class="shape ([\w-]+)"', picks) == ["picks-0-0"]
    assert ".picks-0-0 { --size: 100.0%; }" in page


@pytest.mark.parametrize("imported", ["selection", "selection.cli.commands"])
def test_only_a_report_imports_the_template_engine(imported: str, batch: Path) -> None:
    code = f"""
import sys
import {imported}
if hasattr({imported}, "selection"):
    {imported}.selection(["run", {str(batch)!r}], standalone_mode=False)
assert not {{"jinja2", "markupsafe", "pygal"}} & set(sys.modules)
import selection.report.write
assert "jinja2" in sys.modules
assert "pygal" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr


def test_long_texts_are_cut_and_long_names_too(tmp_path: Path) -> None:
    article = batches.article("w " * 60_000, "", "", id="i" * 300)
    path = batches.write(tmp_path / "b.json", [article])
    page = Path(write_report(str(path)).output).read_text()
    (text,) = re.findall(r'id="text-0">(.*?)</script>', page)
    assert json.loads(text)["left"] == [20_000, 0, 0]
    assert len(json.loads(text)["texts"][0][0]) == 100_000
    assert "i" * 199 + "…" in page
    assert "i" * 200 not in page


def test_what_is_not_shown_of_a_text_is_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("selection.report.page.LONGEST_TEXT", len(COMMON))
    path = batches.write(
        tmp_path / "b.json", [batches.article(COMMON + " " + OTHER, "x " + COMMON, OTHER)]
    )
    page = Path(write_report(str(path)).output).read_text()
    (text,) = re.findall(r'id="text-0">(.*?)</script>', page)
    # 48 characters are shown: the ten words of COMMON, and "x" with nine and a half of them.
    # The third text is shared as a whole, by what the first does not show.
    assert len(COMMON) == 48
    assert json.loads(text) == {
        "texts": [
            ["", "one two three four five six seven eight nine", " ten"],
            ["x ", "one two three four five six seven eight nine", " t"],
            [OTHER],
        ],
        "left": [len(OTHER) + 1, 2, 0],
    }


def test_texts_without_a_row_in_the_list_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("selection.report.write.ROW_LIMIT", 1_000)
    path = batches.write(tmp_path / "b.json", [batches.picks_newspaper4k(id="x" * 90)] * 20)
    report = write_report(str(path))
    page = Path(report.output).read_text()
    rows = re.findall(r'id="rows">(.*?)</script>', page, re.DOTALL)[0]
    assert 0 < report.listed < 20
    assert re.findall(r'id="text-(\d+)"', page) == [str(row[0]) for row in json.loads(rows)]
    assert report.with_texts == report.listed
    assert f"The texts of\n{20 - report.listed} more are left out" in page


def test_texts_of_rows_that_went_later_go_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("selection.report.write.ROW_LIMIT", 1_000)
    apart = batches.article("a b c", "d e f", "g h i", id="y" * 90)
    articles = [batches.picks_newspaper4k(id="x" * 90)] * 3 + [apart] * 20
    report = write_report(str(batches.write(tmp_path / "b.json", articles)))
    page = Path(report.output).read_text()
    assert re.findall(r'id="text-(\d+)"', page) == [str(3 + n) for n in range(report.listed)]


def test_the_policy_allows_the_pages_own_style_and_scripts_alone(tmp_path: Path) -> None:
    path = batches.write(tmp_path / "b.json", [])
    page = Path(write_report(str(path)).output).read_text()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert re.fullmatch(
        r"default-src 'none'; style-src 'sha256-[\w+/]{43}='; script-src( 'sha256-[\w+/]{43}=')+; "
        r"img-src data:; base-uri 'none'; form-action 'none'; "
        r"require-trusted-types-for 'script'",
        unescape(policy),
    )
    markup = re.sub(r"<(script|style)\b[^>]*>.*?</\1>", "", page, flags=re.DOTALL)
    assert not re.search(r"<[^>]*\s(on\w+|style|src)=", markup)
    assert "<svg" not in markup


def test_colours_are_readable() -> None:
    css = (ROOT / "selection" / "report" / "template" / "page.css").read_text()
    light, dark = (
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))
        for block in re.findall(r":root \{(.*?)\}", css, re.DOTALL)
    )
    assert light.keys() == dark.keys()
    for colours in (light, dark):
        for text in ("ink", "quiet", "link"):
            for ground in ("ground", "paper"):
                assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
        for ground in ("consensus", "surplus"):
            assert contrast(colours["ink"], colours[ground]) >= 4.5, ground
        assert contrast(colours["paper"], colours["link"]) >= 4.5
        for shape in ("first", "second", "third", "focus"):
            assert contrast(colours[shape], colours["paper"]) >= 3, shape


def contrast(one: str, other: str) -> float:
    """WCAG's contrast of two colours, 1 to 21."""
    lights = sorted([luminance(one), luminance(other)])
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


# --------------------------------------------------------------------------- command


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    return batches.write(
        tmp_path / "batch.json",
        [batches.picks_newspaper4k(id="a"), "x", batches.picks_trafilatura()],
    )


def test_report_writes_beside_the_batch_and_prints_its_path(batch: Path) -> None:
    done = run("report", batch)
    page = batch.with_name("batch_report.html")
    assert (done.returncode, done.stdout) == (0, f"{page}\n")
    assert "2 articles, 2 listed, 2 with their texts" in done.stderr
    assert page.read_text().startswith("<!doctype html>")


def test_the_name_is_the_files_whatever_the_locale(batch: Path) -> None:
    named = batch.rename(batch.with_name("año.json"))
    done = run("report", named, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert done.returncode == 0, done.stderr
    page = batch.with_name("año_report.html").read_text("utf-8")
    assert '<p class="file"><bdi>año.json</bdi>' in page


def test_a_report_stays_within_the_allowed_folders(tmp_path: Path) -> None:
    for name in ("in", "out"):
        (tmp_path / name).mkdir()
        batches.write(tmp_path / name / "batch.json", [batches.picks_newspaper4k()])
    roots = [str(tmp_path / "in")]
    with pytest.raises(InputForbiddenError):
        write_report(str(tmp_path / "out/batch.json"), str(tmp_path / "in/x.html"), roots=roots)
    with pytest.raises(OutputForbiddenError):
        write_report(str(tmp_path / "in/batch.json"), str(tmp_path / "out/x.html"), roots=roots)
    write_report(str(tmp_path / "in/batch.json"), roots=roots)
    assert sorted(found.name for found in tmp_path.rglob("*.html")) == ["batch_report.html"]


def test_a_selected_batch_has_the_same_report(batch: Path, tmp_path: Path) -> None:
    run("run", batch, "-o", tmp_path / "picked.json")
    once, again = (
        [{**found.as_dict(), "bytes": 0} for found in read_statistics(str(path))]
        for path in (batch, tmp_path / "picked.json")
    )
    assert once == again


def test_report_json_prints_one_object_an_article_and_writes_nothing(batch: Path) -> None:
    done = run("report", batch, "--json")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert rows == [found.as_dict() for found in read_statistics(str(batch))]
    assert [(row["index"], row["pick"]) for row in rows] == [(0, "newspaper4k"), (2, "trafilatura")]
    assert list(batch.parent.iterdir()) == [batch]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["batch.json", "-o", "batch.json"], 73),
        (["batch.json", "-o", "missing/page.html"], 73),
        (["batch.json", "-o", "link.html"], 73),
        (["missing.json"], 66),
        (["list.json"], 65),
        (["batch.json", "--text-limit", "5X"], 2),
        (["batch.json", "--text-limit", "-1"], 2),
        (["batch.json", "--json", "-o", "page.html"], 2),
        (["batch.json", "--json", "--text-limit", "1"], 2),
    ],
)
def test_report_that_fails_leaves_all_as_it_was(
    batch: Path, arguments: list[str], code: int
) -> None:
    (batch.parent / "list.json").write_text("[]")
    (batch.parent / "link.html").symlink_to(batch)
    before = {path: path.read_bytes() for path in batch.parent.iterdir()}
    done = run("report", *arguments, cwd=batch.parent)
    assert done.returncode == code
    assert done.stderr
    assert "Traceback" not in done.stderr
    assert {path: path.read_bytes() for path in batch.parent.iterdir()} == before


def test_the_documented_example_reads_the_json_output(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "report.md").read_text()
    (example,) = [
        code for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "polars" in code
    ]
    sample = json.loads((ROOT / "examples" / "river_plate_extracted.json").read_text())
    # A hundred articles without a title, an agreement or a pool come first.
    batch = batches.write(tmp_path / "batch.json", [{}] * 100 + sample["articles"])
    (tmp_path / "articles.jsonl").write_text(run("report", batch, "--json").stdout)
    done = subprocess.run(
        [sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    # Of the sample's picks newspaper4k has eleven, and the hundred that fall back.
    assert re.search(r"newspaper4k +┆ +111\b|newspaper4k +│ +111\b", done.stdout), done.stdout
