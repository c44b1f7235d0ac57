"""JSON batches made byte by byte, with what is to become of them known from the making.

Nothing here goes through a JSON writer: a writer has one way to write each thing, and what
has to be shown is that every legal way is copied as it stands. A document is a list of
chunks; between them are the places of the picks, so that a test knows the right output
without asking the product.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

# How long an example takes depends on the machine; no test may.
unhurried = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MEMBER = "selected_extractor"
TEXT_FIELDS = {"newspaper4k": "text", "readability": "cleaned_text", "trafilatura": "text"}

# RFC 8259 knows these four only; `\s` knows two more.
_WS = rb"[ \t\r\n]*"
_ANY_PICK = rb'"(newspaper4k|readability|trafilatura)"'


@dataclass(frozen=True)
class Slot:
    """The place of a pick.

    Attributes:
        article: which object of the batch's articles it belongs to, from 0.
        old: the value that is to be replaced; None where a member is to be added.
        comma: whether the added member follows another one.
    """

    article: int
    old: bytes | None
    comma: bool = False


@dataclass(frozen=True)
class ArticleText:
    """An object of ``articles``: its place in the list, its offset and its bytes."""

    index: int
    start: int
    raw: bytes


@dataclass(frozen=True)
class Document:
    """A batch.

    Attributes:
        chunks: its bytes and the places of the picks, in order.
        articles: the objects of its lists.
        skipped: how many items of its lists are no objects.
    """

    chunks: tuple[bytes | Slot, ...]
    articles: tuple[ArticleText, ...]
    skipped: int

    @property
    def input(self) -> bytes:
        """The document as it comes in."""
        return _input_of(self.chunks)

    def picks_in(self, output: bytes) -> list[set[str]] | None:
        """The picks that an output has, per article; None if anything else was changed.

        White space within an added member is free here; its style has tests of its own.
        """
        pattern = b""
        for chunk in self.chunks:
            if isinstance(chunk, bytes):
                pattern += re.escape(chunk)
            elif chunk.old is not None:
                pattern += _ANY_PICK
            else:
                comma = b"," if chunk.comma else b""
                pattern += comma + _WS + b'"selected_extractor"' + _WS + b":" + _WS + _ANY_PICK
        found = re.fullmatch(pattern, output, re.DOTALL)
        if found is None:
            return None
        picks: list[set[str]] = [set() for _ in self.articles]
        slots = [chunk for chunk in self.chunks if isinstance(chunk, Slot)]
        for slot, pick in zip(slots, found.groups(), strict=True):
            picks[slot.article].add(pick.decode())
        return picks


def _input_of(chunks: Sequence[bytes | Slot]) -> bytes:
    return b"".join(c if isinstance(c, bytes) else c.old or b"" for c in chunks)


def parsed(raw: bytes) -> Any:
    """What ``json`` makes of a text, with every surrogate that has no partner as U+FFFD.

    Every number becomes zero: Python refuses some that JSON allows, and none of the rules
    looks at a number's value.
    """
    value = json.loads(raw, parse_int=lambda _: 0, parse_float=lambda _: 0.0)
    return without_surrogates(value)


def without_surrogates(value: Any) -> Any:
    """The same value with each lone surrogate as U+FFFD."""
    if isinstance(value, str):
        return re.sub("[\ud800-\udfff]", "\ufffd", value)
    if isinstance(value, list):
        return [without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}
    return value


# ------------------------------------------------------------------------- small parts

white_space = st.sampled_from([b"", b"", b"", b" ", b"\n", b"\t", b"\r\n  ", b" \t\n\r ", b"\r"])

_FRAGMENTS = [
    rb"\"",
    rb"\\",
    rb"\/",
    rb"\b\f\n\r\t",
    rb"\u0041",
    rb"\u00E9",
    rb"\u00e9",
    rb"\u0000",
    rb"\uFFFF",
    rb"\ud83d\ude00",
    rb"\uD83D\uDE00",
    rb"\ud83d",
    rb"\ud83d\uD835\udc00",
    rb"\uDBFF",
    rb"\ude00",
    rb"\uDC00",
    rb"\\ud83d",
    rb"\\\ud83d",
    rb"\\\\ude00",
    rb"\\\"",
    b"{}[]",
    b"{",
    b"}",
    b"]",
    b",:",
    b"\x7f",
    b"ud83d",
    b"one two three ",
    b"articles.item",
    MEMBER.encode(),
    "é日😀\u2028".encode(),
    "\ufeff".encode(),
]

_plain_text = st.text(
    st.characters(min_codepoint=32, exclude_characters='"\\', exclude_categories=["Cs"]),
    max_size=6,
).map(str.encode)


def _quoted(pieces: Sequence[bytes]) -> bytes:
    return b'"' + b"".join(pieces) + b'"'


strings = st.lists(st.sampled_from(_FRAGMENTS) | _plain_text, max_size=5).map(_quoted)

_WORDS = [b"one ", b"two ", b"three ", b"four ", b"five ", b"six ", b"seven ", b"eight "]
# Texts of which two are often alike, so that all three extractors get picked.
texts = (
    st.integers(0, 8).map(lambda n: _quoted(_WORDS[:n]))
    | st.integers(1, 8).map(lambda n: _quoted([*_WORDS[:n], rb"\ud83d ", *_WORDS[-n:]]))
    | strings
)

_digits = st.integers(1, 6000).map(lambda n: b"7" * n)
numbers = (
    st.sampled_from(
        [
            b"0",
            b"-0",
            b"-0.0",
            b"1.10",
            b"5",
            b"1E+2",
            b"1e-7",
            b"1e400",
            b"-1e99999999999999999999",
            b"1E999999999999999999",
            b"0e-99999999999999999999",
        ]
    )
    | _digits
    | _digits.map(lambda digits: b"-0." + digits)
)
scalars = st.sampled_from([b"true", b"false", b"null", b'""']) | strings | numbers


@st.composite
def _lists(draw: st.DrawFn, items: st.SearchStrategy[bytes]) -> bytes:
    spaced = [draw(white_space) + item + draw(white_space) for item in draw(_few(items))]
    return b"[" + (b",".join(spaced) or draw(white_space)) + b"]"


@st.composite
def _objects(
    draw: st.DrawFn, keys: st.SearchStrategy[bytes], of: st.SearchStrategy[bytes]
) -> bytes:
    members = [draw(_members(key, of)) for key in draw(_few(keys))]
    return b"{" + (b",".join(members) or draw(white_space)) + b"}"


@st.composite
def _members(draw: st.DrawFn, key: bytes, of: st.SearchStrategy[bytes]) -> bytes:
    colon = draw(white_space) + b":" + draw(white_space)
    return draw(white_space) + key + colon + draw(of) + draw(white_space)


def _few(of: st.SearchStrategy[bytes]) -> st.SearchStrategy[list[bytes]]:
    return st.lists(of, max_size=3)


@st.composite
def spelled(draw: st.DrawFn, key: str) -> bytes:
    """A key, some of its characters as escapes."""
    if draw(st.booleans()):
        return b'"' + key.encode() + b'"'
    forms = ("{}", "\\u{:04x}", "\\u{:04X}")
    ways = draw(st.lists(st.sampled_from(forms), min_size=len(key), max_size=len(key)))
    spellings = [c if way == "{}" else way.format(ord(c)) for way, c in zip(ways, key)]
    return b'"' + "".join(spellings).encode() + b'"'


_tempting_keys = st.sampled_from(
    ["articles", "articles.item", "item", MEMBER, "trafilatura." + MEMBER, "text", "error", ""]
).flatmap(spelled)
_any_key = _tempting_keys | strings


@st.composite
def _nested(draw: st.DrawFn) -> bytes:
    openings = draw(st.lists(st.sampled_from([b"[", b'{"articles": ', b'{"a.b":[']), max_size=50))
    value = draw(scalars)
    for opening in reversed(openings):
        closing = {b"[": b"]", b'{"articles": ': b"}", b'{"a.b":[': b"]}"}[opening]
        value = opening + value + closing
    return value


containers = st.recursive(
    _lists(scalars) | _objects(_any_key, scalars),
    lambda inner: _lists(scalars | inner) | _objects(_any_key, scalars | inner),
    max_leaves=4,
)
values = scalars | containers | _nested()


# ---------------------------------------------------------------------------- articles


@st.composite
def blocks(draw: st.DrawFn, extractor: str) -> bytes:
    """An extractor's block, often a good one."""
    if draw(st.integers(0, 9)) == 0:
        return draw(values)
    errors = st.sampled_from([b"null", b"null", b'""', b"[]", b"{}", b"[[]]", b"false"]) | values
    members = []
    for name in draw(st.permutations([TEXT_FIELDS[extractor], "error", "text", MEMBER])):
        value = {TEXT_FIELDS[extractor]: texts | values, "error": errors}.get(name, values)
        for _ in range(draw(st.sampled_from([0, 1, 1, 1, 2]))):
            members.append(draw(_members(draw(spelled(name)), value)))
    return b"{" + (b",".join(members) or draw(white_space)) + b"}"


