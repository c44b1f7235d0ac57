"""The choice between two implementations: the compiled one and the one in Python."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TypeVar

from selection.errors import BackendError

Implementation = TypeVar("Implementation")

#: The environment variable that names the implementation.
VARIABLE = "SELECTION_BACKEND"
NATIVE, PYTHON = "native", "python"


def in_use(available: Mapping[str, Implementation]) -> Implementation:
    """Return the implementation that ``SELECTION_BACKEND`` names, by default the first.

    Args:
        available: the available implementations by name, the fastest first.

    Raises:
        BackendError: the variable names none of them.
    """
    wanted = os.environ.get(VARIABLE) or next(iter(available))
    if wanted in available:
        return available[wanted]
    if wanted == NATIVE:
        raise BackendError(
            f"{VARIABLE}=native: the compiled backend was not built here; install a C compiler "
            "and the package again, or use python"
        )
    raise BackendError(f"{VARIABLE}={wanted}: unknown backend; use native or python")
