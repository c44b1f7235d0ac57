"""Removal of markup: rules 2.1 to 2.4, as a list of replacements.

Each rule can be written as one regular expression over the text. The plain expressions for images,
links and tags take quadratic time on hostile text (a megabyte of ``![``, ``[`` or ``<``), and
``html.unescape`` raises for a reference of 5,000 digits. The steps below give the same result in
linear time.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """Represent one replacement.

    Attributes:
        pattern: matches what is replaced. It can also match a failed attempt, up to where it
            fails, which is then replaced by itself.
        replace: returns the replacement of a match.
        kept: the group of the pattern that a replacement is a copy of; 0 if it is not a copy.
    """

    pattern: re.Pattern[str]
    replace: Callable[[re.Match[str]], str]
    kept: int = 0


# A number of eight digits or more is beyond Unicode unless it is mostly zeros.
_LONG_NUMBER = re.compile(r"&#([0-9]{8,})")
_BEYOND_UNICODE = "&#1114112"


def _decode(match: re.Match[str]) -> str:
    return html.unescape(_LONG_NUMBER.sub(_clip, match[0]))


def _clip(match: re.Match[str]) -> str:
    digits = match[1].lstrip("0") or "0"
    return f"&#{digits}" if len(digits) < 8 else _BEYOND_UNICODE


def _drop(match: re.Match[str]) -> str:
    return " " if match[1] else match[0]


def _keep_anchor(match: re.Match[str]) -> str:
    anchor, target, end = match.groups()
    return anchor if target and end else match[0]


# All but the first of these patterns also match a failed attempt, up to where it fails. No match
# can begin inside one: all attempts before the same "]" fail for the same reason, and where "]",
# ")" or ">" is missing it is missing for every later attempt, too. So no text is read twice.
_REFERENCE = re.compile(r"&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[^\t\n\f <&#;]{1,32};?)")
_IMAGE = re.compile(r"!\s*\[[^\]]*+(?:\](?:\([^)]*+(\))?)?)?")
_LINK = re.compile(r"\[(?:([^\]]++)(?:\](?:\(([^)]*+)(\))?)?)?)?")
_TAG = re.compile(r"<[^>]++(>)?")

#: The steps of rules 2.1 to 2.4, in order. Each key occurs in every text in which its steps have
#: something to replace.
STEPS = {
    # What `html.unescape` takes for a reference; it decodes each by itself.
    "&": (Step(_REFERENCE, _decode),),
    "](": (Step(_IMAGE, _drop), Step(_LINK, _keep_anchor, kept=1)),
    "<": (Step(_TAG, _drop),),
}


def has_markup(text: str) -> bool:
    """Return whether a text has a character without which no step replaces anything."""
    return "&" in text or "[" in text or "<" in text


def visible_text(text: str) -> str:
    """Return a text without its markup (rules 2.1 to 2.4)."""
    for mark, steps in STEPS.items():
        # Python finds one character much faster than two, and most texts have no "]".
        if mark[0] in text and mark in text:
            for step in steps:
                text = step.pattern.sub(step.replace, text)
    return text