def _is_other_than(*names: str) -> Any:
    return lambda key: json.loads(key) not in names


@st.composite
def _articles(draw: st.DrawFn, number: int) -> list[bytes | Slot]:
    """One article, with its pick's places."""
    kinds = draw(
        st.lists(st.sampled_from([*TEXT_FIELDS, "id", "other", "other", MEMBER]), max_size=5)
        | st.permutations([*TEXT_FIELDS, "id"])
        | st.permutations([*TEXT_FIELDS, MEMBER])
    )
    chunks: list[bytes | Slot] = [b"{"]
    for position, kind in enumerate(kinds):
        if position:
            chunks.append(draw(white_space) + b",")
        if kind == "other":
            key, value = draw(_any_key.filter(_is_other_than(MEMBER))), draw(values)
        else:
            key = draw(spelled(kind))
            value = draw(blocks(kind) if kind in TEXT_FIELDS else values)
        chunks.append(draw(white_space) + key + draw(white_space) + b":" + draw(white_space))
        chunks.append(Slot(number, value) if kind == MEMBER else value)
    if MEMBER not in kinds:
        # Right behind the last value; an empty article's white space comes after the member.
        chunks.append(Slot(number, None, comma=bool(kinds)))
    chunks.append(draw(white_space) + b"}")
    return chunks


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """A whole batch."""
    names = draw(
        st.lists(st.just("other"), max_size=2).flatmap(
            lambda others: (
                st.permutations([*others, "articles"])
                | st.permutations([*others, "articles", "articles"])
            )
        )
    )
    chunks: list[bytes | Slot] = [draw(st.sampled_from([b"", b"", BYTE_ORDER_MARK]))]
    chunks.append(draw(white_space) + b"{")
    articles: list[ArticleText] = []
    items = 0
    for position, name in enumerate(names):
        if position:
            chunks.append(b",")
        key = draw(spelled(name) if name == "articles" else _any_root_key)
        chunks.append(draw(white_space) + key + draw(white_space) + b":" + draw(white_space))
        if name != "articles":
            chunks.append(draw(values))
        else:
            chunks.append(b"[")
            for place in range(draw(st.sampled_from([0, 1, 1, 2, 3]))):
                chunks.append((b"," if place else b"") + draw(white_space))
                if draw(st.integers(0, 4)):
                    article = draw(_articles(len(articles)))
                    start = len(_input_of(chunks))
                    articles.append(ArticleText(items, start, _input_of(article)))
                    chunks += article
                else:
                    chunks.append(draw(scalars | _lists(values)))
                chunks.append(draw(white_space))
                items += 1
            chunks.append(b"]")
        chunks.append(draw(white_space))
    chunks.append(b"}" + draw(white_space))
    return Document(tuple(chunks), tuple(articles), items - len(articles))


_any_root_key = _any_key.filter(_is_other_than("articles"))
