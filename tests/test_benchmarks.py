"""The arithmetic of the benchmarks, against values worked out by hand."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from benchmarks import corpus, quality, tables
from benchmarks.growth import exponent
from benchmarks.object_server import BUCKET, running_server
from benchmarks.quality import Match, Quality, Rated
from benchmarks.result import Goal, Result, Settings, Table
from selection import select_file
from selection.model import Extractor
from tests.support.batches import article, write
from tests.support.command import SELECTION
from tests.support.reference import choose


def test_the_exponent_of_a_square_is_two_and_of_a_constant_zero() -> None:
    assert exponent([1, 10, 100], [5, 500, 50_000]) == pytest.approx(2)
    assert exponent([1, 10, 100], [7, 7, 7]) == pytest.approx(0)


def test_the_exponent_of_scattered_points_is_that_of_the_least_squares_line() -> None:
    # In logs of ten: (0, 0), (1, 0), (2, 3). The mean is (1, 1), so the slope is
    # ((-1)(-1) + 0(-1) + (1)(2)) / (1 + 0 + 1).
    assert exponent([1, 10, 100], [1, 1, 1000]) == pytest.approx(1.5)


def test_runs_of_four_words_are_matched_with_their_repetitions() -> None:
    # a b c d | b c d a | c d a b | d a b c | a b c d, the first one twice.
    assert quality.match("a b c d a b c d", "a b c d") == Match(common=1, text=5, truth=1)
    assert quality.match("x, a b_1 c d!", "a b_1 c d e") == Match(common=1, text=2, truth=2)


def test_a_text_of_fewer_than_four_words_is_one_run() -> None:
    assert quality.match("a b", "a b") == Match(1, 1, 1)
    assert quality.match("a b", "a b c d") == Match(0, 1, 1)
    assert quality.match("", "a b") == Match(0, 0, 1)
    assert quality.match("...", "") == Match(0, 0, 0)


def test_quality_is_the_mean_over_articles_and_f1_that_of_the_means() -> None:
    # Precision (1/2 + 1/4) / 2, recall (1 + 1/2) / 2, 2 * 3/8 * 3/4 / (3/8 + 3/4).
    found = quality.quality([Match(1, 2, 1), Match(1, 4, 2)])
    assert found == Quality(precision=0.375, recall=0.75)
    assert found.f1 == pytest.approx(0.5)


def test_an_empty_text_lowers_recall_alone_and_an_empty_truth_precision_alone() -> None:
    assert quality.quality([Match(2, 2, 2), Match(0, 0, 3)]) == Quality(1.0, 0.5)
    assert quality.quality([Match(2, 2, 2), Match(0, 3, 0)]) == Quality(0.5, 1.0)
    assert quality.quality([Match(0, 0, 3)]).f1 == 0


def test_an_article_is_rated_by_each_text_the_pick_the_longest_and_the_best() -> None:
    words = "one two three four five six seven eight nine ten"
    # Newspaper4k and Readability agree on all, so that is the pick, with agreement 1;
    # the truth is what Trafilatura has, which is the longest.
    longest = "eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
    rated = quality.rate(article(words, words, longest), longest)
    assert rated == Rated(
        matches={
            Extractor.NEWSPAPER4K: Match(0, 7, 6),
            Extractor.READABILITY: Match(0, 7, 6),
            Extractor.TRAFILATURA: Match(6, 6, 6),
        },
        pick=Extractor.NEWSPAPER4K,
        longest=Extractor.TRAFILATURA,
        agreement=1.0,
    )
    assert rated.best == Match(6, 6, 6)


def test_quality_is_reported_by_choice_and_by_band_of_agreement() -> None:
    def rated(agreement: float, picked: Match, other: Match) -> Rated:
        matches = {
            Extractor.NEWSPAPER4K: picked,
            Extractor.READABILITY: other,
            Extractor.TRAFILATURA: other,
        }
        return Rated(matches, Extractor.NEWSPAPER4K, Extractor.READABILITY, agreement)

    right, wrong = Match(2, 2, 2), Match(0, 2, 2)
    by_choice, by_agreement = quality.tables(
        [rated(1.0, right, wrong), rated(0.99, right, wrong), rated(0.3, wrong, right)]
    )
    two, one = pytest.approx(2 / 3), pytest.approx(1 / 3)
    wanted: tuple[object, ...] = (
        ("newspaper4k", two, two, two),
        ("readability", one, one, one),
        ("trafilatura", one, one, one),
        ("selection", two, two, two),
        ("always the longest", one, one, one),
        ("best possible pick", 1, 1, 1),
    )
    assert by_choice.rows == wanted
    assert by_agreement.rows == (
        ("0.00 to 0.50", 1, 0.0, 1.0),
        ("0.99 to 1.00", 2, 1.0, 0.0),
    )


def settings(batch: Path | None, truth: Path | None, folder: Path) -> Settings:
    return Settings(batch, truth, True, 1_000_000, folder, lambda _: None)


def test_articles_without_a_truth_are_left_out(tmp_path: Path) -> None:
    batch = write(tmp_path / "b.json", [article("a", "a", "a", id="x"), article("b", "b", "b")])
    truth = tmp_path / "t.json"
    truth.write_text(json.dumps({"x": "a", "other": "c"}))
    result = quality.measure(settings(batch, truth, tmp_path))
    assert result.tables[0].title == "Quality on 1 articles"
    assert result.tables[0].rows[3] == ("selection", 1.0, 1.0, 1.0)


def test_quality_without_a_truth_is_not_available(tmp_path: Path) -> None:
    assert quality.measure(settings(None, None, tmp_path)).tables == ()


def test_a_goal_is_met_at_its_value() -> None:
    assert [Goal("", value, 2).outcome for value in (1.9, 2, 2.1, None)] == [
        "missed",
        "met",
        "met",
        "not available",
    ]
    assert [Goal("", value, 2, at_most=True).outcome for value in (1.9, 2, 2.1)] == [
        "met",
        "met",
        "missed",
    ]


def test_tables_align_numbers_right_and_name_missing_values() -> None:
    table = Table("T", ("what", "n", "x"), (("a|b", 1200, 1.5), ("c", None, 0.12345)))
    assert tables.as_text(table).splitlines() == [
        "T",
        "what              n      x",
        "a|b           1,200   1.50",
        "c     not available  0.123",
    ]
    assert tables.markdown(table).splitlines() == [
        "| what | n | x |",
        "| --- | ---: | ---: |",
        "| a\\|b | 1,200 | 1.50 |",
        "| c | not available | 0.123 |",
    ]


def test_the_table_of_goals_has_those_of_all_parts() -> None:
    results = [Result("one", "", (), (Goal("a", 3.0, 2),)), Result("two", "", (), ())]
    assert tables.goals_table(results).rows == (("a", 3.0, "at least 2", "met"),)


def test_a_copy_has_other_long_words_and_the_same_decision() -> None:
    body = "the quarterly &copysignal; <section> report: ação zzzzzzz again and again"
    original = article(body, body + " something more of it", "before the " + body)
    copy = corpus.renewed(original, 1)
    assert copy["newspaper4k"]["text"] == (
        "the rvbsufsmz &copysignal; <section> report: ação aaaaaaa again and again"
    )
    assert choose(copy) == choose(original)
    assert corpus.renewed(original, 0) == original


def test_a_generated_batch_has_the_requested_size_and_is_always_the_same(
    tmp_path: Path,
) -> None:
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    articles = corpus.write_generated(one, 300_000, words=100)
    corpus.write_generated(other, 300_000, words=100)
    assert one.read_bytes() == other.read_bytes()
    assert 300_000 <= one.stat().st_size < 310_000
    assert len(json.loads(one.read_bytes())["articles"]) == articles


def test_every_language_has_articles_of_its_own(tmp_path: Path) -> None:
    made = corpus.multilingual(len(corpus.LANGUAGES), 50)
    texts = [one["newspaper4k"]["text"] for one in made]
    assert len(set(texts)) == len(corpus.LANGUAGES)
    for text, language in zip(texts, corpus.LANGUAGES.values()):
        assert set(text) & set(language.letters)


@pytest.mark.slow
def test_the_server_of_the_measurements_gives_ranges_and_joins_parts(tmp_path: Path) -> None:
    folder = tmp_path / "objects"
    folder.mkdir()
    # Two ranges and two parts.
    corpus.write_generated(folder / "a.json", (8 << 20) + 1)
    with running_server(folder) as environment:
        command = [*SELECTION, "run", f"s3://{BUCKET}/a.json"]
        subprocess.run(command, check=True, timeout=60, env={**os.environ, **environment})
    select_file(folder / "a.json", tmp_path / "local.json")
    assert (folder / "a_selected.json").read_bytes() == (tmp_path / "local.json").read_bytes()
    assert sorted(path.name for path in folder.iterdir()) == ["a.json", "a_selected.json"]
