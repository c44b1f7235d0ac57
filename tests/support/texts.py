"""Random texts that are hard to normalise, as Hypothesis strategies."""

# ruff: noqa: RUF001 (characters that look the same are intended)

from __future__ import annotations

from hypothesis import strategies as st

MARKUP = st.lists(
    st.sampled_from([*"![]()<>", "](", "![", "[a](b)", "![a](b)", " ", "\n", "a", "bc", "é"]),
    max_size=40,
).map("".join)


_ENTITY_PIECES = [
    *(
        "&",
        "#",
        "x",
        "X",
        ";",
        "&#",
        "&#x",
        "amp",
        "lt",
        "gt",
        "nbsp",
        "lsqb",
        "notit",
        "&lt;b&gt;",
    ),
    *("0", "00000000", "65", "128", "d800", "9999999", "99999999", "1114111", " ", "a"),
]
ENTITIES = st.lists(st.sampled_from(_ENTITY_PIECES), max_size=14).map("".join)


_PIECES = [
    st.text(max_size=12),
    MARKUP,
    ENTITIES,
    st.text("aeZΣσİſßﬁǅ_", max_size=10),
    st.text("\u0300\u0301\u0327\u0344\u0345\u05b8\u0338\u20d0\U0001d165", max_size=12),
    st.text("ｶﾊﾞﾟﾞ\uff9e\uff9f\u3099\u309aは", max_size=12),
    st.text("\u1100\u1161\u11a8\u1112\u11ab가각ﾡￂ", max_size=12),
    st.text("東京都。、々〆ㇰ", max_size=10),
    st.text("العربية\u064b\u0651ﷺﻻ٣\u0640", max_size=10),
    st.text("שלוםשּׁ\u05b8\u05c1\u200f", max_size=10),
    st.text("\ud800\udbff\udc00\udfff_ \u00ad\u200d", max_size=8),
    st.text("\x1c\x1f\x85\xa0\u2003\u3000\u2028 \t\n\u200b", max_size=8),
    # Runs of marks up to 200, in and out of order.
    st.builds(
        lambda marks, times: "a" + (marks * 200)[:times],
        st.text("\u0301\u0327\u05b8\u0344\uff9e\u3099\u0f73\U0001d165⚽", min_size=1, max_size=6),
        st.integers(25, 200),
    ),
]
TEXTS = st.lists(st.one_of(_PIECES), max_size=6).map("".join)
