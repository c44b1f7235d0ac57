"""Both backends count as the reference implementation; the choice of the backend."""

# ruff: noqa: RUF001 (characters that look like others are the matter here)

from __future__ import annotations

import subprocess
import sys
import unicodedata
from array import array
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selection.text.backend import Backend, available
from selection.text.fold_table import IN_ITS_WORD, SEPARATOR, SPACE, fold_page
from selection.text.overlap import Counts, in_both
from tests.support import reference
from tests.support.command import run
from tests.support.examples import examples
from tests.support.texts import TEXTS
from worker.settings import Settings, SettingsError

BACKENDS = list(available().values())
every_backend = pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name)


def measured(backend: Backend, *texts: str) -> Counts:
    """Return the counts by a backend."""
    one, two, three = map(backend.visible, texts)
    return backend.measure(one, two, three)


def counted(*texts: str) -> Counts:
    """Return the counts of the reference implementation."""
    its_tokens = [reference.tokens(text) for text in texts]
    sets = Counter[int]()
    shingles = [reference.shingles_of(tokens) for tokens in its_tokens]
    for shingle in set().union(*shingles):
        sets[sum(1 << i for i, own in enumerate(shingles) if shingle in own)] += 1
    one, two, three = map(len, its_tokens)
    a, b, ab, c, ac, bc, abc = (sets[number] for number in range(1, 8))
    return Counts((one, two, three), (0, a, b, ab, c, ac, bc, abc))


# ------------------------------------------------------------------------------- counts


def test_consensus_by_hand() -> None:
    # Of texts 0, 1 and 2; alone 1, 2 and 8, in pairs 4 (0 and 1), 16 (0 and 2), 32, in all 64.
    counts = Counts((0, 0, 0), (0, 1, 2, 4, 8, 16, 32, 64))
    assert [counts.shingles(text) for text in range(3)] == [85, 102, 120]
    assert counts.consensus([0, 1, 2]) == (116, {0: 84, 1: 100, 2: 112})
    # Without text 2, what it shares with one other is that one's own.
    assert counts.consensus([0, 1]) == (68, {0: 68, 1: 68})
    assert counts.consensus([1, 2]) == (96, {1: 96, 2: 96})


@every_backend
def test_counts_by_hand(backend: Backend) -> None:
    counts = backend.measure("a b c d e f", "x a b c d e", "a b c d e f")
    # abcde is in all, bcdef in the first and the third, xabcd in the second.
    assert counts == Counts((6, 6, 6), (0, 0, 1, 0, 0, 1, 0, 1))
    assert backend.measure("a b", "A, b!", "b a") == Counts((2, 2, 2), (0, 0, 0, 1, 1, 0, 0, 0))
    assert backend.measure("", "...", "a") == Counts((0, 0, 1), (0, 0, 0, 0, 1, 0, 0, 0))


def test_what_two_texts_share_by_hand() -> None:
    # As above: alone 1, 2 and 8, in pairs 4, 16 and 32, in all 64.
    regions = (0, 1, 2, 4, 8, 16, 32, 64)
    assert [in_both(regions, 0, 1), in_both(regions, 0, 2), in_both(regions, 1, 2)] == [68, 80, 96]


@every_backend
def test_markup_is_removed_before_the_texts_are_measured(backend: Backend) -> None:
    for text in ("a <b> c", "a [b](c) d", "a &amp; b", "a ![b](c) d", "a b", "a [b] > c"):
        assert backend.visible(text) == reference.visible_text(text)
    # The backend itself counts what is given to it: two tokens, not one.
    assert backend.measure("a <b>", "", "").tokens == (2, 0, 0)


_SOME = st.sampled_from(["", " o gol de placa do River ", "\u2026", " ΟΔΟΣ", "x" * 70])


@examples(600)
@given(TEXTS, TEXTS, TEXTS, _SOME, _SOME)
@pytest.mark.slow
def test_any_texts(one: str, two: str, three: str, some: str, other: str) -> None:
    texts = (one + some + two, other + two, three + some + other)
    right = counted(*texts)
    for backend in BACKENDS:
        assert measured(backend, *texts) == right, backend.name


@every_backend
@pytest.mark.parametrize(
    "text",
    [
        # The word is checked as a whole, and what was read of it before is discarded.
        "um,dois,trêsΣ,quatro cinco",
        "a-b-c-e\u0301-d e-\u0301",
        "ΟΔΟΣ ΟΔΟΣΑ Σ aΣ 'Σ",
        "İstanbul ǅ ß ﬁm ½ … ¨ m² Å",
        "한국어 \u1112\u1161\u11ab \u1112\u1161 \u11ab 가\u11a8",
        "がｶﾞか\u3099は\u309a",
        "नमस्ते दुनिया ক\u09be থ\u09c7\u09be",
        "𝐚𝐛𝐜 a𝐛c 🙂 a🙂b 𠮷野家",
        "\ud800 a\udc00b \x00 a\x00b \x1f \x85 \u2028 \u3000",
        "x" * 63 + " " + "x" * 64 + " " + "x" * 65 + " " + "x" * 129 + " " + "x" * 500,
    ],
)
def test_words_that_are_not_read_letter_by_letter(backend: Backend, text: str) -> None:
    assert backend.measure(text, f"{text} a b c d e", f"a b {text}") == counted(
        text, f"{text} a b c d e", f"a b {text}"
    )


