"""Tokens of texts (rules 2.1 to 2.8): by hand, and against the reference on any text."""

# ruff: noqa: RUF001 (characters that look like others are the matter here)

from __future__ import annotations

import sys
import threading
import tracemalloc
import unicodedata
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import selection.text.tokens
from selection import State, select_article
from selection.text import vocabulary
from selection.text.backend import available
from selection.text.markup import visible_text
from selection.text.shingles import measure
from selection.text.tokens import word_tokens
from selection.text.vocabulary import Vocabulary, pack_texts, token_count
from tests.support import reference
from tests.support.examples import examples
from tests.support.process import SECONDS
from tests.support.texts import ENTITIES, MARKUP, TEXTS


def tokens(text: str) -> list[str]:
    """Return the package's tokens of a text."""
    return [token for word in visible_text(text).split() for token in word_tokens(word)]


# ------------------------------------------------------------------------ mark-up by hand


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("Grêmio &amp; Inter", "Grêmio & Inter"),
        ("caf&eacute;", "café"),
        ("um&nbsp;dois", "um\xa0dois"),
        ("&#65;&#x42;&#X43;", "ABC"),
        ("&#00000000000065;", "A"),
        # Seven digits can be a character, the last plane's.
        ("&#01000000;&#0001114109;", "\U000f4240\U0010fffd"),
        # Without its semicolon, as browsers take it.
        ("&copy 2026", "© 2026"),
        ("&#8364", "€"),
        # Not a reference.
        ("a & b", "a & b"),
        ("&naoexiste;", "&naoexiste;"),
        # Decoded once: what comes out of it is text.
        ("&amp;lt;b&amp;gt;", "&lt;b&gt;"),
        ("&amp;amp;", "&amp;"),
        # Decoded first: a tag, an image and a link in entities are ones.
        ("um&lt;br&gt;dois", "um dois"),
        ("&#33;&#91;foto&#93;&#40;a.jpg&#41;gol", " gol"),
        ("&lsqb;gol&rsqb;(x)", "gol"),
        # No character.
        ("&#0;", "\ufffd"),
        ("&#xD800;", "\ufffd"),
        ("&#1114112;", "\ufffd"),
        ("&#99999999;", "\ufffd"),
    ],
)
def test_entities_are_decoded_once_and_first(text: str, right: str) -> None:
    assert visible_text(text) == right


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("antes![foto do gol](gol.jpg)depois", "antes depois"),
        ("![](gol.jpg)", " "),
        ("![foto]()", " "),
        ("! \n [foto](gol.jpg)", " "),
        ("![foto\nem duas linhas](gol.jpg)", " "),
        ('![foto](gol.jpg "O gol")', " "),
        ("![um](a)![dois](b)", "  "),
        # The first "]" ends the text, so that this is an image with "[" in its text.
        ("![um ![dois](b)", " "),
        # Nearly one.
        ("![foto]", "![foto]"),
        ("![foto] (a.jpg)", "![foto] (a.jpg)"),
        ("![foto](a.jpg", "![foto](a.jpg"),
        ("!foto](a.jpg)", "!foto](a.jpg)"),
        ("![foto]x ![gol](a.jpg)", "![foto]x  "),
    ],
)
def test_images_leave_a_space(text: str, right: str) -> None:
    assert visible_text(text) == right


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("o [River Plate](https://example.org/river) venceu", "o River Plate venceu"),
        ("[um](a)[dois](b)", "umdois"),
        ("[um\ndois](a\nb)", "um\ndois"),
        ('[um](a "título")', "um"),
        # An address ends at its first ")".
        ("[um](a(b)c)", "umc)"),
        # The anchor begins at the first "[" and ends at the first "]".
        ("[[a](b)", "[a"),
        ("[[a]](b)", "[[a]](b)"),
        ("[a] [b](c)", "[a] b"),
        ("[a]x[b](c)", "[a]xb"),
        # No link without an anchor or without an address.
        ("[](x)", "[](x)"),
        ("[a]()", "[a]()"),
        ("[a]()[b](c)", "[a]()b"),
        ("[](x)[b](c)", "[](x)b"),
        ("[a]", "[a]"),
        ("[a] (b)", "[a] (b)"),
        ("[a](b", "[a](b"),
        ("a](b)", "a](b)"),
        ("[ ](b)", " "),
        # An image inside a link goes first.
        ("[![foto](a.jpg)](b)", " "),
        ("[![foto](a.jpg) legenda](b)", "  legenda"),
        ("[legenda ![foto](a.jpg)](b)", "legenda  "),
    ],
)
def test_links_keep_their_anchor(text: str, right: str) -> None:
    assert visible_text(text) == right


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("<p>um</p><p>dois</p>", " um  dois "),
        ("um<br/>dois", "um dois"),
        ('<a href="x">um</a>', " um "),
        ("<p\nclass=x>um", " um"),
        ("<!-- nota -->um", " um"),
        ("<>", "<>"),
        ("<<a>", " "),
        ("<<>", " "),
        ("<>>", "<>>"),
        ("<a>>", " >"),
        ("um < dois", "um < dois"),
        ("1 < 2 e 3 > 2", "1   2"),
        ("<b um", "<b um"),
        ("<p>um<b dois", " um<b dois"),
        ("um> dois", "um> dois"),
        # A tag may be all there is of an anchor.
        ("[<b>um</b>](x)", " um "),
        # What is between "<" and ">" is a tag, an address, too.
        ("<https://example.org> um", "  um"),
    ],
)
def test_tags_leave_a_space(text: str, right: str) -> None:
    assert visible_text(text) == right


