"""A text's visible characters and where in the text each of them stands."""

from __future__ import annotations

import html
import re
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from selection.text import markup

# What html.unescape takes for a reference; each is decoded by it, alone.
_REFERENCE = re.compile(r"&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[^\t\n\f <&#;]{1,32};?)")

_Offsets: TypeAlias = "array[int]"
# What stands in a match's place, and where in the match it is a copy of; -1 if it is none.
_Replacement = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Traced:
    """A text without its markup.

    Attributes:
        visible: what :func:`selection.text.markup.visible_text` makes of the text.
        starts, ends: for each of its characters, the offsets in the text before and behind
            what it stands for.
    """

    visible: str
    starts: _Offsets
    ends: _Offsets


def trace(text: str) -> Traced:
    """Take the markup out of a text, remembering where everything was."""
    whole = array("Q", range(len(text) + 1))
    traced = Traced(text, whole[:-1], whole[1:])
    if "&" in text:
        traced = _replace(traced, _REFERENCE, _decode)
    if "](" in traced.visible:
        traced = _replace(traced, markup.IMAGE, _drop_image)
        traced = _replace(traced, markup.LINK, _keep_anchor)
    if "<" in traced.visible:
        # As in the markup's own module: behind the last ">" no tag can end.
        traced = _replace(traced, markup.TAG, _drop_tag, traced.visible.rfind(">") + 1)
    return traced


def _replace(
    traced: Traced,
    pattern: re.Pattern[str],
    replacement: Callable[[re.Match[str]], _Replacement],
    end: int | None = None,
) -> Traced:
    text, starts, ends = traced.visible, traced.starts, traced.ends
    pieces: list[str] = []
    new_starts, new_ends = array("Q"), array("Q")
    done = 0
    for match in pattern.finditer(text, 0, len(text) if end is None else end):
        new, copied_from = replacement(match)
        if new == match[0]:
            continue
        pieces += text[done : match.start()], new
        new_starts += starts[done : match.start()]
        new_ends += ends[done : match.start()]
        if copied_from < 0:
            new_starts.extend([starts[match.start()]] * len(new))
            new_ends.extend([ends[match.end() - 1]] * len(new))
        else:
            at = match.start() + copied_from
            new_starts += starts[at : at + len(new)]
            new_ends += ends[at : at + len(new)]
        done = match.end()
    pieces.append(text[done:])
    return Traced("".join(pieces), new_starts + starts[done:], new_ends + ends[done:])


def _decode(match: re.Match[str]) -> _Replacement:
    return html.unescape(markup.LONG_REFERENCE.sub(markup.clip_reference, match[0])), -1


def _drop_image(match: re.Match[str]) -> _Replacement:
    return markup.drop_image(match), -1


def _keep_anchor(match: re.Match[str]) -> _Replacement:
    return markup.keep_anchor(match), 1  # behind the "["


def _drop_tag(match: re.Match[str]) -> _Replacement:
    return " ", -1
