"""The exponent of growth."""

from __future__ import annotations

import math
from collections.abc import Sequence


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Return the slope of the least-squares line through log value over log size.

    1 is linear, 2 quadratic, 0 constant.
    """
    x = [math.log(size) for size in sizes]
    y = [math.log(value) for value in values]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    above = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y))
    return above / sum((a - mean_x) ** 2 for a in x)