# -------------------------------------------------------------------------- tokens by hand


@pytest.mark.parametrize(
    ("text", "right"),
    [
        pytest.param("O River venceu, 2 a 1!", ["o", "river", "venceu", "2", "a", "1"], id="plain"),
        pytest.param("um\tdois\r\ntrês\u2003quatro\xa0cinco", "um dois três quatro cinco", id="ws"),
        pytest.param("R$ 1.234,56 (50%)", "r 1 234 56 50", id="numbers"),
        pytest.param("d'água pré-jogo", "d água pré jogo", id="apostrophe-hyphen"),
        pytest.param("um_dois __três__", "um dois três", id="underscores"),
        pytest.param("**gol** # título `x`", "gol título x", id="markdown"),
        pytest.param("&amp;lt;", ["lt"], id="entity-decoded-once"),
        pytest.param("[a]() [](x) [[c](d)", "a x c", id="brackets"),
        # NFKC
        pytest.param("ﬁm eﬀort", "fim effort", id="ligatures"),
        pytest.param("ＦＩＦＡ　２０２６", "fifa 2026", id="fullwidth"),
        pytest.param("cafe\u0301 A\u030arhus", "café århus", id="combining"),
        pytest.param("m² ½ ① Ⅳ №5 1ª", "m2 1 2 1 iv no5 1a", id="compatibility"),
        pytest.param("ｶﾞｰﾙ", ["ガール"], id="halfwidth-katakana"),
        pytest.param("\u1112\u1161\u11ab", ["한"], id="hangul-jamo"),
        # A mark that composes with nothing is not a letter.
        pytest.param("x\u0301y", "x y", id="lone-mark"),
        # Lower case
        pytest.param("ÁÇÃO Straße ΟΔΟΣ", "áção straße οδος", id="case"),
        pytest.param("ΣΑΣ ΣΣ Σ", "σας σς σ", id="final-sigma"),
        # Its lower case is "i" and a mark above, which is not a letter.
        pytest.param("İstanbul", "i stanbul", id="dotted-capital-i"),
        # Other scripts
        pytest.param("東京都、千代田区。", "東京都 千代田区", id="cjk"),
        pytest.param("ریور پلیت ۲۰۲۶", "ریور پلیت ۲۰۲۶", id="persian"),
        pytest.param("שלום, עולם", "שלום עולם", id="hebrew"),
        pytest.param("\u202bשלום\u202c\u200fx", "שלום x", id="direction-marks"),
        pytest.param("𝐆𝐨𝐥 𐐀", "gol 𐐨", id="astral"),
        # Neither letters nor digits
        pytest.param("gol⚽brasil 👨\u200d👩\u200d👧 fim", "gol brasil fim", id="emoji"),
        pytest.param("co\u00adoperar a&shy;b", "co operar a b", id="soft-hyphen"),
        pytest.param("a\u200bb\ufeffc", "a b c", id="zero-width"),
        pytest.param("a\x00b\x1fc", "a b c", id="control"),
        pytest.param("a\ud83db\udc00", "a b", id="lone-surrogates"),
        pytest.param("", "", id="empty"),
    ],
)
def test_tokens(text: str, right: str | list[str]) -> None:
    assert tokens(text) == (right.split(" ") if isinstance(right, str) and right else [*right])


