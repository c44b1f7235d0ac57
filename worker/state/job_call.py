"""The call that a job makes: its function's name and its parameters, defined once.

RQ finds a function by its name, so a producer need not import the job's module. The tests
compare this definition with the signature of :func:`worker.jobs.select_batch`.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FUNCTION = "worker.jobs.select_batch"


@dataclass(frozen=True, slots=True)
class JobCall:
    """The arguments of :func:`worker.jobs.select_batch`, as a producer gave them.

    Attributes:
        path: the batch.
        output: where to write; None for the default.
    """

    path: str
    output: str | None = None

    @classmethod
    def bind(cls, args: Sequence[Any], kwargs: Mapping[str, Any]) -> JobCall:
        """Return the call with these arguments, whatever their types are.

        Raises:
            TypeError: one is missing, unknown, or given twice.
        """
        bound = _SIGNATURE.bind(*args, **kwargs)
        return cls(*bound.args, **bound.kwargs)


_SIGNATURE = inspect.signature(JobCall)
#: The names of the parameters, in their order.
PARAMETERS = tuple(_SIGNATURE.parameters)
