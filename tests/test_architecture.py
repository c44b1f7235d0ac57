"""Imports go downwards only and without a cycle; test modules are independent."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest
from importlinter import api

ROOT = Path(__file__).parents[1]


def test_the_contracts_of_the_imports_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    contracts = api.read_configuration(str(ROOT / "pyproject.toml"))["contracts_options"]
    assert {contract["type"] for contract in contracts} == {"layers", "forbidden"}
    from importlinter.cli import lint_imports

    assert lint_imports(config_filename=str(ROOT / "pyproject.toml")) == 0


@pytest.mark.parametrize("package", ["selection", "worker"])
def test_imports_have_no_cycle(package: str) -> None:
    graph = grimp.build_graph(package)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    # The package names what it exports and imports it when it is used.
    imports.pop(package)
    order = list(TopologicalSorter(imports).static_order())  # raises CycleError
    assert set(imports) <= set(order)


SUITES = ("tests", "robustness", "benchmarks", "examples")
PYTHON = sorted(path for folder in SUITES for path in (ROOT / folder).rglob("*.py"))


def imported(tree: ast.Module) -> Iterator[str]:
    """Yield the names of all modules, and of what is imported from them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield from (f"{module}.{alias.name}" for alias in node.names)


def uses_sys_path(tree: ast.Module) -> bool:
    """Return whether a module reads or changes sys.path or a site directory."""
    return "sys.path" in imported(tree) or any(
        isinstance(node, ast.Attribute) and ast.unparse(node) in ("sys.path", "site.addsitedir")
        for node in ast.walk(tree)
    )


def is_test_module(name: str) -> bool:
    return any(part.startswith("test_") or part == "conftest" for part in name.split("."))


@pytest.mark.parametrize("path", PYTHON, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_test_module_is_not_imported_and_the_import_path_is_not_changed(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert [name for name in imported(tree) if is_test_module(name)] == []
    assert not uses_sys_path(tree)


@pytest.mark.parametrize(
    "code",
    ["import tests.test_rules", "from tests import test_rules", "from .test_rules import words"],
)
def test_an_import_of_a_test_module_is_found(code: str) -> None:
    assert any(is_test_module(name) for name in imported(ast.parse(code)))
    assert not any(is_test_module(name) for name in imported(ast.parse("import tests.support")))


@pytest.mark.parametrize(
    "code", ["import sys\nsys.path.insert(0, '.')", "from sys import path", "sys.path += ['x']"]
)
def test_a_change_of_the_import_path_is_found(code: str) -> None:
    assert uses_sys_path(ast.parse(code))
    assert not uses_sys_path(ast.parse("import sys\nsys.exit(0)"))