def test_packed_texts_are_equal_exactly_where_the_tokens_are() -> None:
    one, same, other, shorter, nothing = pack_texts(
        ["Gol de placa", "gol, de placa!", "placa de gol", "gol de", "..."]
    )
    assert one == same
    assert one != other
    assert one.startswith(shorter)
    assert list(map(token_count, (one, same, other, shorter, nothing))) == [3, 3, 3, 2, 0]


# --------------------------------------------------------------------- all of Unicode


@pytest.mark.slow
def test_all_that_decomposes_into_marks_alone_is_put_in_order_beforehand() -> None:
    # CPython takes quadratic time to put long runs of combining marks into order.
    def is_marks_alone(char: str) -> bool:
        decomposed = unicodedata.normalize("NFKD", char)
        return all(unicodedata.combining(part) for part in decomposed)

    marks = [char for char in map(chr, range(sys.maxunicode + 1)) if is_marks_alone(char)]
    assert {"\u0301", "\u0344", "\u05b8", "\u3099", "\uff9e", "\uff9f", "\U0001d165"} <= {*marks}
    missed = [char for char in marks if not selection.text.tokens._MARKS.fullmatch(char * 32)]
    assert missed == []


@examples(20)
@given(st.randoms(use_true_random=False))
def test_a_word_of_all_marks_in_any_order_has_the_reference_tokens(random: Random) -> None:
    # Behind letters that compose with some of them.
    marks = [char for char in map(chr, range(0x20000)) if unicodedata.combining(char)]
    random.shuffle(marks)
    word = "".join(["e", *marks, "a", *marks[:200], "ｶ", *marks[200:]])
    assert tokens(word) == reference.tokens(word)


def test_every_character_has_the_reference_tokens() -> None:
    # In a word with a letter before it, a letter whose lower case looks around, and itself.
    unassigned = {"Cn", "Co", "Cs"}
    wrong = [
        char
        for char in map(chr, range(sys.maxunicode + 1))
        if unicodedata.category(char) not in unassigned
        and tokens(f"A{char}Σ{char}{char}") != reference.tokens(f"A{char}Σ{char}{char}")
    ]
    assert wrong == []


# Letters that grow, marks, what a final sigma looks at, jamo that compose, separators.
_AWKWARD = [*"aBΣσς1.,'_-é", "\ufdfa", "ﬃ", "\u0301", "\u0316", "\u0345", "ᄀ", "ᅡ", "ᆨ", "가", "Ϲ"]
_AWKWARD += ["㏂", "ﷺ1", "e\u0301", "\uff9e", "ｶ", "\U0001d165", "ǅ", "\u00ad", "İ"]


@examples(500)
@given(st.lists(st.sampled_from(_AWKWARD), max_size=30).map("".join), st.integers(1, 5))
def test_a_word_folded_in_pieces_has_the_reference_tokens(word: str, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("selection.text.tokens.PIECE", size)
        assert list(word_tokens(word)) == reference.tokens(word)


def test_a_word_that_can_be_cut_anywhere_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("selection.text.tokens.PIECE", 2)
    assert list(selection.text.tokens._pieces("\ufdfa" * 5)) == ["\ufdfa" * 2] * 2 + ["\ufdfa"]
    # Not behind a cased letter, which a sigma could look at, nor in front of a mark.
    assert list(selection.text.tokens._pieces("1é2\u03013éΣ4")) == ["1é2\u03013", "éΣ4"]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(available()))
def test_a_long_word_that_grows_takes_memory_for_its_tokens_alone(name: str) -> None:
    # NFKC makes 18 characters and four tokens of each: 3.6 MB of characters, and some 80 bytes
    # a token where the tokens are listed. What is kept is four bytes a token, 0.8 MB, in a few
    # copies, and the ids of the tokens that differ.
    word = "\ufdfa" * 50_000
    tracemalloc.start()
    try:
        counts = available()[name].measure(word, word, "")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Of "صلى الله عليه وسلم" the last word and the next first one are one token.
    assert counts.tokens == (3 * 50_000 + 1, 3 * 50_000 + 1, 0)
    assert peak < 4_000_000


@pytest.mark.slow
def test_a_long_run_of_marks_takes_no_object_a_mark() -> None:
    word = "a" + "\u0301\u0316" * 50_000
    tracemalloc.start()
    try:
        found = list(word_tokens(word))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found == reference.tokens(word)
    # 100,000 characters of four bytes in a few copies; an object for each would take 8 MB.
    assert peak < 4_000_000


# ---------------------------------------------------------------- against the reference


@examples(1200)
@given(MARKUP)
def test_visible_text_is_that_of_the_reference(text: str) -> None:
    assert visible_text(text) == reference.visible_text(text)


