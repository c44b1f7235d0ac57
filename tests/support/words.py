"""Words that the project does not use, and the texts in which it could use them."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator

# Words that have another meaning in the field, or none.
FORBIDDEN = re.compile(
    r"\b(tells?|told|telling|may pass|may help|whoever|somebody|nobody|anybody|stands?|so many"
    r"|to be had|in the midst|(?<!there )(?:is|are) no(?! longer)|hand(?:s|ed|ing)? back"
    r"|give[ns]? back|crew|helpers?|shelf|passages?|palette|examines?|alike|odd|oddly|obvious"
    r"|mutants?|victims?"
    r"|(?<!queue )(?<!queue-)soak|judged?|judges|plain (?:rules|recipe|worker)|plainly)\b",
    re.IGNORECASE,
)
# Names of documents that are not in the repository.
REFERENCES = re.compile(r"\b(PRD|N?FR-?\d+|CT-?\d+|research notes)\b", re.IGNORECASE)

_NAMED = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def words_in(text: str) -> list[str]:
    """Return all forbidden words and references of a text, in order."""
    line = " ".join(text.split())
    return [match[0] for pattern in (FORBIDDEN, REFERENCES) for match in pattern.finditer(line)]


def python_texts(code: str, *, has_messages: bool) -> Iterator[tuple[int, str]]:
    """Yield the texts of a module with their lines: names, docstrings, comments.

    Args:
        code: the module.
        has_messages: whether string literals with a space in them are texts, too.
    """
    for node in ast.walk(ast.parse(code)):
        # The one exception is a method of every file object.
        if isinstance(node, _NAMED) and node.name != "tell":
            yield node.lineno, node.name.replace("_", " ")
        if has_messages and isinstance(node, ast.Constant) and isinstance(node.value, str):
            if " " in node.value:
                yield node.lineno, node.value
        elif isinstance(node, ast.Expr) and (docstring := _docstring(node)) and not has_messages:
            yield node.lineno, docstring
    yield from _comments(code)


def _docstring(node: ast.Expr) -> str | None:
    """Return the text of a statement that is a docstring, also of an attribute."""
    if isinstance(node.value, ast.Constant):
        return node.value.value if isinstance(node.value.value, str) else None
    return None


def _comments(code: str) -> Iterator[tuple[int, str]]:
    """Yield each block of comments as one text."""
    begin, lines = 0, list[str]()
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type != tokenize.COMMENT:
            continue
        if begin + len(lines) != token.start[0]:
            if lines:
                yield begin, " ".join(lines)
            begin, lines = token.start[0], []
        lines.append(token.string.lstrip("#: "))
    if lines:
        yield begin, " ".join(lines)


def c_comments(code: str) -> Iterator[tuple[int, str]]:
    """Yield the comments of a C source with their lines."""
    for match in re.finditer(r"/\*.*?\*/|//[^\n]*", code, re.DOTALL):
        yield code.count("\n", 0, match.start()) + 1, re.sub(r"\n\s*\*?", " ", match[0])
