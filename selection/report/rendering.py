"""What all pages share: the template environment and the Content-Security-Policy."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from rich.filesize import decimal

# A template gives some ten pieces for a row.
_PIECES_AT_ONCE = 500


@cache
def environment() -> Environment:
    """Return the environment of the templates, which escapes every value."""
    made = Environment(
        loader=PackageLoader("selection.report", "template"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["counted"] = "{:,}".format
    made.filters["size"] = decimal
    made.filters["data"] = _data
    return made


def policy(style: str, scripts: Sequence[str] = ()) -> str:
    """Return the Content-Security-Policy, which allows this style and these scripts.

    Args:
        style: the content of the page's ``style`` element.
        scripts: the contents of its ``script`` elements.
    """
    directives = {
        "default-src": "'none'",
        "style-src": _hash(style),
        "script-src": " ".join(map(_hash, scripts)) or "'none'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
    }
    return "; ".join(f"{name} {source}" for name, source in directives.items())


def template_file(name: str) -> str:
    """Return the text of a style sheet or script."""
    return resources.files("selection.report").joinpath("template", name).read_text("utf-8")


def static_page(
    template: str,
    script: str | None = None,
    pieces_at_once: int = _PIECES_AT_ONCE,
    **values: Any,
) -> Iterator[bytes]:
    """Return the bytes of a page that is complete without its script, in pieces.

    Args:
        template: the name of its template, which gets ``policy``, ``style`` and ``script``.
        script: the name of its script; None: it does not have one.
        pieces_at_once: the number of the template's pieces that are joined in memory; 1 for a
            template with long pieces.
        values: the other values of the template.
    """
    style = template_file("page.css") + template_file("static.css")
    code = None if script is None else template_file(script)
    pieces = (
        environment()
        .get_template(template)
        .stream(
            policy=policy(style, () if code is None else (code,)),
            style=Markup(style),
            script=Markup(code or ""),
            **values,
        )
    )
    if pieces_at_once > 1:
        pieces.enable_buffering(pieces_at_once)
    # A name that is not UTF-8 has lone surrogates.
    return (piece.encode("utf-8", "backslashreplace") for piece in pieces)


def shortened(text: str, longest: int) -> str:
    """Cut a text that has more than ``longest`` characters and mark the cut."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _data(escaped: bytes) -> Markup:
    """Return JSON as markup: the page has escaped what could end its block."""
    return Markup(escaped.decode())


def _hash(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