@examples(600)
@given(ENTITIES)
def test_character_references_are_decoded_as_by_the_reference(text: str) -> None:
    assert visible_text(text) == reference.visible_text(text)


@examples(1000)
@given(TEXTS)
def test_tokens_are_the_reference_tokens(text: str) -> None:
    assert tokens(text) == reference.tokens(text)


@examples(200)
@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_packed_texts_have_one_number_for_each_reference_token(texts: list[str]) -> None:
    packed = pack_texts([visible_text(text) for text in texts])
    size = vocabulary.ID_BYTES
    numbers = [[ids[i : i + size] for i in range(0, len(ids), size)] for ids in packed]
    right = [reference.tokens(text) for text in texts]
    assert list(map(len, numbers)) == list(map(len, right))
    assert list(map(token_count, packed)) == list(map(len, right))
    # One number a token and one token a number, over all the texts.
    pairs = {pair for ids, its in zip(numbers, right) for pair in zip(ids, its)}
    assert len(pairs) == len({number for number, _ in pairs}) == len({token for _, token in pairs})


# ------------------------------------------------------------------------ the vocabulary


def test_a_vocabulary_forgets_between_articles_when_there_is_too_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(vocabulary, "_MOST_WORDS", 3)
    words = Vocabulary()
    words.pack("um dois três")
    words.trim()
    assert set(words) == {"um", "dois", "três"}
    words.pack("quatro")
    words.trim()
    assert not words


def test_a_vocabulary_of_few_words_with_many_tokens_is_trimmed_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(vocabulary, "_MOST_WORDS", 3)
    words = Vocabulary()
    before = words.pack("a-b-c-d e")
    words.trim()
    # The first id is given again, to another token.
    assert words.pack("x") == before[: vocabulary.ID_BYTES]


def test_a_vocabulary_of_many_words_without_a_token_is_trimmed_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(vocabulary, "_MOST_WORDS", 3)
    words = Vocabulary()
    assert words.pack("! !! !!! !!!!") == b""
    words.trim()
    assert not words


def test_a_vocabulary_does_not_remember_long_words() -> None:
    words = Vocabulary()
    words.pack("a" * 32 + " " + "b" * 33)
    assert set(words) == {"a" * 32}


@examples(100)
@given(st.lists(st.lists(TEXTS, min_size=3, max_size=3), min_size=1, max_size=5))
def test_trimming_and_forgetting_change_no_count(batch: list[list[str]]) -> None:
    articles = [
        (
            f"{a} o gol de placa do River {b}",
            f"{b} o gol de placa do River",
            f"{c} o gol de placa do River {a}",
        )
        for a, b, c in batch
    ]
    right = [measure(*texts) for texts in articles]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vocabulary, "_MOST_WORDS", 2)
        patch.setattr(vocabulary, "LONGEST_CACHED_WORD", 3)
        assert [measure(*texts) for texts in articles] == right
    assert [measure(*texts) for texts in articles] == right


def test_another_thread_does_not_change_the_numbers_half_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Before each of this thread's texts, another thread packs an article of its own. With one
    # vocabulary for both, its trimming would give this thread's ids to other tokens.
    this_thread = threading.current_thread()

    packed_before = Vocabulary.pack

    def interrupted(words: Vocabulary, text: str) -> bytes:
        if threading.current_thread() is this_thread:
            other = threading.Thread(target=pack_texts, args=(["a b c d"],))
            other.start()
            other.join(SECONDS)
            assert not other.is_alive()
        return packed_before(words, text)

    monkeypatch.setattr(vocabulary, "_MOST_WORDS", 2)
    monkeypatch.setattr(Vocabulary, "pack", interrupted)
    one, two, three = pack_texts(["um dois", "dois um", "um dois três"])
    size = vocabulary.ID_BYTES
    assert two == one[size:] + one[:size]
    assert three.startswith(one)


# ------------------------------------------------- texts that the reference does not support


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("&#" + "9" * 5000 + ";", "\ufffd"),
        ("&#" + "9" * 5000, "\ufffd"),
        # One digit more than Python turns into an integer.
        ("&#" + "9" * 4301 + ";", "\ufffd"),
        ("&#" + "0" * 5000 + "65;", "A"),
        ("&#" + "0" * 5000 + ";", "\ufffd"),
        ("&#x" + "f" * 5000 + ";", "\ufffd"),
    ],
    ids=["nines", "nines-without-end", "nines-4301", "zeros-and-65", "zeros", "hexadecimal"],
)
def test_a_reference_of_thousands_of_digits_is_decoded(text: str, right: str) -> None:
    assert visible_text(f"gol {text} fim") == f"gol {right} fim"


