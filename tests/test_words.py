"""The words of docstrings, comments, messages, names, templates and documents."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import words

ROOT = Path(__file__).parents[1]
PACKAGES = ("selection", "worker")
FOLDERS = (*PACKAGES, "tests", "robustness", "benchmarks", "examples")
MODULES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
# Functions of test modules are not for other modules.
PUBLIC = [path for path in MODULES if not path.name.startswith("test_")]
C_SOURCES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.[ch]"))
TEMPLATES = sorted((ROOT / "selection/report/template").glob("*"))
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "benchmarks/README.md"])
OTHERS = [
    *(ROOT / name for name in ("Makefile", "pyproject.toml", "docker-compose.yml", ".ci/run")),
    *sorted((ROOT / ".github").rglob("*.yml")),
]
# Code, and log lines that are quoted.
QUOTED = re.compile(r'```.*?```|`[^`]*`|"[^"]*"', re.DOTALL)
# A sentence that begins with one of these is not imperative.
NOT_IMPERATIVE = re.compile(
    r"(a|all|an|any|as|at|by|each|every|everything|for|from|how|if|in|its?|none?|nothing|of|on|one"
    r"|only|or|so|some|that|the|their|these|they|this|those|to|two|what|when|where|whether|which"
    r"|who|without|with)\b",
    re.IGNORECASE,
)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def forbidden(texts: Iterator[tuple[int, str]]) -> list[str]:
    """Return line and word of each forbidden word."""
    return [f"{line}: {word}" for line, text in texts for word in words.words_in(text)]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_uses_the_agreed_words(path: Path) -> None:
    has_messages = name_of(path).startswith(PACKAGES)
    code = path.read_text(encoding="utf-8")
    assert forbidden(words.python_texts(code, has_messages=has_messages)) == []


@pytest.mark.parametrize("path", C_SOURCES, ids=name_of)
def test_the_comments_of_a_c_source_use_the_agreed_words(path: Path) -> None:
    assert forbidden(words.c_comments(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("path", [*TEMPLATES, *OTHERS], ids=name_of)
def test_a_template_or_a_configuration_uses_the_agreed_words(path: Path) -> None:
    assert words.words_in(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_a_document_uses_the_agreed_words(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if path.name == "CHANGELOG.md":
        # Earlier versions are described in the words of their time.
        text = "\n## ".join(text.split("\n## ")[:2])
    if path.name == "algorithm.md":
        text, _, table = text.partition("\n## Requirements\n")
        assert "PRD" in table
    assert words.words_in(QUOTED.sub("", text)) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The log tells it.", ["tells"]),
        ("a queue soak, no soak", ["soak"]),
        ("It is no list. It is no longer one. There is no list.", ["is no"]),
        ("PRD 7.5, FR-012 and NFR-3", ["PRD", "FR-012", "NFR-3"]),
        ("the research\nnotes", ["research notes"]),
        ("The standard says what it says.", []),
    ],
)
def test_forbidden_words_are_found(text: str, found: list[str]) -> None:
    assert words.words_in(text) == found


def test_names_docstrings_comments_and_messages_are_texts() -> None:
    code = (
        '"""A module."""\n'
        "class It_is:\n"
        '    """A class."""\n'
        "    x = 1\n"
        '    """An attribute."""\n'
        "\n"
        "def is_told():\n"
        "    # one\n"
        "    # two\n"
        '    return f"more of {x}", "word"  # three\n'
    )
    names = [(2, "It is"), (7, "is told")]
    docstrings = [(1, "A module."), (3, "A class."), (5, "An attribute.")]
    comments = [(8, "one two three")]
    without = sorted(words.python_texts(code, has_messages=False))
    assert without == sorted([*names, *docstrings, *comments])
    with_messages = sorted(words.python_texts(code, has_messages=True))
    assert with_messages == sorted([*without, (10, "more of ")])
    assert list(words.c_comments("int a; /* one\n * two */\n// three")) == [
        (1, "/* one  two */"),
        (3, "// three"),
    ]


def public_docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the docstrings of public functions and methods; a property has a noun."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    for body in [tree.body, *(node.body for node in classes)]:
        for node in body:
            if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
                continue
            decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
            if decorators & {"property", "cached_property", "pytest.fixture"}:
                continue
            if docstring := ast.get_docstring(node):
                yield node.lineno, docstring


@pytest.mark.parametrize("path", PUBLIC, ids=name_of)
def test_the_docstring_of_a_public_function_is_imperative(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    wrong = [
        f"{line}: {docstring.splitlines()[0]}"
        for line, docstring in public_docstrings(tree)
        if NOT_IMPERATIVE.match(docstring)
    ]
    assert wrong == []
