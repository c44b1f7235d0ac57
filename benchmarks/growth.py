"""How fast something grows."""

from __future__ import annotations

import math
from collections.abc import Sequence


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The slope of the straight line through log value over log size that fits best.

    1: linear, 2: quadratic, 0: flat.
    """
    x = [math.log(size) for size in sizes]
    y = [math.log(value) for value in values]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    above = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y))
    return above / sum((a - mean_x) ** 2 for a in x)