def test_a_reference_of_thousands_of_digits_stops_no_article() -> None:
    decision = select_article({"trafilatura": {"text": "gol &#" + "9" * 5000 + "; fim"}})
    # U+FFFD is not a letter.
    assert decision.candidates[2].tokens == 2
    assert decision.extractor == "trafilatura"


MEGABYTE = 1_000_000


@pytest.mark.parametrize(
    ("text", "right"),
    [
        pytest.param("<" * MEGABYTE, "<" * MEGABYTE, id="open-tags"),
        pytest.param("<" * MEGABYTE + ">", " ", id="open-tags-one-closed"),
        pytest.param(">" + "<" * MEGABYTE, ">" + "<" * MEGABYTE, id="open-tags-behind-a-close"),
        pytest.param("<>" * (MEGABYTE // 2), "<>" * (MEGABYTE // 2), id="empty-tags"),
        pytest.param("[" * MEGABYTE, "[" * MEGABYTE, id="brackets"),
        pytest.param("[" * MEGABYTE + "](", "[" * MEGABYTE + "](", id="brackets-one-closed"),
        pytest.param("[" * MEGABYTE + "](x)", "[" * (MEGABYTE - 1), id="brackets-one-link"),
        pytest.param("![" * (MEGABYTE // 2), "![" * (MEGABYTE // 2), id="images"),
        pytest.param(
            "![" * (MEGABYTE // 2) + "](", "![" * (MEGABYTE // 2) + "](", id="images-one-closed"
        ),
        pytest.param("![" * (MEGABYTE // 2) + "](x)", " ", id="images-one-whole"),
        pytest.param("[a](" * (MEGABYTE // 4), "[a](" * (MEGABYTE // 4), id="open-addresses"),
        pytest.param("![a](" * (MEGABYTE // 5), "![a](" * (MEGABYTE // 5), id="open-sources"),
        pytest.param("[a]()" * (MEGABYTE // 5), "[a]()" * (MEGABYTE // 5), id="no-addresses"),
        pytest.param("[a](b)" * (MEGABYTE // 6), "a" * (MEGABYTE // 6), id="links"),
        pytest.param(
            "!" + " " * MEGABYTE + "[a](b", "!" + " " * MEGABYTE + "[a](b", id="a-wide-gap"
        ),
        pytest.param("! " * (MEGABYTE // 2) + "](", "! " * (MEGABYTE // 2) + "](", id="bangs"),
        pytest.param("&" * MEGABYTE, "&" * MEGABYTE, id="ampersands"),
        pytest.param("&#" * (MEGABYTE // 2), "&#" * (MEGABYTE // 2), id="references"),
    ],
)
def test_a_hostile_megabyte_has_the_reference_result(text: str, right: str) -> None:
    assert visible_text(text) == right


@pytest.mark.parametrize(
    ("text", "right"),
    [
        # The marks of one class stay in order and none is a letter; "a" composes with U+0301.
        pytest.param("a" + "\u0301\u0327" * 250_000, ["á"], id="marks-out-of-order"),
        pytest.param("a" + "\u0344" * 300_000, ["ä"], id="marks-that-decompose"),
        pytest.param("ｶ" + "\uff9e" * 300_000, ["ガ"], id="halfwidth-voice-marks"),
        pytest.param("\u0301" * 500_000 + "x", ["x"], id="marks-first"),
        pytest.param("a" * MEGABYTE, ["a" * MEGABYTE], id="one-word"),
        pytest.param("Σ" * 500_000, ["σ" * 499_999 + "ς"], id="sigmas"),
        pytest.param("_" * MEGABYTE, [], id="underscores"),
        pytest.param("x_" * 300_000, ["x"] * 300_000, id="one-word-of-many-tokens"),
    ],
)
def test_a_hostile_word_has_the_reference_tokens(text: str, right: list[str]) -> None:
    assert tokens(text) == right


@pytest.mark.parametrize("unit", ["<", "[", "![", "](", "\u0301\u0327", "&", "_"])
def test_an_article_of_a_hostile_megabyte_is_decided(unit: str) -> None:
    text = unit * (MEGABYTE // len(unit))
    decision = select_article({"newspaper4k": {"text": text}, "trafilatura": {"text": "gol"}})
    assert decision.candidates[0].state is State.UNAVAILABLE
    assert decision.extractor == "trafilatura"
