"""The two backends, native and Python, and which of them is in use."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from selection.implementation import NATIVE, PYTHON, in_use
from selection.text import markup, shingles
from selection.text.overlap import Counts

Measure = Callable[[str, str, str], Counts]


@dataclass(frozen=True, slots=True)
class Backend:
    """Represent one way to count, with the same result as the other.

    Attributes:
        name: ``native`` or ``python``.
        measure: counts three visible texts.
        has_markup: whether :func:`selection.text.markup.visible_text` can change a text.
    """

    name: str
    measure: Measure
    has_markup: Callable[[str], bool]

    def visible(self, text: str) -> str:
        """Return a text without its markup (rules 2.1 to 2.4)."""
        return markup.visible_text(text) if self.has_markup(text) else text


def available() -> dict[str, Backend]:
    """Return the backends that work here, by name, the fastest first."""
    found = [_native(), Backend(PYTHON, shingles.measure, markup.has_markup)]
    return {backend.name: backend for backend in found if backend}


@cache
def backend() -> Backend:
    """Return the backend that ``SELECTION_BACKEND`` names, by default the fastest.

    Raises:
        BackendError: the variable names none, or one that was not built here.
    """
    return in_use(available())


def _native() -> Backend | None:
    try:
        from selection.text import _native as compiled
    except ImportError:
        return None
    count, keys = compiled.measure, os.urandom(compiled.KEY_BYTES)

    def measure(one: str, two: str, three: str) -> Counts:
        return Counts(*count(one, two, three, keys))

    return Backend(NATIVE, measure, compiled.has_markup)
