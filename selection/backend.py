"""Which of the two backends is in use: the compiled one where it was built, else Python's."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from selection import shingles
from selection.boundaries import Find, find_in_python
from selection.counts import Counts
from selection.errors import BackendError
from selection.markup import visible_text

#: The environment variable that names the backend.
VARIABLE = "SELECTION_BACKEND"

Measure = Callable[[str, str, str], Counts]


@dataclass(frozen=True, slots=True)
class Backend:
    """One way to count, with the same result as the other.

    Attributes:
        name: ``native`` or ``python``.
        measure: counts three texts, as the extractors gave them.
        find: finds the boundaries in the bytes of a batch.
    """

    name: str
    measure: Measure
    find: Find


def available() -> dict[str, Backend]:
    """The backends that work here, by name, the fastest first."""
    found = [_native(), Backend("python", shingles.measure, find_in_python)]
    return {backend.name: backend for backend in found if backend}


@cache
def backend() -> Backend:
    """The backend in use: what ``SELECTION_BACKEND`` names, by default the fastest.

    Raises:
        BackendError: it names none, or one that was not built here.
    """
    backends = available()
    wanted = os.environ.get(VARIABLE) or next(iter(backends))
    if wanted in backends:
        return backends[wanted]
    if wanted == "native":
        raise BackendError(
            f"{VARIABLE}=native: the compiled backend was not built here; install a C compiler "
            "and the package again, or use python"
        )
    raise BackendError(f"{VARIABLE}={wanted}: there is no such backend; use native or python")


def _native() -> Backend | None:
    try:
        from selection import _boundaries
        from selection import _native as compiled
    except ImportError:
        return None
    count, has_markup = compiled.measure, compiled.has_markup
    keys = os.urandom(compiled.KEY_BYTES)

    def visible(text: str) -> str:
        return visible_text(text) if has_markup(text) else text

    def measure(one: str, two: str, three: str) -> Counts:
        return Counts(*count(visible(one), visible(two), visible(three), keys))

    return Backend("native", measure, _boundaries.find)
