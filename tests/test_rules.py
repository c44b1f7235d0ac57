"""The rules of docs/algorithm.md, by values worked out by hand.

Texts consist of a few distinct words, so that every count can be worked out by hand: n
distinct words give n - 4 shingles, and a part of m words that two texts share gives them
m - 4 common shingles. With K for the size of the consensus, n for a candidate's shingles and i
for those in the consensus, coverage is i / K, support i / n and the score 2i / (K + n) (rules
4.2 to 4.4).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selection import Decision, Extractor, Rule, State
from tests.support.examples import examples

Decide = Callable[[object], Decision]

N, R, T = Extractor.NEWSPAPER4K, Extractor.READABILITY, Extractor.TRAFILATURA
FIELD = {N: "text", R: "cleaned_text", T: "text"}

USABLE, DEGRADED, UNAVAILABLE = State.USABLE, State.DEGRADED, State.UNAVAILABLE

ABSENT = object()


def words(count: int, prefix: str = "w") -> list[str]:
    """Return distinct words; texts with different prefixes have none in common."""
    return [f"{prefix}{number}" for number in range(count)]


def article(
    newspaper4k: list[str] | str | None = None,
    readability: list[str] | str | None = None,
    trafilatura: list[str] | str | None = None,
    *,
    errors: Mapping[Extractor, object] | None = None,
) -> dict[str, Any]:
    """Return an article as the extraction pipeline writes it."""
    made: dict[str, Any] = {"id": "1"}
    for extractor, text in ((N, newspaper4k), (R, readability), (T, trafilatura)):
        text = " ".join(text) if isinstance(text, list) else text
        made[extractor] = {"title": "t", FIELD[extractor]: text, "error": None}
        if errors and extractor in errors:
            made[extractor]["error"] = errors[extractor]
    return made


def states(decision: Decision) -> list[State]:
    """In order of priority: newspaper4k, readability, trafilatura."""
    return [candidate.state for candidate in decision.candidates]


def shingles(decision: Decision) -> list[int]:
    return [candidate.shingles for candidate in decision.candidates]


def shared(decision: Decision) -> list[int | None]:
    return [candidate.shared for candidate in decision.candidates]


def coverages(decision: Decision) -> list[float | None]:
    return [candidate.coverage for candidate in decision.candidates]


def supports(decision: Decision) -> list[float | None]:
    return [candidate.support for candidate in decision.candidates]


def scores(decision: Decision) -> list[float | None]:
    return [candidate.score for candidate in decision.candidates]


def pick(decision: Decision) -> tuple[Extractor, Rule]:
    return decision.extractor, decision.rule


# -------------------------------------------------------------------- mandatory cases


def test_ct_001_a_clear_winner_has_the_highest_score(decide: Decide) -> None:
    # The consensus is the 20 shingles of the body: readability has it, trafilatura has it
    # with 20 more, newspaper4k has the first half of it.
    body = words(24)
    decision = decide(article(body[:14], body, body + words(20, "x")))
    assert decision.consensus == 20
    assert shingles(decision) == [10, 20, 40]
    assert shared(decision) == [10, 20, 20]
    assert coverages(decision) == [10 / 20, 1, 1]
    assert supports(decision) == [1, 1, 20 / 40]
    assert scores(decision) == [20 / 30, 1, 40 / 60]
    assert pick(decision) == (R, Rule.SCORE)
    assert decision.pool == (R,)


def test_ct_002_within_003_the_fewest_shingles_win_over_a_higher_score(decide: Decide) -> None:
    # Consensus 40. Trafilatura lacks one word and scores 78/79, 0.013 below the others' 1.
    body = words(44)
    decision = decide(article(body, body, body[:43]))
    assert decision.consensus == 40
    assert shingles(decision) == [40, 40, 39]
    assert scores(decision) == [1, 1, 78 / 79]
    assert pick(decision) == (T, Rule.TIE_FEWEST_SHINGLES)
    assert decision.pool == (N, R, T)


@pytest.mark.parametrize(
    ("texts", "right"),
    [
        ((True, True, True), N),
        ((True, True, False), N),
        ((True, False, True), N),
        ((False, True, True), R),
    ],
)
def test_ct_003_a_tie_of_equal_sizes_goes_by_priority(
    decide: Decide, texts: tuple[bool, bool, bool], right: Extractor
) -> None:
    newspaper4k, readability, trafilatura = (words(30) if there else None for there in texts)
    decision = decide(article(newspaper4k, readability, trafilatura))
    assert pick(decision) == (right, Rule.TIE_PRIORITY)


def test_ct_003_the_priority_is_among_the_smallest_of_the_tie_only(decide: Decide) -> None:
    # Consensus 40: newspaper4k has one shingle more (80/81), the others one less (78/79).
    body = words(44)
    decision = decide(article([*body, "x"], body[:43], body[1:]))
    assert decision.consensus == 40
    assert shingles(decision) == [41, 39, 39]
    assert scores(decision) == [80 / 81, 78 / 79, 78 / 79]
    assert decision.pool == (N, R, T)
    assert pick(decision) == (R, Rule.TIE_PRIORITY)


def test_ct_004_three_without_consensus_the_median_wins(decide: Decide) -> None:
    decision = decide(article(words(6, "n"), words(10, "r"), words(8, "t")))
    assert decision.consensus == 0
    assert shingles(decision) == [2, 6, 4]
    assert pick(decision) == (T, Rule.MEDIAN)
    assert decision.pool == (N, R, T)


def test_ct_005_two_without_consensus_the_larger_wins(decide: Decide) -> None:
    decision = decide(article(words(7, "n"), None, words(11, "t")))
    assert decision.consensus == 0
    assert shingles(decision) == [3, 0, 7]
    assert pick(decision) == (T, Rule.LARGER)
    assert decision.pool == (N, T)


def test_ct_006_the_only_usable_candidate_wins(decide: Decide) -> None:
    body = words(50)
    decision = decide(article(None, body, words(3), errors={R: "timeout"}))
    assert states(decision) == [UNAVAILABLE, DEGRADED, USABLE]
    assert pick(decision) == (T, Rule.SINGLE)


def test_ct_007_without_a_usable_candidate_the_degraded_are_compared(decide: Decide) -> None:
    # Degraded candidates with the texts of a clear winner.
    body = words(24)
    errors = dict.fromkeys(Extractor, "HTTP 500")
    decision = decide(article(body[:14], body, body + words(20, "x"), errors=errors))
    assert states(decision) == [DEGRADED] * 3
    assert scores(decision) == [20 / 30, 1, 40 / 60]
    assert pick(decision) == (R, Rule.SCORE)


def test_ct_008_all_unavailable_gives_newspaper4k(decide: Decide) -> None:
    decision = decide(article(None, "", " \n"))
    assert states(decision) == [UNAVAILABLE] * 3
    assert decision.consensus is None
    assert decision.pool == ()
    assert pick(decision) == (N, Rule.FALLBACK)


def test_ct_009_a_small_fragment_loses_by_low_coverage(decide: Decide) -> None:
    # Readability has 4 of 40 shingles and nothing else: full support, a tenth covered.
    body = words(44)
    decision = decide(article([*body, "x"], body[:8], body))
    assert decision.consensus == 40
    assert shingles(decision) == [41, 4, 40]
    assert coverages(decision) == [1, 4 / 40, 1]
    assert supports(decision) == [40 / 41, 1, 1]
    assert scores(decision) == [80 / 81, 8 / 44, 1]
    assert decision.pool == (N, T)
    assert pick(decision) == (T, Rule.TIE_FEWEST_SHINGLES)


def test_ct_010_much_excess_loses_by_low_support(decide: Decide) -> None:
    # Newspaper4k has the 40 common shingles and 60 of its own.
    body = words(44)
    decision = decide(article(body + words(60, "x"), body, body))
    assert decision.consensus == 40
    assert shingles(decision) == [100, 40, 40]
    assert coverages(decision) == [1, 1, 1]
    assert supports(decision) == [40 / 100, 1, 1]
    assert scores(decision) == [80 / 140, 1, 1]
    assert pick(decision) == (R, Rule.TIE_PRIORITY)


def test_ct_011_a_part_of_the_common_content_loses_by_low_coverage(decide: Decide) -> None:
    # Newspaper4k has 30 of the 40 common shingles: 60/70 is more than 0.03 below 1.
    body = words(44)
    decision = decide(article(body[10:], body, [*body, "x", "y"]))
    assert decision.consensus == 40
    assert shingles(decision) == [30, 40, 42]
    assert coverages(decision) == [30 / 40, 1, 1]
    assert supports(decision) == [1, 1, 40 / 42]
    assert scores(decision) == [60 / 70, 1, 80 / 82]
    assert decision.pool == (R, T)
    assert pick(decision) == (R, Rule.TIE_FEWEST_SHINGLES)


# ------------------------------------------------------------- texts of one article


def test_us1_scenario_1_the_highest_score_is_selected_where_two_agree(decide: Decide) -> None:
    # Newspaper4k and trafilatura agree on 20 shingles; newspaper4k has 4 more of its own, so
    # its score of 40/44 is 0.09 lower. Readability has nothing in common with them.
    body = words(24)
    decision = decide(article(body + words(4, "x"), words(30, "r"), body))
    assert decision.consensus == 20
    assert scores(decision) == [40 / 44, 0, 1]
    assert pick(decision) == (T, Rule.SCORE)


def test_us1_scenario_1_the_more_concise_is_selected_where_three_agree_closely(
    decide: Decide,
) -> None:
    # Consensus 100; the scores 200/202, 200/201 and 1 are all within 0.03.
    body = words(104)
    decision = decide(article([*body, "x", "y"], [*body, "z"], body))
    assert decision.consensus == 100
    assert scores(decision) == [200 / 202, 200 / 201, 1]
    assert decision.pool == (N, R, T)
    assert pick(decision) == (T, Rule.TIE_FEWEST_SHINGLES)


def test_us1_scenario_2_noise_lowers_support_and_a_clean_text_is_selected(decide: Decide) -> None:
    # 20 shingles of a menu before and 20 of a footer after the 40 in common.
    body = words(44)
    noisy = words(20, "menu") + body + words(20, "footer")
    decision = decide(article(noisy, body, body))
    assert shingles(decision) == [80, 40, 40]
    assert supports(decision) == [40 / 80, 1, 1]
    assert scores(decision) == [80 / 120, 1, 1]
    assert decision.pool == (R, T)
    assert decision.extractor is R


def test_us1_scenario_3_a_short_snippet_loses_by_low_coverage(decide: Decide) -> None:
    # A teaser of two sentences: 6 of 96 shingles.
    body = words(100)
    decision = decide(article(body[:10], body, body))
    assert coverages(decision) == [6 / 96, 1, 1]
    assert scores(decision) == [12 / 102, 1, 1]
    assert decision.pool == (R, T)
    assert decision.extractor is R


# ------------------------------------------------------------- missing texts and errors


@pytest.mark.parametrize(
    ("sizes", "right", "rule"),
    [
        pytest.param((5, 6, 7), R, Rule.MEDIAN, id="readability-between"),
        pytest.param((6, 7, 5), N, Rule.MEDIAN, id="newspaper4k-between"),
        pytest.param((7, 5, 6), T, Rule.MEDIAN, id="trafilatura-between"),
        pytest.param((4, 7, 4), N, Rule.MEDIAN_PRIORITY, id="two-small-with-newspaper4k"),
        pytest.param((7, 4, 4), R, Rule.MEDIAN_PRIORITY, id="two-small-without-newspaper4k"),
        pytest.param((7, 7, 4), N, Rule.MEDIAN_PRIORITY, id="two-large-with-newspaper4k"),
        pytest.param((2, 7, 7), R, Rule.MEDIAN_PRIORITY, id="two-large-without-newspaper4k"),
        pytest.param((3, 3, 3), N, Rule.MEDIAN_PRIORITY, id="all-equal"),
    ],
)
def test_us2_scenario_1_three_without_consensus_the_median_is_selected(
    decide: Decide, sizes: tuple[int, int, int], right: Extractor, rule: Rule
) -> None:
    newspaper4k, readability, trafilatura = (
        words(size + 4, prefix) for size, prefix in zip(sizes, "nrt")
    )
    decision = decide(article(newspaper4k, readability, trafilatura))
    assert decision.consensus == 0
    assert shingles(decision) == list(sizes)
    assert pick(decision) == (right, rule)


@pytest.mark.parametrize(
    ("sizes", "right", "rule"),
    [
        pytest.param((4, 5, 0), R, Rule.LARGER, id="readability-larger"),
        pytest.param((5, 4, 0), N, Rule.LARGER, id="newspaper4k-larger"),
        pytest.param((0, 4, 5), T, Rule.LARGER, id="trafilatura-larger"),
        pytest.param((4, 0, 4), N, Rule.LARGER_PRIORITY, id="equal-with-newspaper4k"),
        pytest.param((0, 4, 4), R, Rule.LARGER_PRIORITY, id="equal-without-newspaper4k"),
    ],
)
def test_us2_scenario_2_two_without_consensus_the_larger_is_selected(
    decide: Decide, sizes: tuple[int, int, int], right: Extractor, rule: Rule
) -> None:
    newspaper4k, readability, trafilatura = (
        words(size + 4, prefix) if size else None for size, prefix in zip(sizes, "nrt")
    )
    decision = decide(article(newspaper4k, readability, trafilatura))
    assert decision.consensus == 0
    assert shingles(decision) == list(sizes)
    assert pick(decision) == (right, rule)


def test_us2_scenario_3_only_the_degraded_are_evaluated_where_none_is_usable(
    decide: Decide,
) -> None:
    # Two degraded without consensus, 2 and 3 shingles; the third has no text.
    errors = {N: "parse error", R: "parse error"}
    decision = decide(article(words(6, "n"), words(7, "r"), None, errors=errors))
    assert states(decision) == [DEGRADED, DEGRADED, UNAVAILABLE]
    assert [candidate.active for candidate in decision.candidates] == [True, True, False]
    assert pick(decision) == (R, Rule.LARGER)


def test_us2_scenario_3_a_single_degraded_candidate_is_selected(decide: Decide) -> None:
    decision = decide(article(None, None, words(9), errors={T: "timeout"}))
    assert states(decision) == [UNAVAILABLE, UNAVAILABLE, DEGRADED]
    assert pick(decision) == (T, Rule.SINGLE)


def test_us2_scenario_4_all_failed_or_empty_gives_newspaper4k(decide: Decide) -> None:
    errors = dict.fromkeys(Extractor, "connection refused")
    decision = decide(article(None, "", None, errors=errors))
    assert states(decision) == [UNAVAILABLE] * 3
    assert pick(decision) == (N, Rule.FALLBACK)


# ----------------------------------------------------------------------- edge cases
# The tests of whole files cover an empty list of articles.


@pytest.mark.parametrize(("there", "right"), [((N, R, T), N), ((R, T), R), ((N, T), N)])
def test_edge_exact_score_and_count_tie_goes_newspaper4k_readability_trafilatura(
    decide: Decide, there: tuple[Extractor, ...], right: Extractor
) -> None:
    # Three parts of 10 shingles, of which each text has another two, and 4 windows across
    # the seam that no other text has: different texts, equal scores, equal sizes.
    a, b, c = words(14, "a"), words(14, "b"), words(14, "c")
    texts = {N: a + b, R: b + c, T: c + a}
    decision = decide(article(*(texts[e] if e in there else None for e in (N, R, T))))
    # All three: consensus 30, of which each has 20. Two: the 10 of the one part they share.
    score = 40 / (30 + 24) if len(there) == 3 else 20 / (10 + 24)
    assert scores(decision) == [score if e in there else None for e in (N, R, T)]
    assert shingles(decision) == [24 if e in there else 0 for e in (N, R, T)]
    assert pick(decision) == (right, Rule.TIE_PRIORITY)


@pytest.mark.parametrize("only", [N, R, T])
def test_edge_single_active_candidate_is_selected_without_a_consensus(
    decide: Decide, only: Extractor
) -> None:
    decision = decide(article(*(words(9) if e is only else None for e in (N, R, T))))
    assert decision.consensus is None
    assert scores(decision) == [None, None, None]
    assert coverages(decision) == [None, None, None]
    assert pick(decision) == (only, Rule.SINGLE)
    assert decision.pool == (only,)


@pytest.mark.parametrize(
    ("count", "right"), [(1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (6, 2), (7, 3)]
)
def test_edge_short_texts_form_one_shingle(decide: Decide, count: int, right: int) -> None:
    measured = decide(article(words(count))).candidates[0]
    assert (measured.tokens, measured.shingles) == (count, right)


def test_edge_short_texts_equal_short_texts_are_a_consensus(decide: Decide) -> None:
    decision = decide(article("gol de placa", None, "Gol de placa!"))
    assert decision.consensus == 1
    assert scores(decision) == [1, None, 1]
    assert pick(decision) == (N, Rule.TIE_PRIORITY)


def test_edge_short_texts_a_short_shingle_is_none_of_a_longer_texts(decide: Decide) -> None:
    # ("a", "b", "c", "d") is not among the windows of five of "a b c d e f".
    decision = decide(article("a b c d", None, "a b c d e f"))
    assert decision.consensus == 0
    assert shingles(decision) == [1, 0, 2]
    assert pick(decision) == (T, Rule.LARGER)


@pytest.mark.parametrize(
    "content",
    [None, True, 0, 17, 1.5, [], ["a text in a list"], {}, {"text": "a text in an object"}],
    ids=repr,
)
@pytest.mark.parametrize("extractor", [N, R, T])
def test_edge_malformed_field_is_unavailable(
    decide: Decide, extractor: Extractor, content: object
) -> None:
    made = article(words(9), words(9), words(9))
    made[extractor][FIELD[extractor]] = content
    index = (N, R, T).index(extractor)
    decision = decide(made)
    assert states(decision) == [UNAVAILABLE if i == index else USABLE for i in range(3)]
    assert decision.candidates[index].tokens == 0
    assert decision.extractor is (R if extractor is N else N)


@pytest.mark.parametrize("extractor", [N, R, T])
def test_edge_missing_field_is_unavailable(decide: Decide, extractor: Extractor) -> None:
    made = article(words(9), words(9), words(9))
    del made[extractor][FIELD[extractor]]
    assert states(decide(made)).count(UNAVAILABLE) == 1
    assert decide(made).extractor is (R if extractor is N else N)


@pytest.mark.parametrize(
    "block",
    [ABSENT, None, True, 3, 0.5, "a text", ["text", "error"], []],
    ids=lambda block: "absent" if block is ABSENT else repr(block),
)
@pytest.mark.parametrize("extractor", [N, R, T])
def test_edge_missing_library_block_is_unavailable(
    decide: Decide, extractor: Extractor, block: object
) -> None:
    made = article(words(9), words(9), words(9))
    if block is ABSENT:
        del made[extractor]
    else:
        made[extractor] = block
    index = (N, R, T).index(extractor)
    decision = decide(made)
    assert states(decision) == [UNAVAILABLE if i == index else USABLE for i in range(3)]
    assert decision.extractor is (R if extractor is N else N)


# ------------------------------------------------------------------- states and activity


@pytest.mark.parametrize(
    "error", [ABSENT, None, "", [], {}], ids=lambda e: "absent" if e is ABSENT else repr(e)
)
@pytest.mark.parametrize("extractor", [N, R, T])
def test_no_error_leaves_a_candidate_usable(
    decide: Decide, extractor: Extractor, error: object
) -> None:
    made = article(words(9), words(9), words(9))
    if error is ABSENT:
        del made[extractor]["error"]
    else:
        made[extractor]["error"] = error
    assert states(decide(made)) == [USABLE] * 3


@pytest.mark.parametrize(
    "error",
    ["timeout", " ", "\n", "null", 0, 0.0, -1, 500, False, True, [None], [""], {"": None}, [[]]],
    ids=repr,
)
@pytest.mark.parametrize("extractor", [N, R, T])
def test_any_other_error_degrades_a_candidate(
    decide: Decide, extractor: Extractor, error: object
) -> None:
    made = article(words(9), words(9), words(9), errors={extractor: error})
    index = (N, R, T).index(extractor)
    decision = decide(made)
    assert states(decision) == [DEGRADED if i == index else USABLE for i in range(3)]
    assert decision.extractor is (R if extractor is N else N)


def test_an_error_without_text_is_unavailable_and_not_degraded(decide: Decide) -> None:
    decision = decide(article("...", None, None, errors={N: "timeout", R: "timeout"}))
    assert states(decision) == [UNAVAILABLE] * 3


@pytest.mark.parametrize(
    "text",
    ["", " ", "\t\r\n", "...", "—", "!?", "_", "___ _", "<p></p>", "![foto](a.jpg)", "&nbsp;"],
)
def test_text_without_a_letter_or_digit_is_unavailable(decide: Decide, text: str) -> None:
    decision = decide(article(text, text, "gol"))
    assert states(decision) == [UNAVAILABLE, UNAVAILABLE, USABLE]
    assert pick(decision) == (T, Rule.SINGLE)


def test_a_degraded_candidate_is_ignored_where_a_usable_one_exists(decide: Decide) -> None:
    # The two degraded texts agree with each other; the usable one is a single word.
    body = words(44)
    decision = decide(article(body, body, "gol", errors={N: "timeout", R: "timeout"}))
    assert states(decision) == [DEGRADED, DEGRADED, USABLE]
    assert [candidate.active for candidate in decision.candidates] == [False, False, True]
    assert pick(decision) == (T, Rule.SINGLE)


def test_a_degraded_candidate_adds_nothing_to_the_consensus_of_the_usable(decide: Decide) -> None:
    # Counted with newspaper4k, readability would share 40 shingles and win by score.
    body = words(44)
    decision = decide(article(body, body, words(50, "t"), errors={N: "timeout"}))
    assert decision.consensus == 0
    assert shingles(decision) == [40, 40, 46]
    assert scores(decision) == [None, 0, 0]
    assert pick(decision) == (T, Rule.LARGER)


@pytest.mark.parametrize(
    ("extractor", "wrong_field"), [(N, "cleaned_text"), (R, "text"), (T, "cleaned_text")]
)
def test_each_extractor_has_its_text_in_its_own_field(
    decide: Decide, extractor: Extractor, wrong_field: str
) -> None:
    made = {extractor: {wrong_field: "a b c", "error": None}}
    assert states(decide(made)) == [UNAVAILABLE] * 3


def test_no_other_field_has_a_part_in_the_choice(decide: Decide) -> None:
    # Rule 1.1: titles, mark-up and an earlier pick favour trafilatura, without effect.
    made = article(words(6, "n"), words(7, "r"), words(5, "t"))
    plain = decide(made)
    body = " ".join(words(44))
    made |= {"selected_extractor": "trafilatura", "text": body, "error": "x", "cleaned_text": 1}
    made[N] |= {"title": body, "cleaned_text": body, "summary": body, "keywords": [body]}
    made[R] |= {"title": body, "text": body, "content_html": f"<p>{body}</p>", "length": 44}
    made[T] |= {"title": body, "cleaned_text": body, "raw_text": body, "errors": ["x"]}
    assert decide(made) == plain
    assert pick(plain) == (N, Rule.MEDIAN)


# -------------------------------------------------------------------- shingles and scores


@pytest.mark.parametrize(
    ("text", "tokens", "right"),
    [
        pytest.param("a a a a a a a a", 8, 1, id="one-word-over-and-over"),
        # Ten tokens have six windows; the last one is the first one again.
        pytest.param("a b c d e a b c d e", 10, 5, id="a-passage-twice"),
        pytest.param("a b a b a b a b a b", 10, 2, id="two-words-in-turn"),
        pytest.param("a a a a", 4, 1, id="four-tokens"),
    ],
)
def test_repeated_shingles_count_once(decide: Decide, text: str, tokens: int, right: int) -> None:
    measured = decide(article(text)).candidates[0]
    assert (measured.tokens, measured.shingles) == (tokens, right)


def test_a_repeated_part_does_not_weigh_more_in_a_score(decide: Decide) -> None:
    # Trafilatura says the body twice; what is new are the 4 windows across the seam.
    body = words(24)
    decision = decide(article(body, None, body + body))
    assert decision.consensus == 20
    assert [candidate.tokens for candidate in decision.candidates] == [24, 0, 48]
    assert shingles(decision) == [20, 0, 24]
    assert scores(decision) == [1, None, 40 / 44]
    assert pick(decision) == (N, Rule.SCORE)


def test_a_shingle_repeated_in_one_text_only_is_not_in_the_consensus(decide: Decide) -> None:
    decision = decide(article("a b c d e a b c d e", words(9, "r"), words(9, "t")))
    assert decision.consensus == 0


def test_the_consensus_is_what_any_two_have_in_common(decide: Decide) -> None:
    # 50 words. N has 0-29, R 20-49, T 10-39, that is shingles 0-25, 20-45 and 10-35.
    # Pairs: N and R share 20-25, N and T 10-25, R and T 20-35; together 10-35, 26 shingles.
    body = words(50)
    decision = decide(article(body[:30], body[20:], body[10:40]))
    assert decision.consensus == 26
    assert shingles(decision) == [26, 26, 26]
    assert shared(decision) == [16, 16, 26]
    assert scores(decision) == [32 / 52, 32 / 52, 1]
    assert pick(decision) == (T, Rule.SCORE)


def test_the_order_of_the_words_counts(decide: Decide) -> None:
    body = words(9)
    decision = decide(article(body, None, body[::-1]))
    assert decision.consensus == 0
    assert pick(decision) == (N, Rule.LARGER_PRIORITY)


@pytest.mark.parametrize(
    ("texts", "right"),
    [((0, 1, 1), R), ((1, 0, 1), N), ((1, 1, 0), N), ((0, 0, 1), N)],
)
def test_two_identical_texts_win_over_a_third_that_shares_half(
    decide: Decide, texts: tuple[int, int, int], right: Extractor
) -> None:
    # The consensus is the whole of the text that two have, 20 shingles, of which the third
    # text has 10 among its 20.
    body = words(24)
    half = body[10:] + words(10, "x")
    twins = max(set(texts), key=texts.count)
    decision = decide(article(*(body if text == twins else half for text in texts)))
    assert decision.consensus == 20
    assert shingles(decision) == [20, 20, 20]
    assert scores(decision) == [1.0 if text == twins else 20 / 40 for text in texts]
    assert pick(decision) == (right, Rule.TIE_PRIORITY)


def test_texts_that_differ_in_mark_up_and_case_only_are_identical(decide: Decide) -> None:
    decision = decide(article("O <b>River</b> venceu por 2 a 1.", "o river venceu por 2 a 1", None))
    assert decision.consensus == 3
    assert scores(decision) == [1, 1, None]


def test_an_underscore_separates(decide: Decide) -> None:
    decision = decide(article("um_dois três_", None, "um dois três"))
    assert [candidate.tokens for candidate in decision.candidates] == [3, 0, 3]
    assert scores(decision) == [1, None, 1]


# ------------------------------------------------------------- the technical tie, exactly


def test_a_difference_of_exactly_003_is_a_tie(decide: Decide) -> None:
    # Consensus 103 = N = T, score 1. R has 97 of it and nothing else: 194/200 = 0.97. In
    # floats 1 - 0.97 is more than 0.03.
    body = words(107)
    decision = decide(article(body, body[:101], body))
    assert decision.consensus == 103
    assert shingles(decision) == [103, 97, 103]
    assert scores(decision) == [1, 194 / 200, 1]
    assert decision.pool == (N, R, T)
    assert pick(decision) == (R, Rule.TIE_FEWEST_SHINGLES)


def test_one_shingle_beyond_a_difference_of_003_is_not_a_tie(decide: Decide) -> None:
    # As before with one word less: 192/199 is 0.035 below 1.
    body = words(107)
    decision = decide(article(body, body[:100], body))
    assert decision.consensus == 103
    assert scores(decision) == [1, 192 / 199, 1]
    assert decision.pool == (N, T)
    assert pick(decision) == (N, Rule.TIE_PRIORITY)


def test_exactly_003_of_excess_is_a_tie_and_one_more_is_none(decide: Decide) -> None:
    # Two candidates, consensus 97; T has all of it and 6 more: 194/200, or 7 more: 194/201.
    body = words(101)
    exactly = decide(article(None, body, body + words(6, "x")))
    assert exactly.consensus == 97
    assert scores(exactly) == [None, 1, 194 / 200]
    assert exactly.pool == (R, T)
    assert pick(exactly) == (R, Rule.TIE_FEWEST_SHINGLES)
    beyond = decide(article(None, body, body + words(7, "x")))
    assert scores(beyond) == [None, 1, 194 / 201]
    assert pick(beyond) == (R, Rule.SCORE)


def test_a_difference_above_003_by_half_a_billionth_is_not_a_tie(decide: Decide) -> None:
    # Consensus 2220, in N and T. N has 7 more: 4440/4447. R has 2101 of it and 18 more:
    # 4202/4339. 4440 * 4339 - 4202 * 4447 = 578866, and 0.03 * 4447 * 4339 = 578865.99.
    # As a tie it would go to R, the smallest.
    body = words(2224)
    decision = decide(
        article(body + words(7, "n"), body[:2105] + words(18, "r"), body + words(8, "t"))
    )
    assert decision.consensus == 2220
    assert shingles(decision) == [2227, 2119, 2228]
    assert shared(decision) == [2220, 2101, 2220]
    assert scores(decision) == [4440 / 4447, 4202 / 4339, 4440 / 4448]
    assert decision.pool == (N, T)
    assert pick(decision) == (N, Rule.TIE_FEWEST_SHINGLES)


def test_the_tie_is_measured_from_the_best_and_not_from_neighbour_to_neighbour(
    decide: Decide,
) -> None:
    # Consensus 100: scores 1, 200/205 (0.024 below), 200/210 (0.048 below the best, 0.023
    # below the second).
    body = words(104)
    decision = decide(article(body + words(10, "n"), body + words(5, "r"), body))
    assert decision.consensus == 100
    assert scores(decision) == [200 / 210, 200 / 205, 1]
    assert decision.pool == (R, T)
    assert pick(decision) == (T, Rule.TIE_FEWEST_SHINGLES)


# -------------------------------------------------------------------- any value whatever


@pytest.mark.parametrize(
    "value",
    [None, True, 0, 1.5, float("nan"), "newspaper4k", "", [], ["trafilatura"], [{}], {}, {"a": 1}],
    ids=repr,
)
def test_an_item_that_is_not_an_article_gets_the_fallback(decide: Decide, value: object) -> None:
    decision = decide(value)
    assert states(decision) == [UNAVAILABLE] * 3
    assert pick(decision) == (N, Rule.FALLBACK)


def test_values_nested_deeper_than_python_recurses_are_errors_not_texts(decide: Decide) -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    made = article("a", "b", None, errors={R: deep})
    made[N]["text"] = deep
    decision = decide(made)
    assert states(decision) == [UNAVAILABLE, DEGRADED, UNAVAILABLE]
    assert pick(decision) == (R, Rule.SINGLE)


_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
_NAMES = st.sampled_from([*map(str, Extractor), "text", "cleaned_text", "error", "", "id"])
_JSON = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=4),
    max_leaves=12,
)


@examples(400)
@given(_JSON)
def test_any_json_value_gets_one_of_the_three_and_always_the_same(
    decide: Decide, value: object
) -> None:
    decision = decide(value)
    assert decision.extractor in {"newspaper4k", "readability", "trafilatura"}
    assert decision.rule in set(Rule)
    assert [candidate.extractor for candidate in decision.candidates] == [N, R, T]
    # Another value in between, so that nothing of it may linger.
    decide(article("a b c d e", "b c d e f", "x"))
    assert decide(value) == decision


def test_an_article_is_not_changed(decide: Decide) -> None:
    made = article(words(9), "", None, errors={T: {"code": 1}})
    before = json.dumps(made)
    decide(made)
    assert json.dumps(made) == before


# ----------------------------------------------------------------------- the decision


def test_a_decision_is_frozen(decide: Decide) -> None:
    decision = decide(article("a b c"))
    with pytest.raises(FrozenInstanceError):
        decision.extractor = T  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        decision.candidates[0].score = 1.0  # type: ignore[misc]


def test_a_decision_as_a_dict_is_json(decide: Decide) -> None:
    # Six and five words: two shingles and one, which is the consensus.
    decision = decide(article("a b c d e f", "a b c d e", None, errors={T: "timeout"}))
    written = json.loads(json.dumps(decision.as_dict(), allow_nan=False))
    assert written == {
        "extractor": "readability",
        "rule": "score",
        "consensus": 1,
        "pool": ["readability"],
        "candidates": [
            {
                "extractor": "newspaper4k",
                "state": "usable",
                "active": True,
                "tokens": 6,
                "shingles": 2,
                "shared": 1,
                "coverage": 1.0,
                "support": 0.5,
                "score": 2 / 3,
            },
            {
                "extractor": "readability",
                "state": "usable",
                "active": True,
                "tokens": 5,
                "shingles": 1,
                "shared": 1,
                "coverage": 1.0,
                "support": 1.0,
                "score": 1.0,
            },
            {
                "extractor": "trafilatura",
                "state": "unavailable",
                "active": False,
                "tokens": 0,
                "shingles": 0,
                "shared": None,
                "coverage": None,
                "support": None,
                "score": None,
            },
        ],
    }


@examples(100)
@given(_JSON)
def test_every_decision_as_a_dict_is_json(decide: Decide, value: object) -> None:
    decision = decide(value)
    written = json.loads(json.dumps(decision.as_dict(), allow_nan=False))
    assert written["extractor"] == str(decision.extractor)


def test_the_overlap_counts_are_kept_and_are_not_in_the_plain_data(decide: Decide) -> None:
    # Shingles: N has abcde and bcdef, R has abcde and xabcd, T is degraded and has abcde.
    decision = decide(article("a b c d e f", "x a b c d e", "a b c d e", errors={T: "timeout"}))
    assert decision.regions == (0, 1, 1, 0, 0, 0, 0, 1)
    assert list(decision.as_dict()) == ["extractor", "rule", "consensus", "pool", "candidates"]