@pytest.mark.slow
def test_many_tokens_and_shingles() -> None:
    # Some thousand times more than the tables have room for in the beginning.
    random = Random(5)
    words = [f"w{random.randrange(400_000)}" for _ in range(300_000)]
    texts = [" ".join(words), " ".join(words[100_000:]), " ".join(words[:200_000])]
    right = counted(*texts)
    for backend in BACKENDS:
        assert measured(backend, *texts) == right, backend.name


def test_every_character_of_the_basic_plane_by_itself_and_in_a_word() -> None:
    for page in range(256):
        text = "".join(f"{chr(c)} a{chr(c)}b " for c in range(page * 256, page * 256 + 256))
        right = len(reference.tokens("x " + text))
        for backend in BACKENDS:
            assert measured(backend, "x " + text, "", "").tokens[0] == right, (backend.name, page)


def test_what_is_read_by_itself_never_changes_beside_others() -> None:
    """Composition, by Unicode's own tables: who is second in one is never read by itself."""
    changing = {*range(0x1161, 0x1176), *range(0x11A8, 0x11C3), ord("Σ"), ord("İ")}
    for code in range(sys.maxunicode + 1):
        parts = unicodedata.decomposition(chr(code)).split()
        if parts and not parts[0].startswith("<"):
            changing.update(int(part, 16) for part in parts[1:])
        if unicodedata.combining(chr(code)):
            changing.add(code)
    pages = array("I", b"".join(map(fold_page, range(256))))
    assert not [hex(code) for code in changing if code < 0x10000 and pages[code] > SPACE]
    # By hand, one of each kind.
    kinds = {"a": ord("a"), "Ñ": ord("ñ"), "Ａ": ord("a"), "²": ord("2"), "東": ord("東")}
    kinds |= {"_": SEPARATOR, "’": SEPARATOR, "…": SEPARATOR, " ": SPACE, "\xa0": SPACE}
    kinds |= {"\u0301": IN_ITS_WORD, "ﬁ": IN_ITS_WORD, "½": IN_ITS_WORD, "ᄒ": IN_ITS_WORD}
    assert {char: pages[ord(char)] for char in kinds} == kinds


# ------------------------------------------------------------------ the compiled backend


@pytest.mark.skipif("native" not in available(), reason="the compiled backend was not built")
class TestNative:
    @pytest.mark.parametrize("byte", [0, 1, 255])
    def test_words_with_equal_hashes_are_distinguished(self, byte: int) -> None:
        # With such keys all tokens of one length, or simply all, have the same hash.
        from selection.text import _native

        words = [f"w{number}" for number in range(700)]
        texts = (" ".join(words), " ".join(words[300:]), " ".join(reversed(words)))
        keys = bytes([byte]) * _native.KEY_BYTES
        assert Counts(*_native.measure(*texts, keys)) == counted(*texts)

    def test_what_it_is_not_made_for(self) -> None:
        from selection.text import _native

        keys = bytes(_native.KEY_BYTES)
        measure: object = _native.measure
        assert callable(measure)
        for arguments in [(), ("a", "b", keys), ("a", "b", "c"), ("a", "b", b"c", keys)]:
            with pytest.raises(TypeError):
                measure(*arguments)
        for wrong in (b"", keys + b"x", "keys"):
            with pytest.raises(ValueError, match="KEY_BYTES"):
                measure("a", "b", "c", wrong)

    def test_a_fault_in_a_word_comes_out(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from selection.text import _native

        monkeypatch.setattr("selection.text.tokens.word_tokens", lambda word: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            _native.measure("a ", "½" * 40, "", bytes(_native.KEY_BYTES))


# ------------------------------------------------------------------------- which is used


@pytest.mark.parametrize("name", list(available()))
def test_the_variable_names_the_backend(name: str) -> None:
    assert f"(backend {name}, " in run("--version", SELECTION_BACKEND=name).stdout


def test_the_fastest_is_the_default() -> None:
    assert f"(backend {BACKENDS[0].name}, " in run("--version", SELECTION_BACKEND="").stdout


def test_a_backend_that_is_none_is_a_wrong_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    for command in (["--version"], ["run", "batch.json"]):
        done = run(*command, SELECTION_BACKEND="fast")
        assert (done.returncode, done.stdout) == (2, "")
        assert "SELECTION_BACKEND=fast: unknown backend" in done.stderr
    from selection.text.backend import backend

    backend.cache_clear()
    monkeypatch.setenv("SELECTION_BACKEND", "fast")
    with pytest.raises(SettingsError, match="use native or python"):
        Settings.from_environment()


def test_a_machine_without_the_compiled_backend_says_so_or_does_without() -> None:
    script = (
        "import sys; sys.modules['selection.text._native'] = None\n"
        "from selection.text.backend import backend; print(backend().name)"
    )

    def process(name: str) -> subprocess.CompletedProcess[str]:
        environment = {"SELECTION_BACKEND": name}
        return subprocess.run(
            [sys.executable, "-c", script],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )

    assert process("").stdout == "python\n"
    assert "was not built here; install a C compiler" in process("native").stderr
