"""The score and the technical tie: by hand, and defined in one place only."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selection import score

ROOT = Path(__file__).parents[1]
SOURCES = [
    path
    for path in sorted((ROOT / "selection").rglob("*"))
    if path.suffix in {".py", ".c", ".js", ".html"} and path.name != "score.py"
]
# "2 * shared", "2 x both", "(2 * candidate.shared)"
FORMULA = re.compile(r"\b2(?:\.0)?\s*[*x\u00d7]\s*[({$]*(?:\w+[.])*(?:shared|both|common)\b")


def test_dice_by_hand() -> None:
    # Sets of 212 and 243 shingles with 208 in common.
    assert score.dice(208, 243, 212) == (416, 455)
    assert score.as_float(score.dice(3, 3, 3)) == 1.0
    assert score.formula(208, 243, 212) == "2 x 208 / (243 + 212)"


@given(st.integers(1, 500), st.integers(1, 500), st.data())
def test_dice_is_the_harmonic_mean_of_coverage_and_support(
    consensus: int, shingles: int, data: st.DataObject
) -> None:
    shared = data.draw(st.integers(1, min(consensus, shingles)))
    coverage, support = Fraction(shared, consensus), Fraction(shared, shingles)
    mean = 2 / (1 / coverage + 1 / support)
    assert Fraction(*score.dice(shared, consensus, shingles)) == mean


@pytest.mark.parametrize(
    ("scores", "right"),
    [
        ([(1, 1)], [True]),
        # 1 - 0.97 is the width itself; 1 - 0.9699 is more.
        ([(97, 100), (1, 1), (9699, 10_000)], [True, True, False]),
        # Measured from the best, not from the next.
        ([(1, 1), (98, 100), (96, 100)], [True, True, False]),
        # Not in lowest terms, and equal.
        ([(2, 4), (3, 6), (0, 9)], [True, True, False]),
    ],
)
def test_the_tie_is_measured_from_the_best(scores: list[score.Ratio], right: list[bool]) -> None:
    assert score.technical_tie(scores) == right


def tie_widths(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the places where a source has the tie width as a number, a fraction or a pair."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value == 0.03:
            yield node
        parts: list[ast.expr] = []
        if isinstance(node, ast.Call):
            parts = node.args
        elif isinstance(node, ast.Tuple):
            parts = node.elts
        elif isinstance(node, ast.BinOp):
            parts = [node.left, node.right]
        if [part.value for part in parts if isinstance(part, ast.Constant)] == [3, 100]:
            yield node


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_other_source_has_the_formula_or_the_tie_width(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not FORMULA.findall(text)
    assert "0.03" not in text
    if path.suffix == ".py":
        assert list(tie_widths(ast.parse(text))) == []


@pytest.mark.parametrize("text", ["x = 0.03", "x = 3e-2", "f(3, 100)", "x = 3, 100", "x = 3 / 100"])
def test_the_search_finds_a_second_tie_width(text: str) -> None:
    assert len(list(tie_widths(ast.parse(text)))) == 1


@pytest.mark.parametrize(
    "text",
    ["2 * shared / n", "(2 * candidate.shared)", "2 \u00d7 ${shared}", "2 x common", "2*both"],
)
def test_the_search_finds_a_second_formula(text: str) -> None:
    assert FORMULA.search(text)
