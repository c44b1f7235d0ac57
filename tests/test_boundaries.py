"""The search for boundaries: what it proposes, by hand, and the same from both searches."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selection.stream.boundaries import (
    ESCAPED,
    INSIDE,
    ITEM_CLOSED,
    ITEM_OPENED,
    KIND_BITS,
    LIST_CLOSED,
    LIST_OPENED,
    OUTSIDE,
    Boundaries,
    Find,
    available,
    find_in_python,
)

FINDS = available()
# Long texts cost time and find nothing that short ones do not.
_short = st.text(max_size=8)
every_search = pytest.mark.parametrize("find", FINDS.values(), ids=FINDS)


def unpacked(marks: list[int]) -> list[tuple[int, int]]:
    return [(mark >> KIND_BITS, mark & 3) for mark in marks]


@every_search
def test_boundaries_by_hand(find: Find) -> None:
    #       0         1         2         3
    #       0123456789012345678901234567890123456789
    data = b'{"a":[{"x":[{}]}, 1,[{}],{"\\"}":2}],"b":{"c":[{}]}}'
    marks, depth, string = find(data, 0, len(data), 0, OUTSIDE)
    assert unpacked(marks) == [
        (5, LIST_OPENED),
        (6, ITEM_OPENED),
        (15, ITEM_CLOSED),
        (23, ITEM_CLOSED),  # of a list, which did not open as an item
        (25, ITEM_OPENED),
        (33, ITEM_CLOSED),
        (34, LIST_CLOSED),
        # An object in the root is not a list, but what is in it is as deep as items are.
        (48, ITEM_CLOSED),
        (49, LIST_CLOSED),
    ]
    assert (depth, string) == (0, OUTSIDE)


@every_search
@pytest.mark.parametrize(
    ("data", "before", "after"),
    [
        (b'"', OUTSIDE, INSIDE),
        (b'"a\\', OUTSIDE, ESCAPED),
        (b'"a\\\\', OUTSIDE, INSIDE),
        (b'"a\\\\"', OUTSIDE, OUTSIDE),
        (b'"a\\"', OUTSIDE, INSIDE),
        (b'"', ESCAPED, INSIDE),
        (b'\\"', ESCAPED, OUTSIDE),
        (b"", ESCAPED, ESCAPED),
        (b"", INSIDE, INSIDE),
        (b'}]"', INSIDE, OUTSIDE),
        (b"\\", OUTSIDE, OUTSIDE),  # not valid, and not an escape
    ],
)
def test_strings_and_escapes(find: Find, data: bytes, before: int, after: int) -> None:
    assert find(data, 0, len(data), 7, before) == ([], 7, after)


_BYTES = st.lists(st.sampled_from(b'{}[]"\\\\a, ')).map(bytes)


@given(_BYTES, st.integers(-1, 4), st.integers(OUTSIDE, ESCAPED), st.data())
def test_searches_agree_on_any_bytes_however_they_are_cut(
    data: bytes, depth: int, string: int, draw: st.DataObject
) -> None:
    start = draw.draw(st.integers(0, len(data)))
    cut = draw.draw(st.integers(start, len(data)))
    right = find_in_python(data, start, len(data), depth, string)
    for find in FINDS.values():
        assert find(data, start, len(data), depth, string) == right
        marks, at_cut, string_at_cut = find(data, start, cut, depth, string)
        more, *state = find(data, cut, len(data), at_cut, string_at_cut)
        assert (marks + more, *state) == right


@given(
    st.recursive(
        st.none() | _short,
        lambda v: st.lists(v, max_size=3) | st.dictionaries(_short, v, max_size=3),
        max_leaves=20,
    )
)
def test_the_items_of_a_list_are_found_wherever_json_writes_them(value: object) -> None:
    items = [json.dumps({"v": value}), json.dumps([value, "{"]), json.dumps({"w": [value]})]
    data = ('{"articles": [' + ", ".join(items) + "]}").encode()
    for find in FINDS.values():
        marks = unpacked(find(data, 0, len(data), 0, OUTSIDE)[0])
        opened = [at for at, kind in marks if kind == ITEM_OPENED]
        closed = [at for at, kind in marks if kind == ITEM_CLOSED]
        assert [data[opened[0] : closed[0] + 1], data[opened[1] : closed[2] + 1]] == [
            items[0].encode(),
            items[2].encode(),
        ]


def test_the_list_of_marks_is_bounded() -> None:
    data = b'{"a":[' + b"{}," * 1_000_000
    boundaries = Boundaries()
    at = found = 0
    while at < len(data):
        marks, at = boundaries.find(data, at)
        assert len(marks) <= 1 << 18
        found += len(marks)
    assert found == 2_000_001


@pytest.mark.skipif("native" not in FINDS, reason="the compiled backend was not built")
@pytest.mark.parametrize(
    "args", [(b"ab", -1, 2, 0, 0), (b"ab", 2, 1, 0, 0), (b"ab", 0, 3, 0, 0), (b"ab", 0, 2, 0, 3)]
)
def test_the_compiled_search_refuses_what_is_out_of_range(
    args: tuple[bytes, int, int, int, int],
) -> None:
    with pytest.raises(ValueError, match="out of range"):
        FINDS["native"](*args)
