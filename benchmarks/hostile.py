"""Texts made to be slow: ``python benchmarks/hostile.py``.

For each kind: seconds for one article of 0.25, 0.5, 1 and 2 megabytes in three texts, and the
exponent of the growth (1: linear, 2: quadratic; tables that outgrow the processor's cache cost a
little more than linear). Ends with 1 if a megabyte takes a second or an exponent is above 1.5.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from selection import select_article

SIZES = (250_000, 500_000, 1_000_000, 2_000_000)
LONGEST_SECONDS, HIGHEST_EXPONENT = 1.0, 1.5


def repeated(unit: str) -> Callable[[int], str]:
    """The unit over and over, so many characters in all."""
    return lambda size: unit * (size // len(unit))


KINDS: dict[str, Callable[[int], str]] = {
    "<": repeated("<"),
    "<>": repeated("<>"),
    "[": repeated("["),
    "![": repeated("!["),
    "![](": repeated("![]("),
    "[a](": repeated("[a]("),
    "[](": repeated("[]("),
    "! and spaces": lambda size: "!" + " " * size + "!",
    "&#9999...;": lambda size: "&#" + "9" * size + ";",
    "&#xffff...;": lambda size: "&#x" + "f" * size + ";",
    "&amp;amp;...": repeated("&amp;"),
    "&aaa...": repeated("&" + "a" * 31),
    "marks of two classes": lambda size: "a" + "\u0301\u0316" * (size // 2),
    "composed marks": lambda size: "a" + "\u0f73" * size,
    "halfwidth marks": lambda size: "a" + "\uff9e\u0301" * (size // 2),
    "capital sigma": repeated("\u03a3"),
    "sigma and dots": repeated("\u03a3."),
    "ligature of 18": repeated("\ufdfa"),
    "one long number": repeated("7"),
    "Chinese": repeated("\u5317\u4eac\u5927\u5b66"),
    "distinct words": lambda size: " ".join(map(str, range(size // 7))),
}


def seconds(make: Callable[[int], str], size: int) -> float:
    """To decide an article of so many bytes, whose three texts differ at their ends."""
    in_one_text = size // 3
    text = make(in_one_text * in_one_text // len(make(in_one_text).encode()))
    article = {
        "newspaper4k": {"text": text},
        "readability": {"cleaned_text": text + " end"},
        "trafilatura": {"text": "start " + text},
    }
    began = time.perf_counter()
    select_article(article)
    return time.perf_counter() - began


def exponent(times: list[float]) -> float:
    """The slope of a straight line through log seconds over log size."""
    x = [math.log(size) for size in SIZES]
    y = [math.log(value) for value in times]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    above = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y))
    return above / sum((a - mean_x) ** 2 for a in x)


def main() -> None:
    bad = 0
    print(f"{'megabytes':22}", *(f"{size / 1e6:>8.2f}" for size in SIZES), "  exponent")
    for kind, make in KINDS.items():
        times = [min(seconds(make, size) for _ in range(2)) for size in SIZES]
        slope = exponent(times)
        is_bad = times[SIZES.index(1_000_000)] > LONGEST_SECONDS or slope > HIGHEST_EXPONENT
        bad += is_bad
        row = " ".join(f"{value:8.3f}" for value in times)
        print(f"{kind:22} {row} {slope:9.2f}{'  <-- too slow' if is_bad else ''}")
    if bad:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
