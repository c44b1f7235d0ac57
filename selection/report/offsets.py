"""Offset map: a text's visible characters and the place of each of them in the text."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TypeAlias

from selection.text.markup import STEPS, Step

_Offsets: TypeAlias = "array[int]"


@dataclass(frozen=True, slots=True)
class OffsetMap:
    """Represent a text without its markup.

    Attributes:
        visible: the result of :func:`selection.text.markup.visible_text`.
        starts, ends: for each of its characters, the offsets in the text at which its source
            begins and ends.
    """

    visible: str
    starts: _Offsets
    ends: _Offsets


def offset_map(text: str) -> OffsetMap:
    """Remove the markup of a text, and keep the offset of every character that is left."""
    whole = array("Q", range(len(text) + 1))
    mapped = OffsetMap(text, whole[:-1], whole[1:])
    for mark, steps in STEPS.items():
        if mark in mapped.visible:
            for step in steps:
                mapped = _replace(mapped, step)
    return mapped


def _replace(mapped: OffsetMap, step: Step) -> OffsetMap:
    text, starts, ends = mapped.visible, mapped.starts, mapped.ends
    pieces: list[str] = []
    new_starts, new_ends = array("Q"), array("Q")
    done = 0
    for match in step.pattern.finditer(text):
        new = step.replace(match)
        if new == match[0]:
            continue
        pieces += text[done : match.start()], new
        new_starts += starts[done : match.start()]
        new_ends += ends[done : match.start()]
        if step.kept:
            start, end = match.span(step.kept)
            new_starts += starts[start:end]
            new_ends += ends[start:end]
        else:
            new_starts.extend([starts[match.start()]] * len(new))
            new_ends.extend([ends[match.end() - 1]] * len(new))
        done = match.end()
    pieces.append(text[done:])
    return OffsetMap("".join(pieces), new_starts + starts[done:], new_ends + ends[done:])
