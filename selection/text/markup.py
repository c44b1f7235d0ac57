"""Markup out, visible text kept: steps 1 to 4 of FR-007 (PRD 7.2, steps 1 to 3).

The research notes give each step as one regular expression. Three of those take
quadratic time on hostile text (a megabyte of ``<``, ``[`` or ``![``) and one call
raises (a character reference of 5,000 digits). What stands here gives the same
result on every text that the notes' recipe can handle, in time linear in its length.
"""

from __future__ import annotations

import html
import re

# A number of eight digits or more is beyond Unicode unless it is mostly zeros.
LONG_REFERENCE = re.compile(r"&#([0-9]{8,})")
_BEYOND_UNICODE = "&#1114112"

# Both patterns also match a failed attempt, up to where it fails. No match can begin
# inside one: all attempts before the same "]" fail for the same reason, and where "]"
# or ")" is missing it is missing for every later attempt, too. So no text is read twice.
IMAGE = re.compile(r"!\s*\[[^\]]*+(?:\](?:\([^)]*+(\))?)?)?")
LINK = re.compile(r"\[(?:([^\]]++)(?:\](?:\(([^)]*+)(\))?)?)?)?")

TAG = re.compile(r"<[^>]+>")


def visible_text(text: str) -> str:
    """The text that a reader would see, with a space where an image or a tag stood."""
    if "&" in text:
        text = _unescape(text)
    # The first question is a quick one, and for most texts the answer is no.
    if "[" in text and "](" in text:
        text = IMAGE.sub(drop_image, text)
        text = LINK.sub(keep_anchor, text)
    if "<" in text:
        text = _drop_tags(text)
    return text


def _unescape(text: str) -> str:
    if "&#" in text:
        text = LONG_REFERENCE.sub(clip_reference, text)
    return html.unescape(text)


def clip_reference(match: re.Match[str]) -> str:
    digits = match[1].lstrip("0") or "0"
    return f"&#{digits}" if len(digits) < 8 else _BEYOND_UNICODE


def drop_image(match: re.Match[str]) -> str:
    return " " if match[1] else match[0]


def keep_anchor(match: re.Match[str]) -> str:
    anchor, target, end = match.groups()
    return anchor if target and end else match[0]


def _drop_tags(text: str) -> str:
    # Behind the last ">" no tag can end, and looking for one from every "<" is what takes
    # quadratic time.
    end = text.rfind(">") + 1
    return TAG.sub(" ", text[:end]) + text[end:]
