"""Which of the two backends is in use: the compiled one where it was built, else Python's."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from selection.implementation import NATIVE, PYTHON, in_use
from selection.text import shingles
from selection.text.markup import visible_text
from selection.text.overlap import Counts

Measure = Callable[[str, str, str], Counts]


@dataclass(frozen=True, slots=True)
class Backend:
    """One way to count, with the same result as the other.

    Attributes:
        name: ``native`` or ``python``.
        measure: counts three texts, as the extractors gave them.
    """

    name: str
    measure: Measure


def available() -> dict[str, Backend]:
    """The backends that work here, by name, the fastest first."""
    found = [_native(), Backend(PYTHON, shingles.measure)]
    return {backend.name: backend for backend in found if backend}


@cache
def backend() -> Backend:
    """The backend in use: what ``SELECTION_BACKEND`` names, by default the fastest.

    Raises:
        BackendError: it names none, or one that was not built here.
    """
    return in_use(available())


def _native() -> Backend | None:
    try:
        from selection.text import _native as compiled
    except ImportError:
        return None
    count, has_markup = compiled.measure, compiled.has_markup
    keys = os.urandom(compiled.KEY_BYTES)

    def visible(text: str) -> str:
        return visible_text(text) if has_markup(text) else text

    def measure(one: str, two: str, three: str) -> Counts:
        return Counts(*count(visible(one), visible(two), visible(three), keys))

    return Backend(NATIVE, measure)
